/* max.c - y = the greatest x over axes; of nothing: an error. NaN passes through.
 *   dx = dy at the first of the greatest (or at the first NaN), 0 elsewhere */
#include "autograd/reduce.h"

static bool shape(ag_node *node) {
    size_t n;
    if (!ag_reduce_shape(node)) return false;
    if (ag_reduce_count(node) == 0) return ag_fail(node, "the max of nothing");
    if (!tensor_count(node->val.shape, &n)) return ag_fail(node, "too many elements");
    node->n_save = 2 * n;  // y, and in backward: was its x found?
    return true;
}

static void forward(ag_node *node) {
    const tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *x = node->in[0]->val.x;
    real *y = node->save;
    for (size_t i = 0; i < node->val.n; i++) y[i] = (real)-INFINITY;
    AG_BROADCAST(full, kept, kept, if (x[iy] > y[ia] || x[iy] != x[iy]) y[ia] = x[iy])
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = y[i];
}

static void backward(ag_node *node) {
    const tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *x = node->in[0]->val.x, *y = node->save, *dy = node->grad;
    real *found = node->save + node->val.n, *dx = ag_grad(node->in[0]);
    for (size_t i = 0; i < node->val.n; i++) found[i] = 0;
    // y = x of the first, in order, that is it
    AG_BROADCAST(
        full, kept, kept, if (found[ia] == 0 && (x[iy] == y[ia] || x[iy] != x[iy])) {
            dx[iy] += dy[ia];
            found[ia] = 1;
        })
}

static ag_node *sample(ag_graph *g, int i) { return ag_sample_reduced(g, ag_max, i, false); }

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    return ag_max(ag_sample_x(g, z), 1, (const int[]){-1});
}

const ag_op ag_op_max = {
    .name = "max",
    .facts = AG_KINKS | AG_NO_Y,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = ag_reduce_arguments,
    .torch = "greatest(x[0], axes)",
};

ag_node *ag_max(ag_node *x, int n_axes, const int *axes) {
    ag_axes attr;
    if (!ag_axes_set(ag_graph_of(x), "max", n_axes, axes, &attr))
        return ag_fail_graph(ag_graph_of(x), "max");
    return ag_apply(&ag_op_max, AG_IN(x), &attr, sizeof attr);
}
