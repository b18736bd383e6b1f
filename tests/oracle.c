#include "tests/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/op.h"

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* ---- elementwise: one line an op. The op's own samples serve. ---- */

/* Where element `at` of the full shape stands in an operand of shape s, which numpy would repeat to
 * the full shape: dimensions are aligned on the right, and where s has 1 there is only index 0. */
static size_t repeated(tensor_shape full, size_t at, tensor_shape s) {
    size_t index = 0, step = 1;
    for (int i = full.rank - 1, j = s.rank - 1; j >= 0; i--, j--) {
        size_t here = at % (size_t)full.dim[i];
        at /= (size_t)full.dim[i];
        if (s.dim[j] != 1) index += here * step;
        step *= (size_t)s.dim[j];
    }
    return index;
}

static int dim_from_right(tensor_shape s, int i) { return i < s.rank ? s.dim[s.rank - 1 - i] : 1; }

/* Whether y is what numpy makes of a and b. */
static bool is_broadcast(tensor_shape y, tensor_shape a, tensor_shape b) {
    if (y.rank != (a.rank > b.rank ? a.rank : b.rank)) return false;
    for (int i = 0; i < y.rank; i++) {
        int da = dim_from_right(a, i), db = dim_from_right(b, i);
        if (dim_from_right(y, i) != (da == 1 ? db : da)) return false;
    }
    return true;
}

#define UNARY(name, expression)                                                             \
    static bool name##_value(int i_, int n_in, const oracle_tensor *in, oracle_tensor *y) { \
        (void)i_, (void)n_in;                                                               \
        for (size_t i = 0; i < y->n; i++) {                                                 \
            number x = in[0].x[i];                                                          \
            y->x[i] = expression;                                                           \
        }                                                                                   \
        return tensor_same_shape(y->shape, in[0].shape);                                    \
    }
#define BINARY(name, expression)                                                            \
    static bool name##_value(int i_, int n_in, const oracle_tensor *in, oracle_tensor *y) { \
        (void)i_, (void)n_in;                                                               \
        for (size_t i = 0; i < y->n; i++) {                                                 \
            number a = in[0].x[repeated(y->shape, i, in[0].shape)];                         \
            number b = in[1].x[repeated(y->shape, i, in[1].shape)];                         \
            y->x[i] = expression;                                                           \
        }                                                                                   \
        return is_broadcast(y->shape, in[0].shape, in[1].shape);                            \
    }

BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a *b)
BINARY(div, a / b)
UNARY(neg, -x)
UNARY(exp, cexp(x))
UNARY(log, clog(x))
UNARY(sqrt, csqrt(x))
UNARY(tanh, ctanh(x))
UNARY(sigmoid, 1 / (1 + cexp(-x)))
UNARY(silu, x / (1 + cexp(-x)))
UNARY(relu, creal(x) > 0 ? x : 0)

static const double FACTORS[] = {0.3, -1.5, 0, 1};

static ag_node *scale_record(ag_graph *g, int i) {
    tensor_shape s;
    if (!ag_sample_shape(i, &s)) return NULL;
    return ag_scale(ag_sample(g, AG_SAMPLE_NORMAL, s), FACTORS[i % COUNT(FACTORS)]);
}
static bool scale_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    for (size_t k = 0; k < y->n; k++) y->x[k] = FACTORS[i % COUNT(FACTORS)] * in[0].x[k];
    return tensor_same_shape(y->shape, in[0].shape);
}

/* erf by the series whose terms all have one sign: 2/sqrt(pi) e^(-z^2) (z + 2 z^3/3 + 4 z^5/15 +
 * ...). */
static number complex_erf(number z) {
    number term = z, sum = z;
    for (int n = 1; n < 300; n++) {
        term *= 2 * z * z / (2 * n + 1);
        sum += term;
    }
    return 2 / sqrt(acos(-1)) * cexp(-z * z) * sum;
}

static ag_node *gelu_record(ag_graph *g, int i) {
    tensor_shape s;
    if (!ag_sample_shape(i / 2, &s)) return NULL;
    return ag_gelu(ag_sample(g, AG_SAMPLE_NORMAL, s), i % 2 ? AG_GELU_TANH : AG_GELU_ERF);
}
static bool gelu_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    for (size_t k = 0; k < y->n; k++) {
        number x = in[0].x[k];
        number erf_form = complex_erf(x / sqrt(2)),
               tanh_form = ctanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x));
        y->x[k] = x * (1 + (i % 2 ? tanh_form : erf_form)) / 2;
    }
    return tensor_same_shape(y->shape, in[0].shape);
}

/* Which elements fall is the op's own affair; but dropouts of one name drop the same ones, so a
 * second one, of ones, shows which. Their share must be p within four standard errors. */
static const struct {
    double p;
    bool training;
} DROPS[] = {{0.5, true}, {0, true}, {0.9, true}, {0.5, false}, {0.2, true}};
static const real *drop_mask;

