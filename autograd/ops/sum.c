/* sum.c - y = the sum of x over axes.        dx = dy, repeated along them */
#include <string.h>

#include "autograd/reduce.h"

static void forward(ag_node *node) {
    tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *x = node->in[0]->val.x;
    real *restrict y = node->val.x;
    memset(y, 0, node->val.n * sizeof *y);
    AG_BROADCAST(full, kept, kept, y[ia] += x[iy])
}

static void backward(ag_node *node) {
    tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *dy = node->grad;
    real *restrict dx = ag_grad(node->in[0]);
    // y[ia] += x[iy]
    AG_BROADCAST(full, kept, kept, dx[iy] += dy[ia])
}

static ag_node *sample(ag_graph *g, int i) { return ag_sample_reduced(g, ag_sum, i, true); }

const ag_op ag_op_sum = {"sum", false, ag_reduce_shape, forward, backward, sample, NULL};

ag_node *ag_sum(ag_node *x, int n_axes, const int *axes) {
    ag_axes attr;
    if (!ag_axes_set(x->graph, "sum", n_axes, axes, &attr)) return ag_fail_graph(x->graph, "sum");
    return ag_apply(&ag_op_sum, AG_IN(x), &attr, sizeof attr);
}
