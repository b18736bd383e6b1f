/* stream.h - graphs that stream beside graphs that store, and how they are compared; header only, for
 * the tests of streaming. */
#ifndef TESTS_STREAM_H
#define TESTS_STREAM_H

#include <stdlib.h>
#include <string.h>

#include "autograd/graph_internal.h"
#include "layers/nn.h"
#include "tensor/rng.h"
#include "tests/lib/check.h"

typedef struct {
    check_allocator memory;
    ag_params *params;
    ag_graph *g;
} world;

static inline void open_world(world *w) {
    check_allocator_init(&w->memory, 0, false);
    w->params = ag_params_new(&w->memory.mem, 1);
    w->g = ag_graph_new(w->params);
    ag_set_run(w->g, (ag_run){.seed = 5, .step = 7, .micro_batch = 2, .training = true});
}

static inline void open_streaming(world *w) {
    open_world(w);
    ag_keep_grads(w->g, false);
    ag_stream(w->g, 1);
}

static inline void close_world(world *w) {
    if (ag_error(w->g)) fail_msg("%s", ag_error(w->g));
    ag_graph_free(w->g);
    ag_params_free(w->params);
    assert_int_equal(w->memory.live, 0);
}

static inline ag_node *leaf(ag_graph *g, const char *name, tensor_shape shape) {
    ag_node *x = ag_want_grad(ag_input(g, name, shape));
    rng r = rng_stream(3, name, 0);
    for (size_t i = 0; i < x->val.n; i++) x->val.x[i] = (real)rng_normal(&r);
    return x;
}

static inline int streamed(const ag_graph *g) {
    int n = 0;
    for (int i = 0; i < ag_count(g); i++) n += ag_own(ag_at((ag_graph *)g, i))->streamed;
    return n;
}

/* A forward and a backward pass, the cotangent from a fixed stream. */
static inline void pass(world *w, ag_node *y) {
    rng r = rng_stream(4, "cotangent", 0);
    real *c = calloc(y->val.n, sizeof *c);
    for (size_t i = 0; i < y->val.n; i++) c[i] = (real)rng_normal(&r);
    ag_grads_zero(w->g);
    assert_true(ag_forward(w->g) && ag_backward(y, c));
    free(c);
}

static inline bool same_bits(const real *a, const real *b, size_t n) {
    return n == 0 || memcmp(a, b, n * sizeof *a) == 0;
}

/* The outcome and all gradients of leaves. */
static inline bool same(const world *a, const world *b) {
    for (int i = 0; i < ag_count(a->g); i++) {
        const ag_node *x = ag_at(a->g, i), *y = ag_at(b->g, i);
        if (!x->val.x || !y->val.x) continue;
        if (!same_bits(x->val.x, y->val.x, x->val.n)) return false;
        if (x->op || !x->wants_grad) continue;
        if (x->has_grad != y->has_grad) return false;
        if (x->has_grad && !same_bits(x->grad, y->grad, x->val.n)) return false;
    }
    return true;
}

/* Records a graph that streams, runs it, and stores all of it, one node found by its name; for
 * check_every_failure(). ctx: a recorder's address. */
typedef ag_node *recorder(ag_graph *g);
static inline bool stores_all(const tensor_allocator *mem, void *ctx) {
    ag_params *params = ag_params_new(mem, 1);
    ag_graph *g = params ? ag_graph_new(params) : NULL;
    bool ok = g != NULL;
    if (ok) {
        ag_keep_grads(g, false);
        ag_stream(g, 1);
        ag_node *y = (*(recorder *const *)ctx)(g);
        ok = ag_forward(g) && ag_backward(y, NULL);
        int first = 0;
        while (first < ag_count(g) && ag_at(g, first)->val.x) first++;
        if (ok) assert_true(first < ag_count(g));
        if (ok) ag_find(g, ag_at(g, first)->name);
        for (int i = 0; ok && i < ag_count(g); i++) ok = ag_store(ag_at(g, i)) == ag_at(g, i);
        ok = ok && ag_forward(g) && ag_backward(y, NULL) && !ag_error(g);
    }
    ag_graph_free(g);
    ag_params_free(params);
    return ok;
}

static inline ag_node *of_op(ag_graph *g, const char *op) {
    for (int i = 0; i < ag_count(g); i++)
        if (ag_at(g, i)->op && strcmp(ag_at(g, i)->op->name, op) == 0) return ag_at(g, i);
    return NULL;
}

static const nn_init init = {.gain = 1, .bias = true};
static const ag_mask masks[] = {{0},
                                {.causal = true},
                                {.no_self = true},
                                {.causal = true, .no_self = true},
                                {.memory = 5},
                                {.causal = true, .memory = 70}};
enum { MASKS = sizeof masks / sizeof *masks };

/* ---- chains of ops ---- */

enum { B = 2, H = 2, E = 3, SEATS = 70 };

typedef struct {
    ag_node *q, *k, *v, *s;  // scores [B,H,T,S]
} parts;

static inline parts begin(ag_graph *g) {
    const tensor_shape s = tensor_dims(3, B, SEATS, H * E);
    parts p = {leaf(g, "q", s), leaf(g, "k", s), leaf(g, "v", s), NULL};
    p.s = ag_scores(p.q, p.k, H, 0.6, (ag_mask){.causal = true});
    return p;
}
static inline ag_node *end(parts p, ag_node *s) {
    const ag_mask causal = {.causal = true};
    return ag_mix(ag_softmax(s, causal), p.v, H, causal);
}

static inline ag_node *capped(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_scale(ag_tanh(ag_scale(p.s, 0.5)), 2));
}

static inline ag_node *two_scores(ag_graph *g) {
    const parts p = begin(g);
    const tensor_shape s = tensor_dims(3, B, SEATS, H);
    ag_node *more = ag_scores(leaf(g, "q2", s), leaf(g, "k2", s), H, 1, (ag_mask){0});
    return end(p, ag_add(ag_neg(more), ag_silu(p.s)));
}

#endif
