/* What attention promises, on scores -> softmax -> mix together: masked keys do not exist, nobody
 * sees the future, heads keep apart, and the result is a weighted mean of visible values. T = 130
 * spans three of the kernels' blocks. */
#include <stdlib.h>
#include <string.h>

#include "autograd/ag.h"
#include "tensor/rng.h"
#include "tests/lib/check.h"

typedef struct {
    int B, T, S, H, G, E;
    double factor;
    ag_mask mask;
} layout;

static const ag_mask FULL = {0}, CAUSAL = {.causal = true};

/* Every kind of mask on a short and on a long sequence; in some, a query sees nothing at all. */
static const int SHORT[] = {3, 5}, ONLY_SECOND[] = {0, 4}, LONG[] = {100};  // lengths
static const layout LAYOUTS[] = {
    {2, 5, 5, 2, 2, 3, 0.6, {0}},
    {2, 5, 5, 2, 2, 3, 0.6, {.causal = true}},
    {1, 5, 5, 4, 2, 3, 0.6, {.no_self = true}},
    {2, 5, 5, 2, 1, 3, 0.6, {.causal = true, .no_self = true}},
    {1, 5, 7, 2, 2, 3, 0.6, {.memory = 4}},
    {1, 5, 5, 1, 1, 3, 0.6, {.causal = true, .memory = 3}},
    {1, 5, 5, 1, 1, 17, 0.25, {.no_self = true, .memory = 1}},
    {1, 130, 130, 2, 2, 8, 0.35, {0}},
    {1, 130, 130, 2, 2, 8, 0.35, {.causal = true}},
    {1, 130, 130, 2, 1, 9, 0.35, {.causal = true, .no_self = true}},
    {1, 130, 130, 1, 1, 8, 0.35, {.no_self = true}},
    {1, 130, 150, 1, 1, 8, 0.35, {.memory = 100}},
    {1, 130, 130, 2, 2, 5, 0.35, {.causal = true, .no_self = true, .memory = 70}},
    {2, 5, 5, 2, 2, 3, 0.6, {.length = SHORT}},
    {2, 5, 7, 2, 1, 3, 0.6, {.length = ONLY_SECOND}},
    {2, 5, 5, 4, 2, 3, 0.6, {.no_self = true, .length = SHORT}},
    {2, 5, 5, 1, 1, 9, 0.6, {.causal = true, .memory = 4, .length = SHORT}},
    {1, 130, 130, 2, 2, 8, 0.35, {.length = LONG}},
    {1, 130, 130, 2, 1, 5, 0.35, {.causal = true, .no_self = true, .length = LONG}},
};
enum { N_LAYOUTS = sizeof LAYOUTS / sizeof *LAYOUTS };

/* The sentence of ag.h, by itself. */
static bool sees_in(ag_mask m, int b, int t, int s) {
    if (m.length && s >= m.length[b]) return false;
    return !(m.memory > 0 && s >= m.memory) && !(m.causal && s > t) && !(m.no_self && s == t);
}
static bool sees(ag_mask m, int t, int s) { return sees_in(m, 0, t, s); }  // in the first example

/* ---- one attention, recorded ---- */

typedef struct {
    layout at;
    ag_params *params;
    ag_graph *g;
    ag_node *q, *k, *v, *scores, *weights, *y;
} attention;

static ag_node *random_input(ag_graph *g, const char *name, int B, int rows, int width) {
    ag_node *x = ag_want_grad(ag_input(g, name, tensor_dims(3, B, rows, width)));
    rng r = rng_stream(5, name, 0);
    for (size_t i = 0; i < x->val.n; i++) x->val.x[i] = (real)rng_normal(&r);
    return x;
}

static attention begin(layout l) {
    attention a = {.at = l, .params = ag_params_new(NULL, 1)};
    a.g = ag_graph_new(a.params);
    a.q = random_input(a.g, "q", l.B, l.T, l.H * l.E);
    a.k = random_input(a.g, "k", l.B, l.S, l.G * l.E);
    a.v = random_input(a.g, "v", l.B, l.S, l.G * l.E);
    a.scores = ag_scores(a.q, a.k, l.H, l.factor, l.mask);
    a.weights = ag_softmax(a.scores, l.mask);
    a.y = ag_mix(a.weights, a.v, l.G, l.mask);
    assert_null(ag_error(a.g));
    return a;
}

