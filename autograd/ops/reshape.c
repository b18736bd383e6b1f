/* reshape.c - y is x under another shape of as many elements.        dx = dy
 * It stands in the same memory, and nothing is copied, unless y is hooked (ag_hook). */
#include <string.h>

#include "autograd/op.h"

typedef struct {
    tensor_shape s;
} attr;

static bool shape(ag_node *node) {
    const attr *a = node->attr;
    const tensor *x = &node->in[0]->val;
    size_t n;
    char text[TENSOR_SHAPE_TEXT];
    if (!tensor_count(a->s, &n)) return ag_fail(node, "bad shape");
    if (n != x->n)
        return ag_fail(node, "%zu elements do not make %s", x->n, tensor_shape_text(a->s, text));
    node->val = (tensor){.shape = a->s, .n = n, .x = x->x};
    return true;
}

static void forward(ag_node *node) {
    const tensor *x = &node->in[0]->val;
    if (node->val.x != x->x && x->n) memcpy(node->val.x, x->x, x->n * sizeof *x->x);
}

static void backward(ag_node *node) {
    const real *restrict dy = node->grad;
    real *restrict dx = ag_grad(node->in[0]);
    for (size_t i = 0; i < node->val.n; i++) dx[i] += dy[i];  // y[i] = x[i]
}

static ag_node *sample(ag_graph *g, int i) {
    const tensor_shape pairs[][2] = {{tensor_dims(0), tensor_dims(3, 1, 1, 1)},
                                     {tensor_dims(2, 3, 4), tensor_dims(3, 2, 3, 2)},
                                     {tensor_dims(3, 2, 3, 5), tensor_dims(1, 30)},
                                     {tensor_dims(1, 7), tensor_dims(2, 7, 1)},
                                     {tensor_dims(2, 0, 4), tensor_dims(3, 5, 0, 2)}};
    if (i >= 5) return NULL;
    return ag_reshape(ag_sample(g, AG_SAMPLE_NORMAL, pairs[i][0]), pairs[i][1]);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    return ag_reshape(ag_sample_x(g, z), tensor_dims(2, z->B * z->T, z->D));
}

const ag_op ag_op_reshape = {
    .name = "reshape",
    .facts = AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .torch = "x[0].reshape(shape)",
};

ag_node *ag_reshape(ag_node *x, tensor_shape s) {
    return ag_apply(&ag_op_reshape, AG_IN(x), &(attr){s}, sizeof(attr));
}
