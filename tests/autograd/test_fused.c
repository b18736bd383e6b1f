/* Each fused op equals its composition of simpler ones, in value and in every gradient. Both are
 * recorded side by side on the same leaves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/op.h"
#include "tensor/rng.h"
#include "tests/lib/check.h"

static const double TOLERANCE = sizeof(real) == sizeof(double) ? 1e-13 : 1e-5;

/* The same thing twice. */
typedef struct {
    ag_node *fused, *composed;
} both;

/* ---- what compositions are made of ---- */

static ag_node *sample(ag_graph *g, tensor_shape s) { return ag_sample(g, AG_SAMPLE_NORMAL, s); }

static ag_node *zeros(ag_graph *g, tensor_shape s) { return ag_input(g, "constant", s); }

static ag_node *number(ag_graph *g, double x) {
    ag_node *c = zeros(g, tensor_dims(0));
    c->val.x[0] = (real)x;
    return c;
}

/* x reduced over its last dimension, which stays as 1. */
static ag_node *last(ag_node *(*op)(ag_node *, int, const int *), ag_node *x) {
    tensor_shape s = x->val.shape;
    s.dim[s.rank - 1] = 1;
    return ag_reshape(op(x, 1, (int[]){-1}), s);
}

/* [n,V]: row i is 1 at ids[i], or all 0 where that is -1. */
static ag_node *one_hot(ag_graph *g, int n, int V, const int *ids) {
    ag_node *c = zeros(g, tensor_dims(2, n, V));
    for (int i = 0; i < n; i++)
        if (ids[i] >= 0) c->val.x[i * V + ids[i]] = 1;
    return c;
}

/* [T,S]: 1 where the mask shows s to t; by the words of ag.h, not by its function. */
static ag_node *visible(ag_graph *g, ag_mask m, int T, int S) {
    ag_node *c = zeros(g, tensor_dims(2, T, S));
    for (int t = 0; t < T; t++)
        for (int s = 0; s < S; s++)
            c->val.x[t * S + s] =
                !(m.causal && s > t) && !(m.no_self && s == t) && !(m.memory > 0 && s >= m.memory);
    return c;
}

/* [T,1]: 1 for queries which see nothing. */
static ag_node *blind(ag_graph *g, const ag_node *visible) {
    int T = visible->val.shape.dim[0], S = visible->val.shape.dim[1];
    ag_node *c = zeros(g, tensor_dims(2, T, 1));
    for (int t = 0; t < T; t++) {
        c->val.x[t] = 1;
        for (int s = 0; s < S; s++)
            if (visible->val.x[t * S + s] != 0) c->val.x[t] = 0;
    }
    return c;
}

static const ag_mask MASKS[] = {{0},
                                {.causal = true},
                                {.causal = true, .no_self = true},
                                {.memory = 3},
                                {.no_self = true, .memory = 2}};
enum { N_MASKS = sizeof MASKS / sizeof *MASKS };

/* ---- products ---- */

static both linear(ag_graph *g, int i) {
    ag_node *x = sample(g, i < 2 ? tensor_dims(3, 2, 3, 17) : tensor_dims(1, 17));
    ag_node *w = sample(g, tensor_dims(2, 17, 5)), *b = i % 2 ? sample(g, tensor_dims(1, 5)) : NULL;
    ag_node *y = ag_matmul(i < 2 ? x : ag_reshape(x, tensor_dims(2, 1, 17)), w);
    if (b) y = ag_add(y, b);
    return (both){ag_linear(x, w, b), i < 2 ? y : ag_reshape(y, tensor_dims(1, 5))};
}

/* Two streams from one table, one with positions of its own: row p of y is a sum of rows. */
static both embedding(ag_graph *g, int i) {
    (void)i;
    ag_node *a = sample(g, tensor_dims(2, 5, 7)), *p = sample(g, tensor_dims(2, 4, 7));
    const int *first = ag_sample_ids(g, 8, 5, false), *second = ag_sample_ids(g, 8, 5, true);
    static const int at[] = {0, 1, 2, 3, 0, 1, 2, 3};
    ag_node *y =
        ag_add(ag_matmul(one_hot(g, 8, 5, first), a), ag_matmul(one_hot(g, 8, 5, second), a));
    y = ag_add(y, ag_matmul(one_hot(g, 8, 4, at), p));
    return (both){ag_embedding(3, (ag_node *[]){a, a, p}, (const int *[]){first, second, NULL},
                               tensor_dims(2, 2, 4)),
                  ag_reshape(y, tensor_dims(3, 2, 4, 7))};
}