static void end(attention *a) {
    ag_graph_free(a->g);
    ag_params_free(a->params);
}

/* Backward from y with random signed gradients, the same each time. */
static void backward(attention *a) {
    rng r = rng_stream(6, "dy", 0);
    real *dy = malloc(a->y->val.n * sizeof *dy);
    assert_non_null(dy);
    for (size_t i = 0; i < a->y->val.n; i++) dy[i] = (real)rng_normal(&r);
    ag_grads_zero(a->g);
    assert_true(ag_backward(a->y, dy));
    free(dy);
}

/* Addresses by name: row t of head h of q or y, key head g of row s of k or v, one number of scores
 * or weights. */
static size_t q_at(layout l, int b, int t, int h) {
    return (size_t)(((b * l.T + t) * l.H + h) * l.E);
}
static size_t k_at(layout l, int b, int s, int g) {
    return (size_t)(((b * l.S + s) * l.G + g) * l.E);
}
static size_t w_at(layout l, int b, int h, int t, int s) {
    return (size_t)(((b * l.H + h) * l.T + t) * l.S + s);
}

static real *copy_of(const real *x, size_t n) {
    real *copy = malloc((n ? n : 1) * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, x, n * sizeof *copy);
    return copy;
}

/* ---- against the definition ---- */

/* Weights and output of one query by definition, in double; sums of magnitudes go to *size. */
static void naive_query(const attention *a, int b, int h, int t, double *weight, double *y) {
    layout l = a->at;
    int g = h / (l.H / l.G);
    double sum = 0, max = -INFINITY;
    for (int s = 0; s < l.S; s++) {
        weight[s] = 0;
        for (int e = 0; e < l.E; e++)
            weight[s] += l.factor * (double)a->q->val.x[q_at(l, b, t, h) + (size_t)e] *
                         (double)a->k->val.x[k_at(l, b, s, g) + (size_t)e];
        if (sees_in(l.mask, b, t, s)) max = fmax(max, weight[s]);
    }
    for (int s = 0; s < l.S; s++)
        sum += weight[s] = sees_in(l.mask, b, t, s) ? exp(weight[s] - max) : 0;
    for (int e = 0; e < l.E; e++) y[e] = 0;
    for (int s = 0; s < l.S; s++) {
        if (sum > 0) weight[s] /= sum;
        for (int e = 0; e < l.E; e++)
            y[e] += weight[s] * (double)a->v->val.x[k_at(l, b, s, g) + (size_t)e];
    }
}

static void equals_the_definition(void **state) {
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++) {
        attention a = begin(LAYOUTS[i]);
        layout l = a.at;
        double weight[150], y[17];
        for (int b = 0; b < l.B; b++)
            for (int h = 0; h < l.H; h++)
                for (int t = 0; t < l.T; t++) {
                    naive_query(&a, b, h, t, weight, y);
                    for (int s = 0; s < l.S; s++)
                        assert_close(a.weights->val.x[w_at(l, b, h, t, s)], weight[s],
                                     64 * REAL_EPSILON);
                    for (int e = 0; e < l.E; e++)
                        assert_close(a.y->val.x[q_at(l, b, t, h) + (size_t)e], y[e],
                                     128 * REAL_EPSILON);
                }
        end(&a);
    }
}

