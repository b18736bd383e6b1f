/* The trainer: bits that do not depend on threads, micro-batches that add up to the batch, no allocation,
 * no trace of an evaluation, and what happens when a number is not finite. */
#include "train/trainer/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check.h"
#include "train/trainer/trainer_internal.h"  // how a batch was cut

static const bool DOUBLE = sizeof(real) == sizeof(double);

/* ---- trainers to compare ---- */

/* The default configuration, kept small. */
static qkv_config small(void) {
    qkv_config c;
    qkv_config_default(&c);
    c.d_model = 16;
    return c;
}

static qkv_trainer *trainer_on(const tensor_allocator *mem, qkv_config c, int threads) {
    data_spec spec;
    char error[QKV_IO_ERROR] = "";
    if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s", error);
    qkv_trainer *t = qkv_trainer_new(mem, &c, &spec, threads, error);
    if (!t) fail_msg("%s", error);
    return t;
}

static void steps(qkv_trainer *t, int from, int to) {
    char error[QKV_IO_ERROR];
    for (int step = from; step < to; step++) {
        qkv_trainer_step s;
        if (!qkv_trainer_gradient(t, step, &s, error)) fail_msg("%s", error);
        qkv_trainer_update(t, step, &s);
    }
}

static qkv_trainer_scores scores_of(qkv_trainer *t) {
    qkv_trainer_scores s;
    char error[QKV_IO_ERROR];
    if (!qkv_trainer_evaluate(t, "valid", 3, 101, &s, error)) fail_msg("%s", error);
    return s;
}

/* All weights, one after the other; malloc'd. */
static real *weights_of(qkv_trainer *t) {
    ag_params *params = qkv_trainer_params(t);
    real *all = calloc(ag_params_size(params), sizeof *all);
    for (int i = 0; i < ag_params_count(params); i++) {
        const ag_param_entry *p = ag_params_at(params, i);
        memcpy(all + p->offset, p->val.x, p->val.n * sizeof(real));
    }
    return all;
}

/* The same bits in every weight. */
static void assert_same_weights(qkv_trainer *a, qkv_trainer *b) {
    real *x = weights_of(a), *y = weights_of(b);
    assert_same_bits(x, y, ag_params_size(qkv_trainer_params(a)));
    free(x);
    free(y);
}

static void assert_same_scores(qkv_trainer *a, qkv_trainer *b) {
    qkv_trainer_scores x = scores_of(a), y = scores_of(b);
    double one[] = {x.loss, x.accuracy, x.all_right, x.in_context, x.answer_attention};
    double two[] = {y.loss, y.accuracy, y.all_right, y.in_context, y.answer_attention};
    const qkv_config *c = qkv_trainer_config(a);
    assert_same_bits(one, two, sizeof one / sizeof *one);
    assert_same_bits(x.head_attention, y.head_attention, (size_t)(c->layers * c->heads));
}

/* ---- threads ---- */

static void check_threads(qkv_config c) {
    static const int threads[] = {2, 3, 8};
    qkv_trainer *one = trainer_on(NULL, c, 1);
    steps(one, 0, 30);
    for (int i = 0; i < 3; i++) {
        qkv_trainer *several = trainer_on(NULL, c, threads[i]);
        steps(several, 0, 30);
        assert_same_weights(several, one);
        assert_same_scores(several, one);
        qkv_trainer_free(several);
    }
    qkv_trainer_free(one);
}

static void threads_change_no_bit(void **state) {
    (void)state;
    qkv_config c = small();
    check_threads(c);
    c.batch = 250, c.lanes = 8;  // the last micro-batch is short
    c.heads = 2, c.layers = 2, c.d_ff = 20, c.norm = NN_NORM_LAYER, c.bias = true;
    check_threads(c);
    c = small();
    c.dropout = 0.1, c.lanes = 3, c.batch = 47, c.optimizer = QKV_OPTIM_SGD, c.clip = 0.1;
    check_threads(c);
    c = small();
    strcpy(c.task, "cross");
    qkv_config_use_plugin(&c, NULL);  // its options
    check_threads(c);
}

/* ---- long sequences, whose weights are streamed ---- */

