/* oracle_elementwise.c - definitions of each element alone. */
#include "tests/lib/oracle_internal.h"

/* ---- elementwise: one line an op. The op's own samples serve. ---- */

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

const oracle oracles_elementwise[] = {
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
    {"relu", NULL, relu_value},
    {"gelu", gelu_record, gelu_value},
    {NULL, NULL, NULL},
};
