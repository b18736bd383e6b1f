/* What descriptors say of their ops beside what they compute: arguments that are JSON, FLOPs of matrix
 * products, a call to be timed, a peer in PyTorch. One walk over the catalogue for each. */
#include <jansson.h>
#include <string.h>

#include "tests/lib/world.h"

/* A node of that op among those of a graph, the last one. */
static ag_node *node_of(ag_graph *g, const ag_op *op) {
    for (int i = ag_count(g) - 1; i >= 0; i--)
        if (ag_at(g, i)->op == op) return ag_at(g, i);
    return NULL;
}

/* The arguments as a JSON object; the caller frees. */
static json_t *arguments(const ag_node *node) {
    char text[1 << 14];
    json_error_t error;
    int n = snprintf(text, sizeof text, "{%s}", node->op->arguments(node));
    assert_true(n > 0 && (size_t)n < sizeof text);
    json_t *o = json_loads(text, 0, &error);
    if (!o) fail_msg("%s: %s: %s", node->op->name, text, error.text);
    return o;
}

static void arguments_are_json(void **state) {
    (void)state;
    int read = 0;
    for (int i = 0; ag_ops[i]; i++) {
        const ag_op *op = ag_ops[i];
        world w;
        open_world(&w);
        for (int k = 0; op->arguments && op->sample(w.g, k); k++, ag_graph_reset(w.g)) {
            json_t *o = arguments(node_of(w.g, op));
            const char *name;
            json_t *value;
            json_object_foreach(o, name, value) {
                if (op->torch && !strstr(op->torch, name))
                    fail_msg("%s: its peer does not use '%s'", op->name, name);
                read++;
            }
            json_decref(o);
        }
        no_error(w.g);
        close_world(&w);
    }
    assert_true(read > 100);
}

static void argument_is(ag_node *node, const char *expected) {
    json_t *o = arguments(node), *want = json_loads(expected, 0, NULL);
    assert_non_null(want);
    if (!json_equal(o, want)) fail_msg("{%s} is not %s", node->op->arguments(node), expected);
    json_decref(o), json_decref(want);
}

static void arguments_are_those_given(void **state) {
    (void)state;
    static const int axes[] = {-1, 0}, ids[] = {2, -1, 0}, *const streams[] = {ids, NULL};
    static const real weight = 0.5;
    world w;
    open_world(&w);
    ag_node *x = counting(w.g, "x", tensor_dims(2, 3, 4), 1), *two[] = {x, x};
    ag_node *y = counting(w.g, "y", tensor_dims(3, 1, 3, 4), 1);
    argument_is(ag_scale(x, -1.5), "{\"factor\":-1.5}");
    argument_is(ag_gelu(x, AG_GELU_TANH), "{\"form\":\"tanh\"}");
    argument_is(ag_gelu(x, AG_GELU_ERF), "{\"form\":\"none\"}");
    argument_is(ag_sum(x, 2, axes), "{\"axes\":[-1,0]}");
    argument_is(ag_max(x, 0, NULL), "{\"axes\":[]}");
    argument_is(ag_permute(x, 2, axes), "{\"axes\":[-1,0]}");
    argument_is(ag_slice(x, 1, -3, 4), "{\"axis\":1,\"begin\":-3,\"end\":4}");
    argument_is(ag_concat(2, two, -1), "{\"axis\":-1}");
    argument_is(ag_embedding(2, two, streams, tensor_dims(1, 3)), "{\"ids\":[[2,-1,0],null]}");
    argument_is(ag_gather(x, ids, 3), "{\"rows\":[2,-1,0]}");
    argument_is(ag_rope(x, 2, 100, 3), "{\"heads\":2,\"base\":100,\"first\":3,\"places\":[]}");
    argument_is(ag_scores(y, y, 2, 0.25, (ag_mask){.causal = true, .memory = 2}),
                "{\"heads\":2,\"factor\":0.25,\"mask\":[1,0,2,0]}");
    argument_is(ag_softmax(x, (ag_mask){.no_self = true}), "{\"mask\":[0,1,0,0]}");
    argument_is(ag_cross_entropy(x, ids, &weight), "{\"targets\":[2,-1,0],\"weight\":0.5}");
    argument_is(ag_squared_error(x, x, NULL), "{\"weight\":null}");
    argument_is(ag_rms_norm(x, vector(w.g, "g", 4, AG_ONES), 0.125), "{\"eps\":0.125}");
    no_error(w.g);
    close_world(&w);
}

/* One call at these sizes: of that op, finite, ready for backward. */
static void every_op_can_be_timed(void **state) {
    (void)state;
    const ag_sizes z = {.B = 2, .T = 5, .D = 8, .H = 2, .V = 11};
    for (int i = 0; ag_ops[i]; i++) {
        world w;
        open_world(&w);
        ag_node *y = ag_sample_timed(w.g, ag_ops[i], &z);
        no_error(w.g);
        assert_non_null(y);
        assert_ptr_equal(y->op, ag_ops[i]);
        assert_true(ag_backward(y, NULL) && y->in[0]->val.n >= 40);
        close_world(&w);
    }
}

/* An op of one's own: any size fits it; or its largest sample is taken; or it has none. */
static void copies(ag_node *node) {
    memcpy(node->val.x, node->in[0]->val.x, node->val.n * sizeof(real));
}
static ag_op op_own = {.name = "own", .shape = ag_same_shape, .forward = copies};
static bool only_small(ag_node *node) {
    if (node->in[0]->val.n > 20) return ag_fail(node, "too large");
    return ag_same_shape(node);
}
static ag_node *own_sample(ag_graph *g, int i) {
    if (i > 2) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, i == 1 ? 17 : 3));
    return ag_apply(&op_own, AG_IN(x), NULL, 0);
}

static void an_op_of_ones_own_can_be_timed(void **state) {
    (void)state;
    const ag_sizes z = {.B = 2, .T = 5, .D = 8, .H = 2, .V = 11};
    world w;
    open_world(&w);
    assert_null(ag_sample_timed(w.g, &op_own, &z));
    op_own.sample = own_sample;
    assert_int_equal(ag_sample_timed(w.g, &op_own, &z)->val.n, 80);
    ag_graph_reset(w.g);
    op_own.shape = only_small;
    assert_int_equal(ag_sample_timed(w.g, &op_own, &z)->val.n, 17);
    no_error(w.g);
    close_world(&w);
}

/* 2 a term of the product. */
static void flops_are_counted(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *x = counting(w.g, "x", tensor_dims(3, 2, 5, 8), 1), *u = weight(w.g, "w", 8, 3);
    ag_node *s = ag_scores(x, x, 2, 1, (ag_mask){0});
    assert_true(ag_op_linear.flops(ag_linear(x, u, NULL)) == 2 * 10 * 8 * 3);
    assert_true(ag_op_matmul.flops(ag_matmul(x, u)) == 2 * 10 * 8 * 3);
    assert_true(ag_op_scores.flops(s) == 2 * 2 * 2 * 5 * 5 * 4);
    assert_true(ag_op_mix.flops(ag_mix(s, x, 2, (ag_mask){0})) == 2 * 2 * 2 * 5 * 5 * 4);
    no_error(w.g);
    close_world(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(arguments_are_json),    cmocka_unit_test(arguments_are_those_given),
    cmocka_unit_test(every_op_can_be_timed), cmocka_unit_test(an_op_of_ones_own_can_be_timed),
    cmocka_unit_test(flops_are_counted),
};
CHECK_MAIN(tests)
