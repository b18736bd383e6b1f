/* concat.c - y = the parts, one after the other along one axis.        d part = its piece of dy */
#include <limits.h>
#include <string.h>

#include "autograd/op.h"

typedef struct {
    int axis;
} attr;

static bool shape(ag_node *node) {
    tensor_shape y = node->in[0]->val.shape;
    int axis = ag_axis(y, ((const attr *)node->attr)->axis);
    if (axis < 0) return ag_fail(node, "there is no axis %d", ((const attr *)node->attr)->axis);
    for (int p = 1; p < node->n_in; p++) {
        tensor_shape part = node->in[p]->val.shape;
        if (part.rank != y.rank)
            return ag_fail(node, "part %d has rank %d, the first %d", p, part.rank, y.rank);
        for (int i = 0; i < y.rank; i++)
            if (i != axis && part.dim[i] != y.dim[i])
                return ag_fail(node, "dimension %d of part %d is %d, of the first %d", i, p,
                               part.dim[i], y.dim[i]);
        if (y.dim[axis] > INT_MAX - part.dim[axis])
            return ag_fail(node, "axis %d gets too long", axis);
        y.dim[axis] += part.dim[axis];
    }
    node->val.shape = y;
    return true;
}

/* How many elements lie together in a tensor of this shape. */
static size_t block(const ag_node *node, tensor_shape s) {
    int axis = ag_axis(s, ((const attr *)node->attr)->axis);
    return (size_t)s.dim[axis] * ag_inner(s, axis);
}

static void forward(ag_node *node) {
    size_t y_block = block(node, node->val.shape), begin = 0;
    for (int p = 0; p < node->n_in; p++) {
        const tensor *x = &node->in[p]->val;
        size_t n = block(node, x->shape);
        for (size_t b = 0; b * n < x->n; b++)
            memcpy(node->val.x + begin + b * y_block, x->x + b * n, n * sizeof(real));
        begin += n;
    }
}

static void backward(ag_node *node) {
    size_t y_block = block(node, node->val.shape), begin = 0;
    for (int p = 0; p < node->n_in; p++) {
        size_t n = block(node, node->in[p]->val.shape);
        real *dX = ag_grad(node->in[p]);
        for (size_t b = 0; dX && b * n < node->in[p]->val.n; b++) {
            const real *restrict dy = node->grad + begin + b * y_block;
            real *restrict dx = dX + b * n;
            for (size_t i = 0; i < n; i++) dx[i] += dy[i];  // y[begin + i] = x[i]
        }
        begin += n;
    }
}

static ag_node *sample(ag_graph *g, int i) {
    static const int counts[] = {1, 2, 3, 2, 3, 2}, axes[] = {0, 0, -1, 1, 1, 0};
    const tensor_shape parts[][3] = {
        {tensor_dims(1, 7)},
        {tensor_dims(2, 3, 4), tensor_dims(2, 1, 4)},
        {tensor_dims(2, 2, 3), tensor_dims(2, 2, 0), tensor_dims(2, 2, 17)},
        {tensor_dims(3, 2, 3, 5), tensor_dims(3, 2, 1, 5)},
        {tensor_dims(4, 2, 1, 3, 2), tensor_dims(4, 2, 2, 3, 2), tensor_dims(4, 2, 1, 3, 2)},
        {tensor_dims(2, 0, 4), tensor_dims(2, 0, 4)}};
    ag_node *part[3];
    if (i > 6) return NULL;
    if (i == 6) {  // one node twice
        part[0] = part[2] = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, 3, 5));
        part[1] = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, 3, 1));
        return ag_concat(3, part, 1);
    }
    for (int p = 0; p < counts[i]; p++) part[p] = ag_sample(g, AG_SAMPLE_NORMAL, parts[i][p]);
    return ag_concat(counts[i], part, axes[i]);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    ag_node *x = ag_sample_x(g, z);
    return ag_concat(2, (ag_node *[]){x, ag_sample_x(g, z)}, -1);
}

static const char *arguments(const ag_node *node) {
    return ag_text(node->graph, "\"axis\":%d", ((const attr *)node->attr)->axis);
}

const ag_op ag_op_concat = {
    .name = "concat",
    .facts = AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "torch.cat(x, axis)",
};

ag_node *ag_concat(int n, ag_node *const *parts, int axis) {
    return ag_apply(&ag_op_concat, n, parts, &(attr){axis}, sizeof(attr));
}
