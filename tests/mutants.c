/* mutants.c - deliberately wrong ops. */
#include "tests/mutants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/reduce.h"

/* The mutant under check. */
static const ag_op *right;
static int input, flaw;
static bool differed;

ag_op mutant_of(const mutant *m, const ag_op *of, int which) {
    right = of;
    input = which;
    flaw = m->flaw;
    differed = !m->tracks;
    ag_op op = *of;
    if (m->forward) op.forward = m->forward;
    if (m->backward) op.backward = m->backward;
    return op;
}

bool mutant_differed(void) { return differed; }

static void *take(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    if (!p) abort();
    return p;
}

/* A copy of what stands in the gradient of a node: zeros if nothing was added yet. */
static real *gradient_so_far(const ag_node *in) {
    real *copy = take(in->val.n, sizeof *copy);
    if (in->has_grad && in->val.n) memcpy(copy, in->grad, in->val.n * sizeof *copy);
    return copy;
}

/* ---- for any op: the right backward, then one input's part spoiled ---- */

/* Receives what backward added to the input, and may change it. */
typedef void spoiler(const ag_node *node, const ag_node *in, real *added, size_t n);

static void spoil(ag_node *node, spoiler *how, bool keep_before) {
    ag_node *in = input < node->n_in ? node->in[input] : NULL;
    if (!in || !in->wants_grad) {
        right->backward(node);
        return;
    }
    size_t n = in->val.n;
    real *before = gradient_so_far(in), *added = take(n, sizeof *added);
    right->backward(node);
    for (size_t i = 0; in->has_grad && i < n; i++) added[i] = in->grad[i] - before[i];
    how(node, in, added, n);
    for (size_t i = 0; in->has_grad && i < n; i++)
        in->grad[i] = (keep_before ? before[i] : 0) + added[i];
    free(before);
    free(added);
}

