/* Numbers that are not finite: the node that made the first one is found and named, training stops
 * before they are stored, and looking for them changes no bit. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // nftw
#endif

#include "train/trainer/anomaly.h"

#include <ftw.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/check.h"
#include "train/run/run.h"

static const bool DOUBLE = sizeof(real) == sizeof(double);
static const real BIG = sizeof(real) == sizeof(double) ? (real)1.5e308 : (real)3e38;

/* ---- in a graph ---- */

typedef struct {
    ag_params *params;
    ag_graph *g;
} bench;

static bench bench_new(void) {
    bench b = {.params = ag_params_new(NULL, 1)};
    b.g = ag_graph_new(b.params);
    return b;
}

static void bench_free(bench *b) {
    ag_graph_free(b->g);
    ag_params_free(b->params);
}

/* A leaf [1] that wants a gradient. */
static ag_node *leaf(ag_graph *g, const char *name, double x) {
    ag_node *node = ag_want_grad(ag_input(g, name, tensor_dims(1, 1)));
    node->val.x[0] = (real)x;
    return node;
}

/* Runs the graph and looks: is the culprit `node`, by the gradient of `of` (NULL: by its value)? */
static void assert_culprit(ag_node *loss, const char *node, const char *of) {
    char text[300];
    ag_grads_zero(loss->graph);
    assert_true(ag_forward(loss->graph) && ag_backward(loss, NULL));
    assert_int_equal(qkv_trainer_all_finite(loss->graph), node == NULL);
    qkv_trainer_anomaly a = qkv_trainer_first_not_finite(loss->graph);
    qkv_trainer_anomaly_text(a, text, sizeof text);
    if (!node) {
        assert_null(a.node);
        return;
    }
    if (!a.node || strcmp(a.node->name, node) != 0)
        fail_msg("not '%s' is found, but: %s", node, text);
    if (!of != !a.of || (of && strcmp(a.of->name, of) != 0))
        fail_msg("not '%s', but: %s", of, text);
    assert_non_null(strstr(text, of ? "backward" : "forward"));
    assert_non_null(strstr(text, node));
}

static void finite_numbers_are_no_anomaly(void **state) {
    (void)state;
    static const double x[] = {0, 1, -1e-300, 1e30};
    bench b = bench_new();
    ag_node *at = leaf(b.g, "x", 2), *loss = ag_tanh(ag_scale(at, 3));
    for (int i = 0; i < 5; i++) {
        at->val.x[0] = i < 4 ? (real)x[i] : BIG / 4;
        assert_culprit(loss, NULL, NULL);
    }
    bench_free(&b);
}

static void values_come_first(void **state) {
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    bench b = bench_new();
    ag_node *x = leaf(b.g, "x", 1), *z = leaf(b.g, "z", 0);
    ag_node *root = ag_name(ag_sqrt(z), "root");  // its gradient is infinite, but its value is not
    ag_node *square = ag_name(ag_mul(x, x), "square");
    ag_node *loss = ag_name(ag_add(ag_scale(square, 0), root), "loss");
    x->val.x[0] = BIG;
    assert_culprit(loss, "square", NULL);
    for (int i = 0; i < 3; i++) {
        x->val.x[0] = (real)bad[i];
        assert_culprit(loss, "x", NULL);
    }
    x->val.x[0] = 1;
    assert_culprit(loss, "root", "z");
    bench_free(&b);
}

/* "deep" spoils x early in the backward pass, "late" spoils y after it, although y's own number is
 * greater than x's. */
static void the_first_in_backward_order_is_named(void **state) {
    (void)state;
    bench b = bench_new();
    ag_node *x = leaf(b.g, "x", 0);
    ag_node *y = ag_name(ag_scale(leaf(b.g, "one", 0), 1), "y");
    ag_node *late = ag_name(ag_sqrt(y), "late"), *deep = ag_name(ag_sqrt(x), "deep");
    assert_culprit(ag_add(late, deep), "deep", "x");
    bench_free(&b);
}

/* Of several readers the one that makes the sum infinite: here "a", which comes after "b". */
static void a_sum_of_finite_gradients_may_overflow(void **state) {
    (void)state;
    bench b = bench_new();
    ag_node *x = leaf(b.g, "x", 1e-30), *safe = ag_name(ag_scale(x, 1), "safe");
    ag_node *a = ag_name(ag_scale(x, (double)BIG), "a"),
            *c = ag_name(ag_scale(x, (double)BIG), "b");
    assert_culprit(ag_add(safe, ag_add(a, c)), "a", "x");
    bench_free(&b);
}

