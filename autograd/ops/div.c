/* div.c - y = a / b, broadcast as numpy does.
 * dy/da = 1 / b, dy/db = -a / b^2, summed over repeated dimensions */
#include "autograd/broadcast.h"

static void forward(ag_node *node) {
    const ag_node *in_a = node->in[0], *in_b = node->in[1];
    const real *A = in_a->val.x, *B = in_b->val.x;
    real *restrict Y = node->val.x;
    AG_BROADCAST(node->val.shape, in_a->val.shape, in_b->val.shape, Y[iy] = A[ia] / B[ib])
}

/* a / b^2. Where a / b is near the smallest numbers, and loses digits there, it is taken 2^48 times as
 * large. */
static inline real ratio(real a, real b) {
    const bool small = real_abs(a) < (real)0x1p-60 * real_abs(b);
    const real y = a * (small ? (real)0x1p48 : 1) / b / b;
    return small ? y * (real)0x1p-48 : y;
}

static void backward(ag_node *node) {
    const real *restrict A = node->in[0]->val.x, *restrict B = node->in[1]->val.x;
    const real *restrict dY = node->grad;
    AG_BROADCAST_BACK(node, 0, dY[iy] == 0 ? 0 : dY[iy] / B[ib])
    AG_BROADCAST_BACK(node, 1, ag_cut(dY[iy], -ratio(A[ia], B[ib])))
}

static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_pair(g, ag_div, i, AG_SAMPLE_POSITIVE);
}

const ag_op ag_op_div = {
    .name = "div",
    .facts = AG_ELEMENTWISE | AG_NO_Y | AG_LINEAR_IN(0),
    .shape = ag_broadcast_shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "x[0] / x[1]",
};

ag_node *ag_div(ag_node *a, ag_node *b) { return ag_apply(&ag_op_div, AG_IN(a, b), NULL, 0); }
