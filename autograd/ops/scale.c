/* scale.c - y = factor x, the factor a constant.        dy/dx = factor */
#include "autograd/unary.h"

typedef struct {
    double factor;
} attr;

static void forward(ag_node *node) {
    const real factor = (real)((const attr *)node->attr)->factor;
    AG_EACH(node, y[i] = factor * x[i])
}

static void backward(ag_node *node) {
    const real factor = (real)((const attr *)node->attr)->factor;
    AG_EACH_BACK(node, dx[i] += factor * dy[i])
}

static ag_node *sample(ag_graph *g, int i) {
    tensor_shape s;
    if (!ag_sample_shape(i, &s)) return NULL;
    return ag_scale(ag_sample(g, AG_SAMPLE_NORMAL, s), i % 2 ? -1.5 : 0.3);
}

const ag_op ag_op_scale = {"scale",  false,  ag_same_shape,  forward,
                           backward, sample, &ag_elementwise};

ag_node *ag_scale(ag_node *x, double factor) {
    return ag_apply(&ag_op_scale, AG_IN(x), &(attr){factor}, sizeof(attr));
}
