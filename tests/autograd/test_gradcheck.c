/* Every op's backward is the derivative of its forward, and every layer's, on their own samples: one
 * test each, made from the catalogues at run time. Beside that, the check itself: what it must refuse, and in
 * which words. */
#include "autograd/gradcheck.h"

#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "layers/nn.h"
#include "tests/lib/check.h"

enum { MOST = 256 };

typedef struct {
    const char *name;
    const ag_op *op;  // NULL: a layer
    ag_sample_fn *sample;
} subject;

static double worst;  // over all
static long coordinates;

static void gradient_is_right(void **state) {
    const subject *op = *state;
    ag_check_report report;
    bool passed =
        op->op ? ag_gradcheck_op(op->op, &report) : ag_gradcheck(op->sample, false, &report);
    printf("%s: %d samples, %ld coordinates, worst %.2g of the tolerance\n", op->name,
           report.samples, report.coordinates, report.worst);
    if (!passed) fail_msg("%s: %s", op->name, report.reason);
    assert_true(report.coordinates > 0);
    assert_true(report.worst <= 1);
    if (!op->op || !(op->op->facts & AG_KINKS)) assert_int_equal(report.inconclusive, 0);
    worst = report.worst > worst ? report.worst : worst;
    coordinates += report.coordinates;
}

static void worst_of_all(void **state) {
    (void)state;
    printf("worst of all %ld coordinates: %.2g of the tolerance\n", coordinates, worst);
    assert_true(worst <= 1);
}

static void refused(ag_sample_fn *sample, bool has_kinks, const char *why) {
    ag_check_report report;
    assert_false(ag_gradcheck(sample, has_kinks, &report));
    assert_false(report.passed);
    if (!strstr(report.reason, why))
        fail_msg("the reason is '%s', not '... %s ...'", report.reason, why);
}

static ag_node *no_sample(ag_graph *g, int i) {
    (void)g, (void)i;
    return NULL;
}

static ag_node *wrong_shapes(ag_graph *g, int i) {
    if (i > 0) return NULL;
    return ag_add(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 3)),
                  ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 4)));
}

/* relu close to its kink. (At 0 itself the differences with any step agree on 1/2: samples must
 * keep away.) */
static ag_node *at_a_kink(ag_graph *g, int i) {
    if (i > 0) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NO_KINK, tensor_dims(1, 12));
    for (int k = 0; k < 4; k++) x->val.x[k] = (real)(0.0002 * (k < 2 ? k - 2 : k - 1));
    return ag_relu(x);
}

static ag_node *infinite(ag_graph *g, int i) {
    if (i > 0) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 3));
    x->val.x[1] = (real)INFINITY;
    return ag_mul(x, x);
}

static ag_node *not_a_number(ag_graph *g, int i) {
    if (i > 0) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 3));
    x->val.x[2] = (real)NAN;
    return ag_gelu(x, AG_GELU_TANH);
}

/* ---- what compares nothing has not passed ---- */

static ag_node *on_an_input(ag_graph *g, int i) {
    return i < 3 ? ag_exp(ag_input(g, "x", tensor_dims(1, 3))) : NULL;
}
static ag_node *without_numbers(ag_graph *g, int i) {
    return i < 3 ? ag_exp(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, i, 0))) : NULL;
}
static ag_node *all_at_kinks(ag_graph *g, int i) {
    if (i > 0) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 1));
    x->val.x[0] = (real)0.0002;
    return ag_relu(x);
}
static ag_node *mostly_at_kinks(ag_graph *g, int i) {
    if (i > 0) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 5));
    for (int k = 0; k < 5; k++) x->val.x[k] = (real)(k < 2 ? 1 : 0.0002);
    return ag_relu(x);
}
static ag_node *constant(ag_graph *g, int i) {
    if (i > 2) return NULL;
    return ag_softmax(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, i + 1, 1)), (ag_mask){0});
}
static ag_node *cut_away(ag_graph *g, int i) {
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 4));
    return i < 2 ? ag_scale(ag_exp(x), 0) : NULL;
}
static ag_node *sum_of_weights(ag_graph *g, int i) {  // always 1: the loss is constant
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 4));
    return i < 2 ? ag_sum(ag_softmax(x, (ag_mask){0}), 0, NULL) : NULL;
}
static ag_node *beside_it(ag_graph *g, int i) {  // the result is not made of what learns
    if (i > 1) return NULL;
    ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 4));
    return ag_exp(ag_input(g, "x", tensor_dims(1, 4)));
}

