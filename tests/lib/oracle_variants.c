/* oracle_variants.c - definitions of what varies attention and training. */
#include <stdlib.h>

#include "tests/lib/oracle_internal.h"

static bool sees(ag_mask m, int b, int t, int s) {
    if (m.length && s >= m.length[b]) return false;
    if (m.memory > 0 && s >= m.memory) return false;
    t = m.places.at ? m.places.at[b * m.places.n + t] : m.first + t;
    if (m.causal && s > t) return false;
    return !(m.no_self && s == t);
}

static const int LENGTHS[] = {3, 5, 0, 1};  // of S = 5; the third row sees nothing

static const int PLACES[] = {1, 4, 2, 2};

static const struct {
    tensor_shape shape;
    ag_mask mask;
} ROWS[] = {
    {{.rank = 1, .dim = {7}}, {0}},
    {{.rank = 2, .dim = {3, 17}}, {0}},
    {{.rank = 3, .dim = {2, 3, 5}}, {.memory = 3}},
    {{.rank = 4, .dim = {2, 2, 5, 5}}, {.causal = true, .no_self = true}},
    {{.rank = 3, .dim = {1, 5, 5}}, {.no_self = true, .memory = 1}},  // query 0 sees nothing
    {{.rank = 4, .dim = {4, 2, 3, 5}}, {.length = LENGTHS}},
    {{.rank = 3, .dim = {2, 2, 5}}, {.causal = true, .no_self = true, .first = 3}},
    {{.rank = 4, .dim = {2, 2, 2, 5}}, {.causal = true, .no_self = true, .places = {PLACES, 2, 5}}},
    {{.rank = 2, .dim = {0, 4}}, {.causal = true}}};

static ag_node *softmax_one_record(ag_graph *g, int i) {
    if (i >= COUNT(ROWS)) return NULL;
    return ag_softmax_one(ag_sample(g, AG_SAMPLE_NORMAL, ROWS[i].shape), ROWS[i].mask);
}
static bool softmax_one_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    const tensor_shape shape = ROWS[i].shape;
    int S = shape.dim[shape.rank - 1], T = shape.rank > 1 ? shape.dim[shape.rank - 2] : 1;
    for (size_t at = 0; at < y->n; at++) {
        size_t row = at / (size_t)S;
        int t = (int)(row % (size_t)T), s = (int)(at % (size_t)S);
        const int b = (int)(at / (y->n / (size_t)shape.dim[0]));
        const number *x = in[0].x + row * (size_t)S;
        number sum = 1;
        for (int k = 0; k < S; k++) sum += sees(ROWS[i].mask, b, t, k) ? cexp(x[k]) : 0;
        y->x[at] = sees(ROWS[i].mask, b, t, s) ? cexp(x[s]) / sum : 0;
    }
    return tensor_same_shape(y->shape, shape);
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
    static const int lengths[] = {4, 2};
    if (i == 4)
        return ag_alibi(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(4, 2, 3, 2, 4)),
                        (ag_mask){.places = {PLACES, 2, 5}});
    if (i > 4) return NULL;
    const ag_mask mask = {
        .causal = i == 1, .first = 3 * (i == 3), .length = i == 2 ? lengths : NULL};
    return ag_alibi(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(4, 2, 3, 4, 4)), mask);
}
static bool alibi_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    for (size_t at = 0; at < y->n; at++) {
        const int T = i == 4 ? 2 : 4;
        int s = (int)at % 4, t = (int)at / 4 % T, h = (int)at / (4 * T) % 3;
        if (i == 4) t = PLACES[(int)at / (12 * T) * T + t];
        const bool hidden = i == 1 ? s > t : i == 2 && at >= y->n / 2 && s >= 2;
        y->x[at] = hidden ? 0 : in[0].x[at] - exp2(-8.0 * (h + 1) / 3) * abs(t + 3 * (i == 3) - s);
    }
    return tensor_same_shape(y->shape, in[0].shape);
}

static const int TARGETS[] = {1, NONE, 0, 2, 2, NONE};
static const real WEIGHT = (real)0.37;

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
            sum +=
                (whole - (0.7 * whole + 0.1)) * (x[c] - clog(cexp(x[0]) + cexp(x[1]) + cexp(x[2])));
        }
        scored++;
    }
    y->x[0] = i ? (double)WEIGHT * sum : sum / scored;
    return y->shape.rank == 0;
}

const oracle oracles_variants[] = {
    {"softmax_one", softmax_one_record, softmax_one_value},
    {"soft_cap", soft_cap_record, soft_cap_value},
    {"alibi", alibi_record, alibi_value},
    {"label_smoothing", label_smoothing_record, label_smoothing_value},
    {NULL, NULL, NULL},
};
