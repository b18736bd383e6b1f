/* float against double: how far rounding takes the library from exact arithmetic on the same
 * inputs. The references are computed in double: for every op by its oracle (oracle.c) or naively
 * here, for the gradient of a whole model by PyTorch (golden/block.h). In the double build the same
 * references must agree to a few units of double, which shows them right to far more digits than
 * float needs.
 *
 * u is the unit roundoff, 2^-24 in float. */
#include <math.h>
#include <stdlib.h>

#include "autograd/op.h"
#include "tensor/rng.h"
#include "tests/golden/model.h"
#include "tests/lib/check.h"
#include "tests/lib/oracle.h"

#include "tests/lib/fixture.h"  // after what has a g of its own

static const bool DOUBLE = sizeof(real) == sizeof(double);
/* In the double build a reference is no better than what it judges: allow for both. */
static const double U = (double)REAL_EPSILON / 2 * (sizeof(real) == sizeof(double) ? 4 : 1);

/* A leaf of normal numbers of that mean and deviation. */
static ag_node *normal(tensor_shape s, double mean, double deviation) {
    ag_node *x = ag_input(g, "x", s);
    rng r = rng_stream(5, "precision", (uint64_t)ag_count(g));
    for (size_t i = 0; i < x->val.n; i++) x->val.x[i] = (real)(mean + deviation * rng_normal(&r));
    return ag_want_grad(x);
}

/* |got - expected| <= units * u * scale, in words. */
static void within(const char *what, double got, double expected, double units, double scale) {
    double off = fabs(got - expected) / (U * scale);
    if (!(off <= units) && got != expected)
        fail_msg("%s: %.17g, in double %.17g: off by %.3g units, allowed %.3g", what, got, expected,
                 off, units);
}

/* ---- every op, on its own samples ---- */

static long compared;

/* An op ends in a few roundings, relative to the greatest result (measured: up to 3 units); where all
 * true results of a case are floats, as of an op that only carries numbers from place to place, in none. */
static void judge(const oracle *o, int i, const ag_node *node) {
    enum { MOST_IN = 16 };
    oracle_tensor in[MOST_IN], y = {node->val.shape, node->val.n, NULL};
    assert_true(node->n_in <= MOST_IN);
    for (int k = 0; k < node->n_in; k++) {
        const tensor *v = &node->in[k]->val;
        in[k] = (oracle_tensor){v->shape, v->n, calloc(v->n + 1, sizeof(number))};
        for (size_t e = 0; e < v->n; e++) in[k].x[e] = (double)v->x[e];
    }
    y.x = calloc(y.n + 1, sizeof(number));
    assert_true(o->value(i, node->n_in, in, &y));
    double most = 1;
    bool exact = sizeof(real) < sizeof(double);  // in double every number is one
    for (size_t e = 0; e < y.n; e++) {
        most = fmax(most, fabs(creal(y.x[e])));
        exact = exact && (double)(real)creal(y.x[e]) == creal(y.x[e]);
        compared++;
    }
    for (size_t e = 0; e < y.n; e++)
        within(o->name, (double)node->val.x[e], creal(y.x[e]), exact ? 0 : 8, most);
    for (int k = 0; k < node->n_in; k++) free(in[k].x);
    free(y.x);
}

static void every_op_on_its_samples(void **state) {
    (void)state;
    for (int n = 0; ag_ops[n]; n++) {
        const oracle *o = oracle_of(ag_ops[n]->name);
        compared = 0;
        for (int i = 0; o; i++) {
            ag_graph_reset(g);
            ag_node *node = (o->record ? o->record : ag_ops[n]->sample)(g, i);
            if (!node) break;
            if (node->op == ag_ops[n]) judge(o, i, node);
        }
        assert_true(!o || compared > 0);
    }
}

/* ---- dot products: within 2 sqrt(n) u sum |a b|; the worst case would be n u sum |a b| ---- */

/* y[m,n] = a[m,k] b[k,n], and + bias[n] unless that is NULL. */
static void products_are_near(const ag_node *y, const ag_node *a, const ag_node *b,
                              const ag_node *bias) {
    int K = tensor_width(a->val.shape), N = tensor_width(b->val.shape);
    for (size_t at = 0; at < y->val.n; at++) {
        size_t row = at / (size_t)N, col = at % (size_t)N;
        double sum = bias ? (double)bias->val.x[col] : 0, size = fabs(sum);
        for (int k = 0; k < K; k++) {
            double ab = (double)a->val.x[row * (size_t)K + (size_t)k] *
                        (double)b->val.x[(size_t)k * (size_t)N + col];
            sum += ab;
            size += fabs(ab);
        }
        within("dot product", (double)y->val.x[at], sum, 2 * sqrt(K + 1), size);
    }
}

