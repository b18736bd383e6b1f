/* oracle_rows.c - products, rows by number, norms. */
#include "tests/lib/oracle_internal.h"

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

const oracle oracles_rows[] = {
    {"matmul", NULL, matmul_value},
    {"linear", NULL, linear_value},
    {"embedding", embedding_record, embedding_value},
    {"gather", gather_record, gather_value},
    {"layer_norm", layer_norm_record, layer_norm_value},
    {"rms_norm", rms_norm_record, rms_norm_value},
    {NULL, NULL, NULL},
};
