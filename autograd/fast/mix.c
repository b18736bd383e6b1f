/* mix.c - where V enters, by bands, in matrix products. */
#include "autograd/fast/attend.h"

/* One head of one batch row: a plane of w. */
typedef struct {
    ag_head head;
    ptrdiff_t y, v;  // where it begins in y, and its value head in v
} place;

static place place_of(const ag_node *node, size_t plane) {
    const ag_mix_attr *a = node->attr;
    tensor_shape w = node->in[0]->val.shape, v = node->in[1]->val.shape;
    const int H = w.dim[1], T = w.dim[2], S = w.dim[3], E = v.dim[2] / a->kv_heads;
    const ptrdiff_t b = (ptrdiff_t)plane / H, h = (ptrdiff_t)plane % H;
    return (place){.head = {T, S, E, (ptrdiff_t)H * E, v.dim[2], 1, ag_mask_row(a->mask, (int)b),
                            ag_plane_memory(node)},
                   .y = b * T * H * E + h * E,
                   .v = b * S * v.dim[2] + (a->kv_heads == H ? h : h / (H / a->kv_heads)) * E};
}

static tensor_shape planes(const ag_node *node) { return node->in[0]->val.shape; }

static int cols(const ag_node *node, int t) {
    return ag_mask_cols(((const ag_mix_attr *)node->attr)->mask, t, planes(node).dim[3]);
}

static size_t room(const ag_node *node) {
    const tensor_shape w = planes(node), v = node->in[1]->val.shape;
    return ag_attend_room(w.dim[2], w.dim[3],
                          v.dim[2] / ((const ag_mix_attr *)node->attr)->kv_heads, v.dim[2]);
}

static void forward(ag_node *node, const ag_band *b) {
    const place at = place_of(node, b->plane);
    const real *v = node->in[1]->val.x;  // [B,S,G*E]
    ag_attend_rows(&at.head, b, GEMM_SET, ag_band_of(node->in[0], b), v + at.v, node->val.x + at.y);
}

static void backward(ag_node *node, const ag_band *b) {
    const place at = place_of(node, b->plane);
    const real *v = node->in[1]->val.x, *dy = node->grad;
    bool first;
    const ag_strip dw = ag_band_grad(node->in[0], b, &first);
    real *dv = ag_grad(node->in[1]);
    // y = w v
    if (dw.x) ag_attend_dots(&at.head, b, first ? GEMM_SET : GEMM_ADD, dy + at.y, v + at.v, dw);
    if (dv) ag_attend_cols(&at.head, b, ag_band_of(node->in[0], b), dy + at.y, dv + at.v);
}

static const ag_by_rows by_rows = {
    .forward = forward, .backward = backward, .planes = planes, .cols = cols, .room = room};

const ag_fast ag_fast_mix = {
    .op = &ag_op_mix, .forward = ag_rows_forward, .backward = ag_rows_backward, .rows = &by_rows};
