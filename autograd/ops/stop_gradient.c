/* stop_gradient.c - y = x, which nothing learns from.        dx = 0, by decree
 * What is computed from y alone wants no gradient either, so backward never comes here. */
#include <string.h>

#include "autograd/op.h"

static bool shape(ag_node *node) {
    node->wants_grad = false;
    return ag_same_shape(node);
}

static void forward(ag_node *node) {
    if (node->val.n) memcpy(node->val.x, node->in[0]->val.x, node->val.n * sizeof(real));
}

/* y = x * stop_gradient(a), a constant: where the definition and the derivative agree. */
static ag_node *sample(ag_graph *g, int i) {
    tensor_shape s;
    if (!ag_sample_shape(i, &s)) return NULL;
    ag_node *a = ag_input(g, "constant", s), *x = ag_sample(g, AG_SAMPLE_NORMAL, s);
    for (size_t k = 0; k < a->val.n && !ag_error(g); k++) a->val.x[k] = (real)k - (real)0.5;
    return ag_mul(x, ag_stop_gradient(a));
}

const ag_op ag_op_stop_gradient = {.name = "stop_gradient",
                                   .facts = AG_NO_X | AG_NO_Y,
                                   .shape = shape,
                                   .forward = forward,
                                   .sample = sample};

ag_node *ag_stop_gradient(ag_node *x) { return ag_apply(&ag_op_stop_gradient, AG_IN(x), NULL, 0); }
