/* silu.c - y = x s, s = 1 / (1 + e^-x), also called swish.        dy/dx = s (1 + x (1 - s))
 * Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, section 2. */
#include "autograd/unary.h"
#include "tensor/gate.h"

static void forward(ag_node *node) { AG_VECTORS(node, y = vec_silu(x)) }
static void backward(ag_node *node) { AG_VECTORS_BACK(node, slope = vec_silu_slope(x)) }
static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_unary(g, ag_silu, i, AG_SAMPLE_NORMAL);
}

const ag_op ag_op_silu = {
    .name = "silu",
    .facts = AG_ELEMENTWISE | AG_IN_PLACE | AG_NO_Y,
    .shape = ag_same_shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "F.silu(x[0])",
};

ag_node *ag_silu(ag_node *x) { return ag_apply(&ag_op_silu, AG_IN(x), NULL, 0); }
