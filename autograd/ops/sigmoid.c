/* sigmoid.c - y = 1 / (1 + e^-x).        dy/dx = y (1 - y), from x: where
 * y is rounded to 1 it still has its digits. */
#include "autograd/unary.h"
#include "tensor/gate.h"

static void forward(ag_node *node) { AG_VECTORS(node, y = vec_sigmoid(x)) }
static void backward(ag_node *node) { AG_VECTORS_BACK(node, slope = vec_sigmoid_slope(x, 1)) }
static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_unary(g, ag_sigmoid, i, AG_SAMPLE_NORMAL);
}

const ag_op ag_op_sigmoid = {
    .name = "sigmoid",
    .facts = AG_ELEMENTWISE | AG_IN_PLACE | AG_NO_Y,
    .shape = ag_same_shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "torch.sigmoid(x[0])",
};

ag_node *ag_sigmoid(ag_node *x) { return ag_apply(&ag_op_sigmoid, AG_IN(x), NULL, 0); }
