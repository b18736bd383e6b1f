/* neg.c - y = -x.        dy/dx = -1 */
#include "autograd/unary.h"

static void forward(ag_node *node) { AG_EACH(node, y[i] = -x[i]) }
static void backward(ag_node *node) { AG_EACH_BACK(node, dx[i] -= dy[i]) }
static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_unary(g, ag_neg, i, AG_SAMPLE_NORMAL);
}

const ag_op ag_op_neg = {
    .name = "neg",
    .facts = AG_ELEMENTWISE | AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = ag_same_shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "-x[0]",
};

ag_node *ag_neg(ag_node *x) { return ag_apply(&ag_op_neg, AG_IN(x), NULL, 0); }
