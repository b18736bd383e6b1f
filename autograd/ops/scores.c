/* scores.c - where Q and K meet: y[b,h,t,s] = factor q[b,t,h] . k[b,s,h]; 0 where the mask hides s.
 * dq = factor dy k,  dk = factor dy^T q
 *
 * The factor is usually 1/sqrt(E), E the head's own width. With fewer key heads than query heads
 * (G < H), each key head serves H/G neighbouring query heads.
 * Source: Vaswani et al., "Attention Is All You Need", 2017, equation 1. Grouping: Ainslie et al.,
 * "GQA: Training Generalized Multi-Query Transformer Models", 2023. */
#include "autograd/attend.h"

typedef struct {
    int heads;
    double factor;
    ag_mask mask;
} attr;

static bool shape(ag_node *node) {
    const attr *a = node->attr;
    tensor_shape q = node->in[0]->val.shape, k = node->in[1]->val.shape;
    if (q.rank != 3 || k.rank != 3) return ag_fail(node, "q must be [B,T,H*E] and k [B,S,G*E]");
    if (q.dim[0] != k.dim[0]) return ag_fail(node, "batches of %d and %d", q.dim[0], k.dim[0]);
    if (a->heads < 1 || q.dim[2] % a->heads)
        return ag_fail(node, "%d heads do not divide width %d", a->heads, q.dim[2]);
    int E = q.dim[2] / a->heads, G = E > 0 ? k.dim[2] / E : a->heads;
    if (G < 1 || G * E != k.dim[2] || a->heads % G)
        return ag_fail(node, "k of width %d has no whole number of heads of width %d dividing %d",
                       k.dim[2], E, a->heads);
    if (!isfinite(a->factor)) return ag_fail(node, "factor %g is not finite", a->factor);
    node->val.shape = tensor_dims(4, q.dim[0], a->heads, q.dim[1], k.dim[1]);
    return true;
}

/* One head of one batch row: a plane of y. */
typedef struct {
    ag_head head;
    ptrdiff_t q, k;  // where it begins in q, and its key head in k
} place;

static place place_of(const ag_node *node, size_t plane) {
    const attr *a = node->attr;
    tensor_shape q = node->in[0]->val.shape, k = node->in[1]->val.shape;
    const int T = q.dim[1], S = k.dim[1], E = q.dim[2] / a->heads, G = E > 0 ? k.dim[2] / E : 1;
    const ptrdiff_t b = (ptrdiff_t)plane / a->heads, h = (ptrdiff_t)plane % a->heads;
    return (place){
        .head = {T, S, E, q.dim[2], k.dim[2], (real)a->factor,
                 ag_mask_of_plane(a->mask, node->val.shape, plane), ag_plane_memory(node)},
        .q = b * T * q.dim[2] + h * E,
        .k = b * S * k.dim[2] + h / (a->heads / G) * E};  // H/G heads share a key head
}

static int cols(const ag_node *node, int t) {
    return ag_mask_limit(((const attr *)node->attr)->mask, t, node->val.shape.dim[3]);
}

static size_t room(const ag_node *node) {
    const int *dim = node->val.shape.dim, heads = ((const attr *)node->attr)->heads;
    return ag_attend_room(dim[2], dim[3], node->in[0]->val.shape.dim[2] / heads,
                          node->in[1]->val.shape.dim[2]);
}

static void forward(ag_node *node, const ag_band *b) {
    const place at = place_of(node, b->plane);
    const real *q = node->in[0]->val.x, *k = node->in[1]->val.x;  // [B,T,H*E] [B,S,G*E]
    ag_attend_dots(&at.head, b, GEMM_SET, q + at.q, k + at.k, ag_band_of(node, b));
}

static void backward(ag_node *node, const ag_band *b) {
    const place at = place_of(node, b->plane);
    const real *q = node->in[0]->val.x, *k = node->in[1]->val.x;
    real *dq = ag_grad(node->in[0]), *dk = ag_grad(node->in[1]);
    const ag_strip dy = ag_band_dy(node, b);
    // What is masked is the constant 0, which has no gradient to pass on.
    ag_clear_masked(at.head.mask, b, dy);
    // y = factor q k^T
    if (dq) ag_attend_rows(&at.head, b, GEMM_ADD, dy, k + at.k, dq + at.q);
    if (dk) ag_attend_cols(&at.head, b, dy, q + at.q, dk + at.k);
}

static const ag_by_rows by_rows = {
    .forward = forward, .backward = backward, .cols = cols, .room = room};

static ag_node *sample(ag_graph *g, int i) {
    const struct {
        int B, T, S, H, G, E;
        double factor;
        ag_mask mask;
    } c[] = {{1, 1, 1, 1, 1, 1, 1, {0}},
             {2, 3, 5, 2, 2, 3, 0.6, {0}},
             {2, 4, 4, 1, 1, 5, 0.4, {.causal = true}},
             {1, 5, 5, 2, 1, 2, 0.7, {.causal = true, .no_self = true}},
             {1, 4, 4, 4, 2, 3, -0.5, {.no_self = true}},
             {2, 3, 6, 1, 1, 17, 0.2, {.memory = 4}},
             {1, 66, 66, 1, 1, 2, 0.7, {.causal = true}},
             {1, 0, 3, 1, 1, 2, 1, {0}},
             {3, 4, 5, 2, 1, 3, 0.6, {.length = ag_sample_lengths(g, 3, 5)}},
             {2, 4, 4, 2, 2, 2, 0.6, {.no_self = true, .length = ag_sample_lengths(g, 2, 4)}},
             {2, 2, 5, 2, 1, 2, 0.6, {.causal = true, .no_self = true, .first = 2}}};
    if (i == 11) {  // one node as queries and as keys
        ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 4));
        return ag_scores(x, x, 2, 0.5, (ag_mask){0});
    }
    if (i > 11) return NULL;
    ag_node *q = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, c[i].B, c[i].T, c[i].H * c[i].E));
    ag_node *k = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, c[i].B, c[i].S, c[i].G * c[i].E));
    return ag_scores(q, k, c[i].H, c[i].factor, c[i].mask);
}

static double flops(const ag_node *node) {
    return 2.0 * (double)node->val.n * tensor_width(node->in[0]->val.shape) /
           node->val.shape.dim[1];
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    ag_node *q = ag_sample_x(g, z);
    return ag_scores(q, ag_sample_x(g, z), z->H, 1, (ag_mask){.causal = true});
}

static const char *arguments(const ag_node *node) {
    const attr *a = node->attr;
    return ag_text(node->graph, "\"heads\":%d,\"factor\":%.17g,%s", a->heads, a->factor,
                   ag_text_mask(node, a->mask));
}

const ag_op ag_op_scores = {
    .name = "scores",
    .facts = AG_NO_Y,
    .shape = shape,
    .forward = ag_rows_forward,
    .backward = ag_rows_backward,
    .sample = sample,
    .rows = &by_rows,
    .flops = flops,
    .timed = timed,
    .arguments = arguments,
    .torch = "scores(x[0], x[1], heads, factor, mask)",
};

ag_node *ag_scores(ag_node *q, ag_node *k, int heads, double factor, ag_mask mask) {
    return ag_apply(&ag_op_scores, AG_IN(q, k), &(attr){heads, factor, mask}, sizeof(attr));
}
