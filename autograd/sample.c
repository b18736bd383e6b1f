/* sample.c - leaves of the examples on which ops and layers are tested. */
#include "autograd/graph_internal.h"

ag_node *ag_sample(ag_graph *g, ag_sample_kind kind, tensor_shape shape) {
    if (!g) return NULL;
    if (g->source) return g->source(g, kind, shape, g->source_ctx);
    ag_node *leaf = ag_want_grad(ag_input(g, ag_text(g, "in%d", g->leaves.n), shape));
    for (size_t i = 0; i < leaf->val.n; i++) {
        double x =
            kind == AG_SAMPLE_POSITIVE ? 0.5 + rng_double(&g->samples) : rng_normal(&g->samples);
        if (kind == AG_SAMPLE_NO_KINK) x += x < 0 ? -0.05 : 0.05;
        leaf->val.x[i] = (real)x;
    }
    return leaf;
}

ag_node *ag_sample_x(ag_graph *g, const ag_sizes *z) {
    return z ? ag_sample(g, AG_SAMPLE_POSITIVE, tensor_dims(3, z->B, z->T, z->D)) : NULL;
}

const int *ag_sample_ids(ag_graph *g, int n, int bound, bool absent) {
    int *ids = ag_take(g, (size_t)n, sizeof *ids);
    for (int i = 0; ids && i < n; i++) {
        ids[i] = (int)rng_below(&g->samples, (uint32_t)bound);
        if (absent && rng_below(&g->samples, 4) == 0) ids[i] = -1;
    }
    return ids;
}

const int *ag_sample_lengths(ag_graph *g, int B, int S) {
    int *length = ag_take(g, (size_t)B, sizeof *length);
    for (int b = 0; length && b < B; b++) length[b] = b == 0 ? S - 2 : b == 1 ? S : 0;
    return length;
}

ag_places ag_sample_places(ag_graph *g, int B, int n, int of) {
    if (B < 1 || n < 1 || of < 1) return (ag_places){0};
    int *at = ag_take(g, (size_t)B * (size_t)n, sizeof *at);
    for (int b = 0; at && b < B; b++)
        for (int i = 0; i < n; i++)
            at[b * n + i] = b + 1 < B || i == 0 ? (i * of + b) / n % of : at[b * n];
    return (ag_places){at, n, of};
}

bool ag_sample_shape(int i, tensor_shape *shape) {
    const tensor_shape shapes[] = {
        tensor_dims(0),       tensor_dims(1, 1),       tensor_dims(1, 7), tensor_dims(1, 17),
        tensor_dims(2, 3, 4), tensor_dims(3, 2, 3, 5), tensor_dims(1, 0), tensor_dims(2, 3, 0),
        tensor_dims(2, 0, 4), tensor_dims(2, 2, 33)};
    if (!shape || i < 0 || i >= (int)(sizeof shapes / sizeof *shapes)) return false;
    *shape = shapes[i];
    return true;
}

ag_node *ag_sample_unary(ag_graph *g, ag_node *(*op)(ag_node *), int i, ag_sample_kind kind) {
    tensor_shape s;
    return op && ag_sample_shape(i, &s) ? op(ag_sample(g, kind, s)) : NULL;
}

ag_node *ag_sample_masked(ag_graph *g, ag_node *(*op)(ag_node *, ag_mask), int i) {
    if (!g || !op) return NULL;
    const struct {
        tensor_shape shape;
        ag_mask mask;
    } c[] = {{tensor_dims(1, 7), {0}},
             {tensor_dims(1, 1), {0}},
             {tensor_dims(2, 3, 17), {0}},
             {tensor_dims(3, 2, 3, 5), {.memory = 3}},
             {tensor_dims(4, 1, 2, 4, 4), {.causal = true}},
             {tensor_dims(3, 2, 5, 5), {.causal = true, .no_self = true}},
             {tensor_dims(3, 1, 4, 6), {.no_self = true}},
             {tensor_dims(2, 2, 33), {0}},
             {tensor_dims(2, 0, 4), {0}},
             {tensor_dims(2, 3, 0), {0}},
             {tensor_dims(4, 3, 2, 3, 5), {.length = ag_sample_lengths(g, 3, 5)}},
             {tensor_dims(3, 2, 4, 4), {.no_self = true, .length = ag_sample_lengths(g, 2, 4)}},
             {tensor_dims(3, 2, 2, 5), {.causal = true, .no_self = true, .first = 2}},
             {tensor_dims(3, 2, 3, 50), {.length = ag_sample_lengths(g, 2, 50)}},
             {tensor_dims(2, 2, 70), {0}},
             {tensor_dims(4, 2, 2, 3, 7),
              {.causal = true, .no_self = true, .places = ag_sample_places(g, 2, 3, 7)}}};
    if (i >= (int)(sizeof c / sizeof *c)) return NULL;
    return op(ag_sample(g, AG_SAMPLE_NORMAL, c[i].shape), c[i].mask);
}

/* ---- a call to be timed ---- */

/* Of a sample: its node of that op. */
static ag_node *node_of(ag_graph *g, const ag_op *op) {
    for (int i = ag_count(g) - 1; i >= 0; i--)
        if (ag_at(g, i)->op == op) return ag_at(g, i);
    return NULL;
}

/* y[i] is made of the inputs alone and is as large as each of them: any size will do. */
static bool fits_any_size(const ag_node *node) {
    for (int k = 0; k < node->n_in; k++)
        if (!tensor_same_shape(node->in[k]->val.shape, node->val.shape)) return false;
    return !node->attr && node->val.shape.rank > 0 && node->val.n > 0;
}

/* The largest of the samples; its number, or -1. *any: one that fits any size, or -1. */
static int largest_sample(ag_graph *g, const ag_op *op, int *any) {
    int largest = -1;
    size_t most = 0;
    *any = -1;
    for (int i = 0; op->sample && op->sample(g, i) && !ag_error(g); i++, ag_graph_reset(g)) {
        const ag_node *node = node_of(g, op);
        size_t size = node ? node->val.n : 0;
        for (int k = 0; node && k < node->n_in; k++) size += node->in[k]->val.n;
        if (node && (largest < 0 || size > most)) largest = i, most = size;
        if (node && fits_any_size(node)) *any = i;
    }
    ag_graph_reset(g);
    return largest;
}

ag_node *ag_sample_timed(ag_graph *g, const ag_op *op, const ag_sizes *z) {
    enum { MOST_IN = 16 };
    if (!op || !z) return NULL;
    if (op->timed) {
        op->timed(g, z);
        return node_of(g, op);
    }
    int any, largest = largest_sample(g, op, &any);
    if (any >= 0) {
        ag_node *in[MOST_IN];
        op->sample(g, any);
        const int n = node_of(g, op)->n_in;
        ag_graph_reset(g);
        for (int k = 0; k < n && k < MOST_IN; k++) in[k] = ag_sample_x(g, z);
        ag_node *node = n <= MOST_IN ? ag_apply(op, n, in, NULL, 0) : NULL;
        if (node && !ag_error(g)) return node;
        ag_graph_reset(g);
    }
    return largest >= 0 && op->sample(g, largest) ? node_of(g, op) : NULL;
}
