/* exp.c - y = e^x.        dy/dx = y */
#include "tensor/exp.h"
#include "autograd/unary.h"

static void forward(ag_node *node) { AG_VECTORS(node, y = vec_exp_gradual(x)) }
static void backward(ag_node *node) { AG_VECTORS_BACK(node, slope = y) }
static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_unary(g, ag_exp, i, AG_SAMPLE_NORMAL);
}

const ag_op ag_op_exp = {
    .name = "exp",
    .facts = AG_ELEMENTWISE | AG_IN_PLACE | AG_NO_X,
    .shape = ag_same_shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "torch.exp(x[0])",
};

ag_node *ag_exp(ag_node *x) { return ag_apply(&ag_op_exp, AG_IN(x), NULL, 0); }
