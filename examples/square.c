/* square.c - an op of one's own: y = x^2.        dy/dx = 2x
 *
 *     qkv gradcheck --plugin square.c square
 */
#include "autograd/op.h"
#include "train/config/plugin.h"

ag_node *square(ag_node *x);

/* How large y is. */
static bool shape(ag_node *node) {
    node->val.shape = node->in[0]->val.shape;
    return true;
}

/* Writes all of y. */
static void forward(ag_node *node) {
    const real *x = node->in[0]->val.x;
    real *y = node->val.x;
    for (size_t i = 0; i < node->val.n; i++) y[i] = x[i] * x[i];
}

/* dy says how the loss changes with y; adds to dx how it changes with x. */
static void backward(ag_node *node) {
    const real *x = node->in[0]->val.x, *dy = node->grad;
    real *dx = ag_grad(node->in[0]);
    // y[i] = x[i] * x[i]
    for (size_t i = 0; i < node->val.n; i++) dx[i] += dy[i] * 2 * x[i];
}

/* The i-th input on which the gradient is checked: scalar, short, odd, empty ... */
static ag_node *sample(ag_graph *g, int i) {
    tensor_shape s;
    return ag_sample_shape(i, &s) ? square(ag_sample(g, AG_SAMPLE_NORMAL, s)) : NULL;
}

static const ag_op op_square = {
    .name = "square", .shape = shape, .forward = forward, .backward = backward, .sample = sample};

ag_node *square(ag_node *x) { return ag_apply(&op_square, AG_IN(x), NULL, 0); }

static const ag_op *const ops[] = {&op_square, NULL};

const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), .ops = ops};