static void nothing_to_check_is_refused(void **state) {
    (void)state;
    refused(no_sample, false, "there are no samples");
    refused(NULL, false, "there are no samples");
    refused(on_an_input, false, "nothing was compared");
    refused(without_numbers, false, "nothing was compared");
    refused(all_at_kinks, true, "nothing was compared");
    refused(mostly_at_kinks, true, "too little was compared: 9 of 15");
    refused(constant, false, "nothing was compared: all derivatives are 0");
    refused(cut_away, false, "nothing was compared: all derivatives are 0");
    refused(sum_of_weights, false, "nothing was compared: all derivatives are 0");
    refused(beside_it, false, "nothing was compared");
}

/* ---- the same of an op: it must be in its samples, with each of its inputs ---- */

static void op_refused(const ag_op *op, const char *why) {
    ag_check_report report;
    assert_false(ag_gradcheck_op(op, &report));
    if (!strstr(report.reason, why))
        fail_msg("the reason is '%s', not '... %s ...'", report.reason, why);
}

/* A product whose backward is right for a alone. */
static ag_op op_half;
static ag_node *half(ag_node *a, ag_node *b) { return ag_apply(&op_half, AG_IN(a, b), NULL, 0); }
static void half_forward(ag_node *node) { ag_op_mul.forward(node); }
static void half_backward(ag_node *node) {
    real *da = ag_grad(node->in[0]);
    for (size_t i = 0; da && i < node->val.n; i++) da[i] += node->grad[i] * node->in[1]->val.x[i];
}
static ag_node *half_sample(ag_graph *g, int i) {
    if (i > 1) return NULL;
    ag_node *a = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 3)),
            *b = ag_input(g, "b", tensor_dims(1, 3));
    for (int k = 0; k < 3; k++) b->val.x[k] = (real)k;
    return half(a, b);
}
static ag_op op_half = {.name = "half",
                        .shape = ag_same_shape,
                        .forward = half_forward,
                        .backward = half_backward,
                        .sample = half_sample};

static ag_node *of_another_op(ag_graph *g, int i) {
    return i < 2 ? ag_exp(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 3))) : NULL;
}
static ag_node *made_but_not_used(ag_graph *g, int i) {
    if (i > 1) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 3));
    half(x, x);
    return ag_exp(x);
}
static ag_node *made_and_cut_away(ag_graph *g, int i) {
    if (i > 1) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 3));
    return ag_add(ag_exp(x), ag_scale(half(x, x), 0));
}
static bool refuses_silently(ag_node *node) { return (void)node, false; }
static ag_node *silent_sample(ag_graph *g, int i);
static ag_op op_silent = {.name = "silent", .shape = refuses_silently, .sample = silent_sample};
static ag_node *silent_sample(ag_graph *g, int i) {
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 3));
    return i < 2 ? ag_apply(&op_silent, AG_IN(x), NULL, 0) : NULL;
}

static void an_op_must_be_in_its_samples(void **state) {
    (void)state;
    op_refused(&op_half, "nothing was compared for input 1");
    op_half.sample = of_another_op;
    op_refused(&op_half, "no sample has a gradient that goes through the op");
    op_half.sample = made_but_not_used;
    op_refused(&op_half, "no sample has a gradient that goes through the op");
    op_half.sample = made_and_cut_away;
    op_refused(&op_half, "no sample has a gradient that goes through the op");
    op_half.sample = NULL;
    op_refused(&op_half, "there are no samples");
    op_refused(
        &op_silent,
        "sample 0: silent 'silent#1' (in0 [3]): its shape rule refuses this without a reason");
}

/* ---- what it says ---- */

static void an_error_is_passed_on(void **state) {
    (void)state;
    refused(wrong_shapes, false, "add");
    refused(wrong_shapes, false, "[3]");
    refused(wrong_shapes, false, "[4]");
}

static void a_kink_must_be_declared(void **state) {
    (void)state;
    ag_check_report report;
    refused(at_a_kink, false, "analytic");
    assert_true(ag_gradcheck(at_a_kink, true, &report));
    assert_true(report.inconclusive > 0);
}

/* Huber's function: x^2/2 up to 1, then straight on. Its slope has a knee, which does not jump; the
 * samples stand around it. `factor` makes the backward wrong. */
