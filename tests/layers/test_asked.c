/* The last layer computes only the rows that somebody reads: these are, number by number, those of a graph
 * that computes all, and the gradients are the same but for the order of sums. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check.h"
#include "tests/lib/tasks.h"
#include "train/trainer/trainer_internal.h"

/* Options beyond the task's own. */
static const char *const VARIANTS[] = {
    "",
    ", \"layers\": 2, \"norm\": \"layer\", \"d_ff\": 20, \"bias\": true, \"positions\": "
    "\"learned\"",
    ", \"dropout\": 0.3, \"d_ff\": 16, \"activation\": \"relu\"",
    ", \"positions\": \"rotary\", \"heads\": 2, \"kv_heads\": 1, \"norm\": \"rms\", \"qk_norm\": "
    "true",
    ", \"positions\": \"alibi\", \"heads\": 2, \"scale\": \"learned\"",
    ", \"scale\": \"log\", \"soft_cap\": 3",
    ", \"latent\": 6, \"heads\": 2, \"layers\": 2, \"dropout\": 0.2, \"positions\": \"rotary\"",
    ", \"scores_from\": 3",
    ", \"arch\": \"encoder\", \"scale\": \"log\"",
    ", \"softmax_one\": true, \"self\": false",
    ", \"post_norm\": true, \"norm\": \"layer\", \"d_ff\": 12, \"label_smoothing\": 0.1",
    ", \"tie\": \"qk\", \"wo\": false, \"heads\": 2",
    ", \"wq\": false, \"wk\": false, \"residual\": false",
    ", \"readout\": \"local\"",
    ", \"readout\": \"vector\"",
    ", \"arch\": \"encoder-decoder\", \"norm\": \"layer\", \"dropout\": 0.1, \"heads\": 2",
    ", \"block\": \"linear\"",
    ", \"mask\": \"memory\", \"batch\": 3"};

/* A trainer of a task and a variant; NULL if they do not go together. */
static qkv_trainer *trainer_of(const char *task, bool file, const char *variant) {
    qkv_config c;
    data_spec spec;
    char error[QKV_IO_ERROR], json[512], data[64] = "";
    if (file) snprintf(data, sizeof data, ", \"data\": \"%s\"", TASK_FILE);
    const int n =
        snprintf(json, sizeof json, "{\"task\": \"%s\", \"d_model\": 12, \"batch\": 7%s%s}", task,
                 data, variant);
    const qkv_config_parts parts = {.json = json, .n = (size_t)n};
    if (qkv_config_make(&parts, &c, &spec, error) != QKV_CONFIG_OK) return NULL;
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, 1, error);
    data_release(&spec);
    return t;
}

/* ---- one batch in two graphs ---- */

static real *run(qkv_trainer *t, qkv_trainer_worker *w, bool training) {
    real *grads = calloc(ag_params_size(qkv_trainer_params(t)), sizeof *grads);
    qkv_trainer_load(t, w, "train", 5, w->B - 1, w->B);  // the last example is empty
    ag_set_run(w->graph, (ag_run){.seed = 3, .step = 4, .micro_batch = 1, .training = training});
    ag_grads_into(w->graph, grads);
    if (!ag_forward(w->graph) || !ag_backward(w->out.loss, NULL))
        fail_msg("%s", ag_error(w->graph));
    return grads;
}

static void assert_same_gradients(qkv_trainer *t, const real *x, const real *y, const char *what) {
    const double tolerance = sizeof(real) == sizeof(double) ? 1e-12 : 2e-4;
    for (int i = 0; i < ag_params_count(qkv_trainer_params(t)); i++) {
        const ag_param_entry *p = ag_params_at(qkv_trainer_params(t), i);
        double most = 1e-6, off = 0;
        for (size_t k = p->offset; k < p->offset + p->val.n; k++) {
            most = fmax(most, fabs((double)y[k]));
            off = fmax(off, fabs((double)(x[k] - y[k])));
        }
        if (!(off <= tolerance * most))
            fail_msg("%s: the gradient of %s is off by %g of %g", what, p->name, off, most);
    }
}

/* Every row of a node [B,R,..] or [B,H,R,W] of the graph of some rows stands in that of all. */
static int assert_same_rows(qkv_trainer *t, const qkv_trainer_worker *some, ag_node *x, ag_node *y,
                            const char *what) {
    const tensor_shape s = x->val.shape;
    const int R = some->asked.n, T = t->spec.side[DATA_SEQUENCE].T;
    const bool by_heads = y->val.shape.dim[1] != T;
    const int planes = some->B * (by_heads ? s.dim[1] : 1),
              W = (int)(x->val.n / (size_t)(planes * R));
    int rows = 0;
    for (int plane = 0; plane < planes; plane++)
        for (int r = 0; r < R; r++) {
            const int b = plane / (planes / some->B), row = some->asked_row[b * R + r];
            if (row < 0) continue;
            rows++;
            const real *there = y->val.x + ((ptrdiff_t)plane * T + row % T) * W;
            if (memcmp(x->val.x + ((ptrdiff_t)plane * R + r) * W, there, (size_t)W * sizeof *there))
                fail_msg("%s: row %d of '%s' has other bits", what, row % T, x->name);
        }
    return rows;
}