static ag_node *dropout_record(ag_graph *g, int i) {
    if (i >= COUNT(DROPS)) return NULL;
    tensor_shape s = i == 4 ? tensor_dims(2, 0, 3) : tensor_dims(2, 7, 17);
    ag_set_run(
        g,
        (ag_run){.seed = 1, .step = 2, .micro_batch = (uint64_t)i, .training = DROPS[i].training});
    ag_node *ones = ag_input(g, "ones", s);
    for (size_t k = 0; k < ones->val.n; k++) ones->val.x[k] = 1;
    drop_mask = ag_dropout(ones, DROPS[i].p, "drop")->val.x;
    return ag_dropout(ag_sample(g, AG_SAMPLE_NORMAL, s), DROPS[i].p, "drop");
}
static bool dropout_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    double p = DROPS[i].training ? DROPS[i].p : 0, kept = 0;
    for (size_t k = 0; k < y->n; k++) {
        bool whole = drop_mask[k] != 0;
        kept += whole;
        y->x[k] = whole ? in[0].x[k] / (1 - p) : 0;
    }
    double expected = (1 - p) * (double)y->n;
    if (fabs(kept - expected) > 4 * sqrt(p * expected)) y->x[0] = (double)NAN;
    return tensor_same_shape(y->shape, in[0].shape);
}

/* ---- sums and means over axes ---- */

typedef struct {
    tensor_shape shape;
    int n_axes, axes[3];
} reduction;

static reduction reduction_at(int i) {
    const reduction c[] = {{tensor_dims(0), 0, {0}},
                           {tensor_dims(1, 7), 0, {0}},
                           {tensor_dims(2, 3, 4), 0, {0}},
                           {tensor_dims(3, 2, 3, 5), 1, {0}},
                           {tensor_dims(3, 2, 3, 5), 1, {1}},
                           {tensor_dims(3, 2, 3, 5), 1, {-1}},
                           {tensor_dims(3, 2, 3, 5), 2, {0, 2}},
                           {tensor_dims(3, 2, 3, 5), 2, {-2, 0}},
                           {tensor_dims(3, 2, 3, 5), 3, {2, 0, 1}},
                           {tensor_dims(2, 2, 33), 1, {1}},
                           {tensor_dims(2, 17, 1), 1, {-1}},
                           {tensor_dims(2, 0, 4), 1, {1}},
                           {tensor_dims(2, 0, 4), 1, {0}},
                           {tensor_dims(2, 3, 0), 0, {0}}};
    return i < COUNT(c) ? c[i] : (reduction){.shape.rank = -1};
}

static bool is_reduced(const reduction *r, int axis) {
    for (int i = 0; i < r->n_axes; i++)
        if ((r->axes[i] + r->shape.rank) % r->shape.rank == axis) return true;
    return r->n_axes == 0;
}

/* Where element k of x goes: to the place of y whose indices are those of k that remain. */
static size_t reduced_place(const reduction *c, size_t k) {
    size_t to = 0, step = 1;
    for (int d = c->shape.rank - 1; d >= 0; d--) {
        size_t here = k % (size_t)c->shape.dim[d];
        k /= (size_t)c->shape.dim[d];
        if (is_reduced(c, d)) continue;
        to += here * step;
        step *= (size_t)c->shape.dim[d];
    }
    return to;
}
static bool is_reduced_shape(const reduction *c, tensor_shape y) {
    tensor_shape left = {0};
    for (int d = 0; d < c->shape.rank; d++)
        if (!is_reduced(c, d)) left.dim[left.rank++] = c->shape.dim[d];
    return tensor_same_shape(y, left);
}

static bool sum_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    reduction c = reduction_at(i);
    for (size_t k = 0; k < y->n; k++) y->x[k] = 0;
    for (size_t k = 0; k < in[0].n; k++) y->x[reduced_place(&c, k)] += in[0].x[k];
    return is_reduced_shape(&c, y->shape);
}
static bool mean_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    bool right = sum_value(i, n_in, in, y);
    for (size_t k = 0; k < y->n; k++) y->x[k] /= (double)in[0].n / (double)y->n;
    return right;
}
static bool max_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    reduction c = reduction_at(i);
    for (size_t k = 0; k < y->n; k++) y->x[k] = -INFINITY;
    for (size_t k = 0; k < in[0].n; k++) {
        number *best = y->x + reduced_place(&c, k);
        if (creal(in[0].x[k]) > creal(*best)) *best = in[0].x[k];
    }
    return is_reduced_shape(&c, y->shape);
}