static double factor_of_huber = 1;
static void huber_forward(ag_node *node) {
    for (size_t i = 0; i < node->val.n; i++) {
        const double x = (double)node->in[0]->val.x[i], size = fabs(x);
        node->val.x[i] = (real)(size <= 1 ? x * x / 2 : size - 0.5);
    }
}
static void huber_backward(ag_node *node) {
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0; dx && i < node->val.n; i++) {
        const double x = (double)node->in[0]->val.x[i];
        dx[i] += node->grad[i] * (real)(factor_of_huber * fmax(-1, fmin(1, x)));
    }
}
static ag_node *huber_sample(ag_graph *g, int i);
static ag_op op_huber = {.name = "huber",
                         .shape = ag_same_shape,
                         .forward = huber_forward,
                         .backward = huber_backward,
                         .sample = huber_sample};
static ag_node *huber_sample(ag_graph *g, int i) {
    static const double from[] = {0,    1e-9, -1e-9, 1e-7, -1e-7, 1e-6,  -1e-6,   1e-5,   -1e-5,
                                  1e-4, 3e-4, -5e-4, 1e-3, -1e-3, -2e-3, 1.99e-3, 2.1e-3, 0.3};
    enum { N = sizeof from / sizeof *from };
    ag_node *x = i < 2 ? ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, N)) : NULL;
    // a gradient check moves the leaves by a 64th: to where they should stand
    for (int k = 0; x && k < N; k++) x->val.x[k] = (real)((i ? -1 : 1) * (1 + from[k]) / 1.015625);
    return x ? ag_apply(&op_huber, AG_IN(x), NULL, 0) : NULL;
}

static void a_knee_is_no_mistake(void **state) {
    (void)state;
    static const double wrong[] = {-1, 0, 0.5, 2, 1.001, 1.000001};
    for (int kinks = 0; kinks < 2; kinks++) {
        ag_check_report report;
        op_huber.facts = kinks ? AG_KINKS : 0;
        factor_of_huber = 1;
        if (!ag_gradcheck_op(&op_huber, &report)) fail_msg("kinks %d: %s", kinks, report.reason);
        assert_int_equal(report.inconclusive, 0);
        assert_true(report.worst <= 1);
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            factor_of_huber = wrong[i];
            if (ag_gradcheck_op(&op_huber, &report)) fail_msg("factor %g is right?", wrong[i]);
            if (!strstr(report.reason, "analytic")) fail_msg("%s", report.reason);
        }
    }
}

/* On either side of a jump a slope is right, or wrong, as elsewhere. */
static double slope_at[3];  // before 0, at 0, after it
static void leaky_forward(ag_node *node) {
    const real *x = node->in[0]->val.x;
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = x[i] * (x[i] < 0 ? (real)0.25 : 1);
}
static void leaky_backward(ag_node *node) {
    const real *x = node->in[0]->val.x;
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0; dx && i < node->val.n; i++)
        dx[i] += node->grad[i] * (real)slope_at[x[i] < 0 ? 0 : x[i] > 0 ? 2 : 1];
}
static ag_node *leaky_sample(ag_graph *g, int i);
static const ag_op op_leaky = {.name = "leaky",
                               .facts = AG_KINKS,
                               .shape = ag_same_shape,
                               .forward = leaky_forward,
                               .backward = leaky_backward,
                               .sample = leaky_sample};
static ag_node *leaky_sample(ag_graph *g, int i) {
    static const double at[] = {0, 1e-8, -1e-8, 3e-6, -3e-6, 1e-4, -1e-3};
    enum { N = 20 };
    ag_node *x = i < 2 ? ag_sample(g, AG_SAMPLE_NO_KINK, tensor_dims(1, N)) : NULL;
    for (int k = 0; x && k < (int)(sizeof at / sizeof *at); k++) x->val.x[k] = (real)at[k];
    return x ? ag_apply(&op_leaky, AG_IN(x), NULL, 0) : NULL;
}