/* 540 tokens: 180 pairs, and a question to each. */
static qkv_config long_one(void) {
    qkv_config c = small();
    strcpy(c.task, "mqar");
    qkv_config_use_plugin(&c, NULL);  // its options
    qkv_config_choose(&c, "pairs", 180);
    qkv_config_choose(&c, "keys", 200);
    c.batch = 3, c.lanes = 2, c.heads = 2, c.layers = 2, c.dropout = 0.1;
    return c;
}

static void store_all(qkv_trainer *t) {
    for (int i = 0; i < qkv_trainer_pool_size(t->pool); i++) ag_stream(t->workers[i].graph, 0);
    ag_stream(qkv_trainer_any_worker(t)->graph, 0);
}

static void assert_same_evaluation(qkv_trainer *a, qkv_trainer *b) {
    qkv_trainer_scores x, y;
    char error[QKV_IO_ERROR];
    assert_true(qkv_trainer_evaluate(a, "valid", 3, 3, &x, error));
    assert_true(qkv_trainer_evaluate(b, "valid", 3, 3, &y, error));
    double one[] = {x.loss, x.accuracy, x.answer_attention, x.distractor};
    double two[] = {y.loss, y.accuracy, y.answer_attention, y.distractor};
    assert_same_bits(one, two, sizeof one / sizeof *one);
    assert_same_bits(x.head_attention, y.head_attention, 4);
    assert_true(x.answer_attention > 0);
}

/* Trained and evaluated they are what stored ones are, on one thread and on two; who looks gets them. */
static void streaming_changes_no_bit(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        qkv_trainer *streams = trainer_on(NULL, long_one(), threads),
                    *stored = trainer_on(NULL, long_one(), 1);
        qkv_trainer_worker *w = qkv_trainer_any_worker(streams),
                           *twin = qkv_trainer_any_worker(stored);
        store_all(stored);
        steps(streams, 0, 2), steps(stored, 0, 2);
        assert_same_weights(streams, stored);
        assert_same_evaluation(streams, stored);
        assert_true(!w->weights[0]->val.x && !w->weights[1]->val.x);
        assert_true(twin->weights[0]->val.x && twin->weights[1]->val.x);
        qkv_trainer_load(streams, w, "test", 0, 1, 1);
        qkv_trainer_load(stored, twin, "test", 0, 1, 1);
        ag_set_run(w->graph, (ag_run){0}), ag_set_run(twin->graph, (ag_run){0});
        assert_true(ag_forward(w->graph) && ag_forward(twin->graph));
        for (int l = 0; l < 2; l++) {
            const ag_node *x = qkv_trainer_weights(w, l), *y = qkv_trainer_weights(twin, l);
            assert_same_bits(x->val.x, y->val.x, x->val.n);
        }
        steps(streams, 2, 3), steps(stored, 2, 3);  // on, now that they are stored
        assert_same_weights(streams, stored);
        qkv_trainer_free(streams), qkv_trainer_free(stored);
    }
}

/* ---- micro-batches ---- */

/* The gradient of step 5; malloc'd. Says how the batch was cut. */
static real *gradient_of(qkv_config c, int lanes, int *micro_batches, qkv_trainer_step *s) {
    char error[QKV_IO_ERROR];
    c.lanes = lanes;
    qkv_trainer *t = trainer_on(NULL, c, 1);
    if (!qkv_trainer_gradient(t, 5, s, error)) fail_msg("%s", error);
    size_t size = ag_params_size(qkv_trainer_params(t)) * sizeof(real);
    real *g = malloc(size);
    memcpy(g, qkv_trainer_grads(t), size);
    *micro_batches = t->micro_batches;
    qkv_trainer_free(t);
    return g;
}

static size_t size_of_model(qkv_config c) {
    qkv_trainer *t = trainer_on(NULL, c, 1);
    size_t n = ag_params_size(qkv_trainer_params(t));
    qkv_trainer_free(t);
    return n;
}

/* A batch in one piece, and cut for 2, 4 or 5 lanes with a short last micro-batch: the same sum in
 * another order. The lanes are part of the configuration because the last bits may differ. */
