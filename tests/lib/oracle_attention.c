/* oracle_attention.c - attention and losses. */
#include "tests/lib/oracle_internal.h"

/* ---- attention ---- */

typedef struct {
    int B, T, S, H, G, E;
    double factor;
    ag_mask mask;
} attention;

static const int LENGTHS[] = {3, 5, 0, 1};  // of S = 5; the third row sees nothing

static const int PLACES[] = {0, 2, 6, 1, 3, 3, 4, 5, 6};  // of three rows of 7; one row twice

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
    {4, 3, 5, 2, 1, 2, 0.6, {.length = LENGTHS}},
    {4, 5, 5, 2, 2, 2, 0.6, {.causal = true, .memory = 4, .length = LENGTHS}},
    {4, 5, 5, 1, 1, 3, 0.6, {.no_self = true, .length = LENGTHS}},
    {1, 3, 7, 2, 1, 3, 0.6, {.causal = true, .first = 4}},
    {4, 1, 5, 1, 1, 3, 0.6, {.causal = true, .no_self = true, .first = 4, .length = LENGTHS}},
    {3, 3, 7, 2, 1, 3, 0.6, {.causal = true, .places = {PLACES, 3, 7}}},
    {3, 3, 5, 2, 2, 3, 0.6, {.no_self = true, .length = LENGTHS, .places = {PLACES, 3, 7}}},
};

/* The sentence of ag.h, by itself. */
static bool sees(ag_mask m, int b, int t, int s) {
    if (m.length && s >= m.length[b]) return false;
    if (m.memory > 0 && s >= m.memory) return false;
    t = m.places.at ? m.places.at[b * m.places.n + t] : m.first + t;
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
                    for (int e = 0; sees(c.mask, b, t, s) && e < c.E; e++)
                        *out += c.factor * q[e] * k[e];
                }
    return tensor_same_shape(y->shape, tensor_dims(4, c.B, c.H, c.T, c.S));
}

static ag_node *mix_record(ag_graph *g, int i) {
    if (i >= COUNT(ATTENTION)) return NULL;
    attention c = ATTENTION[i];
    ag_node *w = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(4, c.B, c.H, c.T, c.S));
    for (size_t k = 0; k < w->val.n; k++)  // what is masked must be 0, as softmax leaves it
        if (!sees(c.mask, (int)(k / (size_t)(c.H * c.T * c.S)), (int)(k / (size_t)c.S) % c.T,
                  (int)(k % (size_t)c.S)))
            w->val.x[k] = 0;
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
                        if (sees(c.mask, b, t, s)) *out += w[s] * v[s * c.G * c.E];
                }
    return tensor_same_shape(y->shape, tensor_dims(3, c.B, c.T, c.H * c.E));
}

static const struct {
    int B, T, H, E;
    double base;
    int first;
    ag_places places;
} TURNS[] = {{1, 3, 1, 2, 10000, 0, {0}}, {3, 3, 2, 6, 100, 0, {PLACES, 3, 7}},
             {2, 5, 2, 6, 10000, 3, {0}}, {1, 4, 3, 4, 7, 0, {0}},
             {2, 0, 1, 4, 10000, 0, {0}}, {1, 2, 2, 0, 10000, 0, {0}}};

static ag_node *rope_record(ag_graph *g, int i) {
    if (i >= COUNT(TURNS)) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL,
                           tensor_dims(3, TURNS[i].B, TURNS[i].T, TURNS[i].H * TURNS[i].E));
    if (TURNS[i].places.at) return ag_rope_at(x, TURNS[i].H, TURNS[i].base, TURNS[i].places);
    return ag_rope(x, TURNS[i].H, TURNS[i].base, TURNS[i].first);
}
/* A pair is a complex number, and turning it a product: here in its two parts, as x itself is
 * complex already. */
static bool rope_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)n_in;
    int T = TURNS[i].T, H = TURNS[i].H, E = TURNS[i].E;
    for (size_t at = 0; at < y->n; at++) {
        int column = (int)at % E, t = (int)at / (H * E) % T;
        if (TURNS[i].places.at) t = PLACES[(int)at / (T * H * E) * T + t];
        double angle = (TURNS[i].first + t) / pow(TURNS[i].base, (double)(column / 2 * 2) / E);
        const number *pair = in[0].x + at - column % 2;
        y->x[at] = column % 2 ? pair[0] * sin(angle) + pair[1] * cos(angle)
                              : pair[0] * cos(angle) - pair[1] * sin(angle);
    }
    return tensor_same_shape(y->shape, in[0].shape);
}

/* log of the sum of exp over the visible part of a row, shifted by the greatest real part;
 * -infinity for nothing. */
static number log_sum_exp(const number *x, int S, ag_mask mask, int b, int t) {
    double max = -INFINITY;
    number sum = 0;
    for (int s = 0; s < S; s++)
        if (sees(mask, b, t, s)) max = fmax(max, creal(x[s]));
    for (int s = 0; s < S; s++)
        if (sees(mask, b, t, s)) sum += cexp(x[s] - max);
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
        {tensor_dims(4, 4, 2, 3, 5), {.length = LENGTHS}},
        {tensor_dims(3, 4, 5, 5), {.causal = true, .no_self = true, .length = LENGTHS}},
        {tensor_dims(3, 2, 2, 5), {.causal = true, .no_self = true, .first = 3}},
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
        int b = (int)(at / (y->n / (size_t)c.shape.dim[0]));
        const number *x = in[0].x + row * (size_t)S;
        y->x[at] = sees(c.mask, b, t, s) ? cexp(x[s] - log_sum_exp(x, S, c.mask, b, t)) : 0;
    }
    return tensor_same_shape(y->shape, c.shape);
}

static bool log_softmax_value(int i, int n_in, const oracle_tensor *in, oracle_tensor *y) {
    (void)i, (void)n_in;
    int V = in[0].shape.dim[in[0].shape.rank - 1];
    for (size_t at = 0; at < y->n; at++)
        y->x[at] =
            in[0].x[at] - log_sum_exp(in[0].x + at / (size_t)V * (size_t)V, V, (ag_mask){0}, 0, 0);
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
        loss += log_sum_exp(x, V, (ag_mask){0}, 0, 0) - x[target];
        scored++;
    }
    y->x[0] = i % 2 ? (double)WEIGHT * loss : scored ? loss / scored : 0;
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

const oracle oracles_attention[] = {
    {"rope", rope_record, rope_value},
    {"scores", scores_record, scores_value},
    {"softmax", softmax_record, softmax_value},
    {"log_softmax", NULL, log_softmax_value},
    {"mix", mix_record, mix_value},
    {"cross_entropy", cross_entropy_record, cross_entropy_value},
    {"squared_error", squared_error_record, squared_error_value},
    {NULL, NULL, NULL},
};