static void grouped_heads_equal_repeated_ones(void **state) {
    (void)state;
    layout few = {2, 6, 6, 4, 2, 3, 0.7, {.causal = true}}, many = few;
    many.G = many.H;
    attention a = begin(few), r = begin(many);
    memcpy(r.q->val.x, a.q->val.x, a.q->val.n * sizeof(real));
    for (int b = 0; b < few.B; b++)
        for (int s = 0; s < few.S; s++)
            for (int h = 0; h < few.H; h++) {
                memcpy(r.k->val.x + k_at(many, b, s, h), a.k->val.x + k_at(few, b, s, h / 2),
                       3 * sizeof(real));
                memcpy(r.v->val.x + k_at(many, b, s, h), a.v->val.x + k_at(few, b, s, h / 2),
                       3 * sizeof(real));
            }
    assert_true(ag_forward(r.g));
    for (size_t i = 0; i < a.y->val.n; i++)
        assert_close(a.y->val.x[i], r.y->val.x[i], 8 * REAL_EPSILON);
    backward(&a), backward(&r);
    for (size_t i = 0; i < a.q->val.n; i++)
        assert_close(a.q->grad[i], r.q->grad[i], 32 * REAL_EPSILON);
    for (int b = 0; b < few.B; b++)  // a shared head collects from all that share it
        for (int s = 0; s < few.S; s++)
            for (int i = 0; i < few.G * 3; i++) {
                size_t one = k_at(few, b, s, i / 3) + (size_t)(i % 3),
                       two = k_at(many, b, s, i / 3 * 2) + (size_t)(i % 3);
                assert_close(a.k->grad[one], r.k->grad[two] + r.k->grad[two + 3],
                             64 * REAL_EPSILON);
                assert_close(a.v->grad[one], r.v->grad[two] + r.v->grad[two + 3],
                             64 * REAL_EPSILON);
            }
    end(&a), end(&r);
}

/* ---- softmax ---- */

static ag_node *logits(ag_graph *g, int T, int S) {
    ag_node *x = random_input(g, "logits", 1, T, S);
    for (size_t i = 0; i < x->val.n; i++)
        x->val.x[i] = (real)(floor(16 * (double)x->val.x[i]) / 16);  // shifts are exact
    return x;
}

static void softmax_ignores_a_shift(void **state) {
    (void)state;
    ag_params *p = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(p);
    ag_node *x = logits(g, 9, 13), *y = ag_softmax(x, CAUSAL);
    real *before = copy_of(y->val.x, y->val.n);
    for (int shift = -1024; shift <= 1024; shift += 2048) {
        for (size_t i = 0; i < x->val.n; i++) x->val.x[i] += (real)shift;
        assert_true(ag_forward(g));
        assert_same_bits(y->val.x, before, y->val.n);
        for (size_t i = 0; i < x->val.n; i++) x->val.x[i] -= (real)shift;
    }
    free(before);
    ag_graph_free(g);
    ag_params_free(p);
}

static void huge_logits_are_exact(void **state) {
    (void)state;
    ag_params *p = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(p);
    ag_node *x = logits(g, 4, 5), *y = ag_softmax(x, FULL);
    const real rows[4][5] = {{10000, -10000, 0, 9000, -10000},
                             {-10000, -10000, -10000, -10000, -10000},
                             {10000, 10000, -10000, 10000, 10000},
                             {10000, 9999, -INFINITY, 0, 0}};
    memcpy(x->val.x, rows, sizeof rows);
    assert_true(ag_forward(g));
    const double e = exp(-1), expected[4][5] = {{1, 0, 0, 0, 0},
                                                {0.2, 0.2, 0.2, 0.2, 0.2},
                                                {0.25, 0.25, 0, 0.25, 0.25},
                                                {1 / (1 + e), e / (1 + e), 0, 0, 0}};
    for (int i = 0; i < 20; i++)
        assert_close(y->val.x[i], expected[i / 5][i % 5], 2 * REAL_EPSILON);
    assert_true(ag_backward(y, NULL));
    for (int i = 0; i < 20; i++) assert_true(isfinite((double)x->grad[i]));
    ag_graph_free(g);
    ag_params_free(p);
}

/* NaN is never hidden: a row that sees one is all NaN, also if it sees nothing else. */
static void softmax_passes_nan_on(void **state) {
    (void)state;
    ag_params *p = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(p);
    ag_node *x = logits(g, 5, 5), *y = ag_softmax(x, CAUSAL);
    x->val.x[2 * 5 + 1] = (real)NAN;
    for (int s = 0; s < 5; s++) x->val.x[3 * 5 + s] = (real)NAN;
    assert_true(ag_forward(g));
    for (int t = 0; t < 5; t++)
        for (int s = 0; s < 5; s++) {
            bool nan = isnan((double)y->val.x[t * 5 + s]) != 0;
            if (s > t)
                assert_true(y->val.x[t * 5 + s] == 0);
            else if (nan != (t == 2 || t == 3))
                fail_msg("row %d, key %d is %g", t, s, (double)y->val.x[t * 5 + s]);
        }
    ag_graph_free(g);
    ag_params_free(p);
}