static void micro_batches_add_up_to_the_batch(void **state) {
    (void)state;
    qkv_config c = small();
    c.batch = 25, c.bias = true;
    static const int lanes[] = {2, 4, 5};
    int pieces;
    qkv_trainer_step whole, cut;
    real *g = gradient_of(c, 1, &pieces, &whole);
    size_t n = size_of_model(c);
    assert_int_equal(pieces, 1);
    for (int i = 0; i < 3; i++) {
        real *sum = gradient_of(c, lanes[i], &pieces, &cut);
        double error = 0, norm = 0;
        assert_true(pieces > 1);
        for (size_t k = 0; k < n; k++) {
            error += ((double)sum[k] - (double)g[k]) * ((double)sum[k] - (double)g[k]);
            norm += (double)g[k] * (double)g[k];
        }
        assert_true(norm > 0 && sqrt(error / norm) < (DOUBLE ? 1e-14 : 1e-6));
        assert_close(cut.loss, whole.loss, DOUBLE ? 1e-14 : 1e-6);
        assert_close(cut.grad_norm, sqrt(norm), DOUBLE ? 1e-14 : 1e-6);
        free(sum);
    }
    free(g);
}

/* Step 5's batch is examples 5 * batch .. of "train": evaluating them gives the step's loss. */
static void a_batch_is_the_next_examples(void **state) {
    (void)state;
    qkv_config c = small();
    char error[QKV_IO_ERROR];
    qkv_trainer_step s;
    qkv_trainer_scores e;
    c.batch = 47;
    qkv_trainer *t = trainer_on(NULL, c, 2);
    assert_true(qkv_trainer_gradient(t, 5, &s, error));
    assert_true(qkv_trainer_evaluate(t, "train", 5 * 47, 47, &e, error));
    assert_close(s.loss, e.loss, DOUBLE ? 1e-14 : 1e-6);
    assert_true(fabs(s.loss - log(32)) < 0.5);  // nothing is learned yet
    qkv_trainer_free(t);
}

/* The gradient is the derivative of the loss, from ids through micro-batches and lanes to the sum; by
 * central differences of fourth order, at some coordinates of each parameter. */
static void the_gradient_is_the_derivative(void **state) {
    (void)state;
    if (!DOUBLE) return;  // differences need doubles
    qkv_config c = small();
    char error[QKV_IO_ERROR];
    c.batch = 33, c.d_ff = 12, c.heads = 2;
    qkv_trainer *t = trainer_on(NULL, c, 1);
    ag_params *params = qkv_trainer_params(t);
    steps(t, 0, 20);
    for (int i = 0; i < ag_params_count(params); i++)
        for (size_t k = 0, n = ag_params_at(params, i)->val.n; k < n; k += n / 7 + 1) {
            static const double at[] = {-2, -1, 1, 2}, weight[] = {1, -8, 8, -1};
            const ag_param_entry *p = ag_params_at(params, i);
            real kept = p->val.x[k];
            double slope = 0, h = 1e-3;
            qkv_trainer_step s;
            for (int j = 0; j < 4; j++) {
                p->val.x[k] = kept + (real)(at[j] * h);
                assert_true(qkv_trainer_gradient(t, 20, &s, error));
                slope += weight[j] * s.loss / (12 * h);
            }
            p->val.x[k] = kept;
            assert_true(qkv_trainer_gradient(t, 20, &s, error));
            assert_close(qkv_trainer_grads(t)[p->offset + k], slope, 1e-9);
        }
    qkv_trainer_free(t);
}

/* ---- memory ---- */

static void steps_allocate_nothing(void **state) {
    (void)state;
    qkv_config c = small();
    c.dropout = 0.1, c.d_ff = 12, c.norm = NN_NORM_LAYER;
    check_allocator mem;
    check_allocator_init(&mem, 0, false);
    qkv_trainer *t = trainer_on(&mem.mem, c, 1);
    steps(t, 0, 1);
    long calls = mem.calls;
    steps(t, 1, 20);
    assert_int_equal(mem.calls, calls);
    scores_of(t);  // asks for some memory, and gives it back
    calls = mem.calls;
    long live = mem.live;
    steps(t, 20, 30);
    assert_int_equal(mem.calls, calls);
    scores_of(t);
    assert_int_equal(mem.live, live);
    qkv_trainer_free(t);
    assert_int_equal(mem.live, 0);
}