static both gather(ag_graph *g, int i) {
    (void)i;
    ag_node *x = sample(g, tensor_dims(3, 2, 3, 5));
    const int *rows = ag_sample_ids(g, 9, 6, true);
    return (both){ag_gather(x, rows, 9),
                  ag_matmul(one_hot(g, 9, 6, rows), ag_reshape(x, tensor_dims(2, 6, 5)))};
}

/* ---- attention: B 2, T 4, S 5 or 4; heads as a dimension of their own ---- */

enum { B = 2, T = 4, E = 3 };
static const struct { int H, G; } HEADS[] = {{1, 1}, {2, 2}, {4, 2}, {3, 1}};
enum { N_HEADS = sizeof HEADS / sizeof *HEADS };

/* [B,n,G*K*E] -> [B,G,K,n,E], or with the last two exchanged. */
static ag_node *split(ag_node *x, int G, int K, bool transposed) {
    x = ag_reshape(x, tensor_dims(5, B, x->val.shape.dim[1], G, K, E));
    return ag_permute(x, 5, transposed ? (int[]){0, 2, 3, 4, 1} : (int[]){0, 2, 3, 1, 4});
}

static both scores(ag_graph *g, int i) {
    const int H = HEADS[i % N_HEADS].H, G = HEADS[i % N_HEADS].G, S = i % 2 ? T : T + 1;
    const ag_mask m = MASKS[i / N_HEADS];
    ag_node *q = sample(g, tensor_dims(3, B, T, H * E)),
            *k = sample(g, tensor_dims(3, B, S, G * E));
    ag_node *y = ag_matmul(split(q, G, H / G, false), split(k, G, 1, true));
    y = ag_mul(ag_scale(y, 0.6), visible(g, m, T, S));
    return (both){ag_scores(q, k, H, 0.6, m), ag_reshape(y, tensor_dims(4, B, H, T, S))};
}

static both mix(ag_graph *g, int i) {
    const int H = HEADS[i % N_HEADS].H, G = HEADS[i % N_HEADS].G, S = i % 2 ? T : T + 1;
    const ag_mask m = MASKS[i / N_HEADS];
    ag_node *v = sample(g, tensor_dims(3, B, S, G * E));
    ag_node *w = ag_softmax(sample(g, tensor_dims(4, B, H, T, S)), m);
    ag_node *y = ag_matmul(ag_reshape(w, tensor_dims(5, B, G, H / G, T, S)), split(v, G, 1, false));
    y = ag_permute(ag_reshape(y, tensor_dims(4, B, H, T, E)), 4, (int[]){0, 2, 1, 3});
    return (both){ag_mix(w, v, G, m), ag_reshape(y, tensor_dims(3, B, T, H * E))};
}

static both rope(ag_graph *g, int i) {
    const int H = i + 1, W = 6, base = 100;
    ag_node *x = sample(g, tensor_dims(3, B, T, H * W));
    ag_node *c = zeros(g, tensor_dims(4, T, 1, W / 2, 1)), *s = zeros(g, c->val.shape);
    for (int t = 0; t < T; t++)
        for (int p = 0; p < W / 2; p++) {
            double angle = (i + t) * pow(base, -2.0 * p / W);
            c->val.x[t * W / 2 + p] = (real)cos(angle);
            s->val.x[t * W / 2 + p] = (real)sin(angle);
        }
    ag_node *pairs = ag_reshape(x, tensor_dims(5, B, T, H, W / 2, 2));
    ag_node *even = ag_slice(pairs, -1, 0, 1), *odd = ag_slice(pairs, -1, 1, 2);
    ag_node *turned[] = {ag_sub(ag_mul(even, c), ag_mul(odd, s)),
                         ag_add(ag_mul(even, s), ag_mul(odd, c))};
    return (both){ag_rope(x, H, base, i), ag_reshape(ag_concat(2, turned, -1), x->val.shape)};
}

/* ---- softmax and what is made of it ---- */

