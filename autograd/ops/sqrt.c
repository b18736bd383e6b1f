/* sqrt.c - y = sqrt(x); NaN below 0.        dy/dx = 1 / (2 y), infinite at 0 */
#include "autograd/unary.h"

static void forward(ag_node *node) { AG_EACH(node, y[i] = real_sqrt(x[i])) }
static void backward(ag_node *node) {
    AG_EACH_BACK(node, dx[i] += dy[i] == 0 ? 0 : dy[i] / (2 * y[i]))
}
static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_unary(g, ag_sqrt, i, AG_SAMPLE_POSITIVE);
}

const ag_op ag_op_sqrt = {
    .name = "sqrt",
    .facts = AG_ELEMENTWISE | AG_NO_X,
    .shape = ag_same_shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "torch.sqrt(x[0])",
};

ag_node *ag_sqrt(ag_node *x) { return ag_apply(&ag_op_sqrt, AG_IN(x), NULL, 0); }