static void what_is_wrong_at_a_kink_is_found(void **state) {
    (void)state;
    static const struct {
        double slope[3];
        bool right;
    } cases[] = {{{0.25, 1, 1}, true},    {{0.25, 0.25, 1}, true}, {{0.25, 0.5, 1}, true},
                 {{0.25, 0, 1}, false},   {{0.25, 2, 1}, false},   {{0.26, 1, 1}, false},
                 {{0.25, 1, 0.9}, false}, {{1, 1, 0.25}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ag_check_report report;
        memcpy(slope_at, cases[i].slope, sizeof slope_at);
        if (ag_gradcheck_op(&op_leaky, &report) != cases[i].right)
            fail_msg("case %zu: %s", i, report.reason);
        if (cases[i].right) assert_int_equal(report.inconclusive, 14);
    }
}

/* ---- shapes ---- */

static int given_size;  // of y; -1: the rule sets none
static bool one_shape(ag_node *node) {
    if (given_size >= 0) node->val.shape = given_size ? tensor_dims(1, given_size) : tensor_dims(0);
    return true;
}
static ag_node *misshapen_sample(ag_graph *g, int i);
static ag_node *sum_and_misshapen(ag_graph *g, int i);
static void first_forward(ag_node *node) {
    const tensor *x = &node->in[0]->val;
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = i < x->n ? x->x[i] * x->x[i] : 0;
}
static void first_backward(ag_node *node) {
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0; dx && i < node->val.n && i < node->in[0]->val.n; i++)
        dx[i] += 2 * node->in[0]->val.x[i] * node->grad[i];
}
static ag_op op_misshapen = {.name = "misshapen",
                             .shape = one_shape,
                             .forward = first_forward,
                             .backward = first_backward,
                             .sample = misshapen_sample};
static ag_node *misshapen(ag_node *x) { return ag_apply(&op_misshapen, AG_IN(x), NULL, 0); }
static ag_node *misshapen_sample(ag_graph *g, int i) {
    return ag_sample_unary(g, misshapen, i, AG_SAMPLE_NORMAL);
}
static ag_node *sum_and_misshapen(ag_graph *g, int i) {
    return i ? NULL : misshapen(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 3)));
}

static void a_shape_that_is_none_is_refused(void **state) {
    (void)state;
    given_size = -1;
    op_refused(&op_misshapen, "sets no shape");
    given_size = 0;
    op_refused(&op_misshapen, "127 of 134 numbers of the inputs move nothing in y");
    given_size = 1;
    op_refused(&op_misshapen, "127 of 134 numbers of the inputs move nothing in y");
    given_size = 3;
    op_refused(&op_misshapen, "which has the size 3 in every sample");
    op_misshapen.sample = sum_and_misshapen;
    given_size = 1;
    op_refused(&op_misshapen, "2 of 3 numbers of the inputs move nothing in y");
    given_size = 3;
    ag_check_report report;
    assert_true(ag_gradcheck_op(&op_misshapen, &report));
    assert_int_equal(report.unmoved, 0);
    assert_true(ag_gradcheck_op(&ag_op_relu, &report) && report.unmoved == 0);  // however flat
    assert_true(ag_gradcheck_op(&ag_op_slice, &report) && report.unmoved > 0);
}

/* ---- what an op says of memory ---- */

static void square(ag_node *node) {
    for (size_t i = 0; i < node->val.n; i++)
        node->val.x[i] = node->in[0]->val.x[i] * node->in[0]->val.x[i];
}
static void square_back(ag_node *node) {
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0; dx && i < node->val.n; i++)
        dx[i] += 2 * node->in[0]->val.x[i] * node->grad[i];
}
static void turn_around(ag_node *node) {
    for (size_t i = 0, n = node->val.n; i < n; i++) node->val.x[i] = node->in[0]->val.x[n - 1 - i];
}
static void turn_back(ag_node *node) {
    bool first = false;
    real *dx = ag_grad_or_first(node->in[0], &first);
    for (size_t i = 0, n = node->val.n; dx && i < n; i++)
        dx[n - 1 - i] = node->grad[i] + (first ? 0 : dx[n - 1 - i]);
}
static void exponential(ag_node *node) {
    for (size_t i = 0; i < node->val.n; i++)
        node->val.x[i] = (real)exp((double)node->in[0]->val.x[i]);
}
static void exponential_back(ag_node *node) {  // by y
    bool first = false;
    real *dx = ag_grad_or_first(node->in[0], &first);
    for (size_t i = 0; dx && i < node->val.n; i++)
        dx[i] = (first ? 0 : dx[i]) + node->val.x[i] * node->grad[i];
}

static const ag_op *liar;
static ag_node *sample_of_liar(ag_graph *g, int i) {
    if (i >= 2) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, i ? tensor_dims(2, 3, 5) : tensor_dims(1, 7));
    return ag_apply(liar, AG_IN(x), NULL, 0);
}

#ifdef QKV_PLAIN
#define BY_ROWS NULL  // nothing is run so: nothing comes of the claim
#else
#define BY_ROWS "it is run by rows"
#endif

