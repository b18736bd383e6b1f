/* relu.c - y = max(x, 0); NaN passes through.        dy/dx = 1 where y > 0, else 0 (at 0 too) */
#include "autograd/unary.h"

static void forward(ag_node *node) { AG_VECTORS(node, y = vec_select(x <= 0, vec_set(0), x)) }
static void backward(ag_node *node) {
    AG_VECTORS_ADD(node, part = vec_select(y <= 0, vec_set(0), dy))
}
static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_unary(g, ag_relu, i, AG_SAMPLE_NO_KINK);
}

const ag_op ag_op_relu = {
    .name = "relu",
    .facts = AG_KINKS | AG_ELEMENTWISE | AG_IN_PLACE | AG_NO_X,
    .shape = ag_same_shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "F.relu(x[0])",
};

ag_node *ag_relu(ag_node *x) { return ag_apply(&ag_op_relu, AG_IN(x), NULL, 0); }
