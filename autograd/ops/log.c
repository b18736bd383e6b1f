/* log.c - y = ln x; -infinity at 0, NaN below.        dy/dx = 1 / x */
#include "tensor/log.h"
#include "autograd/unary.h"

static void forward(ag_node *node) { AG_VECTORS(node, y = vec_log(x)) }
static void backward(ag_node *node) { AG_EACH_BACK(node, dx[i] += dy[i] == 0 ? 0 : dy[i] / x[i]) }
static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_unary(g, ag_log, i, AG_SAMPLE_POSITIVE);
}

const ag_op ag_op_log = {
    .name = "log",
    .facts = AG_ELEMENTWISE | AG_NO_Y,
    .shape = ag_same_shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "torch.log(x[0])",
};

ag_node *ag_log(ag_node *x) { return ag_apply(&ag_op_log, AG_IN(x), NULL, 0); }