/* ---- masks ---- */

/* Masked weights are 0 and get no gradient, even where the keys they stand for are large, infinite
 * or NaN; and whatever a hook or another pass left in their place. */
static void masked_weights_are_zero(void **state) {
    (void)state;
    const real rubbish[] = {10000, (real)INFINITY, (real)-INFINITY, (real)NAN};
    for (int i = 0; i < N_LAYOUTS * 4; i++) {
        attention a = begin(LAYOUTS[i / 4]);
        layout l = a.at;
        for (size_t at = k_at(l, 0, l.S - 1, 0); at < k_at(l, 0, l.S, 0); at++)
            a.k->val.x[at] = rubbish[i % 4];
        for (size_t at = 0; at < a.scores->val.n; at++)
            a.scores->val.x[at] = a.weights->val.x[at] = 7;
        assert_true(ag_backward(a.weights, NULL));
        assert_true(ag_forward(a.g));
        backward(&a);
        for (int h = 0; h < l.H; h++)
            for (int t = 0; t < l.T; t++)
                for (int s = 0; s < l.S; s++) {
                    if (sees(l.mask, t, s)) continue;
                    size_t at = w_at(l, 0, h, t, s);
                    assert_true(a.scores->val.x[at] == 0 && a.weights->val.x[at] == 0 &&
                                a.weights->grad[at] == 0);
                }
        end(&a);
    }
}

static bool all_finite(const real *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite((double)x[i])) return false;
    return true;
}

/* With NaN in the value (or key) of position `bad`: exactly the queries that see it are touched.
 * What the others give, and the gradients that come from them alone, stay as they were. */
static void nan_stays_at(const layout *l, bool in_value, int bad) {
    attention a = begin(*l);
    real *before = copy_of(a.y->val.x, a.y->val.n);
    ag_node *spoiled = in_value ? a.v : a.k;
    spoiled->val.x[k_at(*l, 0, bad, 0)] = (real)NAN;
    assert_true(ag_forward(a.g));
    backward(&a);
    for (int t = 0; t < l->T; t++)
        for (int h = 0; h < l->H; h++) {
            size_t at = q_at(*l, 0, t, h), n = (size_t)l->E;
            bool hit = sees(l->mask, t, bad) && h / (l->H / l->G) == 0;
            if (hit == all_finite(a.y->val.x + at, n)) fail_msg("output %d, head %d", t, h);
            for (size_t e = 0; !hit && e < n; e++)
                assert_close(a.y->val.x[at + e], before[at + e], 64 * REAL_EPSILON);
            if (!hit && !all_finite(a.q->grad + at, n)) fail_msg("dq %d, head %d", t, h);
        }
    for (int s = 0; s < l->S; s++)
        for (int g = 0; g < l->G; g++) {
            bool reached = false;  // by a query that was hit
            for (int t = 0; t < l->T; t++)
                reached |= g == 0 && sees(l->mask, t, bad) && sees(l->mask, t, s);
            size_t at = k_at(*l, 0, s, g), n = (size_t)l->E;
            if (!reached && !(all_finite(a.k->grad + at, n) && all_finite(a.v->grad + at, n)))
                fail_msg("dk or dv %d, head %d", s, g);
        }
    free(before);
    end(&a);
}

static void nan_stays_where_it_is_masked(void **state) {
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++)
        for (int in_value = 0; in_value < 2; in_value++) {
            const layout *l = &LAYOUTS[i];
            const int places[] = {0, 2, l->S / 2, l->S - 2, l->S - 1};
            for (size_t k = 0; k < sizeof places / sizeof *places; k++)
                nan_stays_at(l, in_value, places[k]);
        }
}

/* NaN in the gradient from above of one query reaches what that query sees, and nothing else. */
static void nan_from_above_stays(void **state) {
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++) {
        attention a = begin(LAYOUTS[i]);
        layout l = a.at;
        int bad = l.T / 2;
        real *dy = copy_of(a.y->val.x, a.y->val.n);
        dy[q_at(l, 0, bad, 0)] = (real)NAN;
        assert_true(ag_backward(a.y, dy));
        for (int t = 0; t < l.T; t++)
            if (t != bad) assert_true(all_finite(a.q->grad + q_at(l, 0, t, 0), (size_t)l.E));
        for (int s = 0; s < l.S; s++) {
            bool nan = !all_finite(a.v->grad + k_at(l, 0, s, 0), (size_t)l.E);
            assert_int_equal(nan, sees(l.mask, bad, s));
            if (!sees(l.mask, bad, s))
                assert_true(all_finite(a.k->grad + k_at(l, 0, s, 0), (size_t)l.E));
        }
        free(dy);
        end(&a);
    }
}