static bool trains_a_little(const tensor_allocator *mem, void *ctx) {
    const qkv_config *c = ctx;
    data_spec spec;
    qkv_config resolved = *c;
    char error[QKV_IO_ERROR] = "";
    qkv_trainer_step s;
    qkv_trainer_scores e;
    assert_true(qkv_config_resolve(&resolved, &spec, error));
    qkv_trainer *t = qkv_trainer_new(mem, &resolved, &spec, 1, error);
    bool ok = t && qkv_trainer_gradient(t, 0, &s, error) &&
              qkv_trainer_evaluate(t, "valid", 0, 20, &e, error);
    assert_int_equal(ok, error[0] == '\0');  // what fails says so
    qkv_trainer_free(t);
    return ok;
}

static void running_out_of_memory_is_an_error(void **state) {
    (void)state;
    qkv_config c = small();
    c.batch = 16;
    check_every_failure(trains_a_little, &c);
}

/* ---- evaluation, freezing ---- */

static void evaluating_leaves_no_trace(void **state) {
    (void)state;
    for (int dropout = 0; dropout < 2; dropout++) {
        qkv_config c = small();
        c.dropout = 0.2 * dropout;
        qkv_trainer *watched = trainer_on(NULL, c, 2), *alone = trainer_on(NULL, c, 2);
        for (int step = 0; step < 30; step++) {
            scores_of(watched);
            steps(watched, step, step + 1);
        }
        steps(alone, 0, 30);
        assert_same_weights(watched, alone);
        assert_same_scores(watched, alone);
        qkv_trainer_free(watched);
        qkv_trainer_free(alone);
    }
}

static void what_is_frozen_stays(void **state) {
    (void)state;
    qkv_config c = small();
    c.optimizer = QKV_OPTIM_ADAMW, c.weight_decay = 0.1;
    qkv_trainer *start = trainer_on(NULL, c, 1);
    strcpy(c.freeze, "layer0.attn.wq,embed.*");
    qkv_trainer *t = trainer_on(NULL, c, 2);
    steps(t, 0, 10);
    for (int i = 0; i < ag_params_count(qkv_trainer_params(t)); i++) {
        const ag_param_entry *p = ag_params_at(qkv_trainer_params(t), i);
        const real *was = ag_params_find(qkv_trainer_params(start), p->name)->val.x;
        bool frozen = strcmp(p->name, "layer0.attn.wq") == 0 || strncmp(p->name, "embed.", 6) == 0;
        assert_int_equal(p->frozen, frozen);
        assert_int_equal(memcmp(p->val.x, was, p->val.n * sizeof(real)) == 0, frozen);
    }
    qkv_trainer_free(start);
    qkv_trainer_free(t);
}

static void a_misspelt_freeze_is_refused(void **state) {
    (void)state;
    qkv_config c = small();
    data_spec spec;
    char error[QKV_IO_ERROR] = "";
    strcpy(c.freeze, "layer0.attn.wq,layer0.attn.qw");
    assert_true(qkv_config_resolve(&c, &spec, error));
    assert_null(qkv_trainer_new(NULL, &c, &spec, 1, error));
    assert_non_null(strstr(error, "'layer0.attn.qw'"));
}

/* ---- what has steps ---- */

/* A parameter's weights and moments, one after the other: malloc'd. */
static real *state_of(qkv_trainer *t, const char *name) {
    const ag_param_entry *p = ag_params_find(qkv_trainer_params(t), name);
    const qkv_optim *o = qkv_trainer_optim(t);
    const size_t n = p->val.n;
    real *all = malloc(3 * n * sizeof *all);
    memcpy(all, p->val.x, n * sizeof *all);
    for (size_t m = 0; m < 2; m++)
        memcpy(all + (m + 1) * n, o->moment[m] + p->offset, n * sizeof *all);
    return all;
}

static size_t size_of(qkv_trainer *t, const char *name) {
    return ag_params_find(qkv_trainer_params(t), name)->val.n;
}

/* Of a run and one that is told something: the states of W^Q before step 3, before step 6 and after it. */
static void three_states(qkv_trainer *t, real *state[3]) {
    for (int i = 0, step = 0; i < 3; i++) {
        const int until = i < 2 ? 3 * (i + 1) : 7;
        steps(t, step, until);
        step = until;
        state[i] = state_of(t, "layer0.attn.wq");
    }
}

static void free_three(real *state[3]) {
    for (int i = 0; i < 3; i++) free(state[i]);
}

/* A gradient times 0: the mean decays as it would, by no new gradient. Before the first step everything is
 * as it was, and after the last one gradients count again. */
