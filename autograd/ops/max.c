/* max.c - y = the greatest x over axes; of nothing: an error. NaN passes through.
 *   dx = dy at the first of the greatest (or at the first NaN), 0 elsewhere */
#include <string.h>

#include "autograd/reduce.h"

static bool shape(ag_node *node) {
    size_t n;
    if (!ag_reduce_shape(node)) return false;
    if (ag_reduce_count(node) == 0) return ag_fail(node, "the max of nothing");
    if (!tensor_count(node->val.shape, &n)) return ag_fail(node, "too many elements");
    node->n_save = 2 * n;  // y, and in backward: is its x still to be found?
    return true;
}

static void forward(ag_node *node) {
    tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *x = node->in[0]->val.x;
    real *restrict y = node->save;
    for (size_t i = 0; i < node->val.n; i++) y[i] = (real)-INFINITY;
    AG_BROADCAST(full, kept, kept, y[ia] = x[iy] > y[ia] || x[iy] != x[iy] ? x[iy] : y[ia])
    memcpy(node->val.x, y, node->val.n * sizeof *y);
}

static void backward(ag_node *node) {
    tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *x = node->in[0]->val.x, *y = node->save, *dy = node->grad;
    real *restrict wanted = node->save + node->val.n, *dx = ag_grad(node->in[0]);
    for (size_t i = 0; i < node->val.n; i++) wanted[i] = 1;
    // y[ia] = x[iy] of the first iy, in order, at which the walk found it
    AG_BROADCAST(
        full, kept, kept, if (wanted[ia] != 0 && (x[iy] == y[ia] || x[iy] != x[iy])) {
            dx[iy] += dy[ia];
            wanted[ia] = 0;
        })
}

static ag_node *sample(ag_graph *g, int i) { return ag_sample_reduced(g, ag_max, i, false); }

const ag_op ag_op_max = {"max", true, shape, forward, backward, sample, NULL};

ag_node *ag_max(ag_node *x, int n_axes, const int *axes) {
    ag_axes attr;
    if (!ag_axes_set(x->graph, "max", n_axes, axes, &attr)) return ag_fail_graph(x->graph, "max");
    return ag_apply(&ag_op_max, AG_IN(x), &attr, sizeof attr);
}
