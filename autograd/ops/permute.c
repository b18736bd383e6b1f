/* permute.c - a copy of x with its dimensions in another order: dimension i of y is dimension
 * axes[i] of x. Every number stands at its new place in y; backward, its gradient returns to the
 * old one. */
#include "autograd/reduce.h"

static bool shape(ag_node *node) {
    const ag_axes *a = node->attr;
    tensor_shape x = node->in[0]->val.shape;
    bool seen[TENSOR_MAXRANK] = {false};
    if (a->n_axes != x.rank) return ag_fail(node, "%d axes for %d dimensions", a->n_axes, x.rank);
    node->val.shape = x;
    for (int i = 0; i < x.rank; i++) {
        int from = ag_axis(x, a->axes[i]);
        if (from < 0 || seen[from])
            return ag_fail(node, "axis %d is out of range or named twice", a->axes[i]);
        seen[from] = true;
        node->val.shape.dim[i] = x.dim[from];
    }
    return true;
}

/* Where in x element i of y stands. */
static size_t origin(const ag_node *node, size_t i) {
    const ag_axes *a = node->attr;
    const tensor_shape x = node->in[0]->val.shape;
    size_t at = 0;
    for (int k = x.rank - 1; k >= 0; k--) {
        const size_t dim = (size_t)node->val.shape.dim[k];
        at += i % dim * ag_inner(x, ag_axis(x, a->axes[k]));
        i /= dim;
    }
    return at;
}

static void forward(ag_node *node) {
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = node->in[0]->val.x[origin(node, i)];
}

static void backward(ag_node *node) {
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0; i < node->val.n; i++) dx[origin(node, i)] += node->grad[i];
}

static ag_node *sample(ag_graph *g, int i) {
    static const int axes[][5] = {
        {0}, {0}, {1, 0}, {2, 0, 1}, {0, 2, 1, 3}, {-1, 1, -5, 3, 2}, {1, 0}, {0, 1}, {1, 0}};
    const tensor_shape shapes[] = {
        tensor_dims(0),          tensor_dims(1, 7),          tensor_dims(2, 3, 17),
        tensor_dims(3, 2, 3, 5), tensor_dims(4, 2, 3, 2, 5), tensor_dims(5, 2, 3, 1, 2, 2),
        tensor_dims(2, 0, 4),    tensor_dims(2, 3, 4),       tensor_dims(2, 17, 18)};
    if (i >= 9) return NULL;
    return ag_permute(ag_sample(g, AG_SAMPLE_NORMAL, shapes[i]), shapes[i].rank, axes[i]);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    return ag_permute(ag_sample_x(g, z), 3, (const int[]){1, 0, 2});
}

const ag_op ag_op_permute = {
    .name = "permute",
    .facts = AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = ag_reduce_arguments,
    .torch = "x[0].permute(axes)",
};

ag_node *ag_permute(ag_node *x, int n_axes, const int *axes) {
    ag_axes attr;
    if (!ag_axes_set(ag_graph_of(x), "permute", n_axes, axes, &attr))
        return ag_fail_graph(ag_graph_of(x), "permute");
    return ag_apply(&ag_op_permute, AG_IN(x), &attr, sizeof attr);
}