static void a_parameter_is_called_so(void **state) {
    (void)state;
    bench b = bench_new();
    ag_node *w = ag_param(b.g, "w", tensor_dims(1, 1), (ag_init){.kind = AG_ONES});
    ag_node *loss = ag_scale(w, 2);
    char text[300];
    assert_null(qkv_trainer_first_bad_parameter(b.params));
    w->val.x[0] = (real)NAN;
    assert_culprit(loss, "w", NULL);
    qkv_trainer_anomaly_text(qkv_trainer_first_not_finite(b.g), text, sizeof text);
    assert_non_null(strstr(text, "'w' (parameter), forward"));
    assert_string_equal(qkv_trainer_first_bad_parameter(b.params)->name, "w");
    bench_free(&b);
}

/* ---- in training ---- */

static qkv_config small(void) {
    qkv_config c;
    qkv_config_default(&c);
    c.d_model = 16;
    return c;
}

static qkv_trainer *trainer_on(qkv_config c, int threads, bool detect) {
    data_spec spec;
    char error[QKV_IO_ERROR] = "";
    if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s", error);
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, threads, error);
    if (!t) fail_msg("%s", error);
    qkv_trainer_detect_anomaly(t, detect);
    return t;
}

/* Trains until it diverges or `most` steps are done; the sentence, or "". */
static int train_until(qkv_trainer *t, int most, char *error) {
    for (int step = 0; step < most; step++) {
        qkv_trainer_step s;
        error[0] = '\0';
        if (!qkv_trainer_gradient(t, step, &s, error)) {
            assert_true(s.diverged);
            return step;
        }
        qkv_trainer_update(t, step, &s);
    }
    return most;
}

static void assert_says(const char *sentence, const char *part) {
    if (!strstr(sentence, part)) fail_msg("'%s' does not say \"%s\"", sentence, part);
}

/* Poisons one number of a parameter in the third step: the parameter itself is named. */
static void a_poisoned_weight_is_named(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int at;
        double x;
    } poison[] = {{"embed.key", 0, INFINITY},
                  {"embed.key", 16, NAN},
                  {"layer0.attn.wq", 5, INFINITY},
                  {"layer0.attn.wv", 0, -INFINITY},
                  {"unembed.value", 7, NAN}};
    for (int i = 0; i < 10; i++) {
        char error[QKV_IO_ERROR] = "", expected[QKV_IO_ERROR];
        qkv_trainer *t = trainer_on(small(), 2, i % 2);
        qkv_trainer_step s;
        assert_int_equal(train_until(t, 3, error), 3);
        ag_param_entry *p = ag_params_find(qkv_trainer_params(t), poison[i / 2].name);
        p->val.x[poison[i / 2].at] = (real)poison[i / 2].x;
        assert_false(qkv_trainer_gradient(t, 3, &s, error));
        assert_true(s.diverged && strncmp(error, "step 3: ", 8) == 0);
        snprintf(expected, sizeof expected, "in node '%s' (parameter), forward", p->name);
        assert_says(error, expected);
        qkv_trainer_free(t);
    }
}

static void multiply(qkv_trainer *t, const char *name, real factor) {
    ag_param_entry *p = ag_params_find(qkv_trainer_params(t), name);
    for (size_t i = 0; i < p->val.n; i++) p->val.x[i] *= factor;
}

/* Weights that are finite, but whose products are not. */
static void an_overflow_is_blamed_on_its_op(void **state) {
    (void)state;
    static const struct {
        const char *huge, *large, *node;
    } c[] = {{"layer0.attn.wq", "layer0.attn.wk", "'layer0.attn.scores' (scores), forward"},
             {"layer0.attn.wo", "layer0.attn.wv", "'layer0.attn.o' (linear), forward"}};
    for (int i = 0; i < 2; i++) {
        char error[QKV_IO_ERROR] = "";
        qkv_trainer *t = trainer_on(small(), 1, false);
        qkv_trainer_step s;
        multiply(t, c[i].huge, BIG / 16);
        multiply(t, c[i].large, 1000);
        assert_false(qkv_trainer_gradient(t, 0, &s, error));
        assert_true(s.diverged);
        assert_says(error, c[i].node);
        qkv_trainer_free(t);
    }
}

/* Rates that are far too high, on the task of the demonstration. */
static void rates_too_high_end_in_a_sentence(void **state) {
    (void)state;
    const struct {
        int optimizer;
        double lr;
    } wild[] = {{QKV_OPTIM_SGD, 5}, {QKV_OPTIM_SGD, 1e6}, {QKV_OPTIM_ADAM, DOUBLE ? 1e200 : 1e30}};
    for (int i = 0; i < 3; i++) {
        char error[QKV_IO_ERROR], again[QKV_IO_ERROR];
        qkv_config c = small();
        c.optimizer = wild[i].optimizer, c.lr = wild[i].lr;
        qkv_trainer *one = trainer_on(c, 1, false), *two = trainer_on(c, 3, false);
        int step = train_until(one, 400, error);
        if (step == 400) fail_msg("lr %g does not diverge", c.lr);
        assert_says(error, "is not finite; ");
        assert_int_equal(train_until(two, 400, again), step);
        assert_string_equal(error, again);  // whatever the number of threads
        qkv_trainer_free(one);
        qkv_trainer_free(two);
    }
}

