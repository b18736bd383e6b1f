/* builder.c - where the samples' leaves come from. */
#include "tests/referee/builder.h"

#include "autograd/graph_internal.h"

int below(builder *b, int n) { return n < 1 ? 0 : (int)rng_below(&b->random, (uint32_t)n); }

bool chance(builder *b, int k, int of) { return below(b, of) < k; }

/* ---- leaves ---- */

/* A parameter (some are frozen), an input that learns, or a constant. An exact one holds multiples
 * of 1/2: ties and zeros. */
static ag_node *leaf(builder *b, tensor_shape s, bool exact) {
    const char *name = ag_text(b->graph, "leaf%d", b->leaves++);
    ag_node *x;
    if (chance(b, 1, 2)) {
        if (chance(b, 1, 10)) ag_params_freeze_matching(b->params, name);
        x = ag_param(b->graph, name, s, (ag_init){.kind = AG_ZEROS});
    } else {
        x = ag_input(b->graph, name, s);
        if (chance(b, 4, 5)) ag_want_grad(x);
    }
    for (size_t i = 0; i < x->val.n; i++)
        x->val.x[i] = (real)(exact ? (below(b, 7) - 3) / 2.0 : rng_normal(&b->random));
    return x;
}

/* A tied parameter is asked for again by its name, as layers do. */
static ag_node *again(ag_node *x) {
    return x->param ? ag_param(x->graph, x->name, x->val.shape, (ag_init){.kind = AG_ZEROS}) : x;
}

/* ---- nodes that are there ---- */

static double least(const ag_node *x, bool absolute) {
    double least = INFINITY;
    for (size_t i = 0; i < x->val.n; i++) {
        double v = absolute ? fabs((double)x->val.x[i]) : (double)x->val.x[i];
        if (!(v >= least)) least = v;  // NaN too
    }
    return least;
}

/* Large numbers would turn rounding into differences, and are left unused. */
static bool is_usable(const ag_node *x) {
    enum { MOST_ELEMENTS = 300 };
    for (size_t i = 0; i < x->val.n; i++)
        if (!(fabs((double)x->val.x[i]) <= 10)) return false;
    return x->val.n <= MOST_ELEMENTS;
}

/* A node of that shape, the recent ones first; else the first numbers of a larger one; or NULL. */
static ag_node *there_is(builder *b, tensor_shape s, size_t n) {
    const int count = ag_count(b->graph);
    ag_node *larger = NULL;
    for (int i = count - 1 -
                 below(b, chance(b, 1, 2) ? count
                          : count < 6     ? count
                                          : 6);
         i >= 0; i--) {
        ag_node *x = ag_at(b->graph, i);
        if (!is_usable(x)) continue;
        if (tensor_same_shape(x->val.shape, s)) return again(x);
        if (!larger && n > 0 && x->val.n >= n && chance(b, 1, 3)) larger = x;
    }
    if (!larger || chance(b, 1, 4)) return NULL;
    ag_node *flat = ag_reshape(again(larger), tensor_dims(1, (int)larger->val.n));
    return ag_reshape(flat->val.n > n ? ag_slice(flat, 0, 0, (int)n) : flat, s);
}

/* ---- what a sample needs its leaves to be like ---- */

static bool is_distinct(const ag_node *x) {
    for (size_t i = 0; i < x->val.n; i++)
        for (size_t j = 0; j < i; j++)
            if (!(fabs((double)(x->val.x[i] - x->val.x[j])) > 1e-6)) return false;
    return true;
}

static ag_node *positive(builder *b, ag_node *x) {
    if (least(x, false) >= 0.04) return x;
    if (chance(b, 1, 3)) return ag_exp(ag_tanh(x));
    if (chance(b, 1, 2)) return ag_sigmoid(ag_tanh(x));
    ag_node *one = ag_input(b->graph, ag_text(b->graph, "leaf%d", b->leaves++), tensor_dims(0));
    ag_want_grad(one)->val.x[0] = (real)(0.5 + rng_double(&b->random));
    return ag_add(ag_mul(x, x), one);
}

/* Where the slope jumps, one rounding would decide: there values are either far from 0 and from each
 * other, or exact. */
static ag_node *source(ag_graph *g, ag_sample_kind kind, tensor_shape s, void *ctx) {
    builder *b = ctx;
    size_t n = 0;
    if (b->elements) return leaf(b, b->elements > 0 ? tensor_dims(1, b->elements) : s, false);
    if (!tensor_count(s, &n)) return ag_fail_graph(g, "a sample of a bad shape");
    ag_node *x = chance(b, 1, 8) ? NULL : there_is(b, s, n);
    if (!x) x = leaf(b, s, b->has_kinks && chance(b, 1, 3));
    if (b->has_kinks && x->op && !(least(x, true) > 1e-6 && is_distinct(x))) x = leaf(b, s, true);
    return kind == AG_SAMPLE_POSITIVE ? positive(b, x) : x;
}

bool add_sample(builder *b, const ag_op *op, int i) {
    ag_graph *g = b->graph;
    g->source = source;
    g->source_ctx = b;
    g->samples = rng_stream(rng_u32(&b->random), "ids", 0);
    b->has_kinks = op->facts & AG_KINKS;
    bool there = op->sample(g, i);
    ag_set_run(g, b->run);  // a sample of a dropout may have set another
    return there && ag_forward(g);
}
