/* Every op's backward is the derivative of its forward, and every layer's, on their own samples: one
 * test each, made from the catalogues at run time. Beside that, the check itself: what it must refuse, and in
 * which words. */
#include "autograd/gradcheck.h"

#include <string.h>

#include "autograd/op.h"
#include "layers/nn.h"
#include "tests/check.h"

enum { MOST = 256 };

typedef struct {
    const char *name;
    ag_sample_fn *sample;
    bool has_kinks;
} subject;

static double worst;  // over all
static long coordinates;

static void gradient_is_right(void **state) {
    const subject *op = *state;
    ag_check_report report;
    if (!op->sample) fail_msg("%s has no samples", op->name);
    bool passed = ag_gradcheck(op->sample, op->has_kinks, &report);
    printf("%s: %d samples, %ld coordinates, worst %.2g of the tolerance\n", op->name,
           report.samples, report.coordinates, report.worst);
    if (!passed) fail_msg("%s: %s", op->name, report.reason);
    assert_true(report.coordinates > 0);
    assert_true(report.worst <= 1);
    if (!op->has_kinks) assert_int_equal(report.inconclusive, 0);
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
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 4));
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

static void nothing_to_check_is_refused(void **state) {
    (void)state;
    refused(no_sample, false, "there are no samples");
}

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

static void what_is_not_finite_is_refused(void **state) {
    (void)state;
    refused(infinite, false, "not finite");
    refused(infinite, true, "not finite");
    refused(not_a_number, true, "not finite");
}

int main(void) {
    static struct CMUnitTest tests[MOST + 5] = {
        cmocka_unit_test(nothing_to_check_is_refused),
        cmocka_unit_test(an_error_is_passed_on),
        cmocka_unit_test(a_kink_must_be_declared),
        cmocka_unit_test(what_is_not_finite_is_refused),
    };
    static subject all[MOST];
    size_t n = 4;
    int count = 0;
    for (int i = 0; ag_ops[i]; i++)
        all[count++] = (subject){ag_ops[i]->name, ag_ops[i]->sample, ag_ops[i]->has_kinks};
    for (const nn_layer *l = nn_layers; l->name; l++)
        all[count++] = (subject){l->name, l->sample, false};
    for (int i = 0; i < count; i++)
        tests[n++] = (struct CMUnitTest){all[i].name, gradient_is_right, NULL, NULL, &all[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(worst_of_all);
    return check_run(tests, n);
}
