/* Exact facts about the gradients of attention, which say what teaches what; and the convex hull.
 */
#include <math.h>
#include <string.h>

#include "tests/lib/check.h"
#include "train/trainer/trainer.h"

enum { Q, K, V, O, MATRICES };
static const char *const names[MATRICES] = {"layer0.attn.wq", "layer0.attn.wk", "layer0.attn.wv",
                                            "layer0.attn.wo"};

static qkv_trainer *trainer_of(qkv_config c) {
    data_spec spec;
    char error[QKV_IO_ERROR] = "";
    if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s", error);
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, 1, error);
    if (!t) fail_msg("%s", error);
    return t;
}

static qkv_config default_config(void) {
    qkv_config c;
    qkv_config_default(&c);
    return c;
}

static ag_param_entry *param(qkv_trainer *t, int matrix) {
    return ag_params_find(qkv_trainer_params(t), names[matrix]);
}

static void set_zero(qkv_trainer *t, const char *name) {
    tensor x = ag_params_find(qkv_trainer_params(t), name)->val;
    memset(x.x, 0, x.n * sizeof *x.x);
}

static void gradient(qkv_trainer *t, int step) {
    qkv_trainer_step s;
    char error[QKV_IO_ERROR] = "";
    if (!qkv_trainer_gradient(t, step, &s, error)) fail_msg("%s", error);
}

/* The norm of the gradient of one matrix. */
static double taught(qkv_trainer *t, int matrix) {
    const ag_param_entry *p = param(t, matrix);
    double sum = 0;
    for (size_t i = 0; i < p->val.n; i++)
        sum += pow((double)qkv_trainer_grads(t)[p->offset + i], 2);
    return sqrt(sum);
}

static void content_is_taught_first(void **state) {
    (void)state;
    for (int seed = 1; seed <= 5; seed++) {
        qkv_config c = default_config();
        c.seed = seed;
        qkv_trainer *t = trainer_of(c);
        gradient(t, 0);
        double matching = fmax(taught(t, Q), taught(t, K));
        assert_true(fmin(taught(t, V), taught(t, O)) > 3 * matching);  // measured: 6 times
        qkv_trainer_free(t);
    }
}

/* With these matrices zero, exactly those are taught nothing. */
typedef struct {
    const char *zero[2];
    bool silent[MATRICES];
} fact;

static const fact facts[] = {
    // W^V = 0: all values are equal, so where to look makes no difference (dL/ds_j = A_j (v_j -
    // o).g
    // with v_j = o); and what reaches W^O is 0.
    {{"layer0.attn.wv"}, {[Q] = true, [K] = true, [O] = true}},
    // W^O = 0: nothing that attention does reaches the loss; only W^O sees what it could use.
    {{"layer0.attn.wo"}, {[Q] = true, [K] = true, [V] = true}},
    // W^Q = 0: every question is 0, so no key can make a difference yet; the questions can.
    {{"layer0.attn.wq"}, {[K] = true}},
    {{"layer0.attn.wk"}, {[Q] = true}},
    // Both 0: each waits for the other, while V and O learn under uniform attention.
    {{"layer0.attn.wq", "layer0.attn.wk"}, {[Q] = true, [K] = true}},
    // Both 0 in the content line: the same there, and the matching line waits as well.
    {{"layer0.attn.wv", "layer0.attn.wo"}, {true, true, true, true}},
    // U = 0: no answer differs from another, whatever comes in.
    {{"unembed.value"}, {true, true, true, true}},
};

static void some_gradients_are_exactly_zero(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        for (int heads = 1; heads <= 4; heads *= 2) {
            qkv_config c = default_config();
            c.heads = heads;
            qkv_trainer *t = trainer_of(c);
            for (int z = 0; z < 2 && facts[i].zero[z]; z++) set_zero(t, facts[i].zero[z]);
            gradient(t, 0);
            for (int m = 0; m < MATRICES; m++)
                if ((taught(t, m) == 0) != facts[i].silent[m])
                    fail_msg("%s = 0: the gradient of %s has norm %g", facts[i].zero[0], names[m],
                             taught(t, m));
            qkv_trainer_free(t);
        }
}

/* W^Q = W^K = 0 is a point that no gradient leads away from: with it attention stays uniform for
 * ever, however much V and O learn. */
static void matching_cannot_start_from_nothing(void **state) {
    (void)state;
    qkv_trainer *t = trainer_of(default_config());
    set_zero(t, names[Q]);
    set_zero(t, names[K]);
    for (int step = 0; step < 50; step++) {
        qkv_trainer_step s;
        char error[QKV_IO_ERROR] = "";
        assert_true(qkv_trainer_gradient(t, step, &s, error));
        qkv_trainer_update(t, step, &s);
    }
    for (int m = Q; m <= K; m++)
        for (size_t i = 0; i < param(t, m)->val.n; i++) assert_true(param(t, m)->val.x[i] == 0);
    gradient(t, 50);
    assert_true(taught(t, V) > 0 && taught(t, O) > 0);
    qkv_trainer_free(t);
}

/* ---- the convex hull ---- */

static double along(const real *direction, const real *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)direction[i] * (double)x[i];
    return sum;
}

/* For every query t of example b: the head's result lies, in direction u, between the least and the
 * greatest of the values that t sees. */
static void check_hull(qkv_trainer *t, int b, int head, const real *u) {
    ag_graph *g = qkv_trainer_any_worker(t)->graph;
    const qkv_config *c = qkv_trainer_config(t);
    const ag_node *v = ag_find(g, "layer0.attn.v"), *mix = ag_find(g, "layer0.attn.mix");
    int T = qkv_trainer_spec(t)->side[DATA_SEQUENCE].T, E = c->d_v;
    int of = head / (c->heads / c->kv_heads);  // its value head
    for (int q = 0; q < T; q++) {
        double least = INFINITY, greatest = -INFINITY;
        for (int s = 0; s <= q; s++) {
            double x = along(u, v->val.x + ((b * T + s) * c->kv_heads + of) * E, E);
            least = fmin(least, x), greatest = fmax(greatest, x);
        }
        double y = along(u, mix->val.x + ((b * T + q) * c->heads + head) * E, E);
        assert_true(y >= least - 1e-4 && y <= greatest + 1e-4);
        if (q == 0) assert_close(y, least, 1e-4);  // it sees itself alone
    }
}

static void attention_stays_in_the_convex_hull(void **state) {
    (void)state;
    qkv_config c = default_config();
    c.heads = 4, c.kv_heads = 2;
    qkv_trainer *t = trainer_of(c);
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    rng r = rng_seed(1, 1);
    for (int step = 0; step < 150; step++) {
        qkv_trainer_step s;
        char error[QKV_IO_ERROR] = "";
        assert_true(qkv_trainer_gradient(t, step, &s, error));
        qkv_trainer_update(t, step, &s);
    }
    qkv_trainer_load(t, w, "valid", 0, w->B, w->B);
    assert_true(ag_forward(w->graph));
    for (int trial = 0; trial < 200; trial++) {
        real u[8];
        for (int i = 0; i < 8; i++) u[i] = (real)rng_normal(&r);
        for (int b = 0; b < w->B; b++) check_hull(t, b, trial % 4, u);
    }
    qkv_trainer_free(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(content_is_taught_first),
    cmocka_unit_test(some_gradients_are_exactly_zero),
    cmocka_unit_test(matching_cannot_start_from_nothing),
    cmocka_unit_test(attention_stays_in_the_convex_hull),
};
CHECK_MAIN(tests)