static ag_node *sum_record(ag_graph *g, int i) {
    reduction c = reduction_at(i);
    return c.shape.rank < 0 ? NULL
                            : ag_sum(ag_sample(g, AG_SAMPLE_NORMAL, c.shape), c.n_axes, c.axes);
}
/* The last two are of nothing, which has no mean and no maximum. */
static ag_node *mean_record(ag_graph *g, int i) {
    reduction c = reduction_at(i + 2), here = reduction_at(i);
    return c.shape.rank < 0
               ? NULL
               : ag_mean(ag_sample(g, AG_SAMPLE_NORMAL, here.shape), here.n_axes, here.axes);
}
static ag_node *max_record(ag_graph *g, int i) {
    reduction c = reduction_at(i + 2), here = reduction_at(i);
    return c.shape.rank < 0
               ? NULL
               : ag_max(ag_sample(g, AG_SAMPLE_NORMAL, here.shape), here.n_axes, here.axes);
}

/* ---- ops that move numbers ---- */

typedef struct {
    int at[TENSOR_MAXRANK];
} indices;

static indices indices_of(tensor_shape s, size_t flat) {
    indices i = {{0}};
    for (int d = s.rank - 1; d >= 0; d--) {
        i.at[d] = (int)(flat % (size_t)s.dim[d]);
        flat /= (size_t)s.dim[d];
    }
    return i;
}
static size_t flat_of(tensor_shape s, indices i) {
    size_t flat = 0;
    for (int d = 0; d < s.rank; d++) flat = flat * (size_t)s.dim[d] + (size_t)i.at[d];
    return flat;
}

static tensor_shape reshaped(int i, bool after) {
    const tensor_shape c[][2] = {{tensor_dims(2, 3, 4), tensor_dims(3, 2, 1, 6)},
                                 {tensor_dims(0), tensor_dims(2, 1, 1)},
                                 {tensor_dims(3, 2, 3, 5), tensor_dims(1, 30)},
                                 {tensor_dims(2, 0, 3), tensor_dims(1, 0)}};
    return i < COUNT(c) ? c[i][after] : (tensor_shape){.rank = -1};
}
static ag_node *reshape_record(ag_graph *g, int i) {
    tensor_shape s = reshaped(i, false);
    return s.rank < 0 ? NULL : ag_reshape(ag_sample(g, AG_SAMPLE_NORMAL, s), reshaped(i, true));
}
static bool reshape_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    for (size_t k = 0; k < y->n; k++) y->x[k] = in[0].x[k];
    return tensor_same_shape(y->shape, reshaped(i, true));
}

/* Axes as they are given, and as they are meant. */
static const int ORDERS[][5] = {{1, 0},          {2, 0, 1}, {-1, 1, 0}, {0, 2, 1, 3},
                                {4, 2, 0, 3, 1}, {1, 0},    {0}};
static tensor_shape permuted(int i) {
    const tensor_shape c[] = {tensor_dims(2, 3, 17),
                              tensor_dims(3, 2, 3, 5),
                              tensor_dims(3, 2, 3, 5),
                              tensor_dims(4, 2, 3, 4, 5),
                              tensor_dims(5, 2, 3, 1, 2, 4),
                              tensor_dims(2, 0, 4),
                              tensor_dims(0)};
    return i < COUNT(c) ? c[i] : (tensor_shape){.rank = -1};
}
static ag_node *permute_record(ag_graph *g, int i) {
    tensor_shape s = permuted(i);
    return s.rank < 0 ? NULL : ag_permute(ag_sample(g, AG_SAMPLE_NORMAL, s), s.rank, ORDERS[i]);
}
static bool permute_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    tensor_shape x = in[0].shape, expected = x;
    for (int d = 0; d < x.rank; d++) expected.dim[d] = x.dim[(ORDERS[i][d] + x.rank) % x.rank];
    for (size_t k = 0; k < y->n; k++) {
        indices to = indices_of(expected, k), from = {{0}};
        for (int d = 0; d < x.rank; d++) from.at[(ORDERS[i][d] + x.rank) % x.rank] = to.at[d];
        y->x[k] = in[0].x[flat_of(x, from)];
    }
    return tensor_same_shape(y->shape, expected);
}

static const struct {
    int axis, begin, end, meant_axis, meant_begin, length;
} SLICES[] = {{0, 1, 3, 0, 1, 2},   {1, 0, 2, 1, 0, 2}, {-1, 2, 5, 2, 2, 3},
              {2, -3, -1, 2, 2, 2}, {1, 1, 1, 1, 1, 0}, {0, 0, 4, 0, 0, 4}};
static ag_node *slice_record(ag_graph *g, int i) {
    if (i >= COUNT(SLICES)) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 4, 3, 5));
    return ag_slice(x, SLICES[i].axis, SLICES[i].begin, SLICES[i].end);
}
static bool slice_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    tensor_shape expected = in[0].shape;
    expected.dim[SLICES[i].meant_axis] = SLICES[i].length;
    for (size_t k = 0; k < y->n; k++) {
        indices from = indices_of(expected, k);
        from.at[SLICES[i].meant_axis] += SLICES[i].meant_begin;
        y->x[k] = in[0].x[flat_of(in[0].shape, from)];
    }
    return tensor_same_shape(y->shape, expected);
}

