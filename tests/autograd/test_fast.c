/* Fast forms beside the plain loops of the same ops: every sample, long sequences under every mask, wide
 * rows, and a whole step of every task. Each form is within the units that docs/accuracy.md publishes, so two
 * are within twice as many; of sums of more than 64 terms as many more as they have more terms. */
#include <math.h>

#include "autograd/graph_internal.h"
#include "tests/lib/stream.h"
#include "tests/lib/tasks.h"
#include "train/trainer/trainer.h"

/* ---- comparing ---- */

static const double U = (double)REAL_EPSILON / 2;
static long compared;

/* A unit is a rounding of the terms' magnitudes: sqrt(n) times the sum, as n random terms are. */
static bool near(const real *a, const real *b, size_t n, int terms) {
    const double units = 2 * 4 * (terms > 64 ? terms / 64.0 : 1);
    double largest = 0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)a[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= units * U * sqrt(terms) * largest)) return false;
    compared += (long)n;
    return true;
}

/* Of a leaf that nothing was added to: zeros. */
static const real *gradient(const ag_node *leaf) {
    return leaf->has_grad ? leaf->grad : ag_take(leaf->graph, leaf->val.n, sizeof(real));
}

typedef ag_node *recording(ag_graph *g, int i);

/* The outcome, and the gradients of leaves, by both forms; false: there is no such recording. */
static bool both(const char *what, recording *record, int i, int terms, bool streams) {
    world fast, plain;
    open_world(&fast), open_world(&plain);
    if (streams) ag_keep_grads(fast.g, false), ag_stream(fast.g, 64);
    ag_plain(plain.g, true);
    ag_node *a = record(fast.g, i), *b = record(plain.g, i);
    assert_int_equal(a != NULL, b != NULL);
    for (int n = 0; n < 2 && a; n++) {
        pass(&fast, a), pass(&plain, b);
        if (!near(a->val.x, b->val.x, a->val.n, terms)) fail_msg("%s, case %d: value", what, i);
        for (int k = 0; k < ag_count(fast.g); k++) {
            const ag_node *x = ag_at(fast.g, k), *y = ag_at(plain.g, k);
            if (x->op || !x->wants_grad) continue;
            if (!near(gradient(x), gradient(y), x->val.n, terms))
                fail_msg("%s, case %d: gradient of '%s'", what, i, x->name);
        }
    }
    close_world(&fast), close_world(&plain);
    return a != NULL;
}

static void what_is_off_is_seen(void **state) {
    (void)state;
    const real a[] = {1, -2, 3};
    for (int i = 0; i < 3; i++) {
        real b[] = {1, -2, 3};
        b[i] += (real)(200 * U);
        assert_false(near(a, b, 3, 64));
        b[i] = (real)NAN;
        assert_false(near(a, b, 3, 64));
    }
    assert_true(near(a, a, 3, 64));
}

/* ---- every op that has both, on its samples ---- */

static void samples_agree(void **state) {
    (void)state;
    int ops = 0;
    if (!ag_has_fast(&ag_op_softmax)) skip();  // make PLAIN=1
    for (const ag_op *const *op = ag_ops; *op; op++) {
        if (!ag_has_fast(*op)) continue;
        compared = 0;
        int n = 0;
        while (both((*op)->name, (*op)->sample, n, 70, false)) n++;
        assert_true(n > 0 && compared > 0);
        ops++;
    }
    assert_true(ops >= 15);
}

/* ---- attention: long, under every mask, with lengths, streamed or not ---- */

static int seats;
static bool one;

static ag_node *attention(ag_graph *g, int i) {
    enum { KINDS = MASKS + 2 };
    if (i >= KINDS) return NULL;
    const int T = seats, E_ = 5;
    ag_mask mask = i < MASKS ? masks[i] : (ag_mask){.causal = i == MASKS, .no_self = i > MASKS};
    if (i >= MASKS) mask.length = ag_sample_lengths(g, 2, T);
    ag_node *q = leaf(g, "q", tensor_dims(3, 2, T, 4 * E_)),
            *k = leaf(g, "k", tensor_dims(3, 2, T, 2 * E_));
    ag_node *v = leaf(g, "v", tensor_dims(3, 2, T, 2 * E_));
    ag_node *s = ag_alibi(ag_soft_cap(ag_scores(q, k, 4, 0.4, mask), 3), mask);
    ag_node *w = ag_dropout(one ? ag_softmax_one(s, mask) : ag_softmax(s, mask), 0.1, "drop");
    return ag_mix(w, v, 2, mask);
}

