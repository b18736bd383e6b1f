/* sum.c - y = the sum of x over axes.        dx = dy, repeated along them */
#include "autograd/reduce.h"

static void backward(ag_node *node) {
    tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *dy = node->grad;
    bool first = false;
    real *restrict dx = ag_grad_or_first(node->in[0], &first);
    // y[ia] += x[iy]
    AG_BROADCAST(full, kept, kept, dx[iy] = (first ? 0 : dx[iy]) + dy[ia])
}

static ag_node *sample(ag_graph *g, int i) { return ag_sample_reduced(g, ag_sum, i, true); }

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    return ag_sum(ag_sample_x(g, z), 1, (const int[]){-1});
}

const ag_op ag_op_sum = {
    .name = "sum",
    .facts = AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = ag_reduce_shape,
    .forward = ag_reduce_sum,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = ag_reduce_arguments,
    .torch = "x[0].sum(over(x[0], axes))",
};

ag_node *ag_sum(ag_node *x, int n_axes, const int *axes) {
    ag_axes attr;
    if (!ag_axes_set(ag_graph_of(x), "sum", n_axes, axes, &attr))
        return ag_fail_graph(ag_graph_of(x), "sum");
    return ag_apply(&ag_op_sum, AG_IN(x), &attr, sizeof attr);
}
