/* softmax.c - rows of scores to rows of weights, in vectors and by bands: softmax and softmax_one. */
#include "autograd/fast/attend.h"
#include "autograd/fast/row_math.h"

/* The keys that a row sees, as at most two ranges. */
typedef struct {
    int n, begin[2], end[2];
} sight;
enum { SHORT = 4 };  // vectors of a row that is done without loops
#define EACH_RANGE(s) for (int i = 0; i < (s)->n; i++)

/* One range, as it mostly is, never has its address taken: it stays in registers. */
static inline sight sight_of(ag_mask mask, int t, int S) {
    if (!mask.no_self) {
        const int limit = ag_mask_limit(mask, t, S);
        return (sight){limit > 0, {0}, {limit}};
    }
    int begin[2] = {0}, end[2] = {0};
    const int n = ag_visible(mask, t, S, begin, end);
    return (sight){n, {begin[0], begin[1]}, {end[0], end[1]}};
}

/* Does it see nothing, or only -infinity? */
static inline bool is_blind(const real *x, const sight *s) {
    EACH_RANGE(s)
        for (int k = s->begin[i]; k < s->end[i]; k++)
            if (x[k] != (real)-INFINITY) return false;
    return true;
}

/* The first S numbers of a row; y may be x. `nothing` is the score of a place that holds nothing, 0, or
 * -infinity if there is no such place. A row that sees nothing, or only -infinity, is zero; one with
 * NaN or +infinity is NaN. Leaves in `keep` what x is to be less, and the exponentials' factor, 0 if
 * it was one of these. */
VEC_INLINE void weigh(const real *x, int S, const sight *s, real nothing, real *y, real keep[2]) {
    real max = nothing, sum = 0;
    int written = 0;
    EACH_RANGE(s) max = row_max(x + s->begin[i], s->end[i] - s->begin[i], max);
    const bool blind = max == (real)-INFINITY && is_blind(x, s);
    if (nothing == 0) sum = vec_exp(vec_set(-max))[0];
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
        EACH_RANGE(s)
            for (int k = s->begin[i]; k < s->end[i]; k++) y[k] = (real)NAN;
}