/* A query that sees nothing: weights, output and gradients 0, even if it is NaN itself. */
static void a_blind_query_gives_zero(void **state) {
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++)
        for (int nan = 0; nan < 2; nan++) {
            attention a = begin(LAYOUTS[i]);
            layout l = a.at;
            bool blind = true;
            for (int s = 0; s < l.S; s++) blind = blind && !sees(l.mask, 0, s);
            for (size_t e = 0; blind && nan && e < (size_t)l.E; e++)
                a.q->val.x[q_at(l, 0, 0, 0) + e] = (real)NAN;
            assert_true(ag_forward(a.g));
            backward(&a);
            for (int s = 0; blind && s < l.S; s++)
                assert_true(a.weights->val.x[w_at(l, 0, 0, 0, s)] == 0);
            for (size_t e = q_at(l, 0, 0, 0); blind && e < q_at(l, 0, 0, 1); e++)
                assert_true(a.y->val.x[e] == 0 && a.q->grad[e] == 0);
            assert_true(all_finite(a.k->grad, a.k->val.n) && all_finite(a.v->grad, a.v->val.n));
            end(&a);
        }
}

/* ---- time ---- */

/* Whatever happens to token t + 1, outputs 0..t keep their bits. */
static void the_future_changes_no_bit(void **state) {
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++) {
        layout l = LAYOUTS[i];
        if (!l.mask.causal) continue;
        attention a = begin(l);
        real *before = copy_of(a.y->val.x, a.y->val.n);
        for (int t = l.T - 2; t >= 0;
             t -= l.T > 5 ? 7 : 1) {  // from the end: every change stays in later steps' future
            for (int e = 0; e < l.H * l.E; e++) a.q->val.x[q_at(l, 0, t + 1, 0) + (size_t)e] += 3;
            for (int e = 0; e < l.G * l.E; e++) {
                a.k->val.x[k_at(l, 0, t + 1, 0) + (size_t)e] *= -100;
                a.v->val.x[k_at(l, 0, t + 1, 0) + (size_t)e] += 1000000;
            }
            assert_true(ag_forward(a.g));
            assert_same_bits(a.y->val.x, before, q_at(l, 0, t + 1, 0));
        }
        free(before);
        end(&a);
    }
}

/* Key and value s get gradient from every query that sees s: from each alone, and their sum is the
 * whole. */
static void keys_collect_from_all_who_see_them(void **state) {
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++) {
        attention a = begin(LAYOUTS[i]);
        layout l = a.at;
        if (l.T > 5) {
            end(&a);
            continue;
        }
        size_t n = a.y->val.n, row = (size_t)(l.H * l.E), keys = a.k->val.n;
        real *dy = calloc(n, sizeof *dy);
        double *sum_k = calloc(keys, sizeof *sum_k), *sum_v = calloc(keys, sizeof *sum_v);
        for (int t = 0; t < l.T; t++) {
            for (size_t j = 0; j < n; j++)
                dy[j] =
                    j / row % (size_t)l.T == (size_t)t ? (real)(1 + 0.1 * (double)(j % row)) : 0;
            ag_grads_zero(a.g);
            assert_true(ag_backward(a.y, dy));
            for (int s = 0; s < l.S; s++)
                assert_true((a.v->grad[k_at(l, 0, s, 0)] != 0) == sees(l.mask, t, s));
            for (size_t j = 0; j < keys; j++)
                sum_k[j] += (double)a.k->grad[j], sum_v[j] += (double)a.v->grad[j];
        }
        for (size_t j = 0; j < n; j++) dy[j] = (real)(1 + 0.1 * (double)(j % row));
        ag_grads_zero(a.g);
        assert_true(ag_backward(a.y, dy));
        for (size_t j = 0; j < keys; j++) {
            assert_close(a.k->grad[j], sum_k[j], 128 * REAL_EPSILON);
            assert_close(a.v->grad[j], sum_v[j], 128 * REAL_EPSILON);
        }
        free(dy), free(sum_k), free(sum_v);
        end(&a);
    }
}

