/* Values and gradients far from 1: where a function nears its limit, where a number is no normal one, and
 * where what is cut away is infinite. Expected numbers were computed with 40 digits (mpmath). */
#include <math.h>

#include "autograd/op.h"
#include "tensor/rng.h"
#include "tests/lib/check.h"
#include "tests/lib/fixture.h"

static ag_node *leaf(int n, const double *x) {
    ag_node *in = ag_want_grad(ag_input(g, "x", tensor_dims(1, n)));
    for (int i = 0; i < n; i++) in->val.x[i] = (real)x[i];
    return in;
}

static ag_node *gelu_erf(ag_node *x) { return ag_gelu(x, AG_GELU_ERF); }
static ag_node *gelu_tanh(ag_node *x) { return ag_gelu(x, AG_GELU_TANH); }

/* Relative, and as exact as the smallest numbers of float are. */
static void near(const char *what, double x, double got, double expected) {
    if (isinf(expected) ? got == expected : fabs(got - expected) <= 4e-7 * fabs(expected) + 3e-45)
        return;
    fail_msg("%s at %g: %.9g, should be %.9g", what, x, got, expected);
}

static void limits(void **state) {
    (void)state;
    const struct {
        const char *name;
        ag_node *(*op)(ag_node *);
        double x, value, slope;
    } c[] = {
        {"tanh", ag_tanh, -9.010899543762207, -0.99999997, 5.96062885e-8},
        {"tanh", ag_tanh, 40.0, 1.0, 7.21940555e-35},
        {"tanh", ag_tanh, 9.99994610111476e-41, 9.9999461e-41, 1.0},
        {"sigmoid", ag_sigmoid, 20.0, 0.999999998, 2.06115361e-9},
        {"sigmoid", ag_sigmoid, -95.0, 5.52108228e-42, 5.52108228e-42},
        {"silu", ag_silu, -90.0, -7.37461136e-38, -7.29267124e-38},
        {"silu", ag_silu, -INFINITY, 0, 0},
        {"silu", ag_silu, INFINITY, INFINITY, 1},
        {"silu", ag_silu, -1.2784645557403564, -0.278464543, -2.82703967e-9},
        {"gelu", gelu_erf, -INFINITY, 0, 0},
        {"gelu", gelu_erf, INFINITY, INFINITY, 1},
        {"gelu", gelu_erf, -13.0, -7.95231372e-38, -1.03373044e-36},
        {"gelu of the tanh form", gelu_tanh, -INFINITY, 0, 0},
        {"gelu of the tanh form", gelu_tanh, 1e20, 1e20, 1},
        {"gelu of the tanh form", gelu_tanh, -1e20, 0, 0},
        {"exp", ag_exp, -100.0, 3.72007598e-44, 3.72007598e-44},
        {"log", ag_log, 9.99994610111476e-41, -92.1034091, INFINITY},
        {"log", ag_log, 1 + 0x1p-23, 1.19209282e-7, 0.999999881},
        {"sqrt", ag_sqrt, 9.99994610111476e-41, 9.99997305e-21, 5.00001347e+19},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        ag_graph_reset(g);
        ag_node *x = leaf(1, &c[i].x), *y = c[i].op(x);
        assert_true(ag_backward(y, NULL));
        near(c[i].name, c[i].x, (double)y->val.x[0], c[i].value);
        if (sizeof(real) == sizeof(double) && isinf(c[i].slope)) continue;  // only float ends there
        near(c[i].name, c[i].x, (double)x->grad[0], c[i].slope);
    }
}

static void sure_rows(void **state) {
    (void)state;
    static const int target[] = {0};
    ag_node *x = leaf(2, (double[]){17, 0}), *loss = ag_cross_entropy(x, target, NULL);
    assert_true(ag_backward(loss, NULL));
    near("cross-entropy", 17, (double)loss->val.x[0], 4.1399377e-8);
    near("the target's gradient", 17, (double)x->grad[0], -4.1399376e-8);
    near("the other's gradient", 0, (double)x->grad[1], 4.1399376e-8);

    ag_graph_reset(g);
    x = leaf(2, (double[]){17, 0});
    ag_node *y = ag_log_softmax(x);
    assert_true(ag_backward(y, (real[]){1, 0}));
    near("log softmax", 17, (double)y->val.x[0], -4.1399377e-8);
    near("its gradient", 17, (double)x->grad[0], 4.1399376e-8);
    near("its gradient", 0, (double)x->grad[1], -4.1399376e-8);

    ag_graph_reset(g);  // two greatest: nothing is sure
    x = leaf(3, (double[]){80, 80, 0});
    loss = ag_cross_entropy(x, target, NULL);
    assert_true(ag_backward(loss, NULL));
    near("cross-entropy", 80, (double)loss->val.x[0], 0.69314718);
    near("the target's gradient", 80, (double)x->grad[0], -0.5);
}