/* Rows that were compared: all nodes of the last layer of one name in both graphs, that are smaller here. */
static int compare_rows(qkv_trainer *t, qkv_trainer_worker *some, qkv_trainer_worker *all,
                        const char *what) {
    char layer[32];
    int rows = 0;
    snprintf(layer, sizeof layer, "layer%d.", t->config.layers - 1);
    for (int i = 0; i < ag_count(some->graph); i++) {
        ag_node *x = ag_at(some->graph, i);
        ag_node *y = strncmp(x->name, layer, strlen(layer)) ? NULL : ag_find(all->graph, x->name);
        if (!y || x != ag_find(some->graph, x->name) || !x->op || x->val.n >= y->val.n ||
            x->val.shape.rank < 3)
            continue;
        rows += assert_same_rows(t, some, ag_store(x), y, what);
    }
    return rows;
}

static void compare(qkv_trainer *t, const char *what, int *fits, int *rows) {
    qkv_trainer_worker *some = qkv_trainer_training_worker(t), *all = qkv_trainer_any_worker(t);
    if (some == all) return;
    assert_true(some->asked.n > 0 && all->asked.n == 0 && some->B == all->B);
    ag_keep_grads(some->graph, true), ag_keep_grads(all->graph, true);
    ++*fits;
    for (int training = 0; training < 2; training++) {
        real *x = run(t, some, training), *y = run(t, all, training);
        assert_same_bits(some->out.loss->val.x, all->out.loss->val.x, 1);
        for (int r = 0; r < t->spec.n_readouts && some->out.logits[r]; r++)
            for (int n = 0; n < some->n_rows && some->rows[n] >= 0; n++) {
                const int V = t->spec.readout[r].classes;
                assert_same_bits(some->out.logits[r]->val.x + (ptrdiff_t)n * V,
                                 all->out.logits[r]->val.x + (ptrdiff_t)n * V, (size_t)V);
            }
        *rows += compare_rows(t, some, all, what);
        assert_same_gradients(t, x, y, what);
        free(x), free(y);
    }
}

static void asked_rows_are_those_of_all(void **state) {
    (void)state;
    int tasks = 0, rows = 0;
    for (int i = 0; data_tasks[i]; i++) {
        int fits = 0;
        for (size_t v = 0; v < sizeof VARIANTS / sizeof *VARIANTS; v++) {
            qkv_trainer *t =
                trainer_of(data_tasks[i]->name, task_reads_a_file(data_tasks[i]), VARIANTS[v]);
            char what[256];
            snprintf(what, sizeof what, "%s%s", data_tasks[i]->name, VARIANTS[v]);
            if (t) compare(t, what, &fits, &rows);
            qkv_trainer_free(t);
        }
        tasks += fits >= 8;
    }
    assert_true(tasks >= 10 && rows > 20000);
}

/* Where most rows are scored, and in blocks of somebody's own, all are computed. */
static void else_all_are_computed(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        qkv_trainer *t = trainer_of(i ? "text" : "pairs", i, i ? "" : ", \"block\": \"linear\"");
        assert_non_null(t);
        assert_ptr_equal(qkv_trainer_training_worker(t), qkv_trainer_any_worker(t));
        qkv_trainer_free(t);
    }
}

/* Evaluation reads the weights of the rows asked for: what a graph of all rows says. */
static void attention_is_that_of_all_rows(void **state) {
    (void)state;
    qkv_trainer *t = trainer_of("mqar", false, ", \"heads\": 2, \"layers\": 2, \"norm\": \"rms\"");
    char error[QKV_IO_ERROR];
    qkv_trainer_scores s;
    assert_non_null(t);
    const int B = qkv_trainer_any_worker(t)->B;
    assert_true(qkv_trainer_evaluate(t, "valid", 0, B, &s, error));
    double sum[4] = {0};
    int n = 0;
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    const int T = t->spec.side[DATA_SEQUENCE].T;
    qkv_trainer_load(t, w, "valid", 0, B, B);
    ag_set_run(w->graph, (ag_run){.training = false});
    assert_true(ag_forward(w->graph));
    for (int k = 0; k < w->n_rows && w->rows[k] >= 0; k++, n++)
        for (int h = 0; h < 4; h++) {
            const ag_node *x = qkv_trainer_weights(w, h / 2);
            const int b = w->rows[k] / T, q = w->rows[k] % T;
            sum[h] += (double)x->val.x[(((ptrdiff_t)b * 2 + h % 2) * T + q) * T + w->source[0][k]];
        }
    for (int h = 0; h < 4; h++) assert_close(s.head_attention[h], sum[h] / n, 1e-6);
    qkv_trainer_free(t);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(asked_rows_are_those_of_all),
                                          cmocka_unit_test(else_all_are_computed),
                                          cmocka_unit_test(attention_is_that_of_all_rows)};
CHECK_MAIN(tests)