/* ---- geometry ---- */

/* Along any direction an output lies between the visible values: it is a weighted mean of them. */
static void outputs_lie_in_the_hull(void **state) {
    (void)state;
    rng r = rng_stream(7, "direction", 0);
    for (int i = 0; i < N_LAYOUTS; i++) {
        attention a = begin(LAYOUTS[i]);
        layout l = a.at;
        for (int n = 0; n < 200; n++) {
            int t = (int)rng_below(&r, (uint32_t)l.T), h = (int)rng_below(&r, (uint32_t)l.H);
            double direction[17], least = INFINITY, most = -INFINITY, along = 0;
            for (int e = 0; e < l.E; e++) direction[e] = rng_normal(&r);
            for (int e = 0; e < l.E; e++)
                along += direction[e] * (double)a.y->val.x[q_at(l, 0, t, h) + (size_t)e];
            for (int s = 0; s < l.S; s++) {
                double value = 0;
                for (int e = 0; e < l.E; e++)
                    value += direction[e] *
                             (double)a.v->val.x[k_at(l, 0, s, h / (l.H / l.G)) + (size_t)e];
                if (sees(l.mask, t, s)) least = fmin(least, value), most = fmax(most, value);
            }
            if (least > most) continue;  // it sees nothing
            double slack = 256 * REAL_EPSILON;
            assert_true(along >= least - slack && along <= most + slack);
        }
        end(&a);
    }
}

/* Memory is a set: the order of its entries is not seen. */
static void the_order_of_memory_is_not_seen(void **state) {
    (void)state;
    attention a = begin((layout){1, 9, 21, 2, 2, 5, 0.5, {.memory = 19}});
    layout l = a.at;
    real *before = copy_of(a.y->val.x, a.y->val.n), *k = copy_of(a.k->val.x, a.k->val.n),
         *v = copy_of(a.v->val.x, a.v->val.n);
    int order[19], scratch[19];
    rng r = rng_stream(8, "order", 0);
    rng_choose(&r, 19, 19, order, scratch);
    for (int s = 0; s < 19; s++) {
        memcpy(a.k->val.x + k_at(l, 0, s, 0), k + k_at(l, 0, order[s], 0), 10 * sizeof(real));
        memcpy(a.v->val.x + k_at(l, 0, s, 0), v + k_at(l, 0, order[s], 0), 10 * sizeof(real));
    }
    assert_true(ag_forward(a.g));
    for (size_t i = 0; i < a.y->val.n; i++)
        assert_close(a.y->val.x[i], before[i], 32 * REAL_EPSILON);
    free(before), free(k), free(v);
    end(&a);
}

/* The factor scales the scores by exactly that: equal keys, which give equal weights under any
 * factor, must not hide it. */
static void the_factor_is_applied_once(void **state) {
    (void)state;
    layout l = {1, 4, 4, 2, 2, 3, 1, {0}};
    attention one = begin(l);
    l.factor = 0.25;
    attention quarter = begin(l);
    for (size_t i = 0; i < one.scores->val.n; i++)
        assert_true(quarter.scores->val.x[i] == one.scores->val.x[i] * (real)0.25);
    end(&one), end(&quarter);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(equals_the_definition),
    cmocka_unit_test(grouped_heads_equal_repeated_ones),
    cmocka_unit_test(softmax_ignores_a_shift),
    cmocka_unit_test(huge_logits_are_exact),
    cmocka_unit_test(softmax_passes_nan_on),
    cmocka_unit_test(masked_weights_are_zero),
    cmocka_unit_test(nan_stays_where_it_is_masked),
    cmocka_unit_test(nan_from_above_stays),
    cmocka_unit_test(a_blind_query_gives_zero),
    cmocka_unit_test(the_future_changes_no_bit),
    cmocka_unit_test(keys_collect_from_all_who_see_them),
    cmocka_unit_test(outputs_lie_in_the_hull),
    cmocka_unit_test(the_order_of_memory_is_not_seen),
    cmocka_unit_test(the_factor_is_applied_once),
};
CHECK_MAIN(tests)
