/* add.c - y = a + b, broadcast as numpy does.
 * dy/da = 1, dy/db = 1, summed over repeated dimensions */
#include "autograd/broadcast.h"

static void forward(ag_node *node) {
    const ag_node *in_a = node->in[0], *in_b = node->in[1];
    const real *A = in_a->val.x, *B = in_b->val.x;
    real *restrict Y = node->val.x;
    AG_BROADCAST(node->val.shape, in_a->val.shape, in_b->val.shape, Y[iy] = A[ia] + B[ib])
}

static void backward(ag_node *node) {
    const real *restrict dY = node->grad;
    AG_BROADCAST_BACK(node, 0, dY[iy])
    AG_BROADCAST_BACK(node, 1, dY[iy])
}

static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_pair(g, ag_add, i, AG_SAMPLE_NORMAL);
}

const ag_op ag_op_add = {
    .name = "add",
    .facts = AG_ELEMENTWISE | AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = ag_broadcast_shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "x[0] + x[1]",
};

ag_node *ag_add(ag_node *a, ag_node *b) { return ag_apply(&ag_op_add, AG_IN(a, b), NULL, 0); }
