/* sigmoid.c - y = 1 / (1 + e^-x).        dy/dx = y (1 - y) */
#include "autograd/unary.h"

static void forward(ag_node *node) { AG_VECTORS(node, y = vec_sigmoid(x)) }
static void backward(ag_node *node) { AG_VECTORS_BACK(node, slope = y * (1 - y)) }
static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_unary(g, ag_sigmoid, i, AG_SAMPLE_NORMAL);
}

const ag_op ag_op_sigmoid = {"sigmoid", false,  ag_same_shape,  forward,
                             backward,  sample, &ag_elementwise};

ag_node *ag_sigmoid(ag_node *x) { return ag_apply(&ag_op_sigmoid, AG_IN(x), NULL, 0); }