static void attention_agrees(void **state) {
    (void)state;
    static const int T[] = {33, 65, 130};
    compared = 0;
    for (int t = 0; t < 3; t++)
        for (int k = 0; k < 4; k++) {
            seats = T[t];
            one = k % 2;
            for (int i = 0; both("attention", attention, i, seats, k > 1); i++) continue;
        }
    assert_true(compared > 0);
}

/* What was recorded before keeps its form, what comes then has the other, over a reset, too. */
static void a_graph_may_have_both(void **state) {
    (void)state;
    const ag_mask causal = {.causal = true};
    world fast, mixed;
    open_world(&fast), open_streaming(&mixed);
    ag_node *y[2];
    world *w[] = {&fast, &mixed};
    for (int k = 0; k < 2; k++) {
        ag_graph_reset(w[k]->g);
        ag_node *q = leaf(w[k]->g, "q", tensor_dims(3, 2, 70, 6));
        ag_node *s = ag_scores(q, q, 2, 0.4, causal);
        ag_plain(w[k]->g, k == 1);
        ag_node *p = ag_softmax(s, causal);
        ag_plain(w[k]->g, false);
        y[k] = ag_mix(p, q, 2, causal);
        assert_true(k == 0 || (s->val.x && p->val.x));  // plain loops read and leave what is stored
        pass(w[k], y[k]);
    }
    assert_true(near(y[0]->val.x, y[1]->val.x, y[0]->val.n, 70));
    assert_true(near(ag_at(fast.g, 0)->grad, ag_at(mixed.g, 0)->grad, 2 * 70 * 6, 70));
    ag_plain(mixed.g, true);
    ag_graph_reset(mixed.g);
    ag_node *x = leaf(mixed.g, "x", tensor_dims(2, 70, 70));
    assert_null(ag_own(ag_softmax(x, causal))->fast->op);
    close_world(&fast), close_world(&mixed);
}

/* ---- rows of 257 ---- */

enum { WIDE = 257, ROWS = 35 };

static ag_node *wide(ag_graph *g, int i) {
    const tensor_shape row = tensor_dims(1, WIDE);
    ag_node *x = leaf(g, "x", tensor_dims(2, ROWS, WIDE)),
            *y = leaf(g, "y", tensor_dims(2, ROWS, WIDE));
    const int *ids = ag_sample_ids(g, ROWS, WIDE, true), axes[] = {-1, 0};
    switch (i) {
        case 0: return ag_layer_norm(x, leaf(g, "gain", row), leaf(g, "bias", row), 1e-5);
        case 1: return ag_rms_norm(x, leaf(g, "gain", row), 1e-5);
        case 2: return ag_log_softmax(x);
        case 3: return ag_cross_entropy(x, ids, NULL);
        case 4: return ag_label_smoothing(x, ids, NULL, 0.2);
        case 5: return ag_squared_error(x, y, NULL);
        case 6: return ag_linear(x, leaf(g, "w", tensor_dims(2, WIDE, WIDE)), leaf(g, "b", row));
        case 7: return ag_matmul(x, leaf(g, "w", tensor_dims(3, 2, WIDE, 9)));
        case 8:
            return ag_embedding(1, (ag_node *[]){leaf(g, "w", tensor_dims(2, WIDE, WIDE))},
                                (const int *const[]){ids}, tensor_dims(1, ROWS));
        case 9: return ag_sum(x, 1, axes);
        case 10: return ag_mean(x, 1, axes + 1);
        case 11: return ag_max(x, 1, axes);
        case 12: return ag_permute(x, 2, (const int[]){1, 0});
        case 13: return ag_add(x, leaf(g, "b", row));
        case 14: return ag_dropout(x, 0.3, "drop");
        default: return NULL;
    }
}

static void wide_rows_agree(void **state) {
    (void)state;
    compared = 0;
    for (int i = 0; both("rows of 257", wide, i, WIDE, i % 2); i++) continue;
    assert_true(compared > 0);
}

/* ---- training ---- */