static void dot_products(void **state) {
    (void)state;
    static const int K[] = {1, 2, 17, 64, 333, 4096};
    for (int i = 0; i < 6; i++) {
        ag_graph_reset(g);
        ag_node *a = normal(tensor_dims(2, 5, K[i]), i % 2, 1),
                *b = normal(tensor_dims(2, K[i], 7), 1, 1);
        ag_node *bias = normal(tensor_dims(1, 7), 0, 1);
        products_are_near(ag_matmul(a, b), a, b, NULL);
        products_are_near(ag_linear(a, b, NULL), a, b, NULL);
        products_are_near(ag_linear(a, b, bias), a, b, bias);
    }
}

/* ---- softmax: each weight within 128 u of itself ---- */

/* x - max is rounded, and its error of up to 88 u becomes one of the weight. */
static void softmax_rows_are_near(ag_node *x) {
    const ag_node *y = ag_softmax(x, (ag_mask){0});
    int S = tensor_width(x->val.shape);
    for (size_t at = 0; at < x->val.n; at += (size_t)S) {
        double max = -INFINITY, sum = 0, total = 0;
        for (int s = 0; s < S; s++) max = fmax(max, (double)x->val.x[at + (size_t)s]);
        for (int s = 0; s < S; s++) sum += exp((double)x->val.x[at + (size_t)s] - max);
        for (int s = 0; s < S; s++) {
            double weight = exp((double)x->val.x[at + (size_t)s] - max) / sum;
            double got = (double)y->val.x[at + (size_t)s];
            if (weight >= 1e-37) within("weight", got, weight, 128, weight);
            total += got;
        }
        within("sum of weights", total, 1, 128, 1);
    }
}

static void softmax_of_any_size(void **state) {
    (void)state;
    static const double means[] = {0, 0, 1e4, -1e4, 0}, deviations[] = {1, 10, 10, 1, 1e4};
    static const int S[] = {1, 5, 64, 333, 1000};
    for (int m = 0; m < 5; m++)
        for (int s = 0; s < 5; s++) {
            ag_graph_reset(g);
            softmax_rows_are_near(normal(tensor_dims(2, 4, S[s]), means[m], deviations[m]));
        }
}

/* ---- layer norm: within 32 u of the greatest result, also around a large mean. The reference is
 * in long double and measures from row[0], as the mean of a row would itself be rounded ---- */

static void layer_norm_rows_are_near(ag_node *x, double eps) {
    int D = tensor_width(x->val.shape);
    ag_node *gain = normal(tensor_dims(1, D), 1, 0.3), *bias = normal(tensor_dims(1, D), 0, 1);
    const ag_node *y = ag_layer_norm(x, gain, bias, eps);
    for (size_t at = 0; at < x->val.n; at += (size_t)D) {
        const real *row = x->val.x + at;
        long double off = 0, var = 0;  // off: the mean less row[0]
        double most = 1;
        for (int d = 0; d < D; d++) off += ((long double)row[d] - row[0]) / D;
        for (int d = 0; d < D; d++) var += powl((long double)row[d] - row[0] - off, 2) / D;
        for (int d = 0; d < D; d++) most = fmax(most, fabs((double)y->val.x[at + (size_t)d]));
        for (int d = 0; d < D; d++) {
            double xh = (double)(((long double)row[d] - row[0] - off) / sqrtl(var + eps));
            double exact = xh * (double)gain->val.x[d] + (double)bias->val.x[d];
            within("layer norm", (double)y->val.x[at + (size_t)d], exact, 32, most);
        }
    }
}

static void layer_norm_of_usual_rows(void **state) {
    (void)state;
    static const int D[] = {2, 8, 33, 64, 500};
    for (int i = 0; i < 5; i++) {
        ag_graph_reset(g);
        layer_norm_rows_are_near(normal(tensor_dims(2, 6, D[i]), 0, 1), 1e-5);
        layer_norm_rows_are_near(normal(tensor_dims(2, 6, D[i]), 3, 0.5), 1e-5);
    }
}

/* The mean of such a row is no real, and what it is rounded by is no longer small against the
 * spread. */
static void layer_norm_around_a_large_mean(void **state) {
    (void)state;
    static const int D[] = {2, 8, 33, 64, 500};
    for (int i = 0; i < 5; i++) {
        ag_graph_reset(g);
        layer_norm_rows_are_near(normal(tensor_dims(2, 6, D[i]), 1000, 1), 1e-5);
        layer_norm_rows_are_near(normal(tensor_dims(2, 6, D[i]), 1000, 1e-3), 1e-12);
    }
}