static both softmax(ag_graph *g, int i) {
    ag_node *x = sample(g, tensor_dims(3, 2, 5, i == N_MASKS ? 33 : 5));
    const ag_mask m = MASKS[i % N_MASKS];
    ag_node *seen = visible(g, m, 5, tensor_width(x->val.shape));
    ag_node *e = ag_mul(ag_exp(x), seen);
    return (both){ag_softmax(x, m), ag_div(e, ag_add(last(ag_sum, e), blind(g, seen)))};
}

static both log_softmax(ag_graph *g, int i) {
    ag_node *x = sample(g, tensor_dims(2, 3, i ? 17 : 4));
    return (both){ag_log_softmax(x), ag_log(ag_softmax(x, (ag_mask){0}))};
}

static both cross_entropy(ag_graph *g, int i) {
    static const real weight = (real)0.7;
    ag_node *x = sample(g, tensor_dims(3, 2, 4, 7));
    const int *targets = ag_sample_ids(g, 8, 7, i > 0);
    int scored = 0;
    for (int r = 0; r < 8; r++) scored += targets[r] >= 0;
    ag_node *at = ag_reshape(one_hot(g, 8, 7, targets), tensor_dims(3, 2, 4, 7));
    ag_node *sum = ag_sum(ag_mul(at, ag_log_softmax(x)), 0, NULL);
    return (both){ag_cross_entropy(x, targets, i == 2 ? &weight : NULL),
                  ag_scale(sum, i == 2 ? -(double)weight : -1.0 / scored)};
}

static both squared_error(ag_graph *g, int i) {
    static const real weight = (real)0.7;
    ag_node *a = sample(g, tensor_dims(2, 3, 5)), *b = i == 2 ? a : sample(g, tensor_dims(2, 3, 5));
    ag_node *d = ag_sub(a, b), *sum = ag_sum(ag_mul(d, d), 0, NULL);
    return (both){ag_squared_error(a, b, i == 1 ? &weight : NULL),
                  ag_scale(sum, i == 1 ? (double)weight : 1.0 / 15)};
}

/* exp(x) / (1 + sum of exp(x)): no row is blind, a query that sees nothing has the one. */
static both softmax_one(ag_graph *g, int i) {
    ag_node *x = sample(g, tensor_dims(3, 2, 5, i == N_MASKS ? 33 : 5));
    const ag_mask m = MASKS[i % N_MASKS];
    ag_node *e = ag_mul(ag_exp(x), visible(g, m, 5, tensor_width(x->val.shape)));
    return (both){ag_softmax_one(x, m), ag_div(e, ag_add(last(ag_sum, e), number(g, 1)))};
}

static both alibi(ag_graph *g, int i) {
    ag_node *x = sample(g, tensor_dims(4, 2, 4, 5, 5)), *seen = visible(g, MASKS[i], 5, 5);
    ag_node *far = zeros(g, tensor_dims(3, 4, 5, 5));
    for (int h = 0; h < 4; h++)
        for (int t = 0; t < 5; t++)
            for (int s = 0; s < 5; s++)
                far->val.x[(h * 5 + t) * 5 + s] = (real)(abs(t - s) * exp2(-2 * (h + 1)));
    return (both){ag_alibi(x, MASKS[i]), ag_mul(ag_sub(x, far), seen)};
}

static both soft_cap(ag_graph *g, int i) {
    ag_node *x = sample(g, tensor_dims(2, 3, 17));
    const double cap = i ? 0.5 : 4;
    return (both){ag_soft_cap(x, cap), ag_scale(ag_tanh(ag_scale(x, 1 / cap)), cap)};
}

/* Both terms together are the cross-entropy against targets that are shared out. */
static both label_smoothing(ag_graph *g, int i) {
    static const real weight = (real)0.7;
    const double p = 0.3;
    ag_set_run(g, (ag_run){.training = true});
    ag_node *x = sample(g, tensor_dims(2, 8, 7));
    const int *targets = ag_sample_ids(g, 8, 7, i > 0);
    ag_node *soft = zeros(g, tensor_dims(2, 8, 7));
    int scored = 0;
    for (int r = 0; r < 8; r++)
        for (int c = 0; targets[r] >= 0 && c < 7; c++) {
            scored += c == 0;
            soft->val.x[r * 7 + c] = (real)((targets[r] == c ? 1 - p : 0) + p / 7);
        }
    const real *w = i == 2 ? &weight : NULL;
    ag_node *sum = ag_sum(ag_mul(soft, ag_log_softmax(x)), 0, NULL);
    return (both){ag_add(ag_cross_entropy(x, targets, w), ag_label_smoothing(x, targets, w, p)),
                  ag_scale(sum, i == 2 ? -(double)weight : -1.0 / scored)};
}

