/* weigh.h - a row of scores to a row of weights, what softmax and softmax_one share; header only,
 * internal to autograd/. */
#ifndef AUTOGRAD_WEIGH_H
#define AUTOGRAD_WEIGH_H

#include "autograd/attend.h"
#include "autograd/row.h"

/* The keys that a row sees, as at most two ranges. */
typedef struct {
    int n, begin[2], end[2];
} ag_sight;
#define AG_EACH_RANGE(s) for (int i = 0; i < (s)->n; i++)

/* One range, as it mostly is, never has its address taken: it stays in registers. */
VEC_INLINE ag_sight ag_sight_of(ag_mask mask, int t, int S) {
    if (!mask.no_self) {
        const int limit = ag_mask_limit(mask, t, S);
        return (ag_sight){limit > 0, {0}, {limit}};
    }
    int begin[2] = {0}, end[2] = {0};
    const int n = ag_visible(mask, t, S, begin, end);
    return (ag_sight){n, {begin[0], begin[1]}, {end[0], end[1]}};
}

/* Does it see nothing, or only -infinity? */
static inline bool ag_is_blind(const real *x, const ag_sight *s) {
    AG_EACH_RANGE(s)
    for (int k = s->begin[i]; k < s->end[i]; k++)
        if (x[k] != (real)-INFINITY) return false;
    return true;
}

/* The first S numbers of a row; y may be x. `nothing` is the score of a place that holds nothing, 0, or
 * -infinity if there is no such place. A row that sees nothing, or only -infinity, is zero; one with
 * NaN or +infinity is NaN. Leaves in `keep` what x is to be less, and the exponentials' factor, 0 if
 * it was one of these. */
VEC_INLINE void ag_weigh(const real *x, int S, const ag_sight *s, real nothing, real *y,
                         real keep[2]) {
    real max = nothing, sum = 0;
    int written = 0;
    AG_EACH_RANGE(s) max = row_max(x + s->begin[i], s->end[i] - s->begin[i], max);
    const bool blind = max == (real)-INFINITY && ag_is_blind(x, s);
    if (nothing == 0) sum = vec_exp(vec_set(-max))[0];
    AG_EACH_RANGE(s) {
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
        AG_EACH_RANGE(s) for (int k = s->begin[i]; k < s->end[i]; k++) y[k] = (real)NAN;
}

/* The same bits from what was kept, in one pass. */
VEC_INLINE void ag_weigh_again(const real *x, int S, const ag_sight *s, real *y,
                               const real keep[2]) {
    int written = 0;
    AG_EACH_RANGE(s) {
        const int from = s->begin[i], n = s->end[i] - from, room = i + 1 < s->n ? n : S - from;
        row_zero(y + written, from - written);
        ROW_EACH(k, n)
        row_put(y + from, k, room,
                keep[1] * vec_exp(row_get(x + from, k, n, (real)-INFINITY) - keep[0]));
        written = s->end[i];
    }
    row_zero(y + written, S - written);
}

/* A band of them; what is in `kept`, two numbers a row, is used the second time. */
VEC_INLINE void ag_weigh_band(ag_strip x, const ag_band *b, ag_mask mask, real nothing, ag_strip y,
                              real *kept) {
    real unkept[2];
    for (int r = 0; r < b->n; r++, x.x += x.ld, y.x += y.ld) {
        const ag_sight s = ag_sight_of(mask, b->t + r, b->cols);
        real *keep = kept ? kept + 2 * (ptrdiff_t)r : unkept;
        if (kept && b->again && keep[1] != 0)
            ag_weigh_again(x.x, b->cols, &s, y.x, keep);
        else
            ag_weigh(x.x, b->cols, &s, nothing, y.x, keep);
    }
}

/* dx = y (dy - sum of y dy), or added to dx; 0 where masked. */
VEC_INLINE void ag_weigh_back(ag_strip y, ag_strip dy, const ag_band *b, ag_mask mask, bool first,
                              ag_strip dx) {
    for (int r = 0; r < b->n; r++, y.x += y.ld, dy.x += dy.ld, dx.x += dx.ld) {
        const ag_sight s = ag_sight_of(mask, b->t + r, b->cols);
        real mean = 0;
        AG_EACH_RANGE(&s)
        mean += row_cut_dot(dy.x + s.begin[i], y.x + s.begin[i], s.end[i] - s.begin[i]);
        AG_EACH_RANGE(&s) {
            const int at = s.begin[i], n = s.end[i] - at;
            ROW_EACH(k, n) {
                const vreal d =
                    vec_cut(row_get(dy.x + at, k, n, 0) - mean, row_get(y.x + at, k, n, 0));
                row_put(dx.x + at, k, n, first ? d : row_get(dx.x + at, k, n, 0) + d);
            }
        }
        if (!first || (s.n == 1 && s.begin[0] == 0 && s.end[0] == b->cols)) continue;
        int written = 0;
        AG_EACH_RANGE(&s) row_zero(dx.x + written, s.begin[i] - written), written = s.end[i];
        row_zero(dx.x + written, b->cols - written);
    }
}

/* Their shape rule, and how many keys a query sees. */
static inline bool ag_weigh_shape(ag_node *node, ag_mask m) {
    const tensor_shape x = node->in[0]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar has no rows");
    if (!ag_mask_fits(node, m, x)) return false;
    node->val.shape = x;
    return true;
}
static inline int ag_weigh_cols(const ag_node *node, ag_mask mask, int t) {
    return ag_mask_limit(mask, t, tensor_width(node->val.shape));
}

#endif
