/* tanh.c - y = tanh(x).        dy/dx = 1 - y^2, from x: where y is
 * rounded to 1 it still has its digits. */
#include "autograd/unary.h"
#include "tensor/gate.h"

static void forward(ag_node *node) { AG_VECTORS(node, y = vec_tanh(x)) }
static void backward(ag_node *node) { AG_VECTORS_BACK(node, slope = vec_sigmoid_slope(2 * x, 4)) }
static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_unary(g, ag_tanh, i, AG_SAMPLE_NORMAL);
}

const ag_op ag_op_tanh = {
    .name = "tanh",
    .facts = AG_ELEMENTWISE | AG_IN_PLACE | AG_NO_Y,
    .shape = ag_same_shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "torch.tanh(x[0])",
};

ag_node *ag_tanh(ag_node *x) { return ag_apply(&ag_op_tanh, AG_IN(x), NULL, 0); }
