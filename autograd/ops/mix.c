/* mix.c - where V enters: y[b,t,h] = sum over visible s of w[b,h,t,s] v[b,s,h].
 *   dw = dy v^T,  dv = w^T dy
 * w must be 0 where the mask hides s from t, as softmax leaves it. With G = kv_heads < H, each
 * value head serves H/G neighbouring heads.
 * Source: Vaswani et al., "Attention Is All You Need", 2017, equation 1. */
#include "autograd/attend.h"

typedef struct {
    int kv_heads;
    ag_mask mask;
} attr;

static bool shape(ag_node *node) {
    int G = ((const attr *)node->attr)->kv_heads;
    tensor_shape w = node->in[0]->val.shape, v = node->in[1]->val.shape;
    if (w.rank != 4 || v.rank != 3) return ag_fail(node, "w must be [B,H,T,S] and v [B,S,G*E]");
    if (w.dim[0] != v.dim[0] || w.dim[3] != v.dim[1])
        return ag_fail(node, "w and v disagree on B or S");
    if (G < 1 || w.dim[1] % G || v.dim[2] % G)
        return ag_fail(node, "%d value heads do not divide %d heads and width %d", G, w.dim[1],
                       v.dim[2]);
    if (!ag_fits_int(node, (size_t)w.dim[1] * (size_t)(v.dim[2] / G), "columns")) return false;
    node->val.shape = tensor_dims(3, w.dim[0], w.dim[2], w.dim[1] * (v.dim[2] / G));
    return true;
}

/* One head of one batch row: a plane of w. */
typedef struct {
    ag_head head;
    ptrdiff_t y, v;  // where it begins in y, and its value head in v
} place;

static place place_of(const ag_node *node, size_t plane) {
    const attr *a = node->attr;
    tensor_shape w = node->in[0]->val.shape, v = node->in[1]->val.shape;
    const int H = w.dim[1], T = w.dim[2], S = w.dim[3], E = v.dim[2] / a->kv_heads;
    const ptrdiff_t b = (ptrdiff_t)plane / H, h = (ptrdiff_t)plane % H;
    return (place){.head = {T, S, E, (ptrdiff_t)H * E, v.dim[2], 1,
                            ag_mask_of_plane(a->mask, w, plane), ag_plane_memory(node)},
                   .y = b * T * H * E + h * E,
                   .v = b * S * v.dim[2] + h / (H / a->kv_heads) * E};
}

static tensor_shape planes(const ag_node *node) { return node->in[0]->val.shape; }

static int cols(const ag_node *node, int t) {
    return ag_mask_limit(((const attr *)node->attr)->mask, t, planes(node).dim[3]);
}

static size_t room(const ag_node *node) {
    const tensor_shape w = planes(node), v = node->in[1]->val.shape;
    return ag_attend_room(w.dim[2], w.dim[3], v.dim[2] / ((const attr *)node->attr)->kv_heads,
                          v.dim[2]);
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

static ag_node *sample(ag_graph *g, int i) {
    const struct {
        int B, H, G, T, S, E;
        ag_mask mask;
    } c[] = {{1, 1, 1, 1, 1, 1, {0}},
             {2, 2, 2, 3, 5, 3, {0}},
             {2, 1, 1, 4, 4, 5, {.causal = true}},
             {1, 4, 2, 3, 3, 2, {.no_self = true}},
             {1, 2, 1, 5, 5, 2, {.causal = true, .no_self = true}},
             {2, 1, 1, 3, 6, 17, {.memory = 4}},
             {1, 1, 1, 66, 66, 2, {.causal = true}},
             {1, 1, 1, 2, 0, 3, {0}},
             {3, 2, 1, 4, 5, 3, {.length = ag_sample_lengths(g, 3, 5)}},
             {2, 2, 2, 4, 4, 2, {.no_self = true, .length = ag_sample_lengths(g, 2, 4)}},
             {2, 2, 1, 2, 5, 2, {.causal = true, .no_self = true, .first = 2}}};
    if (i >= 11) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(4, c[i].B, c[i].H, c[i].T, c[i].S));
    ag_node *v = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, c[i].B, c[i].S, c[i].G * c[i].E));
    ag_node *w = i < 2 ? x : ag_softmax(x, c[i].mask);  // where there is a mask, 0 behind it
    return ag_mix(w, v, c[i].G, c[i].mask);
}

static double flops(const ag_node *node) {
    return 2.0 * (double)node->val.n * node->in[0]->val.shape.dim[3];
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    const tensor_shape s = tensor_dims(4, z->B, z->H, z->T, z->T);
    const ag_mask causal = {.causal = true};
    ag_node *w = ag_softmax(ag_sample(g, AG_SAMPLE_NORMAL, s), causal);
    return ag_mix(w, ag_sample_x(g, z), z->H, causal);
}

static const char *arguments(const ag_node *node) {
    const attr *a = node->attr;
    return ag_text(node->graph, "\"kv_heads\":%d,%s", a->kv_heads, ag_text_mask(node, a->mask));
}

const ag_op ag_op_mix = {
    .name = "mix",
    .facts = AG_NO_Y,
    .shape = shape,
    .forward = ag_rows_forward,
    .backward = ag_rows_backward,
    .sample = sample,
    .rows = &by_rows,
    .flops = flops,
    .timed = timed,
    .arguments = arguments,
    .torch = "mix(x[0], x[1], kv_heads, mask)",
};

ag_node *ag_mix(ag_node *w, ag_node *v, int kv_heads, ag_mask mask) {
    return ag_apply(&ag_op_mix, AG_IN(w, v), &(attr){kv_heads, mask}, sizeof(attr));
}
