/* scale.c - y = factor x, the factor a constant.        dy/dx = factor */
#include "autograd/unary.h"

typedef struct {
    double factor;
} attr;

static bool shape(ag_node *node) {
    const double factor = ((const attr *)node->attr)->factor;
    return isfinite(factor) ? ag_same_shape(node)
                            : ag_fail(node, "factor %g is not finite", factor);
}

static void forward(ag_node *node) {
    const real factor = (real)((const attr *)node->attr)->factor;
    AG_EACH(node, y[i] = factor * x[i])
}

static void backward(ag_node *node) {
    const real factor = (real)((const attr *)node->attr)->factor;
    AG_EACH_BACK(node, dx[i] += dy[i] == 0 ? 0 : factor * dy[i])
}

static ag_node *sample(ag_graph *g, int i) {
    tensor_shape s;
    if (!ag_sample_shape(i, &s)) return NULL;
    return ag_scale(ag_sample(g, AG_SAMPLE_NORMAL, s), i % 2 ? -1.5 : 0.3);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) { return ag_scale(ag_sample_x(g, z), 0.5); }

static const char *arguments(const ag_node *node) {
    return ag_text(node->graph, "\"factor\":%.17g", ((const attr *)node->attr)->factor);
}

const ag_op ag_op_scale = {
    .name = "scale",
    .facts = AG_ELEMENTWISE | AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "factor * x[0]",
};

ag_node *ag_scale(ag_node *x, double factor) {
    return ag_apply(&ag_op_scale, AG_IN(x), &(attr){factor}, sizeof(attr));
}