/* Each claim is wrong of one op, and right, or not there, of another. */
static void a_wrong_claim_is_found(void **state) {
    (void)state;
    const struct {
        ag_op op;
        const char *found;
    } cases[] = {
        {{.name = "square", .forward = square, .backward = square_back}, NULL},
        {{.name = "turn", .forward = turn_around, .backward = turn_back}, NULL},
        {{.name = "exp", .forward = exponential, .backward = exponential_back}, NULL},
        {{.name = "square",
          .forward = square,
          .backward = square_back,
          .facts = AG_IN_PLACE | AG_NO_X},
         "where an input stood"},
        {{.name = "turn",
          .forward = turn_around,
          .backward = turn_back,
          .facts = AG_IN_PLACE | AG_NO_X},
         "where an input stood"},
        {{.name = "exp",
          .forward = exponential,
          .backward = exponential_back,
          .facts = AG_IN_PLACE | AG_NO_X},
         NULL},
        {{.name = "exp", .forward = exponential, .backward = exponential_back, .facts = AG_NO_Y},
         "something else stands where y stood"},
        {{.name = "square", .forward = square, .backward = square_back, .facts = AG_NO_Y}, NULL},
        {{.name = "turn", .forward = turn_around, .backward = turn_back, .facts = AG_NO_Y}, NULL},
        {{.name = "turn", .forward = turn_around, .backward = turn_back, .facts = AG_IN_PLACE},
         "the input's gradient where y's did"},
        {{.name = "turn", .forward = turn_around, .backward = turn_back, .facts = AG_ELEMENTWISE},
         BY_ROWS},
        {{.name = "exp",
          .forward = exponential,
          .backward = exponential_back,
          .facts = AG_ELEMENTWISE},
         NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ag_op op = cases[i].op;
        op.shape = ag_same_shape;
        op.sample = sample_of_liar;
        liar = &op;
        ag_check_report report;
        const bool right = ag_gradcheck_op(&op, &report);
        if (right == !!cases[i].found || (!right && !strstr(report.reason, cases[i].found)))
            fail_msg("case %zu, %s: '%s'", i, op.name, report.reason);
    }
}

/* The last number is forgotten by forward and backward alike. */
static void most_of(ag_node *node) {
    for (size_t i = 0; i + 1 < node->val.n; i++)
        node->val.x[i] = node->in[0]->val.x[i] * node->in[0]->val.x[i];
}
static void most_of_back(ag_node *node) {
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0; dx && i + 1 < node->val.n; i++)
        dx[i] += 2 * node->in[0]->val.x[i] * node->grad[i];
}
static void what_is_not_written_is_found(void **state) {
    (void)state;
    const ag_op op = {.name = "most",
                      .shape = ag_same_shape,
                      .forward = most_of,
                      .backward = most_of_back,
                      .sample = sample_of_liar};
    liar = &op;
    op_refused(&op, "'most#1'[6]: forward does not write it");
}

static ag_node *endless(ag_graph *g, int i) {
    (void)i;
    return ag_relu(ag_sample(g, AG_SAMPLE_NO_KINK, tensor_dims(1, 2)));
}
static void samples_without_an_end_are_refused(void **state) {
    (void)state;
    refused(endless, false, "sample() never returns NULL");
}

static void what_is_not_finite_is_refused(void **state) {
    (void)state;
    refused(infinite, false, "not finite");
    refused(infinite, true, "not finite");
    refused(not_a_number, true, "not finite");
}

int main(void) {
    static struct CMUnitTest tests[MOST + 12] = {
        cmocka_unit_test(nothing_to_check_is_refused),
        cmocka_unit_test(an_op_must_be_in_its_samples),
        cmocka_unit_test(an_error_is_passed_on),
        cmocka_unit_test(a_kink_must_be_declared),
        cmocka_unit_test(what_is_not_finite_is_refused),
        cmocka_unit_test(a_wrong_claim_is_found),
        cmocka_unit_test(what_is_not_written_is_found),
        cmocka_unit_test(a_knee_is_no_mistake),
        cmocka_unit_test(what_is_wrong_at_a_kink_is_found),
        cmocka_unit_test(a_shape_that_is_none_is_refused),
        cmocka_unit_test(samples_without_an_end_are_refused),
    };
    static subject all[MOST];
    size_t n = 11;
    int count = 0;
    for (int i = 0; ag_ops[i]; i++) all[count++] = (subject){ag_ops[i]->name, ag_ops[i], NULL};
    for (const nn_layer *l = nn_layers; l->name; l++)
        all[count++] = (subject){l->name, NULL, l->sample};
    for (int i = 0; i < count; i++)
        tests[n++] = (struct CMUnitTest){all[i].name, gradient_is_right, NULL, NULL, &all[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(worst_of_all);
    return check_run(tests, n);
}