/* Three parts of length 2, 0 (or 1) and 3 along each axis; in the last case the first part once
 * more in the middle. */
static ag_node *concat_record(ag_graph *g, int i) {
    if (i > 3) return NULL;
    int axis = i % 3;
    ag_node *part[3];
    for (int p = 0; p < 3; p++) {
        tensor_shape s = tensor_dims(3, 4, 3, 5);
        s.dim[axis] = p == 0 ? 2 : p == 1 ? i % 2 : 3;
        part[p] = ag_sample(g, AG_SAMPLE_NORMAL, s);
    }
    if (i == 3) part[1] = part[0];
    return ag_concat(3, part, i == 1 ? -2 : axis);
}
static bool concat_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    int axis = i % 3, length = 0;
    tensor_shape expected = in[0].shape;
    for (int p = 0; p < n_in; p++) length += in[p].shape.dim[axis];
    expected.dim[axis] = length;
    for (size_t k = 0; k < y->n; k++) {
        indices from = indices_of(expected, k);
        int p = 0;
        while (from.at[axis] >= in[p].shape.dim[axis]) from.at[axis] -= in[p++].shape.dim[axis];
        y->x[k] = in[p].x[flat_of(in[p].shape, from)];
    }
    return tensor_same_shape(y->shape, expected);
}

/* ---- matrix products ---- */

static bool matmul_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)i, (void)n_in;
    tensor_shape a = in[0].shape, b = in[1].shape, s = y->shape;
    int M = a.dim[a.rank - 2], K = a.dim[a.rank - 1], N = b.dim[b.rank - 1];
    bool right = s.rank >= 2 && s.dim[s.rank - 2] == M && s.dim[s.rank - 1] == N;
    a.rank -= 2, b.rank -= 2, s.rank -= 2;
    for (size_t at = 0; at < y->n; at++) {
        size_t n = at % (size_t)N, m = at / (size_t)N % (size_t)M, batch = at / (size_t)(M * N);
        const number *x = in[0].x + repeated(s, batch, a) * (size_t)(M * K);
        const number *w = in[1].x + repeated(s, batch, b) * (size_t)(K * N);
        y->x[at] = 0;
        for (size_t k = 0; k < (size_t)K; k++)
            y->x[at] += x[m * (size_t)K + k] * w[k * (size_t)N + n];
    }
    return right && is_broadcast(s, a, b);
}

static bool linear_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)i;
    size_t K = (size_t)in[1].shape.dim[0], N = (size_t)in[1].shape.dim[1];
    tensor_shape expected = in[0].shape;
    expected.dim[expected.rank - 1] = (int)N;
    for (size_t at = 0; at < y->n; at++) {
        y->x[at] = n_in == 3 ? in[2].x[at % N] : 0;
        for (size_t k = 0; k < K; k++)
            y->x[at] += in[0].x[at / N * K + k] * in[1].x[k * N + at % N];
    }
    return tensor_same_shape(y->shape, expected);
}

/* ---- rows by number ---- */

enum { NONE = -1 };
static const int WORDS[] = {2, 0, 2, 2, 1, 0}, SEATS[] = {0, NONE, 4, 4, NONE, 1};

static ag_node *embedding_record(ag_graph *g, int i) {
    ag_node *t[] = {ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, 3, 5)),
                    ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, 5, 5)),
                    ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, 4, 5))};
    const int *ids[] = {WORDS, SEATS, NULL};
    switch (i) {
        case 0: return ag_embedding(1, t, ids, tensor_dims(1, 6));
        case 1:
            return ag_embedding(3, t, ids, tensor_dims(2, 2, 3));  // the third table by position
        case 2: return ag_embedding(2, (ag_node *[]){t[1], t[1]}, ids, tensor_dims(2, 3, 2));
        case 3: return ag_embedding(2, t, ids, tensor_dims(0));
        case 4: return ag_embedding(1, t, ids, tensor_dims(2, 0, 3));
        default: return NULL;
    }
}
static bool embedding_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    const tensor_shape expected[] = {tensor_dims(2, 6, 5), tensor_dims(3, 2, 3, 5),
                                     tensor_dims(3, 3, 2, 5), tensor_dims(1, 5),
                                     tensor_dims(3, 0, 3, 5)};
    for (size_t at = 0; at < y->n; at++) {
        size_t place = at / 5, column = at % 5;
        y->x[at] = 0;
        for (int t = 0; t < n_in; t++) {
            int row = t == 0 ? WORDS[place] : t == 1 ? SEATS[place] : (int)(place % 3);
            if (row != NONE) y->x[at] += in[t].x[(size_t)row * 5 + column];
        }
    }
    return tensor_same_shape(y->shape, expected[i]);
}

static const int ROWS[] = {3, 0, NONE, 3, 5, 3, NONE, 1};

