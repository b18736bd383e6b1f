/* relu.c - y = max(x, 0); NaN passes through.        dy/dx = 1 where x > 0, else 0 (at 0 too) */
#include "autograd/op.h"

static bool shape(ag_node *node) {
    node->val.shape = node->in[0]->val.shape;
    return true;
}

static void forward(ag_node *node) {
    const real *restrict x = node->in[0]->val.x;
    real *restrict y = node->val.x;
    for (size_t i = 0; i < node->val.n; i++) y[i] = x[i] <= 0 ? 0 : x[i];
}

static void backward(ag_node *node) {
    const real *restrict x = node->in[0]->val.x, *restrict dy = node->grad;
    real *restrict dx = ag_grad(node->in[0]);
    // y[i] = x[i] <= 0 ? 0 : x[i]
    for (size_t i = 0; i < node->val.n; i++) dx[i] += x[i] <= 0 ? 0 : dy[i];
}

static ag_node *sample(ag_graph *g, int i) {
    tensor_shape s;
    return ag_sample_shape(i, &s) ? ag_relu(ag_sample(g, AG_SAMPLE_NO_KINK, s)) : NULL;
}

const ag_op ag_op_relu = {"relu", true, shape, forward, backward, sample};

ag_node *ag_relu(ag_node *x) { return ag_apply(&ag_op_relu, AG_IN(x), NULL, 0); }
