/* reduce.c - what sum, mean and max share. */
#include "autograd/reduce.h"

bool ag_axes_set(ag_graph *g, const char *op, int n_axes, const int *axes, ag_axes *out) {
    *out = (ag_axes){.n_axes = n_axes};
    if (n_axes < 0 || n_axes > TENSOR_MAXRANK || (n_axes > 0 && !axes)) {
        ag_fail_graph(g, "%s: %d axes; 0 to %d are possible", op, n_axes, TENSOR_MAXRANK);
        return false;
    }
    for (int i = 0; i < n_axes; i++) out->axes[i] = axes[i];
    return true;
}

/* Marks reduced axes; false if one does not exist or is named twice. */
static bool reduced(const ag_node *node, bool gone[TENSOR_MAXRANK]) {
    const ag_axes *a = node->attr;
    for (int i = 0; i < TENSOR_MAXRANK; i++) gone[i] = a->n_axes == 0;
    for (int i = 0; i < a->n_axes; i++) {
        int axis = ag_axis(node->in[0]->val.shape, a->axes[i]);
        if (axis < 0 || gone[axis]) return false;
        gone[axis] = true;
    }
    return true;
}

bool ag_reduce_shape(ag_node *node) {
    bool gone[TENSOR_MAXRANK];
    tensor_shape x = node->in[0]->val.shape, y = {0};
    if (!reduced(node, gone)) return ag_fail(node, "an axis is out of range or named twice");
    for (int i = 0; i < x.rank; i++)
        if (!gone[i]) y.dim[y.rank++] = x.dim[i];
    node->val.shape = y;
    return true;
}

size_t ag_reduce_count(const ag_node *node) {
    bool gone[TENSOR_MAXRANK];
    tensor_shape x = node->in[0]->val.shape;
    size_t n = 1;
    reduced(node, gone);
    for (int i = 0; i < x.rank; i++)
        if (gone[i]) n *= (size_t)x.dim[i];
    return n;
}

tensor_shape ag_reduce_kept(const ag_node *node) {
    bool gone[TENSOR_MAXRANK];
    tensor_shape s = node->in[0]->val.shape;
    reduced(node, gone);
    for (int i = 0; i < s.rank; i++)
        if (gone[i]) s.dim[i] = 1;
    return s;
}

void ag_reduce_sum(ag_node *node) {
    const tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *x = node->in[0]->val.x;
    real *y = node->val.x;
    for (size_t i = 0; i < node->val.n; i++) y[i] = 0;
    AG_BROADCAST(full, kept, kept, y[ia] += x[iy])
}

const char *ag_reduce_arguments(const ag_node *node) {
    const ag_axes *a = node->attr;
    return ag_text(node->graph, "\"axes\":%s",
                   ag_text_ints(node->graph, (size_t)a->n_axes, a->axes));
}

ag_node *ag_sample_reduced(ag_graph *g, ag_node *(*op)(ag_node *, int, const int *), int i,
                           bool empty) {
    static const int axes[][3] = {{0}, {1}, {-1}, {0, 2}, {1, -3}, {0, 1, 2}},
                     counts[] = {1, 1, 1, 2, 2, 3};
    tensor_shape s;
    int shapes = 0;
    for (int n = 0; ag_sample_shape(n, &s); n++) {
        size_t count;
        if (!tensor_count(s, &count) || (count == 0 && !empty)) continue;
        if (shapes++ == i) return op(ag_sample(g, AG_SAMPLE_NORMAL, s), 0, NULL);
    }
    i -= shapes;
    const int n = (int)(sizeof counts / sizeof *counts);
    if (i == n) return op(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, 0, 4)), 1, axes[1]);
    if (i > n) return NULL;
    return op(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 5)), counts[i], axes[i]);
}