static void a_gradient_is_scaled_in_its_steps(void **state) {
    (void)state;
    const qkv_config c = small();
    qkv_config told = c;
    strcpy(told.gradients, "layer0.attn.wq=0@3..6");
    qkv_trainer *plain = trainer_on(NULL, c, 1), *t = trainer_on(NULL, told, 2);
    const size_t n = size_of(t, "layer0.attn.wq");
    real *a[3], *b[3];
    three_states(plain, a);
    three_states(t, b);
    assert_memory_equal(a[0], b[0], 3 * n * sizeof(real));
    int other = 0;
    for (size_t i = n; i < 2 * n; i++) {
        double mean = (double)b[0][i];
        for (int step = 3; step < 6; step++) mean *= c.beta1;
        assert_close((double)b[1][i], mean, 1e-6);
        other += b[2][i] < (real)(c.beta1 * (double)b[1][i]) ||
                 b[2][i] > (real)(c.beta1 * (double)b[1][i]);
    }
    assert_true(other > (int)n / 2);
    assert_true(memcmp(a[1], b[1], n * sizeof(real)) != 0);
    free_three(a);
    free_three(b);
    qkv_trainer_free(plain);
    qkv_trainer_free(t);
}

/* Weights and moments stand still, and what stands still counts in no norm. */
static void what_is_held_stays_for_its_steps(void **state) {
    (void)state;
    qkv_config c = small(), told = c;
    strcpy(told.hold, "*.wq@3..6,embed.*@0..1");
    qkv_trainer *plain = trainer_on(NULL, c, 1), *t = trainer_on(NULL, told, 2);
    const size_t n = size_of(t, "layer0.attn.wq");
    real *a[3];
    three_states(t, a);
    assert_memory_equal(a[0], a[1], 3 * n * sizeof(real));
    for (int m = 0; m < 3; m++)
        assert_true(memcmp(a[1] + (size_t)m * n, a[2] + (size_t)m * n, n * sizeof(real)) != 0);
    qkv_trainer_step whole, held;
    char error[QKV_IO_ERROR];
    qkv_trainer_free(t);
    t = trainer_on(NULL, told, 1);
    assert_true(qkv_trainer_gradient(plain, 0, &whole, error));
    assert_true(qkv_trainer_gradient(t, 0, &held, error));
    double squares = whole.grad_norm * whole.grad_norm;
    for (int i = 0; i < ag_params_count(plain->params); i++)
        if (ag_matches("embed.*", ag_params_at(plain->params, i)->name))
            squares -= plain->squares[i];
    assert_close(held.grad_norm * held.grad_norm, squares, 1e-9);
    assert_true(held.grad_norm < whole.grad_norm);
    free_three(a);
    qkv_trainer_free(plain);
    qkv_trainer_free(t);
}

static void lists_that_make_no_sense_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *list, *text, *why;
    } bad[] = {{"hold", "*.wq@6..3", "--hold: '*.wq@6..3' ends before it begins"},
               {"hold", "*.wq@3..3", "ends before it begins"},
               {"hold", "*.wq@3..601", "'*.wq@3..601' ends after the last step, which is 600"},
               {"hold", "*.wq", "needs steps"},
               {"hold", "*.wq=1@3..6", "a name alone is meant"},
               {"hold", "*.wq@a..6", "steps are two whole numbers"},
               {"hold", "*.wq@-1..6", "steps are two whole numbers"},
               {"hold", "*.wq@1..6,*.wx@1..6", "no parameter is called '*.wx'"},
               {"gradients", "*.wq=x@1..6", "is not NAME=X"},
               {"gradients", "*.wq@1..6", "is not NAME=X"},
               {"gradients", "*.wq=-1@1..6", "is not NAME=X"},
               {"rates", "*.wq=2@1..", "steps are two whole numbers"},
               {"gains", "*.wq=2@1..6", "it holds for the whole run"},
               {"freeze", "*.wq@1..6", "it holds for the whole run"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        qkv_config c = small();
        data_spec spec;
        char error[QKV_IO_ERROR] = "";
        assert_true(
            qkv_config_set(&c, qkv_config_option_find(&c, bad[i].list), bad[i].text, error));
        assert_true(qkv_config_resolve(&c, &spec, error));
        assert_null(qkv_trainer_new(NULL, &c, &spec, 1, error));
        if (!strstr(error, bad[i].why)) fail_msg("%s: %s", bad[i].text, error);
        data_release(&spec);
    }
}