static void open_pair(const qkv_config *c, const data_spec *spec, qkv_trainer *t[2]) {
    char error[QKV_IO_ERROR] = "";
    for (int k = 0; k < 2; k++) {
        t[k] = qkv_trainer_new(NULL, c, spec, 1, error);
        if (!t[k] || (k && !qkv_trainer_plain(t[k], error))) fail_msg("%s", error);
    }
}

/* Layers make roundings larger; a fault is larger still. */
static void a_step_agrees(const char *task, const qkv_config *c, const data_spec *spec) {
    qkv_trainer *t[2];
    char error[QKV_IO_ERROR] = "";
    open_pair(c, spec, t);
    for (int step = 0; step < 2; step++) {
        qkv_trainer_step s[2];
        for (int k = 0; k < 2; k++)
            if (!qkv_trainer_gradient(t[k], step, &s[k], error)) fail_msg("%s: %s", task, error);
        if (!(fabs(s[0].loss - s[1].loss) <= 64 * U * fabs(s[0].loss))) fail_msg("%s: loss", task);
        ag_params *params = qkv_trainer_params(t[0]);
        for (int i = 0; i < ag_params_count(params); i++) {
            const ag_param_entry *p = ag_params_at(params, i);
            if (!near(qkv_trainer_grads(t[0]) + p->offset, qkv_trainer_grads(t[1]) + p->offset,
                      p->val.n, 4096))
                fail_msg("%s, step %d: gradient of '%s'", task, step, p->name);
        }
        for (int k = 0; k < 2; k++) qkv_trainer_update(t[k], step, &s[k]);
    }
    for (int k = 0; k < 2; k++) qkv_trainer_free(t[k]);
}

static void every_task_agrees(void **state) {
    (void)state;
    compared = 0;
    for (int i = 0; data_tasks[i]; i++) {
        qkv_config c;
        data_spec spec;
        char error[QKV_IO_ERROR] = "";
        qkv_config_default(&c);
        snprintf(c.task, sizeof c.task, "%s", data_tasks[i]->name);
        data_options_reset(data_tasks[i]->options, &c.of_task);
        if (task_reads_a_file(data_tasks[i]))
            strcpy(
                (char *)c.of_task.byte + data_option_find(data_tasks[i]->options, "data")->offset,
                TASK_FILE);
        c.batch = 4, c.d_model = 24, c.heads = 2, c.d_ff = 20;
        c.norm = i % 2 ? NN_NORM_LAYER : NN_NORM_RMS;
        if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s: %s", data_tasks[i]->name, error);
        a_step_agrees(data_tasks[i]->name, &c, &spec);
        data_release(&spec);
    }
    assert_true(compared > 0);
}

/* Plain loops learn the default task as fast forms do. In float: in double they take twice the time. */
static void a_plain_run_learns(void **state) {
    (void)state;
    qkv_config c;
    data_spec spec;
    qkv_trainer *t[2];
    char error[QKV_IO_ERROR] = "";
    qkv_trainer_scores scores[2];
    qkv_config_default(&c);
    if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s", error);
    open_pair(&c, &spec, t);
    for (int k = 0; k < 2; k++) {
        for (int step = 0; step < (sizeof(real) == sizeof(float) ? c.steps : 200); step++) {
            qkv_trainer_step s;
            if (!qkv_trainer_gradient(t[k], step, &s, error)) fail_msg("%s", error);
            qkv_trainer_update(t[k], step, &s);
        }
        if (!qkv_trainer_evaluate(t[k], "valid", 0, 512, &scores[k], error)) fail_msg("%s", error);
    }
    assert_true(scores[0].accuracy > 0.97);
    assert_close(scores[1].accuracy, scores[0].accuracy, 0.02);
    assert_close(scores[1].answer_attention, scores[0].answer_attention, 0.02);
    for (int k = 0; k < 2; k++) qkv_trainer_free(t[k]);
    data_release(&spec);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_off_is_seen), cmocka_unit_test(samples_agree),
    cmocka_unit_test(attention_agrees),    cmocka_unit_test(a_graph_may_have_both),
    cmocka_unit_test(wide_rows_agree),     cmocka_unit_test(every_task_agrees),
    cmocka_unit_test(a_plain_run_learns),
};
CHECK_MAIN(tests)
