/* mean.c - y = the mean of x over axes; of nothing: an error.
 *   dx = dy / count, repeated along them */
#include "autograd/reduce.h"

static bool shape(ag_node *node) {
    if (!ag_reduce_shape(node)) return false;
    if (ag_reduce_count(node) == 0) return ag_fail(node, "the mean of nothing");
    return true;
}

static void forward(ag_node *node) {
    const real count = (real)ag_reduce_count(node);
    ag_reduce_sum(node);
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] /= count;
}

static void backward(ag_node *node) {
    tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *dy = node->grad, each = 1 / (real)ag_reduce_count(node);
    bool first = false;
    real *restrict dx = ag_grad_or_first(node->in[0], &first);
    // y[ia] += x[iy] / count
    AG_BROADCAST(full, kept, kept, dx[iy] = (first ? 0 : dx[iy]) + dy[ia] * each)
}

static ag_node *sample(ag_graph *g, int i) { return ag_sample_reduced(g, ag_mean, i, false); }

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    return ag_mean(ag_sample_x(g, z), 1, (const int[]){-1});
}

const ag_op ag_op_mean = {
    .name = "mean",
    .facts = AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = ag_reduce_arguments,
    .torch = "x[0].mean(over(x[0], axes))",
};

ag_node *ag_mean(ag_node *x, int n_axes, const int *axes) {
    ag_axes attr;
    if (!ag_axes_set(ag_graph_of(x), "mean", n_axes, axes, &attr))
        return ag_fail_graph(ag_graph_of(x), "mean");
    return ag_apply(&ag_op_mean, AG_IN(x), &attr, sizeof attr);
}