/* ---- numbers that are not finite ---- */

/* Is the first parameter with a gradient that is not finite the one that the sentence names? */
static bool names_the_culprit(qkv_trainer *t, const char *error) {
    ag_params *params = qkv_trainer_params(t);
    for (int i = 0; i < ag_params_count(params); i++) {
        const ag_param_entry *p = ag_params_at(params, i);
        for (size_t k = 0; k < p->val.n; k++)
            if (!isfinite(qkv_trainer_grads(t)[p->offset + k])) {
                char quoted[128];
                snprintf(quoted, sizeof quoted, "'%s'", p->name);
                return strstr(error, quoted) != NULL;
            }
    }
    return false;
}

static void a_gradient_that_is_not_finite_is_refused(void **state) {
    (void)state;
    static const char *const names[] = {"embed.key", "layer0.attn.wq", "layer0.attn.wv",
                                        "unembed.value"};
    static const double poison[] = {NAN, INFINITY, -INFINITY};
    qkv_trainer *t = trainer_on(NULL, small(), 2), *healthy = trainer_on(NULL, small(), 2);
    steps(t, 0, 7);
    steps(healthy, 0, 7);
    for (int i = 0; i < 12; i++) {
        real *weight = ag_params_find(qkv_trainer_params(t), names[i / 3])->val.x, kept = *weight;
        qkv_trainer_step s;
        char error[QKV_IO_ERROR] = "";
        *weight = (real)poison[i % 3];
        assert_false(qkv_trainer_gradient(t, 7, &s, error));
        assert_true(s.diverged);
        assert_true(strncmp(error, "step 7: ", 8) == 0 && names_the_culprit(t, error));
        *weight = kept;
        assert_same_weights(t, healthy);
    }
    steps(t, 7, 12);  // and it can go on
    steps(healthy, 7, 12);
    assert_same_weights(t, healthy);
    qkv_trainer_free(t);
    qkv_trainer_free(healthy);
}

/* Squares are summed in double: gradients near 1e25 have a finite norm in float, too. */
static void a_huge_gradient_is_finite(void **state) {
    (void)state;
    qkv_config c = small();
    qkv_trainer_step s;
    char error[QKV_IO_ERROR] = "";
    c.clip = 1, c.optimizer = QKV_OPTIM_SGD, c.lr = 1;
    qkv_trainer *t = trainer_on(NULL, c, 1);
    const ag_param_entry *u = ag_params_find(qkv_trainer_params(t), "unembed.value");
    for (size_t i = 0; i < u->val.n; i++) u->val.x[i] *= (real)1e25;
    real *before = weights_of(t);
    if (!qkv_trainer_gradient(t, 0, &s, error)) fail_msg("%s", error);
    assert_true(s.grad_norm > 1e22 && isfinite(s.grad_norm));
    qkv_trainer_update(t, 0, &s);  // clipped to a step of length 1
    real *after = weights_of(t);
    double moved = 0;
    for (size_t i = 0; i < u->offset; i++)
        moved += ((double)after[i] - (double)before[i]) * ((double)after[i] - (double)before[i]);
    assert_close(sqrt(moved), 1, 1e-3);
    free(before);
    free(after);
    qkv_trainer_free(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(threads_change_no_bit),
    cmocka_unit_test(streaming_changes_no_bit),
    cmocka_unit_test(micro_batches_add_up_to_the_batch),
    cmocka_unit_test(a_batch_is_the_next_examples),
    cmocka_unit_test(the_gradient_is_the_derivative),
    cmocka_unit_test(steps_allocate_nothing),
    cmocka_unit_test(running_out_of_memory_is_an_error),
    cmocka_unit_test(evaluating_leaves_no_trace),
    cmocka_unit_test(what_is_frozen_stays),
    cmocka_unit_test(a_misspelt_freeze_is_refused),
    cmocka_unit_test(a_gradient_is_scaled_in_its_steps),
    cmocka_unit_test(what_is_held_stays_for_its_steps),
    cmocka_unit_test(lists_that_make_no_sense_are_refused),
    cmocka_unit_test(a_gradient_that_is_not_finite_is_refused),
    cmocka_unit_test(a_huge_gradient_is_finite),
};
CHECK_MAIN(tests)