/* [1,2,3,4] times any factor is normalised alike. */
static void norms_of_any_size(void **state) {
    (void)state;
    static const double factors[] = {1, 1e20, 5e37, 1e-30, 1e-37};
    double y1[2][4], d1[2][4];
    for (int norm = 0; norm < 2; norm++)
        for (int f = 0; f < 5; f++) {
            ag_graph_reset(g);
            double row[4];
            for (int i = 0; i < 4; i++) row[i] = (i + 1) * factors[f];
            ag_node *x = leaf(4, row), *gain = leaf(4, (double[]){1, 1, 1, 1});
            ag_node *y =
                norm ? ag_rms_norm(x, gain, 0) : ag_layer_norm(x, gain, leaf(4, (double[4]){0}), 0);
            assert_true(ag_backward(y, (real[]){1, 0, -2, 0.5}));
            for (int i = 0; i < 4; i++) {
                const double value = (double)y->val.x[i], slope = (double)x->grad[i] * factors[f];
                if (f == 0) y1[norm][i] = value, d1[norm][i] = slope;
                assert_close(value, y1[norm][i], 1e-6);
                assert_close(slope, d1[norm][i], 1e-6);
                assert_close(gain->grad[i], ((double[]){1, 0, -2, 0.5})[i] * value, 3e-6);
            }
        }
}

static void a_small_eps_counts_where_it_should(void **state) {
    (void)state;
    const double x = 1e-30;  // eps = 1e-28: y = x / sqrt(x^2 + eps)
    ag_node *in = leaf(1, &x), *gain = leaf(1, (double[]){1});
    near("rms norm", x, (double)ag_rms_norm(in, gain, 1e-28)->val.x[0], 1e-16);
    assert_null(ag_error(g));
    ag_rms_norm(in, gain, -1);
    assert_non_null(ag_error(g));
}

static void what_is_dropped_may_be_infinite(void **state) {
    (void)state;
    ag_set_run(g, (ag_run){.seed = 1, .training = true});
    double x[32];
    for (int i = 0; i < 32; i++) x[i] = INFINITY;
    ag_node *in = leaf(32, x), *y = ag_dropout(in, 0.5, "drop");
    assert_true(ag_backward(y, NULL));
    int dropped = 0;
    for (int i = 0; i < 32; i++) {
        assert_true(y->val.x[i] == 0 || isinf((double)y->val.x[i]));
        dropped += y->val.x[i] == 0;
    }
    assert_true(dropped > 4 && dropped < 28);
    ag_set_run(g, (ag_run){0});
}

static ag_node *inverse(ag_node *x) { return ag_div(leaf(2, (double[]){1, 1}), x); }
static ag_node *squares(ag_node *x) { return ag_mul(x, x); }
static ag_node *norm(ag_node *x) {
    return ag_rms_norm(ag_reshape(x, tensor_dims(2, 2, 1)), leaf(1, (double[]){1}), 0);
}

/* y[0], infinite or no number or of such a slope, is cut away in three ways; its x learns nothing. */
static void what_is_cut_away_has_gradient_0(void **state) {
    (void)state;
    static ag_node *(*const ops[])(ag_node *) = {ag_sqrt,    ag_log,   inverse,  squares,
                                                 norm,       ag_exp,   ag_tanh,  ag_silu,
                                                 ag_sigmoid, gelu_erf, gelu_tanh};
    static const double worst[] = {0, -1, INFINITY, -INFINITY, NAN};
    static const int rows[] = {-1, 1};
    for (int op = 0; op < 11; op++)
        for (int w = 0; w < 5; w++)
            for (int way = 0; way < 3; way++) {
                ag_graph_reset(g);
                ag_node *x = leaf(2, (double[]){worst[w], 1}), *y = ops[op](x);
                y = ag_reshape(y, tensor_dims(1, 2));
                ag_node *left = way == 0   ? ag_slice(y, 0, 1, 2)
                                : way == 1 ? ag_gather(ag_reshape(y, tensor_dims(2, 2, 1)), rows, 2)
                                           : ag_mul(y, leaf(2, (double[]){0, 1}));
                assert_true(ag_backward(left, NULL));
                if (!(x->grad[0] == 0))
                    fail_msg("op %d at %g, way %d: gradient %g", op, worst[w], way,
                             (double)x->grad[0]);
            }
}

/* The pinned exception: a matrix product is a sum, and 0 * inf in it is NaN. */
static bool is_product(const ag_op *op) {
    return op == &ag_op_matmul || op == &ag_op_linear || op == &ag_op_scores || op == &ag_op_mix;
}