static ag_node *gather_record(ag_graph *g, int i) {
    const tensor_shape shape[] = {tensor_dims(2, 6, 4), tensor_dims(3, 2, 3, 1),
                                  tensor_dims(3, 2, 3, 17)};
    if (i >= COUNT(shape)) return NULL;
    return ag_gather(ag_sample(g, AG_SAMPLE_NORMAL, shape[i]), ROWS, i == 1 ? 0 : COUNT(ROWS));
}
static bool gather_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    int D = in[0].shape.dim[in[0].shape.rank - 1];
    for (size_t at = 0; at < y->n; at++) {
        int row = ROWS[at / (size_t)D];
        y->x[at] = row == NONE ? 0 : in[0].x[(size_t)row * (size_t)D + at % (size_t)D];
    }
    return tensor_same_shape(y->shape, tensor_dims(2, i == 1 ? 0 : COUNT(ROWS), D));
}

/* ---- norms ---- */

static const double EPS[] = {0.1, 1e-5};

static tensor_shape norm_shape(int i) {
    const tensor_shape s[] = {tensor_dims(2, 3, 4),  tensor_dims(1, 7),    tensor_dims(3, 2, 3, 5),
                              tensor_dims(2, 2, 33), tensor_dims(2, 3, 1), tensor_dims(2, 0, 4),
                              tensor_dims(2, 3, 0)};
    return i < COUNT(s) ? s[i] : (tensor_shape){.rank = -1};
}

static ag_node *layer_norm_record(ag_graph *g, int i) {
    tensor_shape s = norm_shape(i);
    if (s.rank < 0) return NULL;
    tensor_shape width = tensor_dims(1, s.dim[s.rank - 1]);
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, s), *gain = ag_sample(g, AG_SAMPLE_NORMAL, width);
    return ag_layer_norm(x, gain, ag_sample(g, AG_SAMPLE_NORMAL, width), EPS[i % 2]);
}
static bool layer_norm_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    size_t D = in[1].n;
    for (size_t row = 0; row + D <= y->n && D > 0; row += D) {
        const number *x = in[0].x + row;
        number mean = 0, var = 0;
        for (size_t d = 0; d < D; d++) mean += x[d] / (double)D;
        for (size_t d = 0; d < D; d++) var += (x[d] - mean) * (x[d] - mean) / (double)D;
        for (size_t d = 0; d < D; d++)
            y->x[row + d] = in[1].x[d] * (x[d] - mean) / csqrt(var + EPS[i % 2]) + in[2].x[d];
    }
    return tensor_same_shape(y->shape, in[0].shape);
}

static ag_node *rms_norm_record(ag_graph *g, int i) {
    tensor_shape s = norm_shape(i);
    if (i == 7) {  // one node for both
        ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 5));
        return ag_rms_norm(x, x, EPS[1]);
    }
    if (s.rank < 0) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, s);
    return ag_rms_norm(x, ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, s.dim[s.rank - 1])),
                       EPS[i % 2]);
}
static bool rms_norm_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    size_t D = in[1].n;
    for (size_t row = 0; row + D <= y->n && D > 0; row += D) {
        number square = 0;
        for (size_t d = 0; d < D; d++) square += in[0].x[row + d] * in[0].x[row + d] / (double)D;
        for (size_t d = 0; d < D; d++)
            y->x[row + d] = in[1].x[d] * in[0].x[row + d] / csqrt(square + EPS[i % 2]);
    }
    return tensor_same_shape(y->shape, in[0].shape);
}

/* ---- attention ---- */

typedef struct {
    int B, T, S, H, G, E;
    double factor;
    ag_mask mask;
} attention;

static const attention ATTENTION[] = {
    {1, 1, 1, 1, 1, 1, 1, {0}},
    {2, 3, 5, 2, 2, 3, 0.6, {0}},
    {2, 4, 4, 1, 1, 5, 0.4, {.causal = true}},
    {2, 5, 5, 4, 2, 2, 0.7, {.causal = true, .no_self = true}},  // the first query sees nothing
    {1, 4, 6, 4, 1, 3, -0.5, {.no_self = true}},
    {2, 3, 6, 2, 1, 17, 0.2, {.memory = 4}},
    {1, 6, 6, 2, 2, 1, 1.1, {.causal = true, .memory = 3}},
    {1, 5, 5, 1, 1, 2, 0.9, {.no_self = true, .memory = 2}},
    {1, 66, 66, 1, 1, 2, 0.7, {.causal = true}},
    {1, 0, 3, 2, 1, 2, 1, {0}},
    {1, 2, 0, 2, 1, 2, 1, {.causal = true}},
};

/* The sentence of ag.h, by itself. */
static bool sees(ag_mask m, int t, int s) {
    if (m.memory > 0 && s >= m.memory) return false;
    if (m.causal && s > t) return false;
    return !(m.no_self && s == t);
}

