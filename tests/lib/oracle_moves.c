/* oracle_moves.c - sums and means, and ops that move numbers. */
#include "tests/lib/oracle_internal.h"

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

const oracle oracles_moves[] = {
    {"sum", sum_record, sum_value},
    {"mean", mean_record, mean_value},
    {"max", max_record, max_value},
    {"reshape", reshape_record, reshape_value},
    {"permute", permute_record, permute_value},
    {"slice", slice_record, slice_value},
    {"concat", concat_record, concat_value},
    {NULL, NULL, NULL},
};
