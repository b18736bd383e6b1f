/* Every op against its oracle: the value, and the derivative by complex step along every coordinate
 * and along random directions, each to 1e-12. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/rng.h"
#include "tests/lib/check.h"
#include "tests/lib/oracle.h"

static long values, slopes;  // compared for the op under test: values; derivatives that are not 0

enum { MOST_OPS = 256, MOST_IN = 16, DIRECTIONS = 3 };
static const double STEP = 1e-100, TOLERANCE = 1e-12;

/* One case of one op: the recorded node, and what its oracle reads and writes. */
typedef struct {
    const oracle *judge;
    int i;
    ag_node *node;
    oracle_tensor in[MOST_IN], y;
    real *cotangent;
    double largest;  // gradient, in absolute value
} trial;

static void *take(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    assert_non_null(p);
    return p;
}

static void begin(trial *t) {
    ag_node *node = t->node;
    if (ag_error(node->graph))
        fail_msg("%s, case %d: %s", t->judge->name, t->i, ag_error(node->graph));
    assert_true(node->n_in <= MOST_IN);
    rng r = rng_stream(3, "oracle", (uint64_t)t->i);
    t->cotangent = take(node->val.n, sizeof *t->cotangent);
    for (size_t i = 0; i < node->val.n; i++) t->cotangent[i] = (real)rng_normal(&r);
    for (int k = 0; k < node->n_in; k++) {
        tensor *v = &node->in[k]->val;
        t->in[k] = (oracle_tensor){v->shape, v->n, take(v->n, sizeof(number))};
        for (size_t i = 0; i < v->n; i++) t->in[k].x[i] = (double)v->x[i];
    }
    t->y = (oracle_tensor){node->val.shape, node->val.n, take(node->val.n, sizeof(number))};
}

static void end(trial *t) {
    for (int k = 0; k < t->node->n_in; k++) free(t->in[k].x);
    free(t->y.x);
    free(t->cotangent);
}

static void evaluate(trial *t) {
    for (size_t i = 0; i < t->y.n; i++) t->y.x[i] = (double)NAN;  // every element is to be written
    if (!t->judge->value(t->i, t->node->n_in, t->in, &t->y))
        fail_msg("%s, case %d: the shape is not the one of the definition", t->judge->name, t->i);
}

/* d sum(cotangent * y) / d h by the oracle, h along what has been added to the imaginary parts. */
static double derivative(trial *t) {
    double sum = 0;
    evaluate(t);
    for (size_t i = 0; i < t->y.n; i++) sum += (double)t->cotangent[i] * (cimag(t->y.x[i]) / STEP);
    return sum;
}

static void near(const trial *t, const char *what, size_t at, double got, double expected,
                 double scale) {
    if (!(fabs(got - expected) <= TOLERANCE * scale))  // NaN is not near
        fail_msg("%s, case %d, %s[%zu]: %.17g, by the oracle %.17g", t->judge->name, t->i, what, at,
                 got, expected);
}

static void value_is_right(trial *t) {
    evaluate(t);
    for (size_t i = 0; i < t->y.n; i++) {
        double expected = creal(t->y.x[i]);
        near(t, "value", i, (double)t->node->val.x[i], expected, fmax(1, fabs(expected)));
        values++;
    }
}

static double gradient(const ag_node *leaf, size_t i) {
    return leaf->has_grad ? (double)leaf->grad[i] : 0;
}

/* A leaf may be several inputs at once: they move together. */
static void nudge(trial *t, const ag_node *leaf, size_t i, double by) {
    for (int k = 0; k < t->node->n_in; k++)
        if (t->node->in[k] == leaf) t->in[k].x[i] = (double)leaf->val.x[i] + by * STEP * I;
}

/* The first place of in[k] among the inputs; so every leaf is visited once. */
static bool is_first(const ag_node *node, int k) {
    for (int j = 0; j < k; j++)
        if (node->in[j] == node->in[k]) return false;
    return true;
}

static void each_coordinate_is_right(trial *t) {
    for (int k = 0; k < t->node->n_in; k++) {
        const ag_node *leaf = t->node->in[k];
        assert_null(leaf->op);
        for (size_t i = 0; is_first(t->node, k) && i < leaf->val.n; i++) {
            nudge(t, leaf, i, 1);
            const double expected = derivative(t);
            near(t, leaf->name, i, gradient(leaf, i), expected, fmax(1, t->largest));
            slopes += fabs(expected) > 1e-6;
            nudge(t, leaf, i, 0);
        }
    }
}

static void random_direction_is_right(trial *t, rng *r) {
    double along = 0, scale = 1;
    for (int k = 0; k < t->node->n_in; k++) {
        const ag_node *leaf = t->node->in[k];
        for (size_t i = 0; is_first(t->node, k) && i < leaf->val.n; i++) {
            double by = rng_normal(r);
            nudge(t, leaf, i, by);
            along += by * gradient(leaf, i);
            scale += fabs(by * gradient(leaf, i));
        }
    }
    near(t, "direction", 0, along, derivative(t), scale);
}

static void one_case(trial *t) {
    begin(t);
    value_is_right(t);
    ag_grads_zero(t->node->graph);
    assert_true(ag_backward(t->node, t->cotangent));
    for (int k = 0; k < t->node->n_in; k++)
        for (size_t i = 0; i < t->in[k].n; i++)
            t->largest = fmax(t->largest, fabs(gradient(t->node->in[k], i)));
    each_coordinate_is_right(t);
    rng r = rng_stream(4, "direction", (uint64_t)t->i);
    for (int n = 0; n < DIRECTIONS; n++) random_direction_is_right(t, &r);
    end(t);
}

static void form_agrees_with_oracle(const ag_op *op, bool plain) {
    const oracle *judge = oracle_of(op->name);
    ag_node *(*record)(ag_graph *, int) = judge->record ? judge->record : op->sample;
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(params);
    values = slopes = 0;
    for (int cases = 0;; cases++) {
        ag_graph_reset(g);
        ag_plain(g, plain);
        trial t = {.judge = judge, .i = cases, .node = record(g, cases)};
        if (!t.node) break;
        if (!judge->record && t.node->op != op) continue;  // a sample with other ops after it
        assert_ptr_equal(t.node->op, op);
        one_case(&t);
    }
    assert_true(values > 0 && slopes > 0);
    ag_graph_free(g);
    ag_params_free(params);
}

/* By its plain loops, and by its fast form if it has one. */
static void op_agrees_with_oracle(void **state) {
    const ag_op *op = *(const ag_op *const *)*state;
    form_agrees_with_oracle(op, true);
    if (ag_has_fast(op)) form_agrees_with_oracle(op, false);
}

/* An oracle under a name that no op bears would judge nothing. */
static void every_oracle_has_its_op(void **state) {
    (void)state;
    for (int k = 0; oracle_at(k); k++) {
        bool found = false;
        for (int i = 0; ag_ops[i]; i++) found |= strcmp(ag_ops[i]->name, oracle_at(k)->name) == 0;
        if (!found) fail_msg("the oracle '%s' has no op", oracle_at(k)->name);
    }
}

int main(void) {
    static struct CMUnitTest tests[MOST_OPS + 1];
    size_t n = 0;
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_oracle_has_its_op);
    for (int i = 0; ag_ops[i] && n <= MOST_OPS; i++) {
        if (oracle_of(ag_ops[i]->name))
            tests[n++] = (struct CMUnitTest){ag_ops[i]->name, op_agrees_with_oracle, NULL, NULL,
                                             (void *)&ag_ops[i]};
        else
            printf("no oracle: %s\n", ag_ops[i]->name);
    }
    return check_run(tests, n);
}