/* ---- gelu: within 8 u of max(1, |x|) ---- */

static void gelu_near_and_far(void **state) {
    (void)state;
    ag_node *x = ag_input(g, "x", tensor_dims(1, 2001));
    for (int i = 0; i < 2001; i++) x->val.x[i] = (real)(i - 1000) / 50;
    const ag_node *erf_form = ag_gelu(x, AG_GELU_ERF), *tanh_form = ag_gelu(x, AG_GELU_TANH);
    for (int i = 0; i < 2001; i++) {
        double v = (double)x->val.x[i], u = sqrt(2 / acos(-1)) * (v + 0.044715 * v * v * v);
        double scale = fmax(1, fabs(v));
        within("gelu", (double)erf_form->val.x[i], v * erfc(-v / sqrt(2)) / 2, 8, scale);
        within("gelu, tanh form", (double)tanh_form->val.x[i], v * (1 + tanh(u)) / 2, 8, scale);
    }
}

/* ---- cross-entropy and log-softmax with logits of 1e4: as exact as with small ones ---- */

static void cross_entropy_of_large_logits(void **state) {
    (void)state;
    enum { N = 8, V = 33 };
    static const int targets[N] = {0, 32, 5, -1, 7, 7, 16, 1};
    static const double means[] = {0, 1e4, -1e4, 0}, deviations[] = {1, 1, 3, 1e4};
    for (int m = 0; m < 4; m++) {
        ag_graph_reset(g);
        ag_node *x = normal(tensor_dims(2, N, V), means[m], deviations[m]);
        ag_node *y = ag_cross_entropy(x, targets, NULL), *logs = ag_log_softmax(x);
        ag_grads_zero(g);
        assert_true(ag_backward(y, NULL));
        double loss = 0;
        for (int n = 0; n < N; n++) {
            const real *row = x->val.x + n * V, *dx = x->grad + n * V;
            double max = -INFINITY, sum = 0;
            for (int c = 0; c < V; c++) max = fmax(max, (double)row[c]);
            for (int c = 0; c < V; c++) sum += exp((double)row[c] - max);
            if (targets[n] >= 0) loss += (log(sum) + (max - (double)row[targets[n]])) / (N - 1);
            for (int c = 0; c < V; c++) {
                double log_p = (double)row[c] - max - log(sum),
                       got = (double)logs->val.x[n * V + c];
                double p = exp((double)row[c] - max) / sum - (c == targets[n]);
                within("log softmax", got, log_p, 8, fmax(1, fabs(log_p)));
                within("gradient", (double)dx[c], targets[n] < 0 ? 0 : p / (N - 1), 16, 1);
            }
        }
        within("loss", (double)y->val.x[0], loss, 8, fmax(1, loss));
    }
}

/* ---- a whole model: the gradient within 1e-5 of its norm ---- */

static void gradient_of_a_whole_model(void **state) {
    (void)state;
    golden_model model = golden_model_new();
    double off = 0, norm = 0;
    assert_close(golden_step(&model), golden_adam_losses[0], DOUBLE ? 1e-14 : 1e-6);
    for (int i = 0; i < ag_params_count(model.params); i++) {
        const ag_param_entry *p = ag_params_at(model.params, i);
        const real *got = ag_grads(model.graph) + p->offset;
        const double *exact = golden_find(p->name)->gradient;
        for (size_t k = 0; k < p->val.n; k++) {
            off += ((double)got[k] - exact[k]) * ((double)got[k] - exact[k]);
            norm += exact[k] * exact[k];
        }
    }
    assert_close(sqrt(off / norm), 0, DOUBLE ? 1e-14 : 1e-5);
    golden_model_free(&model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(every_op_on_its_samples, begin, end),
    cmocka_unit_test_setup_teardown(dot_products, begin, end),
    cmocka_unit_test_setup_teardown(softmax_of_any_size, begin, end),
    cmocka_unit_test_setup_teardown(layer_norm_of_usual_rows, begin, end),
    cmocka_unit_test_setup_teardown(layer_norm_around_a_large_mean, begin, end),
    cmocka_unit_test_setup_teardown(gelu_near_and_far, begin, end),
    cmocka_unit_test_setup_teardown(cross_entropy_of_large_logits, begin, end),
    cmocka_unit_test(gradient_of_a_whole_model),
};
CHECK_MAIN(tests)
