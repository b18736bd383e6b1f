/* tanh.c - y = tanh(x).        dy/dx = 1 - y^2 */
#include "autograd/unary.h"

static void forward(ag_node *node) { AG_EACH(node, y[i] = real_tanh(x[i])) }
static void backward(ag_node *node) { AG_EACH_BACK(node, dx[i] += dy[i] * (1 - y[i] * y[i])) }
static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_unary(g, ag_tanh, i, AG_SAMPLE_NORMAL);
}

const ag_op ag_op_tanh = {"tanh", false, ag_same_shape, forward, backward, sample, &ag_elementwise};

ag_node *ag_tanh(ag_node *x) { return ag_apply(&ag_op_tanh, AG_IN(x), NULL, 0); }
