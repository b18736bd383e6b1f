/* softmax.c - y[s] = exp(x[s] - max) / sum over visible s of exp(x[s] - max), over the last
 * dimension.
 *   dx = y (dy - sum of y dy)
 * Masked entries are neither read nor written through: their weight is exactly 0. A row that sees
 * nothing (or only -infinity) is all zeros; NaN stays NaN. The query's number, which the mask
 * wants, is the index in the dimension before the last. */
#include "autograd/attend.h"
#include "autograd/row.h"

typedef struct {
    ag_mask mask;
} attr;

static bool shape(ag_node *node) {
    ag_mask m = ((const attr *)node->attr)->mask;
    tensor_shape x = node->in[0]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar has no rows");
    if ((m.causal || m.no_self) && x.rank < 2) return ag_fail(node, "this mask needs [..,T,S]");
    node->val.shape = x;
    return true;
}

static int cols(const ag_node *node, int t) {
    return ag_mask_limit(((const attr *)node->attr)->mask, t, tensor_width(node->val.shape));
}

/* The keys that a row sees, as at most two ranges. */
typedef struct {
    int n, begin[2], end[2];
} sight;

/* One range, as it mostly is, never has its address taken: it stays in registers. */
VEC_INLINE sight sight_of(ag_mask mask, int t, int S) {
    if (!mask.no_self) {
        const int limit = ag_mask_limit(mask, t, S);
        return (sight){limit > 0, {0}, {limit}};
    }
    int begin[2] = {0}, end[2] = {0};
    const int n = ag_visible(mask, t, S, begin, end);
    return (sight){n, {begin[0], begin[1]}, {end[0], end[1]}};
}
#define EACH_RANGE(s) for (int i = 0; i < (s)->n; i++)

/* Does it see nothing, or only -infinity? */
static bool is_blind(const real *x, const sight *s) {
    EACH_RANGE(s)
    for (int k = s->begin[i]; k < s->end[i]; k++)
        if (x[k] != (real)-INFINITY) return false;
    return true;
}

/* The first S numbers of a row; y may be x. A row that is blind is zero; one with NaN or +infinity is
 * NaN. Leaves the greatest x and the factor of the exponentials in `keep`, a factor of 0 if it was
 * one of these. */
VEC_INLINE void row(const real *x, int S, const sight *s, real *y, real keep[2]) {
    real max = (real)-INFINITY, sum = 0;
    int written = 0;
    EACH_RANGE(s) max = row_max(x + s->begin[i], s->end[i] - s->begin[i], max);
    const bool blind = max == (real)-INFINITY && is_blind(x, s);
    EACH_RANGE(s) {
        const int from = s->begin[i], n = s->end[i] - from;
        row_zero(y + written, from - written);
        sum += row_exp(x + from, n, max, y + from, i + 1 < s->n ? n : S - from);
        written = s->end[i];
    }
    row_zero(y + written, S - written);
    keep[0] = max;
    keep[1] = sum > 0 ? 1 / sum : 0;
    if (sum > 0)
        row_scale(y, S, keep[1]);
    else if (blind)
        row_zero(y, S);
    else
        EACH_RANGE(s) for (int k = s->begin[i]; k < s->end[i]; k++) y[k] = (real)NAN;
}

/* The same bits from what was kept, in one pass. */
VEC_INLINE void row_again(const real *x, int S, const sight *s, real *y, const real keep[2]) {
    int written = 0;
    EACH_RANGE(s) {
        const int from = s->begin[i], n = s->end[i] - from, room = i + 1 < s->n ? n : S - from;
        row_zero(y + written, from - written);
        ROW_EACH(k, n)
        row_put(y + from, k, room,
                keep[1] * vec_exp(row_get(x + from, k, n, (real)-INFINITY) - keep[0]));
        written = s->end[i];
    }
    row_zero(y + written, S - written);
}

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
        const sight s = sight_of(mask, b->t + r, b->cols);
        row(x.x, b->cols, &s, y.x, keep);
    }
}

static void forward(ag_node *node, const ag_band *b) {
    const ag_mask mask = ((const attr *)node->attr)->mask;
    ag_strip x = ag_band_of(node->in[0], b), y = ag_band_of(node, b);
    real *kept = ag_kept_rows(node, b), unkept[2];
    if (b->cols <= VEC && x.x != y.x && !mask.no_self && !kept) {
        short_rows(x, b, mask, y);
        return;
    }
    for (int r = 0; r < b->n; r++, x.x += x.ld, y.x += y.ld) {
        const sight s = sight_of(mask, b->t + r, b->cols);
        real *keep = kept ? kept + 2 * (ptrdiff_t)r : unkept;
        if (kept && b->again && keep[1] != 0)
            row_again(x.x, b->cols, &s, y.x, keep);
        else
            row(x.x, b->cols, &s, y.x, keep);
    }
}

static void backward(ag_node *node, const ag_band *b) {
    const ag_mask mask = ((const attr *)node->attr)->mask;
    bool first;
    ag_strip y = ag_band_of(node, b), dy = ag_band_dy(node, b);
    ag_strip dx = ag_band_grad(node->in[0], b, &first);
    for (int r = 0; r < b->n; r++, y.x += y.ld, dy.x += dy.ld, dx.x += dx.ld) {
        const sight s = sight_of(mask, b->t + r, b->cols);
        real mean = 0;
        EACH_RANGE(&s) mean += row_dot(y.x + s.begin[i], dy.x + s.begin[i], s.end[i] - s.begin[i]);
        EACH_RANGE(&s) {
            const int at = s.begin[i], n = s.end[i] - at;
            ROW_EACH(k, n) {
                const vreal d = row_get(y.x + at, k, n, 0) * (row_get(dy.x + at, k, n, 0) - mean);
                row_put(dx.x + at, k, n, first ? d : row_get(dx.x + at, k, n, 0) + d);
            }
        }
        if (!first || (s.n == 1 && s.begin[0] == 0 && s.end[0] == b->cols)) continue;
        int written = 0;
        EACH_RANGE(&s) row_zero(dx.x + written, s.begin[i] - written), written = s.end[i];
        row_zero(dx.x + written, b->cols - written);
    }
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
             {tensor_dims(2, 3, 0), {0}}};
    if (i >= 10) return NULL;
    return ag_softmax(ag_sample(g, AG_SAMPLE_NORMAL, c[i].shape), c[i].mask);
}

const ag_op ag_op_softmax = {"softmax",        false,  shape,   ag_rows_forward,
                             ag_rows_backward, sample, &by_rows};

ag_node *ag_softmax(ag_node *x, ag_mask mask) {
    return ag_apply(&ag_op_softmax, AG_IN(x), &(attr){mask}, sizeof(attr));
}