/* The same bits from what was kept, in one pass. */
VEC_INLINE void weigh_again(const real *x, int S, const sight *s, real *y, const real keep[2]) {
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

/* The same of a row that sees its first n numbers, at most SHORT vectors: they stay in registers, and such
 * rows are what toy attention has. Whole vectors are stored where y has room. False, and nothing
 * written, if it is a row that has no sum. */
VEC_INLINE bool weigh_short(const real *x, int n, int S, real nothing, real *y, ptrdiff_t room) {
    const int vectors = (n + VEC - 1) / VEC;
    vreal v[SHORT], most = vec_set(nothing), total = {0};
    if (n <= 0) return false;
    for (int k = 0; k < vectors; k++) {
        const real *at = x + k * VEC;
        v[k] = k + 1 < vectors ? vec_load(at) : vec_load_part(at, n - k * VEC, (real)-INFINITY);
        most = vec_max(v[k], most);
    }
    const real max = vec_greatest(most);
    for (int k = 0; k < vectors; k++) total += v[k] = vec_exp(v[k] - max);
    const real sum = (nothing == 0 ? vec_exp(vec_set(-max))[0] : 0) + vec_sum(total);
    if (!(sum > 0)) return false;
    for (int k = 0; k < vectors; k++) row_put(y, k * VEC, room, 1 / sum * v[k]);
    for (int k = vectors; k * VEC < S; k++) row_put(y, k * VEC, room, vec_set(0));
    return true;
}

VEC_INLINE void weigh_short_band(ag_strip x, const ag_band *b, ag_mask mask, real nothing,
                                 ag_strip y) {
    const int S = b->cols, t = b->t, n = b->n;
    for (int r = 0; r < n; r++, x.x += x.ld, y.x += y.ld) {
        const ptrdiff_t room = (n - 1 - r) * y.ld + S;
        if (weigh_short(x.x, ag_mask_limit(mask, t + r, S), S, nothing, y.x, room)) continue;
        const sight s = sight_of(mask, t + r, S);
        real keep[2];
        weigh(x.x, S, &s, nothing, y.x, keep);
    }
}

/* A band of them; what is in `kept`, two numbers a row, is used the second time. */
VEC_INLINE void weigh_band(ag_strip x, const ag_band *b, ag_mask mask, real nothing, ag_strip y,
                           real *kept) {
    real unkept[2];
    if (b->cols <= SHORT * VEC && x.x != y.x && !mask.no_self && !kept) {
        weigh_short_band(x, b, mask, nothing, y);
        return;
    }
    for (int r = 0; r < b->n; r++, x.x += x.ld, y.x += y.ld) {
        const sight s = sight_of(mask, b->t + r, b->cols);
        real *keep = kept ? kept + 2 * (ptrdiff_t)r : unkept;
        if (kept && b->again && keep[1] != 0)
            weigh_again(x.x, b->cols, &s, y.x, keep);
        else
            weigh(x.x, b->cols, &s, nothing, y.x, keep);
    }
}

/* dx = y (dy - sum of y dy), or added to dx; 0 where masked. */
static void weigh_back(ag_strip y, ag_strip dy, const ag_band *b, ag_mask mask, bool first,
                       ag_strip dx) {
    for (int r = 0; r < b->n; r++, y.x += y.ld, dy.x += dy.ld, dx.x += dx.ld) {
        const sight s = sight_of(mask, b->t + r, b->cols);
        real mean = 0;
        EACH_RANGE(&s)
            mean += row_cut_dot(dy.x + s.begin[i], y.x + s.begin[i], s.end[i] - s.begin[i]);
        EACH_RANGE(&s) {
            const int at = s.begin[i], n = s.end[i] - at;
            ROW_EACH(k, n) {
                const vreal d =
                    vec_cut(row_get(dy.x + at, k, n, 0) - mean, row_get(y.x + at, k, n, 0));
                row_put(dx.x + at, k, n, first ? d : row_get(dx.x + at, k, n, 0) + d);
            }
        }
        if (!first || (s.n == 1 && s.begin[0] == 0 && s.end[0] == b->cols)) continue;
        int written = 0;
        EACH_RANGE(&s) row_zero(dx.x + written, s.begin[i] - written), written = s.end[i];
        row_zero(dx.x + written, b->cols - written);
    }
}

/* ---- what softmax and softmax_one are ---- */

static ag_mask mask_of(const ag_node *node) { return *(const ag_mask *)node->attr; }

static ag_mask mask_of_plane(const ag_node *node, const ag_band *b) {
    return ag_mask_of_plane(mask_of(node), node->val.shape, b->plane);
}

/* Each with its own loops. */
static void forward(ag_node *node, const ag_band *b) {
    weigh_band(ag_band_of(node->in[0], b), b, mask_of_plane(node, b), (real)-INFINITY,
               ag_band_of(node, b), ag_kept_rows(node, b));
}
static void forward_one(ag_node *node, const ag_band *b) {
    weigh_band(ag_band_of(node->in[0], b), b, mask_of_plane(node, b), 0, ag_band_of(node, b),
               ag_kept_rows(node, b));
}

static void backward(ag_node *node, const ag_band *b) {
    bool first;
    const ag_strip y = ag_band_of(node, b), dy = ag_band_dy(node, b);
    const ag_strip dx = ag_band_grad(node->in[0], b, &first);
    weigh_back(y, dy, b, mask_of_plane(node, b), first, dx);
}

static int cols(const ag_node *node, int t) {
    return ag_mask_cols(mask_of(node), t, tensor_width(node->val.shape));
}

static const ag_by_rows by_rows = {
    .forward = forward, .backward = backward, .cols = cols, .keeps = 2};
static const ag_by_rows by_rows_one = {
    .forward = forward_one, .backward = backward, .cols = cols, .keeps = 2};

const ag_fast ag_fast_softmax = {.op = &ag_op_softmax,
                                 .forward = ag_rows_forward,
                                 .backward = ag_rows_backward,
                                 .rows = &by_rows,
                                 .facts = AG_IN_PLACE};
const ag_fast ag_fast_softmax_one = {.op = &ag_op_softmax_one,
                                     .forward = ag_rows_forward,
                                     .backward = ag_rows_backward,
                                     .rows = &by_rows_one,
                                     .facts = AG_IN_PLACE};