static ag_node *scores_record(ag_graph *g, int i) {
    if (i == COUNT(ATTENTION)) {  // one node as queries and as keys
        ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 1, 4, 6));
        return ag_scores(x, x, 2, 0.5, (ag_mask){.causal = true});
    }
    if (i > COUNT(ATTENTION)) return NULL;
    attention c = ATTENTION[i];
    ag_node *q = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, c.B, c.T, c.H * c.E));
    ag_node *k = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, c.B, c.S, c.G * c.E));
    return ag_scores(q, k, c.H, c.factor, c.mask);
}
static bool scores_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    attention c =
        i < COUNT(ATTENTION) ? ATTENTION[i] : (attention){1, 4, 4, 2, 2, 3, 0.5, {.causal = true}};
    number *out = y->x;
    for (int b = 0; b < c.B; b++)
        for (int h = 0; h < c.H; h++)
            for (int t = 0; t < c.T; t++)
                for (int s = 0; s < c.S; s++, out++) {
                    const number *q = in[0].x + ((b * c.T + t) * c.H + h) * c.E;
                    const number *k = in[1].x + ((b * c.S + s) * c.G + h / (c.H / c.G)) * c.E;
                    *out = 0;
                    for (int e = 0; sees(c.mask, t, s) && e < c.E; e++)
                        *out += c.factor * q[e] * k[e];
                }
    return tensor_same_shape(y->shape, tensor_dims(4, c.B, c.H, c.T, c.S));
}

static ag_node *mix_record(ag_graph *g, int i) {
    if (i >= COUNT(ATTENTION)) return NULL;
    attention c = ATTENTION[i];
    ag_node *w = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(4, c.B, c.H, c.T, c.S));
    for (size_t k = 0; k < w->val.n; k++)  // what is masked must be 0, as softmax leaves it
        if (!sees(c.mask, (int)(k / (size_t)c.S) % c.T, (int)(k % (size_t)c.S))) w->val.x[k] = 0;
    ag_node *v = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, c.B, c.S, c.G * c.E));
    return ag_mix(w, v, c.G, c.mask);
}
static bool mix_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    attention c = ATTENTION[i];
    number *out = y->x;
    for (int b = 0; b < c.B; b++)
        for (int t = 0; t < c.T; t++)
            for (int h = 0; h < c.H; h++)
                for (int e = 0; e < c.E; e++, out++) {
                    const number *w = in[0].x + ((b * c.H + h) * c.T + t) * c.S;
                    const number *v = in[1].x + (b * c.S * c.G + h / (c.H / c.G)) * c.E + e;
                    *out = 0;
                    for (int s = 0; s < c.S; s++)
                        if (sees(c.mask, t, s)) *out += w[s] * v[s * c.G * c.E];
                }
    return tensor_same_shape(y->shape, tensor_dims(3, c.B, c.T, c.H * c.E));
}

static const struct {
    int B, T, H, E;
    double base;
} TURNS[] = {{1, 3, 1, 2, 10000},
             {2, 5, 2, 6, 10000},
             {1, 4, 3, 4, 7},
             {2, 0, 1, 4, 10000},
             {1, 2, 2, 0, 10000}};

static ag_node *rope_record(ag_graph *g, int i) {
    if (i >= COUNT(TURNS)) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL,
                           tensor_dims(3, TURNS[i].B, TURNS[i].T, TURNS[i].H * TURNS[i].E));
    return ag_rope(x, TURNS[i].H, TURNS[i].base);
}
/* A pair is a complex number, and turning it a product: here in its two parts, as x itself is
 * complex already. */
static bool rope_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    int T = TURNS[i].T, H = TURNS[i].H, E = TURNS[i].E;
    for (size_t at = 0; at < y->n; at++) {
        int column = (int)at % E, t = (int)at / (H * E) % T;
        double angle = t / pow(TURNS[i].base, (double)(column / 2 * 2) / E);
        const number *pair = in[0].x + at - column % 2;
        y->x[at] = column % 2 ? pair[0] * sin(angle) + pair[1] * cos(angle)
                              : pair[0] * cos(angle) - pair[1] * sin(angle);
    }
    return tensor_same_shape(y->shape, in[0].shape);
}

/* log of the sum of exp over the visible part of a row, shifted by the greatest real part;
 * -infinity for nothing. */
static number log_sum_exp(const number *x, int S, ag_mask mask, int t) {
    double max = -INFINITY;
    number sum = 0;
    for (int s = 0; s < S; s++)
        if (sees(mask, t, s)) max = fmax(max, creal(x[s]));
    for (int s = 0; s < S; s++)
        if (sees(mask, t, s)) sum += cexp(x[s] - max);
    return max == -INFINITY ? max : clog(sum) + max;
}

typedef struct {
    tensor_shape shape;
    ag_mask mask;
} rows;

