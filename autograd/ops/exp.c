/* exp.c - y = e^x.        dy/dx = y */
#include "autograd/unary.h"

static void forward(ag_node *node) { AG_EACH(node, y[i] = real_exp(x[i])) }
static void backward(ag_node *node) { AG_EACH_BACK(node, dx[i] += dy[i] * y[i]) }
static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_unary(g, ag_exp, i, AG_SAMPLE_NORMAL);
}

const ag_op ag_op_exp = {"exp", false, ag_same_shape, forward, backward, sample, &ag_elementwise};

ag_node *ag_exp(ag_node *x) { return ag_apply(&ag_op_exp, AG_IN(x), NULL, 0); }
