/* gradcheck_memory.c - an op may say that its values and gradients need not all be kept: that y may stand
 * where x did, that y is not needed again, that a few rows at a time will do. Does it do what it says?
 *
 * Each sample is recorded twice, stored and as training records it, its inputs being results that may
 * go, and somebody reading y who lets it go. Both must give the same bits. */
#include <math.h>
#include <stdio.h>

#include "autograd/gradcheck_internal.h"

typedef struct {
    const char *words;                                                       // of what is found
    ag_node *(*make)(ag_graph *g, ag_sample_kind kind, tensor_shape shape);  // an input
    ag_node *(*read)(ag_node *y);
    bool by_rows;  // asked of ops that can be run by rows alone
} way;

static ag_node *leaf(ag_graph *g, ag_sample_kind kind, tensor_shape shape) {
    return ag_sample(g, kind, shape);
}
static ag_node *sum(ag_graph *g, ag_sample_kind kind, tensor_shape shape) {
    ag_node *first = ag_sample(g, kind, shape);
    return ag_add(first, ag_sample(g, kind, shape));
}
static ag_node *weights(ag_graph *g, ag_sample_kind kind, tensor_shape shape) {
    ag_node *scores = ag_sample(g, kind, shape);
    return shape.rank < 2 ? scores : ag_softmax(scores, (ag_mask){0});
}
static ag_node *itself(ag_node *y) { return y; }
static ag_node *relu(ag_node *y) { return ag_relu(y); }
static ag_node *softmax(ag_node *y) {
    return y->val.shape.rank < 2 ? y : ag_softmax(y, (ag_mask){0});
}

static const way ways[] = {
    {"y stands where an input stood, or the input's gradient where y's did", sum, itself, false},
    {"something else stands where y stood", leaf, relu, false},
    {"values before and behind it are written over", sum, relu, false},
    {"it is run by rows", weights, softmax, true},
    {"it is run by rows, from a stored input", leaf, softmax, true},
    {"it is run by rows, from a sum", sum, softmax, true}};

static ag_node *made(ag_graph *g, ag_sample_kind kind, tensor_shape shape, void *ctx) {
    const way *w = ctx;
    g->source = NULL;  // its own leaves are leaves
    ag_node *in = w->make(g, kind, shape);
    g->source = made;
    return in;
}

/* What is not kept is no number, for who reads it all the same. */
static bool spoil(ag_graph *g) {
    for (int i = 0; i < g->nodes.n; i++) {
        ag_node *node = g->nodes.at[i];
        if (!ag_own(node)->taker) continue;
        node->val.x = ag_take(g, node->val.n, sizeof(real));
        for (size_t k = 0; node->val.x && k < node->val.n; k++) node->val.x[k] = (real)NAN;
    }
    return !g->failed;
}

/* Records the sample, runs it, and leaves y and all gradients of leaves in *out. */
static bool run(ag_check *c, const way *w, bool shares, tensor_arena *arena, real **out) {
    if (!ag_check_begin(c, -1)) return false;
    ag_keep_grads(c->graph, !shares);
    ag_stream(c->graph, shares ? 1 : 0);
    c->graph->source = made;
    c->graph->source_ctx = (void *)(size_t)w;
    ag_node *y = c->sample(c->graph, c->i);
    c->graph->source = NULL;
    c->root = y && !ag_error(c->graph) ? w->read(y) : NULL;
    if (!c->root || ag_error(c->graph) || !ag_store(c->root) || !ag_forward(c->graph)) return false;
    const size_t n = c->root->val.n;
    *out = tensor_arena_reals(arena, n + ag_check_leaf_reals(c));
    if (!*out) return false;
    memcpy(*out, c->root->val.x, n * sizeof(real));
    if (!spoil(c->graph)) return false;
    ag_check_gradients(c, c->cotangent[0], 1, *out + n);
    return !ag_error(c->graph);
}

/* The first number that differs, and whose it is. */
static bool same(ag_check *c, const way *w, const real *stored, const real *shared) {
    const char *name = c->root->name, *what = "value";
    size_t n = c->root->val.n;
    for (int i = -1; i < c->graph->leaves.n; i++) {
        if (i >= 0) name = ag_check_leaf(c, i)->name, n = ag_check_leaf(c, i)->val.n;
        if (i >= 0) what = "gradient";
        for (size_t k = 0; k < n; k++) {
            char format[200];
            if (ag_check_same_bits(stored + k, shared + k, 1)) continue;
            snprintf(format, sizeof format,
                     "%s %%g, but %%g when %s: its descriptor claims too much", what, w->words);
            return ag_check_fail(c, format, name, k, (double)stored[k], (double)shared[k]);
        }
        stored += n, shared += n;
    }
    return true;
}

static bool may_run_by_rows(const ag_check *c) {
    return !c->op || c->op->facts & AG_ELEMENTWISE || ag_fast_of(c->graph, c->op)->rows;
}

bool ag_check_memory(ag_check *c) {
    tensor_arena *arena = tensor_arena_new(NULL);
    const size_t n = c->root->val.n;
    bool ok = arena != NULL && n > 0;
    for (size_t i = 0; ok && i < sizeof ways / sizeof *ways; i++) {
        real *stored = NULL, *shared = NULL;
        if (ways[i].by_rows && !may_run_by_rows(c)) continue;
        if (!run(c, &ways[i], false, arena, &stored))
            continue;  // no such sample can be made of these
        ok = run(c, &ways[i], true, arena, &shared)
                 ? same(c, &ways[i], stored, shared)
                 : ag_check_fail(c, "cannot be run as training runs it", "", 0, 0, 0);
        tensor_arena_reset(arena);
    }
    tensor_arena_free(arena);
    return ok || n == 0;
}