static rows rows_at(int i) {
    const rows c[] = {
        {tensor_dims(1, 7), {0}},
        {tensor_dims(1, 1), {0}},
        {tensor_dims(2, 3, 17), {0}},
        {tensor_dims(3, 2, 3, 5), {.memory = 3}},
        {tensor_dims(4, 1, 2, 4, 4), {.causal = true}},
        {tensor_dims(4, 2, 2, 5, 5), {.causal = true, .no_self = true}},
        {tensor_dims(3, 2, 4, 6), {.no_self = true}},
        {tensor_dims(3, 1, 5, 5), {.no_self = true, .memory = 1}},  // query 0 sees nothing
        {tensor_dims(2, 2, 33), {0}},
        {tensor_dims(2, 0, 4), {.causal = true}},
        {tensor_dims(2, 3, 0), {.causal = true}}};
    return i < COUNT(c) ? c[i] : (rows){.shape.rank = -1};
}

static ag_node *softmax_record(ag_graph *g, int i) {
    rows c = rows_at(i);
    return c.shape.rank < 0 ? NULL : ag_softmax(ag_sample(g, AG_SAMPLE_NORMAL, c.shape), c.mask);
}
static bool softmax_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    rows c = rows_at(i);
    int S = c.shape.dim[c.shape.rank - 1], T = c.shape.rank > 1 ? c.shape.dim[c.shape.rank - 2] : 1;
    for (size_t at = 0; at < y->n; at++) {
        size_t row = at / (size_t)S;
        int t = (int)(row % (size_t)T), s = (int)(at % (size_t)S);
        const number *x = in[0].x + row * (size_t)S;
        y->x[at] = sees(c.mask, t, s) ? cexp(x[s] - log_sum_exp(x, S, c.mask, t)) : 0;
    }
    return tensor_same_shape(y->shape, c.shape);
}

static ag_node *softmax_one_record(ag_graph *g, int i) {
    rows c = rows_at(i);
    return c.shape.rank < 0 ? NULL
                            : ag_softmax_one(ag_sample(g, AG_SAMPLE_NORMAL, c.shape), c.mask);
}
static bool softmax_one_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    rows c = rows_at(i);
    int S = c.shape.dim[c.shape.rank - 1], T = c.shape.rank > 1 ? c.shape.dim[c.shape.rank - 2] : 1;
    for (size_t at = 0; at < y->n; at++) {
        size_t row = at / (size_t)S;
        int t = (int)(row % (size_t)T), s = (int)(at % (size_t)S);
        const number *x = in[0].x + row * (size_t)S;
        number sum = 1;
        for (int k = 0; k < S; k++) sum += sees(c.mask, t, k) ? cexp(x[k]) : 0;
        y->x[at] = sees(c.mask, t, s) ? cexp(x[s]) / sum : 0;
    }
    return tensor_same_shape(y->shape, c.shape);
}

static ag_node *soft_cap_record(ag_graph *g, int i) {
    return i >= 2 ? NULL : ag_soft_cap(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 9)), 2);
}
static bool soft_cap_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)i, (void)n_in;
    for (size_t at = 0; at < y->n; at++) y->x[at] = 2 * ctanh(in[0].x[at] / 2);
    return tensor_same_shape(y->shape, in[0].shape);
}

static ag_node *alibi_record(ag_graph *g, int i) {
    if (i >= 2) return NULL;
    const ag_mask mask = {.causal = i == 1};
    return ag_alibi(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(4, 2, 3, 4, 4)), mask);
}
static bool alibi_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    for (size_t at = 0; at < y->n; at++) {
        int s = (int)at % 4, t = (int)at / 4 % 4, h = (int)at / 16 % 3;
        y->x[at] = i == 1 && s > t ? 0 : in[0].x[at] - exp2(-8.0 * (h + 1) / 3) * abs(t - s);
    }
    return tensor_same_shape(y->shape, in[0].shape);
}

static bool log_softmax_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)i, (void)n_in;
    int V = in[0].shape.dim[in[0].shape.rank - 1];
    for (size_t at = 0; at < y->n; at++)
        y->x[at] =
            in[0].x[at] - log_sum_exp(in[0].x + at / (size_t)V * (size_t)V, V, (ag_mask){0}, 0);
    return tensor_same_shape(y->shape, in[0].shape);
}

/* ---- losses ---- */

static const int TARGETS[] = {1, NONE, 0, 2, 2, NONE},
                 NO_TARGETS[] = {NONE, NONE, NONE, NONE, NONE, NONE};
static const real WEIGHT = (real)0.37;

