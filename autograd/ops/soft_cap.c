/* soft_cap.c - y = cap tanh(x / cap): x where it is small, never beyond +-cap.
 *   dy/dx = 1 - tanh(x / cap)^2, from x: where y is rounded to the cap it still has its digits
 * Source: Bello et al., "Neural Combinatorial Optimization with Reinforcement Learning", 2016,
 * appendix A.1; in attention: Gemma Team, "Gemma 2", 2024, section 2. */
#include "autograd/unary.h"
#include "tensor/gate.h"

typedef struct {
    double cap;
} attr;

static bool shape(ag_node *node) {
    const double cap = ((const attr *)node->attr)->cap;
    if (!(cap > 0)) return ag_fail(node, "cap %g is not above 0", cap);
    return ag_same_shape(node);
}

static void forward(ag_node *node) {
    const real cap = (real)((const attr *)node->attr)->cap, inverse = 1 / cap;
    AG_VECTORS(node, y = cap * vec_tanh(inverse * x))
}

static void backward(ag_node *node) {
    const real inverse = 1 / (real)((const attr *)node->attr)->cap;
    AG_VECTORS_BACK(node, slope = vec_sigmoid_slope(2 * inverse * x, 4))
}

static ag_node *sample(ag_graph *g, int i) {
    tensor_shape s;
    if (!ag_sample_shape(i, &s)) return NULL;
    return ag_soft_cap(ag_sample(g, AG_SAMPLE_NORMAL, s), i % 2 ? 0.7 : 3);
}

static const char *arguments(const ag_node *node) {
    return ag_text(node->graph, "\"cap\":%.17g", ((const attr *)node->attr)->cap);
}

const ag_op ag_op_soft_cap = {.name = "soft_cap",
                              .facts = AG_ELEMENTWISE | AG_IN_PLACE | AG_NO_Y,
                              .shape = shape,
                              .forward = forward,
                              .backward = backward,
                              .sample = sample,
                              .arguments = arguments};

ag_node *ag_soft_cap(ag_node *x, double cap) {
    return ag_apply(&ag_op_soft_cap, AG_IN(x), &(attr){cap}, sizeof(attr));
}
