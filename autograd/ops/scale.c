/* scale.c - y = factor x, the factor a constant.        dy/dx = factor */
#include "autograd/op.h"

typedef struct {
    double factor;
} attr;

static bool shape(ag_node *node) {
    node->val.shape = node->in[0]->val.shape;
    return true;
}

static void forward(ag_node *node) {
    const real factor = (real)((const attr *)node->attr)->factor;
    const real *x = node->in[0]->val.x;
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = factor * x[i];
}

static void backward(ag_node *node) {
    const real factor = (real)((const attr *)node->attr)->factor;
    real *dx = ag_grad(node->in[0]);
    // y[i] = factor * x[i]
    for (size_t i = 0; i < node->val.n; i++) dx[i] += factor * node->grad[i];
}

static ag_node *sample(ag_graph *g, int i) {
    tensor_shape s;
    if (!ag_sample_shape(i, &s)) return NULL;
    return ag_scale(ag_sample(g, AG_SAMPLE_NORMAL, s), i % 2 ? -1.5 : 0.3);
}

const ag_op ag_op_scale = {"scale", false, shape, forward, backward, sample};

ag_node *ag_scale(ag_node *x, double factor) {
    return ag_apply(&ag_op_scale, AG_IN(x), &(attr){factor}, sizeof(attr));
}
