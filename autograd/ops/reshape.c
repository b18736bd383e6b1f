/* reshape.c - y is x under another shape of as many elements.        dx = dy
 * It stands in the same memory, nothing is copied: a hook that overwrites y overwrites x. */
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

static void forward(ag_node *node) { (void)node; }

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

const ag_op ag_op_reshape = {"reshape", false, shape, forward, backward, sample, NULL};

ag_node *ag_reshape(ag_node *x, tensor_shape s) {
    return ag_apply(&ag_op_reshape, AG_IN(x), &(attr){s}, sizeof(attr));
}
