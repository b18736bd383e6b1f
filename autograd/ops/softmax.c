/* softmax.c - y[s] = exp(x[s] - max) / sum over visible s of exp(x[s] - max), over the last
 * dimension.
 *   dx = y (dy - sum of y dy)
 * Masked entries are neither read nor written through: their weight is exactly 0. A row that sees
 * nothing (or only -infinity) is all zeros; NaN stays NaN. The query's number, which the mask
 * wants, is the index in the dimension before the last; the batch row is that in the first. */
#include "autograd/weigh.h"

typedef struct {
    ag_mask mask;
} attr;

static ag_mask mask_of(const ag_node *node) { return ((const attr *)node->attr)->mask; }
static bool shape(ag_node *node) { return ag_weigh_shape(node, mask_of(node)); }
static int cols(const ag_node *node, int t) { return ag_weigh_cols(node, mask_of(node), t); }

/* The same for S <= VEC without loops: such rows are what toy attention has, and take half the time.
 * `room` is how much of y is not written yet: a whole vector is stored where there is room. */
VEC_INLINE bool short_row(const real *x, int n, real *y, int room) {
    const vreal v = vec_load_part(x, n, (real)-INFINITY), e = vec_exp(v - vec_greatest(v));
    const real sum = vec_sum(e);
    vec_store_upto(y, room, e * (1 / sum));
    return sum > 0;
}

static void short_rows(ag_strip x, const ag_band *b, ag_mask mask, ag_strip y) {
    ptrdiff_t left = (b->n - 1) * y.ld + b->cols;
    for (int r = 0; r < b->n; r++, x.x += x.ld, y.x += y.ld, left -= y.ld) {
        real keep[2];
        const int room = left > VEC ? VEC : (int)left;
        if (short_row(x.x, ag_mask_limit(mask, b->t + r, b->cols), y.x, room)) continue;
        const ag_sight s = ag_sight_of(mask, b->t + r, b->cols);
        ag_weigh(x.x, b->cols, &s, (real)-INFINITY, y.x, keep);
    }
}

static void forward(ag_node *node, const ag_band *b) {
    const ag_mask mask = ag_mask_of_plane(mask_of(node), node->val.shape, b->plane);
    const ag_strip x = ag_band_of(node->in[0], b), y = ag_band_of(node, b);
    real *kept = ag_kept_rows(node, b);
    if (b->cols <= VEC && x.x != y.x && !mask.no_self && !kept)
        short_rows(x, b, mask, y);
    else
        ag_weigh_band(x, b, mask, (real)-INFINITY, y, kept);
}

static void backward(ag_node *node, const ag_band *b) {
    bool first;
    const ag_strip y = ag_band_of(node, b), dy = ag_band_dy(node, b);
    const ag_strip dx = ag_band_grad(node->in[0], b, &first);
    ag_weigh_back(y, dy, b, ag_mask_of_plane(mask_of(node), node->val.shape, b->plane), first, dx);
}

static const ag_by_rows by_rows = {.forward = forward,
                                   .backward = backward,
                                   .cols = cols,
                                   .keeps = 2,
                                   .in_place = true,
                                   .reads_y = true};

static ag_node *sample(ag_graph *g, int i) {
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
             {tensor_dims(3, 2, 2, 5), {.causal = true, .no_self = true, .first = 2}}};
    if (i >= 13) return NULL;
    return ag_softmax(ag_sample(g, AG_SAMPLE_NORMAL, c[i].shape), c[i].mask);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    const tensor_shape s = tensor_dims(4, z->B, z->H, z->T, z->T);
    return ag_softmax(ag_sample(g, AG_SAMPLE_NORMAL, s), (ag_mask){.causal = true});
}

static const char *arguments(const ag_node *node) { return ag_text_mask(node, mask_of(node)); }

const ag_op ag_op_softmax = {
    .name = "softmax",
    .shape = shape,
    .forward = ag_rows_forward,
    .backward = ag_rows_backward,
    .sample = sample,
    .rows = &by_rows,
    .timed = timed,
    .arguments = arguments,
    .torch = "softmax(x[0], mask)",
};

ag_node *ag_softmax(ag_node *x, ag_mask mask) {
    return ag_apply(&ag_op_softmax, AG_IN(x), &(attr){mask}, sizeof(attr));
}
