/* scores.c - where Q and K meet, by bands, in matrix products. */
#include "autograd/fast/attend.h"

/* One head of one batch row: a plane of y. */
typedef struct {
    ag_head head;
    ptrdiff_t q, k;  // where it begins in q, and its key head in k
} place;

static place place_of(const ag_node *node, size_t plane) {
    const ag_scores_attr *a = node->attr;
    tensor_shape q = node->in[0]->val.shape, k = node->in[1]->val.shape;
    const int T = q.dim[1], S = k.dim[1], E = q.dim[2] / a->heads, G = E > 0 ? k.dim[2] / E : 1;
    const ptrdiff_t b = (ptrdiff_t)plane / a->heads, h = (ptrdiff_t)plane % a->heads;
    return (place){.head = {T, S, E, q.dim[2], k.dim[2], (real)a->factor,
                            ag_mask_row(a->mask, (int)b), ag_plane_memory(node)},
                   .q = b * T * q.dim[2] + h * E,
                   .k = b * S * k.dim[2] +
                        (G == a->heads ? h : h / (a->heads / G)) * E};  // H/G heads share one
}

static int cols(const ag_node *node, int t) {
    return ag_mask_cols(((const ag_scores_attr *)node->attr)->mask, t, node->val.shape.dim[3]);
}

static size_t room(const ag_node *node) {
    const int *dim = node->val.shape.dim, heads = ((const ag_scores_attr *)node->attr)->heads;
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

const ag_fast ag_fast_scores = {.op = &ag_op_scores,
                                .forward = ag_rows_forward,
                                .backward = ag_rows_backward,
                                .rows = &by_rows};