#define SPOILER(name, statement)                                                            \
    static void name##_how(const ag_node *node, const ag_node *in, real *added, size_t n) { \
        (void)node, (void)in, (void)added, (void)n;                                         \
        statement;                                                                          \
    }                                                                                       \
    static void name(ag_node *node) { spoil(node, name##_how, true); }
enum { LANES = 8 };  // of a vector: the same for every machine, so that the mutants are too
#define EACH(statement) \
    for (size_t i = 0; i < n; i++) statement

SPOILER(slightly_too_large, EACH(added[i] *= (real)1.00001))
SPOILER(nothing, EACH(added[i] = 0))
SPOILER(twice, EACH(added[i] *= 2))
SPOILER(wrong_sign, EACH(added[i] = -added[i]))
SPOILER(last_skipped, if (n) added[n - 1] = 0)
static void skip_tail(real *added, size_t n) {
    for (size_t i = n / LANES * LANES; i < n; i++) {
        differed = true;
        added[i] = 0;
    }
}
SPOILER(tail_skipped, skip_tail(added, n))
SPOILER(first_skipped, if (n) added[0] = 0)
SPOILER(constant_added, EACH(added[i] += (real)1e-6))
SPOILER(nan_at_the_end, if (n) added[n - 1] = (real)NAN)
SPOILER(magnitude_only, EACH(added[i] = (real)fabs((double)added[i])))

static void overwrite_how(const ag_node *node, const ag_node *in, real *added, size_t n) {
    (void)node, (void)in, (void)added, (void)n;
}
static void overwrites(ag_node *node) { spoil(node, overwrite_how, false); }

static void moved_by(real *added, size_t n, size_t by) {
    real *copy = take(n, sizeof *copy);
    EACH(copy[(i + by) % n] = added[i]);
    EACH(added[i] = copy[i]);
    free(copy);
}
SPOILER(moved_by_one, moved_by(added, n, 1))
SPOILER(moved_by_a_row, moved_by(added, n, (size_t)tensor_width(in->val.shape)))
SPOILER(first_row_skipped,
        for (size_t i = 0; i < n && (int)i < tensor_width(in->val.shape); i++) added[i] = 0)
SPOILER(mean_for_sum, EACH(added[i] *= (real)node->val.n / (real)n))
SPOILER(sum_for_mean, EACH(added[i] *= (real)n / (real)node->val.n))
SPOILER(divided_by_results, EACH(added[i] *= (real)n / (real)node->val.n / (real)node->val.n))

/* ---- for any op: the whole backward or forward ---- */

/* Runs the right backward under another gradient of the result. */
static void under(ag_node *node, real (*other)(real)) {
    size_t n = node->val.n;
    real *kept = gradient_so_far(node);
    EACH(node->grad[i] = other(kept[i]));
    right->backward(node);
    if (n) memcpy(node->grad, kept, n * sizeof *kept);
    free(kept);
}
static real one(real x) { return x * 0 + 1; }
static real magnitude(real x) { return x < 0 ? -x : x; }
static real rounded(real x) {  // to 11 bits, as half precision has
    int exponent;
    double part = frexp((double)x, &exponent);
    return (real)ldexp(nearbyint(part * 2048) / 2048, exponent);
}
static void ignores_upstream(ag_node *node) { under(node, one); }
static void ignores_sign_upstream(ag_node *node) { under(node, magnitude); }
static void rounds_to_half(ag_node *node) { under(node, rounded); }

static void all_or_nothing(ag_node *node) {
    for (int k = 0; k < node->n_in; k++)
        if (!node->in[k]->wants_grad) return;
    right->backward(node);
}

static void with_save_off(ag_node *node) {
    real *kept = take(node->n_save, sizeof *kept);
    for (size_t i = 0; i < node->n_save; i++) {
        kept[i] = node->save[i];
        node->save[i] *= (real)1.00001;
    }
    right->backward(node);
    if (node->n_save) memcpy(node->save, kept, node->n_save * sizeof *kept);
    free(kept);
}

static void changes_input(ag_node *node) {
    right->backward(node);
    if (node->in[0]->val.n) node->in[0]->val.x[0] += (real)1e-9;
}

static void forward_changes_input(ag_node *node) {
    right->forward(node);
    if (node->in[0]->val.n) node->in[0]->val.x[0] *= (real)(1 + 1e-9);
}

/* Adds to what the last replay left. */
static void forward_accumulates(ag_node *node) {
    size_t n = node->val.n;
    real *old = take(n, sizeof *old);
    if (n) memcpy(old, node->val.x, n * sizeof *old);
    right->forward(node);
    EACH(node->val.x[i] += (real)1e-9 * old[i]);
    free(old);
}

static void forward_skips_last(ag_node *node) {
    if (node->val.n == 0) return;
    real old = node->val.x[node->val.n - 1];
    right->forward(node);
    if (node->val.x[node->val.n - 1] != old) differed = true;
    node->val.x[node->val.n - 1] = old;
}

/* Another function, close to the right one. (A mere factor would not do: the slope of 1.00001 e^x
 * is again its value.) */
static void forward_bent(ag_node *node) {
    right->forward(node);
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] *= 1 + (real)1e-5 * node->val.x[i];
}

/* What backward needs is kept at the recording only, not at replays. */
static void forward_keeps_old_save(ag_node *node) {
    real *old = take(node->n_save, sizeof *old);
    if (node->n_save) memcpy(old, node->save, node->n_save * sizeof *old);
    right->forward(node);
    if (memcmp(node->save, old, node->n_save * sizeof *old) != 0) differed = true;
    if (node->n_save) memcpy(node->save, old, node->n_save * sizeof *old);
    free(old);
}

/* ---- for any op: several results read one input, and their contributions are not added ---- */

enum { LAST_ONLY = 1, FIRST_ONLY, AVERAGE };

static void combine(real *sum, real *count, const real *part, size_t n) {
    EACH(if (part[i] != 0) {
        if (count[i] > 0) differed = true;
        if (flaw == LAST_ONLY || (flaw == FIRST_ONLY && count[i] == 0)) sum[i] = part[i];
        if (flaw == AVERAGE) sum[i] += part[i];
        count[i]++;
    });
}

/* Runs the right backward with `wanted` as the only input that learns, or with all but that one. */
static void backward_for(ag_node *node, const ag_node *wanted, bool only) {
    bool *kept = take((size_t)node->n_in, sizeof *kept), any = false;
    for (int k = 0; k < node->n_in; k++) kept[k] = node->in[k]->wants_grad;
    for (int k = 0; k < node->n_in; k++) {
        if ((node->in[k] == wanted) != only) node->in[k]->wants_grad = false;
        any |= node->in[k]->wants_grad;
    }
    if (any) right->backward(node);
    for (int k = 0; k < node->n_in; k++) node->in[k]->wants_grad = kept[k];
    free(kept);
}

/* Backward is linear: run with one element of dy at a time it gives each element's contribution. */
static void combines_wrongly(ag_node *node) {
    ag_node *in = input < node->n_in ? node->in[input] : NULL;
    if (!in || !in->wants_grad) {
        right->backward(node);
        return;
    }
    size_t n = in->val.n;
    real *before = gradient_so_far(in), *dy = gradient_so_far(node);
    real *sum = take(n, sizeof *sum), *count = take(n, sizeof *count);
    backward_for(node, in, false);
    for (size_t y = 0; y < node->val.n; y++) {
        memset(node->grad, 0, node->val.n * sizeof *dy);
        node->grad[y] = dy[y];
        in->has_grad = false;
        backward_for(node, in, true);
        if (in->has_grad) combine(sum, count, in->grad, n);
    }
    if (node->val.n) memcpy(node->grad, dy, node->val.n * sizeof *dy);
    in->has_grad = true;
    EACH(in->grad[i] = before[i] + (flaw == AVERAGE && count[i] > 0 ? sum[i] / count[i] : sum[i]));
    free(before), free(dy), free(sum), free(count);
}

/* ---- elementwise ops: another slope ---- */

#define SLOPE(name, slope)                                                                \
    static void name(ag_node *node) {                                                     \
        real *dx = ag_grad(node->in[0]);                                                  \
        for (size_t i = 0; i < node->val.n; i++) {                                        \
            const real x = node->in[0]->val.x[i], y = node->val.x[i], dy = node->grad[i]; \
            (void)x, (void)y;                                                             \
            dx[i] += dy * (slope);                                                        \
        }                                                                                 \
    }
SLOPE(slope_1, 1)
SLOPE(slope_x, x)
SLOPE(slope_y, y)
SLOPE(slope_minus_1, -1)
SLOPE(slope_1_by_x, 1 / x)
SLOPE(slope_1_by_y, 1 / y)
SLOPE(slope_half_by_x, 1 / (2 * x))
SLOPE(slope_half_by_y, 1 / (2 * y))
SLOPE(slope_1_minus_x, 1 - x)
SLOPE(slope_1_minus_y, 1 - y)
SLOPE(slope_1_minus_xx, 1 - x * x)
SLOPE(slope_1_minus_yy, 1 - y * y)
SLOPE(slope_logistic, y *(1 - y))
SLOPE(slope_logistic_of_x, x *(1 - x))
SLOPE(slope_of_silu, y / x * (1 + x * (1 - y / x)))
SLOPE(slope_of_silu_gate, y / x * (1 - y / x))
SLOPE(slope_of_leaky_relu, x <= 0 ? (real)0.01 : 1)
SLOPE(slope_of_guided_relu, x > 0 && dy > 0)
SLOPE(slope_ratio, x == 0 ? 0 : y / x)
SLOPE(slope_ratio_squared, x == 0 ? 0 : y / x * (y / x))
SLOPE(slope_inverse, y == 0 ? 0 : x / y)
SLOPE(slope_where_kept, y != 0)
SLOPE(slope_where_dropped, y == 0)

static real gelu_slope(real x, bool erf_form, bool whole) {
    const double z = (double)x, root = sqrt(2 / acos(-1)),
                 t = tanh(root * (z + 0.044715 * z * z * z));
    if (erf_form)
        return (real)((1 + erf(z / sqrt(2))) / 2 + whole * z * exp(-z * z / 2) * root / 2);
    return (real)((1 + t) / 2 + whole * z * (1 - t * t) * root * (1 + 3 * 0.044715 * z * z) / 2);
}
/* Which form it is shows in the value. */
static bool is_erf_form(real x, real y) {
    return fabs((double)(y - x * (real)((1 + erf((double)x / sqrt(2))) / 2))) < 1e-13;
}
SLOPE(slope_of_gelu, gelu_slope(x, is_erf_form(x, y), true))
SLOPE(slope_of_other_gelu, gelu_slope(x, !is_erf_form(x, y), true))
SLOPE(slope_of_phi, gelu_slope(x, is_erf_form(x, y), false))
SLOPE(slope_of_erf_gelu, gelu_slope(x, true, true))
SLOPE(slope_of_tanh_gelu, gelu_slope(x, false, true))

#define SLOPES(name)                                                                   \
    static void name(ag_node *node) {                                                  \
        tensor_shape full = node->val.shape, sa = node->in[0]->val.shape,              \
                     sb = node->in[1]->val.shape;                                      \
        const real *A = node->in[0]->val.x, *B = node->in[1]->val.x, *dY = node->grad; \
        real *dA = ag_grad(node->in[0]);                                               \
        if (dA) AG_BROADCAST(full, sa, sb, dA[ia] += dY[iy] * name##_a(A[ia], B[ib]))  \
        real *dB = ag_grad(node->in[1]);                                               \
        if (dB) AG_BROADCAST(full, sa, sb, dB[ib] += dY[iy] * name##_b(A[ia], B[ib]))  \
    }
#define SLOPES_OF(name, slope_a, slope_b)                                        \
    static real name##_a(real a, real b) { return (void)a, (void)b, (slope_a); } \
    static real name##_b(real a, real b) { return (void)a, (void)b, (slope_b); } \
    SLOPES(name)
SLOPES_OF(slopes_1_1, 1, 1)
SLOPES_OF(slopes_1_minus_1, 1, -1)
SLOPES_OF(slopes_b_a, b, a)
SLOPES_OF(slopes_a_b, a, b)
SLOPES_OF(slopes_of_division, 1 / b, -a / (b * b))
SLOPES_OF(slopes_of_division_unsquared, 1 / b, -a / b)
SLOPES_OF(slopes_of_division_unsigned, 1 / b, a / (b * b))

/* ---- ops that move numbers ---- */

/* dx[i] += dy[i] as if nothing had been moved, for as many as both have. */
static void straight(ag_node *node) {
    for (int k = 0; k < node->n_in; k++) {
        real *dx = ag_grad(node->in[k]);
        for (size_t i = 0; dx && i < node->in[k]->val.n && i < node->val.n; i++)
            dx[i] += node->grad[i];
    }
}

/* The same from the end. */
static void straight_from_end(ag_node *node) {
    for (int k = 0; k < node->n_in; k++) {
        real *dx = ag_grad(node->in[k]);
        size_t n = node->in[k]->val.n, most = node->val.n;
        for (size_t i = 0; dx && i < n && i < most; i++) dx[n - 1 - i] += node->grad[most - 1 - i];
    }
}

enum { TO_ALL = 1, TO_ALL_SHARED, TO_ALL_OTHERS, NEXT_TO_IT };

static void max(ag_node *node) {
    tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *x = node->in[0]->val.x, *y = node->val.x, *dy = node->grad;
    real *dx = ag_grad(node->in[0]);
    size_t n = node->in[0]->val.n;
    AG_BROADCAST(
        full, kept, kept,
        if (flaw == TO_ALL || flaw == TO_ALL_SHARED || (x[iy] == y[ia]) != (flaw == TO_ALL_OTHERS))
            dx[(iy + (flaw == NEXT_TO_IT)) % n] +=
        flaw == TO_ALL_SHARED ? dy[ia] * (real)node->val.n / (real)n : dy[ia])
}

enum { TURNED_ON = 1, COSINE_ONLY, PAIR_EXCHANGED };

/* The angle of each pair is read off the value. */
static void rope(ag_node *node) {
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0; i + 1 < node->val.n; i += 2) {
        const real *x = node->in[0]->val.x + i, *y = node->val.x + i, *dy = node->grad + i;
        real square = x[0] * x[0] + x[1] * x[1];
        real c = (x[0] * y[0] + x[1] * y[1]) / square, s = (x[0] * y[1] - x[1] * y[0]) / square;
        if (flaw == TURNED_ON) s = -s;
        if (flaw == COSINE_ONLY) s = 0;
        dx[i + (flaw == PAIR_EXCHANGED)] += c * dy[0] + s * dy[1];
        dx[i + (flaw != PAIR_EXCHANGED)] += c * dy[1] - s * dy[0];
    }
}

/* ---- products ---- */

enum { W_AS_IT_LIES = 1, X_AS_IT_LIES, BIAS_OF_FIRST_ROW, BIAS_AVERAGED, LAST_ROW_LEFT_OUT };

static void linear(ag_node *node) {
    const ag_node *x = node->in[0], *w = node->in[1];
    int N = (int)tensor_rows(x->val.shape), I = w->val.shape.dim[0], O = w->val.shape.dim[1];
    real *dx = ag_grad(node->in[0]), *dw = ag_grad(node->in[1]),
         *db = node->n_in == 3 ? ag_grad(node->in[2]) : NULL;
    int rows = flaw == LAST_ROW_LEFT_OUT ? N - 1 : N;
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < O; o++) {
            real dy = node->grad[r * O + o];
            for (int i = 0; i < I; i++) {
                if (dx)
                    dx[r * I + i] += dy * w->val.x[flaw == W_AS_IT_LIES ? o * I + i : i * O + o];
                if (dw)
                    dw[i * O + o] += dy * x->val.x[flaw == X_AS_IT_LIES ? i * N + r : r * I + i];
            }
            if (db && flaw == BIAS_OF_FIRST_ROW && r > 0) continue;
            if (db) db[o] += flaw == BIAS_AVERAGED ? dy / (real)N : dy;
        }
}

enum { B_AS_IT_LIES = 1, A_AS_IT_LIES, ONE_BATCH_ONLY, SIDES_SWAPPED };

static void matmul_one(const ag_node *node, int M, int N, int K, size_t iy, size_t ia, size_t ib,
                       real *dA, real *dB) {
    if (flaw == ONE_BATCH_ONLY) ia = ib = 0;
    const real *dy = node->grad + iy * (size_t)(M * N);
    const real *A = node->in[0]->val.x + ia * (size_t)(M * K),
               *B = node->in[1]->val.x + ib * (size_t)(K * N);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            for (int k = 0; k < K; k++) {
                real a = A[flaw == A_AS_IT_LIES ? k * M + m : m * K + k],
                     b = B[flaw == B_AS_IT_LIES ? n * K + k : k * N + n];
                if (dA)
                    dA[ia * (size_t)(M * K) + (size_t)(m * K + k)] +=
                        dy[m * N + n] * (flaw == SIDES_SWAPPED ? a : b);
                if (dB)
                    dB[ib * (size_t)(K * N) + (size_t)(k * N + n)] +=
                        dy[m * N + n] * (flaw == SIDES_SWAPPED ? b : a);
            }
}
static void matmul(ag_node *node) {
    tensor_shape a = node->in[0]->val.shape, b = node->in[1]->val.shape, y = node->val.shape;
    int M = a.dim[a.rank - 2], K = a.dim[a.rank - 1], N = b.dim[b.rank - 1];
    real *dA = ag_grad(node->in[0]), *dB = ag_grad(node->in[1]);
    a.rank -= 2, b.rank -= 2, y.rank -= 2;
    AG_BROADCAST(y, a, b, matmul_one(node, M, N, K, iy, ia, ib, dA, dB))
}

/* ---- norms ---- */

enum {
    MEAN_FIXED = 1,
    SPREAD_FIXED,
    GAIN_FORGOTTEN,
    SCALE_FORGOTTEN,
    GAIN_UNCENTRED,
    GAIN_OF_RESULT,
    BIAS_OF_LAST_ROW,
    UNBIASED,
    EPS_FORGOTTEN,
    CENTRED_TOO
};

typedef struct {
    double mean, var, r;
} moments;

/* Of one row; r is read off the result, where it is felt most. */
static moments moments_of(const real *x, const real *y, const real *g, const real *b, int D) {
    moments m = {.r = 1};
    double most = 0;
    for (int d = 0; d < D; d++) m.mean += (double)x[d] / D;
    for (int d = 0; d < D; d++) m.var += ((double)x[d] - m.mean) * ((double)x[d] - m.mean) / D;
    for (int d = 0; d < D; d++) {
        double span = ((double)x[d] - m.mean) * (double)g[d];
        if (fabs(span) > most) most = fabs(span), m.r = ((double)y[d] - (double)b[d]) / span;
    }
    if (flaw == EPS_FORGOTTEN && D > 1) m.r = 1 / sqrt(m.var);
    return m;
}

static void layer_norm_row(const real *x, const real *y, const real *dy, const real *g,
                           const real *b, int D, real *dx, real *dg) {
    moments m = moments_of(x, y, g, b, D);
    double mw = 0, mwx = 0;
    for (int d = 0; d < D; d++) {
        double w = (double)dy[d] * (flaw == GAIN_FORGOTTEN ? 1 : (double)g[d]),
               xh = ((double)x[d] - m.mean) * m.r;
        double count = flaw == UNBIASED && D > 1 ? D - 1 : D;
        mw += w / count;
        mwx += w * xh / count;
        double into_gain = flaw == GAIN_UNCENTRED   ? (double)x[d] * m.r
                           : flaw == GAIN_OF_RESULT ? (double)y[d]
                                                    : xh;
        if (dg) dg[d] += (real)((double)dy[d] * into_gain);
    }
    if (flaw == MEAN_FIXED) mw = 0;
    if (flaw == SPREAD_FIXED) mwx = 0;
    for (int d = 0; dx && d < D; d++) {
        double w = (double)dy[d] * (flaw == GAIN_FORGOTTEN ? 1 : (double)g[d]),
               xh = ((double)x[d] - m.mean) * m.r;
        dx[d] += (real)((flaw == SCALE_FORGOTTEN ? 1 : m.r) * (w - mw - xh * mwx));
    }
}
static void layer_norm(ag_node *node) {
    int D = tensor_width(node->val.shape);
    size_t n = node->val.n;
    real *dx = ag_grad(node->in[0]), *dg = ag_grad(node->in[1]), *db = ag_grad(node->in[2]);
    for (size_t row = 0; row < n; row += (size_t)D) {
        const real *dy = node->grad + row;
        layer_norm_row(node->in[0]->val.x + row, node->val.x + row, dy, node->in[1]->val.x,
                       node->in[2]->val.x, D, dx ? dx + row : NULL, dg);
        if (db && (flaw != BIAS_OF_LAST_ROW || row + (size_t)D == n))
            for (int d = 0; d < D; d++) db[d] += dy[d];
    }
}

static void rms_norm_row(const real *x, const real *y, const real *dy, const real *g, int D,
                         real *dx, real *dg) {
    double r = 1, most = 0, mwx = 0, mw = 0;
    for (int d = 0; d < D; d++)
        if (fabs((double)(x[d] * g[d])) > most)
            most = fabs((double)(x[d] * g[d])), r = (double)y[d] / (double)(x[d] * g[d]);
    for (int d = 0; d < D; d++) {
        double w = (double)dy[d] * (flaw == GAIN_FORGOTTEN ? 1 : (double)g[d]);
        mw += w / D;
        mwx += w * (double)x[d] * r / D;
        double into_gain = flaw == SCALE_FORGOTTEN  ? (double)x[d]
                           : flaw == GAIN_OF_RESULT ? (double)y[d]
                                                    : (double)x[d] * r;
        if (dg) dg[d] += (real)((double)dy[d] * into_gain);
    }
    for (int d = 0; dx && d < D; d++) {
        double w = (double)dy[d] * (flaw == GAIN_FORGOTTEN ? 1 : (double)g[d]);
        if (flaw == CENTRED_TOO) w -= mw;
        dx[d] += (real)(r * (w - (flaw == SPREAD_FIXED ? 0 : (double)x[d] * r * mwx)));
    }
}
static void rms_norm(ag_node *node) {
    size_t D = (size_t)tensor_width(node->val.shape);
    real *dx = ag_grad(node->in[0]), *dg = ag_grad(node->in[1]);
    for (size_t row = 0; row < node->val.n; row += D)
        rms_norm_row(node->in[0]->val.x + row, node->val.x + row, node->grad + row,
                     node->in[1]->val.x, (int)D, dx ? dx + row : NULL, dg);
}

/* ---- softmax ---- */

enum {
    NOT_CENTRED = 1,
    PLAIN_SUM,
    MASK_LEAKS,
    LAST_LEFT_OUT,
    SQUARED,
    CENTRE_OF_ROW_ABOVE,
    LOCAL_ONLY
};

static void softmax(ag_node *node) {
    size_t S = (size_t)tensor_width(node->val.shape);
    real *DX = ag_grad(node->in[0]), above = 0;
    for (size_t row = 0; row < node->val.n; row += S) {
        const real *y = node->val.x + row, *dy = node->grad + row;
        real *dx = DX + row, centre = 0;
        for (size_t s = 0; s < (flaw == LAST_LEFT_OUT ? S - 1 : S); s++)
            centre += (flaw == PLAIN_SUM ? 1 : y[s]) * dy[s];
        real used = flaw == NOT_CENTRED ? 0 : flaw == CENTRE_OF_ROW_ABOVE ? above : centre;
        for (size_t s = 0; s < S; s++) {
            if (y[s] == 0)
                dx[s] += flaw == MASK_LEAKS ? dy[s] : 0;  // masked
            else if (flaw == LOCAL_ONLY)
                dx[s] += y[s] * (1 - y[s]) * dy[s];
            else
                dx[s] += (flaw == SQUARED ? y[s] * y[s] : y[s]) * (dy[s] - used);
        }
        above = centre;
    }
}

enum { SUM_FORGOTTEN = 1, EQUAL_SHARES, LOG_FOR_WEIGHT, SUM_OF_ROW_ABOVE, WEIGHTED_SUM };

static void log_softmax(ag_node *node) {
    size_t V = (size_t)tensor_width(node->val.shape);
    real *DX = ag_grad(node->in[0]), above = 0;
    for (size_t row = 0; row < node->val.n; row += V) {
        const real *y = node->val.x + row, *dy = node->grad + row;
        real sum = 0;
        for (size_t c = 0; c < V; c++) sum += flaw == WEIGHTED_SUM ? dy[c] * real_exp(y[c]) : dy[c];
        real used = flaw == SUM_FORGOTTEN ? 0 : flaw == SUM_OF_ROW_ABOVE ? above : sum;
        for (size_t c = 0; c < V; c++) {
            real share = flaw == EQUAL_SHARES     ? 1 / (real)V
                         : flaw == LOG_FOR_WEIGHT ? y[c]
                                                  : real_exp(y[c]);
            DX[row + c] += dy[c] - share * used;
        }
        above = sum;
    }
}

/* ---- attention ---- */

enum {
    QUERY_UNSCALED = 1,
    KEY_UNSCALED,
    KEY_SCALED_TWICE,
    LEAKS,
    DIAGONAL_LEFT_OUT,
    OWN_PLACE_ONLY,
    LAST_OF_GROUP,
    HEADS_DEALT_ROUND,
    FIRST_BATCH_ONLY,
    TRANSPOSE_MISSING,
    SIDES_EXCHANGED
};

typedef struct {
    int B, H, T, S, E, G;
} sizes;

/* The key head that serves query head h; -1: none, its contribution is lost. */
static int key_head(const sizes *z, int h) {
    int group = z->H / z->G;
    if (flaw == HEADS_DEALT_ROUND) return h % z->G;
    if (flaw == LAST_OF_GROUP && h % group != group - 1) return -1;
    return h / group;
}
static bool lost(int b, int t, int s) {
    return (flaw == FIRST_BATCH_ONLY && b > 0) || (flaw == OWN_PLACE_ONLY && s != t) ||
           (flaw == DIAGONAL_LEFT_OUT && s == t);
}

/* y = factor q k^T where visible: a visible cell of a random sample is not 0, and it tells the
 * factor. */
static real factor_of(const ag_node *node, const sizes *z) {
    const real *q = node->in[0]->val.x, *k = node->in[1]->val.x;
    for (size_t i = 0; i < node->val.n; i++) {
        if (node->val.x[i] == 0) continue;
        int s = (int)i % z->S, t = (int)i / z->S % z->T, h = (int)i / (z->S * z->T) % z->H,
            b = (int)i / (z->S * z->T * z->H);
        real dot = 0;
        for (int e = 0; e < z->E; e++)
            dot += q[((b * z->T + t) * z->H + h) * z->E + e] *
                   k[((b * z->S + s) * z->G + h / (z->H / z->G)) * z->E + e];
        return node->val.x[i] / dot;
    }
    return 0;
}

static void scores_cell(ag_node *node, const sizes *z, const int at[4], real dy, real factor) {
    int b = at[0], h = at[1], t = at[2], s = at[3], g = key_head(z, h);
    real *dq = ag_grad(node->in[0]), *dk = ag_grad(node->in[1]);
    if (lost(b, t, s)) return;
    for (int e = 0; e < z->E; e++) {
        int iq = ((b * z->T + t) * z->H + h) * z->E + e,
            ik = ((b * z->S + s) * z->G + (g < 0 ? 0 : g)) * z->E + e;
        real q = node->in[0]->val.x[iq], k = node->in[1]->val.x[ik];
        if (dq)
            dq[iq] +=
                (flaw == QUERY_UNSCALED ? 1 : factor) * dy * (flaw == SIDES_EXCHANGED ? q : k);
        real scale = flaw == KEY_UNSCALED ? 1 : flaw == KEY_SCALED_TWICE ? factor * factor : factor;
        if (dk && g >= 0) dk[ik] += scale * dy * (flaw == SIDES_EXCHANGED ? k : q);
    }
}
static void scores(ag_node *node) {
    tensor_shape y = node->val.shape;
    int E = node->in[0]->val.shape.dim[2] / y.dim[1];
    sizes z = {y.dim[0], y.dim[1], y.dim[2], y.dim[3], E, node->in[1]->val.shape.dim[2] / E};
    real factor = factor_of(node, &z);
    for (int k = 0; k < 2; k++) ag_grad(node->in[k]);
    for (int b = 0, i = 0; b < z.B; b++)
        for (int h = 0; h < z.H; h++)
            for (int t = 0; t < z.T; t++)
                for (int s = 0; s < z.S; s++, i++)
                    if (node->val.x[i] != 0 || flaw == LEAKS)
                        scores_cell(node, &z, (int[]){b, h, t, s}, node->grad[i], factor);
}

static void mix_cell(ag_node *node, const sizes *z, const int at[4]) {
    int b = at[0], h = at[1], t = at[2], s = at[3], g = key_head(z, h);
    real *dw = ag_grad(node->in[0]), *dv = ag_grad(node->in[1]);
    int plane = (b * z->H + h) * z->T * z->S, iw = plane + t * z->S + s;
    int mirrored = flaw == TRANSPOSE_MISSING && z->T == z->S ? plane + s * z->S + t : iw;
    if (node->in[0]->val.x[iw] == 0 || lost(b, t, s)) return;
    for (int e = 0; e < z->E; e++) {
        int iv = ((b * z->S + s) * z->G + (g < 0 ? 0 : g)) * z->E + e;
        real dy = node->grad[((b * z->T + t) * z->H + h) * z->E + e];
        if (dw) dw[iw] += dy * node->in[1]->val.x[iv];
        if (dv && g >= 0) dv[iv] += dy * node->in[0]->val.x[mirrored];
    }
}
static void mix(ag_node *node) {
    tensor_shape w = node->in[0]->val.shape;
    int E = node->val.shape.dim[2] / w.dim[1];
    sizes z = {w.dim[0], w.dim[1], w.dim[2], w.dim[3], E, node->in[1]->val.shape.dim[2] / E};
    for (int k = 0; k < 2; k++) ag_grad(node->in[k]);
    for (int b = 0; b < z.B; b++)
        for (int h = 0; h < z.H; h++)
            for (int t = 0; t < z.T; t++)
                for (int s = 0; s < z.S; s++) mix_cell(node, &z, (int[]){b, h, t, s});
}

/* ---- cross-entropy ---- */

enum {
    WITHOUT_TARGET = 1,
    WITHOUT_SOFTMAX,
    NOT_NORMALISED,
    UNSCORED_TOO,
    WEIGHT_FORGOTTEN,
    ALL_ROWS_COUNTED
};

/* The target is where the right gradient has the other sign; each row's sum over the others tells
 * the weight. */
static int target_of(const real *added, int V, real dy) {
    for (int c = 0; c < V; c++)
        if (added[c] * dy < 0) return c;
    return -1;
}
static double softmax_at(const real *x, int V, int c) {
    double sum = 0;
    for (int i = 0; i < V; i++) sum += exp((double)x[i]);
    return exp((double)x[c]) / sum;
}
static void spoil_row(real *added, const real *x, int V, int target, double weight, double dy,
                      double rows_by_scored) {
    for (int c = 0; c < V; c++) {
        double p = softmax_at(x, V, c), hit = c == target;
        if (flaw == NOT_NORMALISED) p = exp((double)x[c]);
        if (target < 0 && flaw != UNSCORED_TOO) continue;
        if (flaw == WITHOUT_TARGET) hit = 0;
        if (flaw == WITHOUT_SOFTMAX) p = 0;
        if (flaw == WEIGHT_FORGOTTEN) weight = 1;
        added[c] =
            (real)(weight * dy * (p - hit) / (flaw == ALL_ROWS_COUNTED ? rows_by_scored : 1));
    }
}
static void cross_entropy_how(const ag_node *node, const ag_node *in, real *added, size_t n) {
    int V = tensor_width(in->val.shape), scored = 0;
    double dy = (double)node->grad[0], weight = 0;
    for (size_t row = 0; row < n; row += (size_t)V) {
        int target = target_of(added + row, V, node->grad[0]);
        if (target < 0) continue;
        scored++;
        weight = -(double)added[row + (size_t)target] / dy /
                 (1 - softmax_at(in->val.x + row, V, target));
    }
    for (size_t row = 0; row < n && scored && V > 1; row += (size_t)V)
        spoil_row(added + row, in->val.x + row, V, target_of(added + row, V, node->grad[0]), weight,
                  dy, (double)n / V / scored);
}
static void cross_entropy(ag_node *node) { spoil(node, cross_entropy_how, true); }

/* ---- squared error ---- */

enum { TWO_FORGOTTEN = 1, SAME_SIGN, ONES_WEIGHT, DISTANCE };

static void squared_error(ag_node *node) {
    const ag_node *a = node->in[0], *b = node->in[1];
    real *da = ag_grad(node->in[0]), *db = ag_grad(node->in[1]), sum = 0;
    for (size_t i = 0; i < a->val.n; i++)
        sum += (a->val.x[i] - b->val.x[i]) * (a->val.x[i] - b->val.x[i]);
    const real weight = flaw == ONES_WEIGHT ? 1 : sum > 0 ? node->val.x[0] / sum : 0;
    const real each = (flaw == TWO_FORGOTTEN ? 1 : 2) * weight * node->grad[0];
    for (size_t i = 0; i < a->val.n; i++) {
        real d = each * (a->val.x[i] - b->val.x[i]);
        if (flaw == DISTANCE) d = each * (a->val.x[i] > b->val.x[i] ? 1 : -1);
        if (da) da[i] += d;
        if (db) db[i] += flaw == SAME_SIGN ? d : -d;
    }
}

/* ---- the table ---- */

#define ANY(kind, what, function) \
    { NULL, what, kind, NULL, function, 1, false }
#define ANY_FORWARD(kind, what, function, tracks) \
    { NULL, what, kind, function, NULL, 1, tracks }
#define ANY_COMBINED(what, flaw) \
    { NULL, what, MUTANT_EACH_INPUT, NULL, combines_wrongly, flaw, true }
#define OF(op, what, function, flaw) \
    { op, what, MUTANT_WHOLE, NULL, function, flaw, false }
#define OF_INPUT(op, what, function, flaw) \
    { op, what, MUTANT_EACH_INPUT, NULL, function, flaw, false }

const mutant mutants[] = {
    ANY(MUTANT_EACH_INPUT, "times 1.00001", slightly_too_large),
    ANY(MUTANT_EACH_INPUT, "zero", nothing),
    ANY(MUTANT_EACH_INPUT, "overwrites instead of adding", overwrites),
    ANY(MUTANT_EACH_INPUT, "counted twice", twice),
    ANY(MUTANT_EACH_INPUT, "wrong sign", wrong_sign),
    ANY(MUTANT_EACH_INPUT, "first element skipped", first_skipped),
    ANY(MUTANT_EACH_INPUT, "last element skipped", last_skipped),
    {NULL, "end of the vector loop skipped", MUTANT_EACH_INPUT, NULL, tail_skipped, 1, true},
    ANY(MUTANT_EACH_INPUT, "everything one place further", moved_by_one),
    ANY(MUTANT_EACH_INPUT, "a constant is added", constant_added),
    ANY(MUTANT_EACH_INPUT, "magnitude without sign", magnitude_only),
    ANY(MUTANT_EACH_INPUT, "NaN in the last element", nan_at_the_end),
    ANY_COMBINED("only the last contribution counts", LAST_ONLY),
    ANY_COMBINED("only the first contribution counts", FIRST_ONLY),
    ANY_COMBINED("mean of the contributions, not sum", AVERAGE),
    ANY(MUTANT_WHOLE, "ignores the gradient from above", ignores_upstream),
    ANY(MUTANT_WHOLE, "ignores its sign", ignores_sign_upstream),
    ANY(MUTANT_WHOLE, "rounds it to half precision", rounds_to_half),
    ANY(MUTANT_TWO_INPUTS, "no gradient at all when one input is frozen", all_or_nothing),
    ANY(MUTANT_SAVES, "kept values off by 1.00001", with_save_off),
    ANY(MUTANT_WHOLE, "backward changes an input", changes_input),
    ANY_FORWARD(MUTANT_WHOLE, "forward changes an input", forward_changes_input, false),
    ANY_FORWARD(MUTANT_WHOLE, "forward adds to the last replay's value", forward_accumulates,
                false),
    ANY_FORWARD(MUTANT_WHOLE, "forward skips the last element", forward_skips_last, true),
    ANY_FORWARD(MUTANT_WHOLE, "forward a little bent", forward_bent, false),
    ANY_FORWARD(MUTANT_SAVES, "kept values are not renewed at a replay", forward_keeps_old_save,
                true),

    OF("add", "none", slopes_1_1, 0),
    OF("add", "subtracts", slopes_1_minus_1, 1),
    OF("add", "multiplies", slopes_b_a, 1),
    OF("sub", "none", slopes_1_minus_1, 0),
    OF("sub", "adds", slopes_1_1, 1),
    OF("sub", "multiplies", slopes_b_a, 1),
    OF("mul", "none", slopes_b_a, 0),
    OF("mul", "each gets its own factor", slopes_a_b, 1),
    OF("mul", "adds", slopes_1_1, 1),
    OF("div", "none", slopes_of_division, 0),
    OF("div", "divisor not squared", slopes_of_division_unsquared, 1),
    OF("div", "divisor's sign", slopes_of_division_unsigned, 1),
    OF("div", "multiplies", slopes_b_a, 1),
    OF("neg", "none", slope_minus_1, 0),
    OF("neg", "sign forgotten", slope_1, 1),
    OF("neg", "its input for its slope", slope_x, 1),
    OF("neg", "its value for its slope", slope_y, 1),
    OF("scale", "none", slope_ratio, 0),
    OF("scale", "factor forgotten", slope_1, 1),
    OF("scale", "factor twice", slope_ratio_squared, 1),
    OF("scale", "divides by it", slope_inverse, 1),
    OF("exp", "none", slope_y, 0),
    OF("exp", "its input for its slope", slope_x, 1),
    OF("exp", "constant slope", slope_1, 1),
    OF("exp", "the slope of ln", slope_1_by_x, 1),
    OF("log", "none", slope_1_by_x, 0),
    OF("log", "1/y", slope_1_by_y, 1),
    OF("log", "x", slope_x, 1),
    OF("log", "the slope of e^x", slope_y, 1),
    OF("sqrt", "none", slope_half_by_y, 0),
    OF("sqrt", "2 forgotten", slope_1_by_y, 1),
    OF("sqrt", "x for y", slope_half_by_x, 1),
    OF("sqrt", "its value for its slope", slope_y, 1),
    OF("tanh", "none", slope_1_minus_yy, 0),
    OF("tanh", "not squared", slope_1_minus_y, 1),
    OF("tanh", "x for y", slope_1_minus_xx, 1),
    OF("tanh", "the sigmoid's slope", slope_logistic, 1),
    OF("sigmoid", "none", slope_logistic, 0),
    OF("sigmoid", "x for y", slope_logistic_of_x, 1),
    OF("sigmoid", "its value for its slope", slope_y, 1),
    OF("sigmoid", "1 - y", slope_1_minus_y, 1),
    OF("sigmoid", "1 - x", slope_1_minus_x, 1),
    OF("silu", "none", slope_of_silu, 0),
    OF("silu", "the gate taken for fixed", slope_ratio, 1),
    OF("silu", "the gate's slope alone", slope_of_silu_gate, 1),
    OF("silu", "the sigmoid's slope", slope_logistic, 1),
    OF("dropout", "none", slope_ratio, 0),
    OF("dropout", "scale forgotten", slope_where_kept, 1),
    OF("dropout", "scale twice", slope_ratio_squared, 1),
    OF("dropout", "scale inverted", slope_inverse, 1),
    OF("dropout", "the dropped ones learn", slope_where_dropped, 1),
    OF("dropout", "all learn", slope_1, 1),

    OF("max", "none", max, 0),
    OF("max", "all get it", max, TO_ALL),
    OF("max", "all share it", max, TO_ALL_SHARED),
    OF("max", "all others get it", max, TO_ALL_OTHERS),
    OF("max", "the next one gets it", max, NEXT_TO_IT),
    OF("reshape", "none", straight, 0),
    OF_INPUT("reshape", "one row further", moved_by_a_row, 1),
    OF("permute", "order forgotten", straight, 1),
    OF_INPUT("permute", "one row further", moved_by_a_row, 1),
    OF("slice", "always from the start", straight, 1),
    OF("slice", "always from the end", straight_from_end, 1),
    OF("concat", "all get the first piece", straight, 1),
    OF("concat", "all get the last piece", straight_from_end, 1),
    OF("rope", "none", rope, 0),
    OF("rope", "turned on, not back", rope, TURNED_ON),
    OF("rope", "cosines only", rope, COSINE_ONLY),
    OF("rope", "pairs exchanged", rope, PAIR_EXCHANGED),
    OF("rope", "not turned", slope_1, 1),
    OF("sum", "mean for sum", mean_for_sum, 1),
    OF("mean", "sum for mean", sum_for_mean, 1),
    OF("mean", "divided by the number of results", divided_by_results, 1),
    OF("mean", "divided twice", mean_for_sum, 1),
    OF("relu", "passes everything", slope_1, 1),
    OF("relu", "leaks", slope_of_leaky_relu, 1),
    OF("relu", "only positive gradients pass", slope_of_guided_relu, 1),
    OF("relu", "its value for its slope", slope_y, 1),
    OF("gelu", "none", slope_of_gelu, 0),
    OF("gelu", "the other form's slope", slope_of_other_gelu, 1),
    OF("gelu", "always the erf form's slope", slope_of_erf_gelu, 1),
    OF("gelu", "always the tanh form's slope", slope_of_tanh_gelu, 1),
    OF("gelu", "Phi alone", slope_of_phi, 1),

    OF("linear", "none", linear, 0),
    OF("linear", "w not transposed", linear, W_AS_IT_LIES),
    OF("linear", "x not transposed", linear, X_AS_IT_LIES),
    OF("linear", "bias from the first row", linear, BIAS_OF_FIRST_ROW),
    OF("linear", "bias averaged over rows", linear, BIAS_AVERAGED),
    OF("linear", "last row left out", linear, LAST_ROW_LEFT_OUT),
    OF("matmul", "none", matmul, 0),
    OF("matmul", "b not transposed", matmul, B_AS_IT_LIES),
    OF("matmul", "a not transposed", matmul, A_AS_IT_LIES),
    OF("matmul", "one batch only", matmul, ONE_BATCH_ONLY),
    OF("matmul", "operands exchanged", matmul, SIDES_SWAPPED),
    OF_INPUT("embedding", "row 0 taken for padding", first_row_skipped, 1),
    OF_INPUT("embedding", "one row further", moved_by_a_row, 1),
    OF_INPUT("gather", "row 0 taken for absent", first_row_skipped, 1),
    OF_INPUT("gather", "one row further", moved_by_a_row, 1),

    OF("layer_norm", "none", layer_norm, 0),
    OF("layer_norm", "mean taken for fixed", layer_norm, MEAN_FIXED),
    OF("layer_norm", "spread taken for fixed", layer_norm, SPREAD_FIXED),
    OF("layer_norm", "gain forgotten", layer_norm, GAIN_FORGOTTEN),
    OF("layer_norm", "1/sqrt(var) forgotten", layer_norm, SCALE_FORGOTTEN),
    OF("layer_norm", "gain's gradient without the mean", layer_norm, GAIN_UNCENTRED),
    OF("layer_norm", "gain's gradient from the result", layer_norm, GAIN_OF_RESULT),
    OF("layer_norm", "bias from the last row", layer_norm, BIAS_OF_LAST_ROW),
    OF("layer_norm", "means over D - 1", layer_norm, UNBIASED),
    OF("layer_norm", "eps forgotten", layer_norm, EPS_FORGOTTEN),

    OF("rms_norm", "none", rms_norm, 0),
    OF("rms_norm", "spread taken for fixed", rms_norm, SPREAD_FIXED),
    OF("rms_norm", "gain forgotten", rms_norm, GAIN_FORGOTTEN),
    OF("rms_norm", "gain's gradient without the scale", rms_norm, SCALE_FORGOTTEN),
    OF("rms_norm", "gain's gradient from the result", rms_norm, GAIN_OF_RESULT),
    OF("rms_norm", "centred as a layer norm", rms_norm, CENTRED_TOO),

    OF("softmax", "none", softmax, 0),
    OF("softmax", "not centred", softmax, NOT_CENTRED),
    OF("softmax", "centred by the plain sum", softmax, PLAIN_SUM),
    OF("softmax", "mask leaks", softmax, MASK_LEAKS),
    OF("softmax", "centre without the last key", softmax, LAST_LEFT_OUT),
    OF("softmax", "weight squared", softmax, SQUARED),
    OF("softmax", "centre of the row above", softmax, CENTRE_OF_ROW_ABOVE),
    OF("softmax", "only y (1 - y)", softmax, LOCAL_ONLY),

    OF("log_softmax", "none", log_softmax, 0),
    OF("log_softmax", "sum forgotten", log_softmax, SUM_FORGOTTEN),
    OF("log_softmax", "equal shares", log_softmax, EQUAL_SHARES),
    OF("log_softmax", "log weights for weights", log_softmax, LOG_FOR_WEIGHT),
    OF("log_softmax", "sum of the row above", log_softmax, SUM_OF_ROW_ABOVE),
    OF("log_softmax", "weighted sum, as in softmax", log_softmax, WEIGHTED_SUM),

    OF("scores", "none", scores, 0),
    OF("scores", "dq without the factor", scores, QUERY_UNSCALED),
    OF("scores", "dk without the factor", scores, KEY_UNSCALED),
    OF("scores", "dk with the factor twice", scores, KEY_SCALED_TWICE),
    OF("scores", "mask leaks", scores, LEAKS),
    OF("scores", "own place left out", scores, DIAGONAL_LEFT_OUT),
    OF("scores", "own place only", scores, OWN_PLACE_ONLY),
    OF("scores", "dk from the last head of a group", scores, LAST_OF_GROUP),
    OF("scores", "key heads dealt round", scores, HEADS_DEALT_ROUND),
    OF("scores", "first batch row only", scores, FIRST_BATCH_ONLY),
    OF("scores", "q and k exchanged", scores, SIDES_EXCHANGED),
    OF("mix", "none", mix, 0),
    OF("mix", "own place left out", mix, DIAGONAL_LEFT_OUT),
    OF("mix", "own place only", mix, OWN_PLACE_ONLY),
    OF("mix", "dv from the last head of a group", mix, LAST_OF_GROUP),
    OF("mix", "value heads dealt round", mix, HEADS_DEALT_ROUND),
    OF("mix", "first batch row only", mix, FIRST_BATCH_ONLY),
    OF("mix", "w not transposed", mix, TRANSPOSE_MISSING),

    OF("cross_entropy", "none", cross_entropy, 0),
    OF("cross_entropy", "target forgotten", cross_entropy, WITHOUT_TARGET),
    OF("cross_entropy", "target alone", cross_entropy, WITHOUT_SOFTMAX),
    OF("cross_entropy", "softmax not normalised", cross_entropy, NOT_NORMALISED),
    OF("cross_entropy", "rows that are not scored learn", cross_entropy, UNSCORED_TOO),
    OF("cross_entropy", "weight forgotten", cross_entropy, WEIGHT_FORGOTTEN),
    OF("cross_entropy", "mean over all rows", cross_entropy, ALL_ROWS_COUNTED),
    OF("squared_error", "none", squared_error, 0),
    OF("squared_error", "2 forgotten", squared_error, TWO_FORGOTTEN),
    OF("squared_error", "b with a's sign", squared_error, SAME_SIGN),
    OF("squared_error", "weight forgotten", squared_error, ONES_WEIGHT),
    OF("squared_error", "distance, not its square", squared_error, DISTANCE),
    {NULL, NULL, MUTANT_WHOLE, NULL, NULL, 0, false},
};
