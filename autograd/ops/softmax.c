/* softmax.c - y[s] = exp(x[s] - max) / sum over visible s of exp(x[s] - max), over the last
 * dimension.
 *   dx = y (dy - sum of y dy)
 * Masked entries are neither read nor written through: their weight is exactly 0. A row that sees
 * nothing (or only -infinity) is all zeros; NaN stays NaN. The query's number, which the mask
 * wants, is the index in the dimension before the last; the batch row is that in the first. */
#include "autograd/attend.h"
#include "autograd/row.h"

typedef struct {
    ag_mask mask;
} attr;

static bool shape(ag_node *node) {
    ag_mask m = ((const attr *)node->attr)->mask;
    tensor_shape x = node->in[0]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar has no rows");
    if (!ag_mask_fits(node, m, x)) return false;
    node->val.shape = x;
    return true;
}

/* A row that sees nothing, or only -infinity, is zero; one with NaN or +infinity is NaN. */
static void odd_row(const real *x, int S, int ranges, const int *begin, const int *end, real *y) {
    bool nothing = true;
    for (int i = 0; i < ranges; i++)
        for (int k = begin[i]; k < end[i]; k++) nothing = nothing && x[k] == (real)-INFINITY;
    row_zero(y, S);
    for (int i = 0; i < ranges && !nothing; i++)
        for (int k = begin[i]; k < end[i]; k++) y[k] = (real)NAN;
}

static void row(const real *x, int S, ag_mask mask, int t, real *y) {
    real max = (real)-INFINITY, sum = 0;
    int begin[2], end[2], ranges = ag_visible(mask, t, S, begin, end), written = 0;
    for (int i = 0; i < ranges; i++) max = row_max(x + begin[i], end[i] - begin[i], max);
    for (int i = 0; i < ranges; i++) {
        row_zero(y + written, begin[i] - written);
        sum += row_exp(x + begin[i], end[i] - begin[i], max, y + begin[i], S - begin[i]);
        written = end[i];
    }
    row_zero(y + written, S - written);
    if (sum > 0)
        row_scale(y, S, 1 / sum);
    else  // all is -infinity, or something is NaN or infinity
        odd_row(x, S, ranges, begin, end, y);
}

/* The same for S <= VEC without loops: such rows are what toy attention has, and take half the time.
 * `room` is how much of y is not written yet: a whole vector is stored where there is room. */
VEC_INLINE bool short_row(const real *x, int n, real *y, int room) {
    const vreal v = vec_load_part(x, n, (real)-INFINITY), e = vec_exp(v - vec_greatest(v));
    const real sum = vec_sum(e);
    vec_store_upto(y, room, e * (1 / sum));
    return sum > 0;
}

static void forward(ag_node *node) {
    const ag_mask mask = ((const attr *)node->attr)->mask;
    const tensor_shape s = node->val.shape;
    const int S = tensor_width(s), T = s.rank > 1 ? s.dim[s.rank - 2] : 1;
    const real *x = node->in[0]->val.x;
    real *y = node->val.x;
    ag_mask seen = mask;
    int t = 0;
    for (size_t left = node->val.n; left > 0; left -= (size_t)S, x += S, y += S) {
        const bool fits = S <= VEC && !mask.no_self;
        const int room = left > VEC ? VEC : (int)left;
        if (t == 0) seen = ag_mask_at(mask, s, (node->val.n - left) / (size_t)S);
        if (!fits || !short_row(x, ag_mask_limit(seen, t, S), y, room)) row(x, S, seen, t, y);
        if (++t == T) t = 0;
    }
}

static void backward(ag_node *node) {
    ag_mask mask = ((const attr *)node->attr)->mask;
    tensor_shape s = node->val.shape;
    int S = tensor_width(s), T = s.rank > 1 ? s.dim[s.rank - 2] : 1, begin[2], end[2];
    size_t rows = tensor_rows(s);
    bool first = false;
    real *DX = ag_grad_or_first(node->in[0], &first);
    for (size_t r = 0; r < rows; r++) {
        const real *y = node->val.x + r * (size_t)S, *dy = node->grad + r * (size_t)S;
        real *dx = DX + r * (size_t)S, mean = 0;
        int ranges = ag_visible(ag_mask_at(mask, s, r), (int)(r % (size_t)T), S, begin, end);
        if (first && (ranges != 1 || begin[0] != 0 || end[0] != S)) row_zero(dx, S);
        for (int i = 0; i < ranges; i++)
            mean += row_cut_dot(dy + begin[i], y + begin[i], end[i] - begin[i]);
        for (int i = 0; i < ranges; i++) ROW_EACH(k, end[i] - begin[i]) {
                const int n = end[i] - begin[i], at = begin[i];
                const vreal d = vec_cut(row_get(dy + at, k, n, 0) - mean, row_get(y + at, k, n, 0));
                row_put(dx + at, k, n, first ? d : row_get(dx + at, k, n, 0) + d);
            }
    }
}

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

static const char *arguments(const ag_node *node) {
    return ag_text_mask(node, ((const attr *)node->attr)->mask);
}

const ag_op ag_op_softmax = {
    .name = "softmax",
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "softmax(x[0], mask)",
};

ag_node *ag_softmax(ag_node *x, ag_mask mask) {
    return ag_apply(&ag_op_softmax, AG_IN(x), &(attr){mask}, sizeof(attr));
}