/* ---- detection ---- */

/* An infinity in a row that nobody reads: the first position of example 0 is not scored. */
static void spoil_first_row(ag_node *node, void *ctx) {
    (void)ctx;
    node->val.x[0] = (real)INFINITY;
}

static void detection_sees_what_does_not_reach_the_loss(void **state) {
    (void)state;
    qkv_config c = small();
    strcpy(c.block, "linear");  // which computes all rows
    qkv_trainer *t = trainer_on(c, 1, false);
    ag_node *out = ag_find(qkv_trainer_training_worker(t)->graph, "layer0.out");
    char error[QKV_IO_ERROR] = "";
    qkv_trainer_step s;
    assert_true(ag_hook(out, spoil_first_row, NULL));
    if (!qkv_trainer_gradient(t, 0, &s, error)) fail_msg("%s", error);
    qkv_trainer_detect_anomaly(t, true);
    assert_false(qkv_trainer_gradient(t, 0, &s, error));
    assert_true(s.diverged);
    assert_says(error, "step 0: a number on the way is not finite; ");
    assert_says(error, "'layer0.out' (add), forward");
    ag_unhook(out, spoil_first_row, NULL);
    assert_true(qkv_trainer_gradient(t, 0, &s, error));
    qkv_trainer_free(t);
}

static void detection_changes_no_bit(void **state) {
    (void)state;
    qkv_config c = small();
    c.dropout = 0.1, c.layers = 2, c.d_ff = 20, c.norm = NN_NORM_LAYER, c.batch = 250;
    qkv_trainer *plain = trainer_on(c, 1, false), *detecting = trainer_on(c, 3, true);
    char error[QKV_IO_ERROR];
    assert_int_equal(train_until(plain, 25, error), 25);
    assert_int_equal(train_until(detecting, 25, error), 25);
    for (int i = 0; i < ag_params_count(qkv_trainer_params(plain)); i++) {
        const ag_param_entry *x = ag_params_at(qkv_trainer_params(plain), i);
        assert_same_bits(x->val.x, ag_params_at(qkv_trainer_params(detecting), i)->val.x, x->val.n);
    }
    assert_same_bits(qkv_trainer_grads(plain), qkv_trainer_grads(detecting),
                     ag_params_size(qkv_trainer_params(plain)));
    qkv_trainer_free(plain);
    qkv_trainer_free(detecting);
}

/* ---- in a run ---- */

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at) {
    (void)s, (void)type, (void)at;
    return remove(path);
}

/* Trains in a new directory; its name is left in dir. */
static qkv_io_status run_in(char *dir, qkv_config c, int save_every, char *error) {
    qkv_run_options o = {.dir = dir, .threads = 1, .save_every = save_every, .keep = 2};
    qkv_run_summary summary = {.steps = 0};
    data_spec spec;
    if (!mkdtemp(dir) || !qkv_config_resolve(&c, &spec, error)) fail_msg("no run: %s", error);
    return qkv_run_train(&qkv_io_posix, &c, &spec, &o, &summary, error);
}

static void the_last_good_checkpoint_stays(void **state) {
    (void)state;
    char dir[] = "/tmp/qkv-anomaly-XXXXXX", error[QKV_IO_ERROR] = "";
    qkv_config c = small();
    c.optimizer = QKV_OPTIM_SGD, c.lr = 5;
    qkv_io_status status = run_in(dir, c, 1, error);
    assert_int_equal(status, QKV_IO_DIVERGED);
    qkv_run_progress progress;
    const qkv_run_opening newest = {.dir = dir, .threads = 1, .at = QKV_RUN_NEWEST};
    qkv_trainer *t = qkv_run_open_at(&qkv_io_posix, &newest, &progress, &status, error);
    if (!t) fail_msg("%s", error);
    assert_true(progress.step > 0);
    assert_null(qkv_trainer_first_bad_parameter(qkv_trainer_params(t)));
    qkv_trainer_scores scores;
    assert_true(qkv_trainer_evaluate(t, "valid", 0, c.eval_examples, &scores, error));
    assert_true(isfinite(scores.loss));
    qkv_trainer_free(t);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(finite_numbers_are_no_anomaly),
    cmocka_unit_test(values_come_first),
    cmocka_unit_test(the_first_in_backward_order_is_named),
    cmocka_unit_test(a_sum_of_finite_gradients_may_overflow),
    cmocka_unit_test(a_parameter_is_called_so),
    cmocka_unit_test(a_poisoned_weight_is_named),
    cmocka_unit_test(an_overflow_is_blamed_on_its_op),
    cmocka_unit_test(rates_too_high_end_in_a_sentence),
    cmocka_unit_test(detection_sees_what_does_not_reach_the_loss),
    cmocka_unit_test(detection_changes_no_bit),
    cmocka_unit_test(the_last_good_checkpoint_stays),
};
CHECK_MAIN(tests)
