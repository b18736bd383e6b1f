/* mean.c - y = the mean of x over axes; of nothing: an error.
 *   dx = dy / count, repeated along them */
#include <string.h>

#include "autograd/reduce.h"

static bool shape(ag_node *node) {
    if (!ag_reduce_shape(node)) return false;
    if (ag_reduce_count(node) == 0) return ag_fail(node, "the mean of nothing");
    return true;
}

static void forward(ag_node *node) {
    tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *x = node->in[0]->val.x;
    real *restrict y = node->val.x;
    memset(y, 0, node->val.n * sizeof *y);
    AG_BROADCAST(full, kept, kept, y[ia] += x[iy])
    const real count = (real)ag_reduce_count(node);
    for (size_t i = 0; i < node->val.n; i++) y[i] /= count;
}

static void backward(ag_node *node) {
    tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *dy = node->grad, each = 1 / (real)ag_reduce_count(node);
    real *restrict dx = ag_grad(node->in[0]);
    // y[ia] += x[iy] / count
    AG_BROADCAST(full, kept, kept, dx[iy] += dy[ia] * each)
}

static ag_node *sample(ag_graph *g, int i) { return ag_sample_reduced(g, ag_mean, i, false); }

const ag_op ag_op_mean = {"mean", false, shape, forward, backward, sample, NULL};

ag_node *ag_mean(ag_node *x, int n_axes, const int *axes) {
    ag_axes attr;
    if (!ag_axes_set(x->graph, "mean", n_axes, axes, &attr)) return ag_fail_graph(x->graph, "mean");
    return ag_apply(&ag_op_mean, AG_IN(x), &attr, sizeof attr);
}