static ag_node *cross_entropy_record(ag_graph *g, int i) {
    const tensor_shape shape[] = {tensor_dims(2, 6, 3), tensor_dims(3, 2, 3, 17),
                                  tensor_dims(2, 6, 5), tensor_dims(2, 0, 4), tensor_dims(1, 3)};
    if (i >= COUNT(shape)) return NULL;
    return ag_cross_entropy(ag_sample(g, AG_SAMPLE_NORMAL, shape[i]), i == 2 ? NO_TARGETS : TARGETS,
                            i % 2 ? &WEIGHT : NULL);
}
static bool cross_entropy_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    int V = in[0].shape.dim[in[0].shape.rank - 1], scored = 0;
    number loss = 0;
    for (size_t row = 0; row < in[0].n / (size_t)V; row++) {
        int target = i == 2 ? NONE : TARGETS[row];
        const number *x = in[0].x + row * (size_t)V;
        if (target == NONE) continue;
        loss += log_sum_exp(x, V, (ag_mask){0}, 0) - x[target];
        scored++;
    }
    y->x[0] = i % 2 ? (double)WEIGHT * loss : scored ? loss / scored : 0;
    return y->shape.rank == 0;
}

/* Cross-entropy with 30 % of each target shared out, less the one with whole targets. */
static ag_node *label_smoothing_record(ag_graph *g, int i) {
    if (i >= 2) return NULL;
    ag_set_run(g, (ag_run){.training = true});
    return ag_label_smoothing(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, 6, 3)), TARGETS,
                              i ? &WEIGHT : NULL, 0.3);
}
static bool label_smoothing_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    number sum = 0;
    int scored = 0;
    for (int row = 0; row < 6; row++) {
        const number *x = in[0].x + row * 3;
        if (TARGETS[row] == NONE) continue;
        for (int c = 0; c < 3; c++) {
            double whole = c == TARGETS[row];
            sum += (whole - (0.7 * whole + 0.1)) * (x[c] - log_sum_exp(x, 3, (ag_mask){0}, 0));
        }
        scored++;
    }
    y->x[0] = i ? (double)WEIGHT * sum : sum / scored;
    return y->shape.rank == 0;
}

static ag_node *squared_error_record(ag_graph *g, int i) {
    const tensor_shape shape[] = {tensor_dims(2, 3, 5), tensor_dims(1, 17), tensor_dims(0),
                                  tensor_dims(2, 0, 4)};
    if (i >= COUNT(shape)) return NULL;
    ag_node *a = ag_sample(g, AG_SAMPLE_NORMAL, shape[i]),
            *b = ag_sample(g, AG_SAMPLE_NORMAL, shape[i]);
    return ag_squared_error(a, b, i % 2 ? &WEIGHT : NULL);
}
static bool squared_error_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    number sum = 0;
    for (size_t k = 0; k < in[0].n; k++)
        sum += (in[0].x[k] - in[1].x[k]) * (in[0].x[k] - in[1].x[k]);
    y->x[0] = i % 2 ? (double)WEIGHT * sum : sum / (double)in[0].n;
    return y->shape.rank == 0;
}

const oracle oracles[] = {
    {"add", NULL, add_value},
    {"sub", NULL, sub_value},
    {"mul", NULL, mul_value},
    {"div", NULL, div_value},
    {"neg", NULL, neg_value},
    {"scale", scale_record, scale_value},
    {"exp", NULL, exp_value},
    {"log", NULL, log_value},
    {"sqrt", NULL, sqrt_value},
    {"tanh", NULL, tanh_value},
    {"sigmoid", NULL, sigmoid_value},
    {"silu", NULL, silu_value},
    {"dropout", dropout_record, dropout_value},
    {"matmul", NULL, matmul_value},
    {"sum", sum_record, sum_value},
    {"mean", mean_record, mean_value},
    {"max", max_record, max_value},
    {"reshape", reshape_record, reshape_value},
    {"permute", permute_record, permute_value},
    {"slice", slice_record, slice_value},
    {"concat", concat_record, concat_value},
    {"relu", NULL, relu_value},
    {"gelu", gelu_record, gelu_value},
    {"linear", NULL, linear_value},
    {"embedding", embedding_record, embedding_value},
    {"gather", gather_record, gather_value},
    {"layer_norm", layer_norm_record, layer_norm_value},
    {"rms_norm", rms_norm_record, rms_norm_value},
    {"rope", rope_record, rope_value},
    {"scores", scores_record, scores_value},
    {"softmax", softmax_record, softmax_value},
    {"softmax_one", softmax_one_record, softmax_one_value},
    {"soft_cap", soft_cap_record, soft_cap_value},
    {"alibi", alibi_record, alibi_value},
    {"label_smoothing", label_smoothing_record, label_smoothing_value},
    {"log_softmax", NULL, log_softmax_value},
    {"mix", mix_record, mix_value},
    {"cross_entropy", cross_entropy_record, cross_entropy_value},
    {"squared_error", squared_error_record, squared_error_value},
    {NULL, NULL, NULL},
};

const oracle *oracle_of(const char *op) {
    for (const oracle *o = oracles; o->name; o++)
        if (strcmp(o->name, op) == 0) return o;
    return NULL;
}