/* ---- normalisation ---- */

static both layer_norm(ag_graph *g, int i) {
    const int D = i ? 17 : 5;
    ag_node *x = sample(g, tensor_dims(3, 2, 3, D));
    ag_node *gain = sample(g, tensor_dims(1, D)), *bias = sample(g, tensor_dims(1, D));
    ag_node *d = ag_sub(x, last(ag_mean, x)), *var = last(ag_mean, ag_mul(d, d));
    ag_node *y = ag_div(d, ag_sqrt(ag_add(var, number(g, 0.01))));
    return (both){ag_layer_norm(x, gain, bias, 0.01), ag_add(ag_mul(y, gain), bias)};
}

static both rms_norm(ag_graph *g, int i) {
    const int D = i ? 17 : 5;
    ag_node *x = sample(g, tensor_dims(3, 2, 3, D)), *gain = sample(g, tensor_dims(1, D));
    ag_node *root = ag_sqrt(ag_add(last(ag_mean, ag_mul(x, x)), number(g, 0.01)));
    return (both){ag_rms_norm(x, gain, 0.01), ag_mul(ag_div(x, root), gain)};
}

/* ---- elementwise ---- */

static both gelu_tanh(ag_graph *g, int i) {
    (void)i;
    ag_node *x = sample(g, tensor_dims(2, 3, 17)), *cube = ag_mul(x, ag_mul(x, x));
    ag_node *u = ag_scale(ag_add(x, ag_scale(cube, 0.044715)), sqrt(2 / acos(-1)));
    return (both){ag_gelu(x, AG_GELU_TANH),
                  ag_scale(ag_mul(x, ag_add(ag_tanh(u), number(g, 1))), 0.5)};
}

/* x Phi(x) = x - x Phi(-x), as Phi(x) + Phi(-x) = 1. */
static both gelu_mirrored(ag_graph *g, int i) {
    const ag_gelu_form form = i ? AG_GELU_TANH : AG_GELU_ERF;
    ag_node *x = sample(g, tensor_dims(2, 3, 17));
    return (both){ag_gelu(x, form), ag_add(x, ag_gelu(ag_neg(x), form))};
}

static both silu(ag_graph *g, int i) {
    (void)i;
    ag_node *x = sample(g, tensor_dims(2, 3, 17));
    return (both){ag_silu(x), ag_mul(x, ag_sigmoid(x))};
}

static both sigmoid(ag_graph *g, int i) {
    (void)i;
    ag_node *x = sample(g, tensor_dims(2, 3, 17)), *one = number(g, 1);
    return (both){ag_sigmoid(x), ag_div(one, ag_add(one, ag_exp(ag_neg(x))))};
}

static both tanh_by_sigmoid(ag_graph *g, int i) {
    (void)i;
    ag_node *x = sample(g, tensor_dims(2, 3, 17));
    return (both){ag_tanh(x), ag_sub(ag_scale(ag_sigmoid(ag_scale(x, 2)), 2), number(g, 1))};
}

/* p = 0 in training and not; p = 0.5 when not training: nothing. In training: times what another
 * dropout of the same name makes of ones. */
static both dropout(ag_graph *g, int i) {
    ag_node *x = sample(g, tensor_dims(2, 3, 17)), *ones = zeros(g, x->val.shape);
    for (size_t k = 0; k < ones->val.n; k++) ones->val.x[k] = 1;
    ag_set_run(g, (ag_run){.seed = 3, .training = i == 0 || i == 3});
    return (both){ag_dropout(x, i < 2 ? 0 : 0.5, "drop"),
                  ag_mul(x, i < 3 ? ones : ag_dropout(ones, 0.5, "drop"))};
}

/* ---- the comparison ---- */

static void assert_near(const char *what, size_t n, const real *x, const real *y) {
    double most = 1;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)y[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= TOLERANCE * most))
            fail_msg("%s[%zu]: fused %.17g, composed %.17g", what, i, (double)x[i], (double)y[i]);
}

