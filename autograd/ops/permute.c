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

/* How far apart in x neighbours along each dimension of y are. */
typedef struct {
    size_t stride[TENSOR_MAXRANK + 1];
} strides;

static strides strides_of(const ag_node *node) {
    const ag_axes *a = node->attr;
    tensor_shape x = node->in[0]->val.shape;
    strides s = {{0}};
    for (int i = 0; i < x.rank; i++) s.stride[i] = ag_inner(x, ag_axis(x, a->axes[i]));
    return s;
}

/* Where row r of y (all but its last dimension) begins in x. */
static size_t begin(tensor_shape y, const strides *s, size_t r) {
    size_t at = 0;
    for (int i = y.rank - 2; i >= 0; i--) {
        at += r % (size_t)y.dim[i] * s->stride[i];
        r /= (size_t)y.dim[i];
    }
    return at;
}

static void forward(ag_node *node) {
    const strides s = strides_of(node);
    tensor_shape y = node->val.shape;
    size_t D = (size_t)tensor_width(y), step = s.stride[y.rank ? y.rank - 1 : 0];
    for (size_t r = 0; r * D < node->val.n; r++) {
        const real *restrict from = node->in[0]->val.x + begin(y, &s, r);
        real *restrict row = node->val.x + r * D;
        for (size_t d = 0; d < D; d++) row[d] = from[d * step];
    }
}

static void backward(ag_node *node) {
    const strides s = strides_of(node);
    tensor_shape y = node->val.shape;
    size_t D = (size_t)tensor_width(y), step = s.stride[y.rank ? y.rank - 1 : 0];
    real *dx = ag_grad(node->in[0]);
    for (size_t r = 0; r * D < node->val.n; r++) {
        const real *restrict row = node->grad + r * D;
        real *restrict to = dx + begin(y, &s, r);
        for (size_t d = 0; d < D; d++) to[d * step] += row[d];  // row[d] = from[d * step]
    }
}

static ag_node *sample(ag_graph *g, int i) {
    static const int axes[][5] = {{0},    {0},   {1, 0}, {2, 0, 1}, {0, 2, 1, 3}, {-1, 1, -5, 3, 2},
                                  {1, 0}, {0, 1}};
    const tensor_shape shapes[] = {
        tensor_dims(0),          tensor_dims(1, 7),          tensor_dims(2, 3, 17),
        tensor_dims(3, 2, 3, 5), tensor_dims(4, 2, 3, 2, 5), tensor_dims(5, 2, 3, 1, 2, 2),
        tensor_dims(2, 0, 4),    tensor_dims(2, 3, 4)};
    if (i >= 8) return NULL;
    return ag_permute(ag_sample(g, AG_SAMPLE_NORMAL, shapes[i]), shapes[i].rank, axes[i]);
}

const ag_op ag_op_permute = {"permute", false, shape, forward, backward, sample, NULL};

ag_node *ag_permute(ag_node *x, int n_axes, const int *axes) {
    ag_axes attr;
    if (!ag_axes_set(x->graph, "permute", n_axes, axes, &attr))
        return ag_fail_graph(x->graph, "permute");
    return ag_apply(&ag_op_permute, AG_IN(x), &attr, sizeof attr);
}
