/* slice.c - y = x[.., begin:end, ..] along one axis; negative ones count from the end.
 *   dx[.., begin:end, ..] = dy, 0 elsewhere */
#include <string.h>

#include "autograd/op.h"

typedef struct {
    int axis, begin, end;
} attr;

/* x and y as `outer` blocks, of which y keeps the elements from `begin` on. */
typedef struct {
    size_t x_block, y_block, begin;
} blocks;

static int from_start(int at, int dim) { return at < 0 ? at + dim : at; }

static bool shape(ag_node *node) {
    const attr *a = node->attr;
    tensor_shape x = node->in[0]->val.shape;
    int axis = ag_axis(x, a->axis);
    if (axis < 0) return ag_fail(node, "there is no axis %d", a->axis);
    int dim = x.dim[axis], begin = from_start(a->begin, dim), end = from_start(a->end, dim);
    if (begin < 0 || end < begin || end > dim)
        return ag_fail(node, "%d:%d does not lie in 0:%d", a->begin, a->end, dim);
    node->val.shape = x;
    node->val.shape.dim[axis] = end - begin;
    return true;
}

static blocks blocks_of(const ag_node *node) {
    const attr *a = node->attr;
    tensor_shape x = node->in[0]->val.shape;
    int axis = ag_axis(x, a->axis);
    size_t inner = ag_inner(x, axis);
    return (blocks){.x_block = (size_t)x.dim[axis] * inner,
                    .y_block = (size_t)node->val.shape.dim[axis] * inner,
                    .begin = (size_t)from_start(a->begin, x.dim[axis]) * inner};
}

static void forward(ag_node *node) {
    const blocks s = blocks_of(node);
    const real *x = node->in[0]->val.x + s.begin;
    for (size_t b = 0; b * s.y_block < node->val.n; b++)
        memcpy(node->val.x + b * s.y_block, x + b * s.x_block, s.y_block * sizeof *x);
}

static void backward(ag_node *node) {
    const blocks s = blocks_of(node);
    real *DX = ag_grad(node->in[0]) + s.begin;
    for (size_t b = 0; b * s.y_block < node->val.n; b++) {
        const real *restrict dy = node->grad + b * s.y_block;
        real *restrict dx = DX + b * s.x_block;
        for (size_t i = 0; i < s.y_block; i++) dx[i] += dy[i];  // y[i] = x[i]
    }
}

static ag_node *sample(ag_graph *g, int i) {
    static const int cuts[][3] = {{0, 1, 3},  {0, -5, -1}, {1, 2, 17}, {-1, 0, 3},
                                  {1, -1, 3}, {0, 2, 2},   {1, 1, 4}};
    const tensor_shape shapes[] = {tensor_dims(1, 7),       tensor_dims(1, 17),
                                   tensor_dims(2, 3, 17),   tensor_dims(3, 2, 3, 5),
                                   tensor_dims(3, 2, 3, 5), tensor_dims(2, 3, 4),
                                   tensor_dims(2, 0, 4)};
    if (i >= 7) return NULL;
    return ag_slice(ag_sample(g, AG_SAMPLE_NORMAL, shapes[i]), cuts[i][0], cuts[i][1], cuts[i][2]);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    return ag_slice(ag_sample_x(g, z), -1, 0, z->D / 2);
}

static const char *arguments(const ag_node *node) {
    const attr *a = node->attr;
    return ag_text(node->graph, "\"axis\":%d,\"begin\":%d,\"end\":%d", a->axis, a->begin, a->end);
}

const ag_op ag_op_slice = {
    .name = "slice",
    .facts = AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "x[0][(slice(None),) * (axis % x[0].dim()) + (slice(begin, end),)]",
};

ag_node *ag_slice(ag_node *x, int axis, int begin, int end) {
    return ag_apply(&ag_op_slice, AG_IN(x), &(attr){axis, begin, end}, sizeof(attr));
}