/* All leaves' gradients of sum(c y), one after the other. */
static size_t gradients(ag_node *y, const real *c, real *out) {
    ag_graph *g = y->graph;
    size_t n = 0;
    ag_grads_zero(g);
    assert_true(ag_backward(y, c));
    for (int i = 0; i < ag_count(g); i++) {
        const ag_node *x = ag_at(g, i);
        for (size_t k = 0; !x->op && x->wants_grad && k < x->val.n; k++)
            out[n++] = x->has_grad ? x->grad[k] : 0;
    }
    return n;
}

static void compare(ag_graph *g, both y) {
    static real c[4096], of_fused[4096], of_composed[4096];
    if (ag_error(g)) fail_msg("%s", ag_error(g));
    assert_true(tensor_same_shape(y.fused->val.shape, y.composed->val.shape));
    assert_near("value", y.fused->val.n, y.fused->val.x, y.composed->val.x);
    rng r = rng_stream(1, "fused", 0);
    for (size_t i = 0; i < y.fused->val.n; i++) c[i] = (real)rng_normal(&r);
    size_t n = gradients(y.fused, c, of_fused);
    assert_true(n > 0 && n <= 4096 && gradients(y.composed, c, of_composed) == n);
    assert_near("gradient", n, of_fused, of_composed);
}

typedef struct {
    const char *name;
    both (*record)(ag_graph *g, int i);
    int variants;
} fused_case;

static void is_its_composition(void **state) {
    const fused_case *c = *state;
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(params);
    for (int i = 0; i < c->variants; i++) {
        ag_graph_reset(g);
        compare(g, c->record(g, i));
    }
    ag_graph_free(g);
    ag_params_free(params);
}

/* The two forms of GELU are two functions, up to 5e-4 apart. */
static void gelu_forms_are_close_but_not_equal(void **state) {
    (void)state;
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(params);
    ag_node *x = zeros(g, tensor_dims(1, 801));
    for (int i = 0; i < 801; i++) x->val.x[i] = (real)(i - 400) / 100;
    ag_node *d = ag_sub(ag_gelu(x, AG_GELU_ERF), ag_gelu(x, AG_GELU_TANH));
    double most = 0;
    for (int i = 0; i < 801; i++) most = fmax(most, fabs((double)d->val.x[i]));
    assert_close(most, 4.7e-4, 5e-6);
    ag_graph_free(g);
    ag_params_free(params);
}

static fused_case cases[] = {
    {"linear = matmul + add", linear, 4},
    {"embedding = one-hot matmuls", embedding, 1},
    {"gather = one-hot matmul", gather, 1},
    {"scores = permute, matmul, mask", scores, N_HEADS *N_MASKS},
    {"mix = permute, matmul", mix, N_HEADS *N_MASKS},
    {"rope = slice, mul, concat", rope, 2},
    {"softmax = exp / sum", softmax, N_MASKS + 1},
    {"softmax_one = exp / (1 + sum)", softmax_one, N_MASKS + 1},
    {"alibi = sub, mask", alibi, N_MASKS},
    {"soft_cap = scaled tanh", soft_cap, 2},
    {"label_smoothing = soft targets", label_smoothing, 3},
    {"log_softmax = log(softmax)", log_softmax, 2},
    {"cross_entropy = selected log_softmax", cross_entropy, 3},
    {"squared_error = sum of squares", squared_error, 3},
    {"layer_norm = mean, sub, mul, sqrt, div", layer_norm, 2},
    {"rms_norm = mean, mul, sqrt, div", rms_norm, 2},
    {"gelu, tanh form", gelu_tanh, 1},
    {"gelu(x) = x + gelu(-x)", gelu_mirrored, 2},
    {"silu = x sigmoid(x)", silu, 1},
    {"sigmoid = 1 / (1 + exp(-x))", sigmoid, 1},
    {"tanh(x) = 2 sigmoid(2x) - 1", tanh_by_sigmoid, 1},
    {"dropout = mul", dropout, 4},
};
enum { N_CASES = sizeof cases / sizeof *cases };

int main(void) {
    static struct CMUnitTest tests[N_CASES + 1];
    for (int i = 0; i < N_CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, is_its_composition, NULL, NULL, &cases[i]};
    tests[N_CASES] = (struct CMUnitTest)cmocka_unit_test(gelu_forms_are_close_but_not_equal);
    return check_run(tests, N_CASES + 1);
}