/* Every op, its inputs full of the worst numbers: a cotangent of all zeros leaves all gradients 0. */
static void zeros_come_back_as_zeros(void **state) {
    (void)state;
    static const double worst[] = {0, INFINITY, NAN, -INFINITY, -1, 1e-40};
    for (int n = 0; ag_ops[n]; n++)
        for (int i = 0; !is_product(ag_ops[n]); i++) {
            ag_graph_reset(g);
            ag_node *y = ag_ops[n]->sample(g, i);
            if (!y) break;
            for (int k = 0; k < ag_count(g); k++) {
                ag_node *in = ag_at(g, k);
                for (size_t e = 0; !in->op && e < in->val.n; e++)
                    in->val.x[e] = (real)worst[(e + (size_t)(k + i)) % 6];
            }
            ag_forward(g);
            real zeros[512] = {0};
            assert_true(y->val.n <= 512);
            assert_true(ag_backward(y, zeros));
            for (int k = 0; k < ag_count(g); k++) {
                const ag_node *in = ag_at(g, k);
                for (size_t e = 0; !in->op && in->has_grad && e < in->val.n; e++)
                    if (!(in->grad[e] == 0))
                        fail_msg("%s, sample %d: gradient %g", ag_ops[n]->name, i,
                                 (double)in->grad[e]);
            }
        }
}

/* Which of [rows,n] the maximum over `axis` is for one kept place: the first greatest, or the first NaN. */
static int chosen(const real *x, int rows, int n, int axis, int kept) {
    int best = -1;
    for (int k = 0; k < (axis ? n : rows); k++) {
        const int at = axis ? kept * n + k : k * n + kept;
        if (best >= 0 && x[best] != x[best]) break;
        if (best < 0 || x[at] > x[best] || x[at] != x[at]) best = at;
    }
    return best;
}

static void max_takes_the_first(void **state) {
    (void)state;
    static const real values[] = {-1, 0, (real)-0.0, 1, 2, (real)-INFINITY, (real)NAN};
    rng r = rng_stream(1, "max", 0);
    for (int n = 1; n <= 70; n++)
        for (int axis = 0; axis < 2; axis++) {
            ag_graph_reset(g);
            ag_node *x = ag_want_grad(ag_input(g, "x", tensor_dims(2, 3, n)));
            const uint32_t most = 1 + rng_below(&r, sizeof values / sizeof *values);
            for (size_t i = 0; i < x->val.n; i++) x->val.x[i] = values[rng_below(&r, most)];
            ag_node *y = ag_max(x, 1, &axis);
            real dy[70], expected[3 * 70] = {0};
            for (size_t k = 0; k < y->val.n; k++) {
                const int at = chosen(x->val.x, 3, n, axis, (int)k);
                if (x->val.x[at] == x->val.x[at]) assert_same_bits(y->val.x + k, x->val.x + at, 1);
                if (x->val.x[at] != x->val.x[at]) assert_true(isnan((double)y->val.x[k]));
                expected[at] = dy[k] = (real)(k + 1);
            }
            assert_true(ag_backward(y, dy));
            assert_same_bits(x->grad, expected, x->val.n);
        }
}

/* Rows of any width, by the loops and without them, against a plain sum; and those that have none. */
static void weights_of_any_width(void **state) {
    (void)state;
    rng r = rng_stream(1, "weights", 0);
    for (int n = 1; n <= 70; n++)
        for (int one = 0; one < 2; one++) {
            ag_graph_reset(g);
            const int width = n + (int)rng_below(&r, 3);  // the last ones are masked
            ag_node *x = ag_input(g, "x", tensor_dims(2, 5, width));
            for (size_t i = 0; i < x->val.n; i++)
                x->val.x[i] =
                    i % (size_t)width < (size_t)n ? (real)(5 * rng_normal(&r)) : (real)NAN;
            for (int i = 0; i < n; i++) x->val.x[width + i] = (real)-INFINITY;
            x->val.x[2 * width + n / 2] = (real)NAN;
            x->val.x[3 * width + n / 3] = (real)INFINITY;
            const ag_mask mask = {.memory = n};
            const ag_node *y = one ? ag_softmax_one(x, mask) : ag_softmax(x, mask);
            for (int row = 0; row < 5; row++) {
                double sum = one;
                for (int i = 0; i < n; i++) sum += exp((double)x->val.x[row * width + i]);
                for (int i = 0; i < width; i++) {
                    const double got = (double)y->val.x[row * width + i];
                    if (i >= n || row == 1)
                        assert_true(got == 0);
                    else if (row == 2 || row == 3)
                        assert_true(isnan(got));
                    else
                        assert_true(fabs(got - exp((double)x->val.x[row * width + i]) / sum) <
                                    1e-6);
                }
            }
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
static const struct CMUnitTest tests[] = {
    TEST(limits),
    TEST(sure_rows),
    TEST(norms_of_any_size),
    TEST(a_small_eps_counts_where_it_should),
    TEST(what_is_dropped_may_be_infinite),
    TEST(what_is_cut_away_has_gradient_0),
    TEST(zeros_come_back_as_zeros),
    TEST(max_takes_the_first),
    TEST(weights_of_any_width),
};
CHECK_MAIN(tests)
