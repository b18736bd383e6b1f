/* linear.c - y = x w + b on the last dimension.
 *   dx = dy w^T,  dw = x^T dy,  db = column sums of dy */
#include "autograd/op.h"

static bool shape(ag_node *node) {
    tensor_shape x = node->in[0]->val.shape, w = node->in[1]->val.shape;
    if (x.rank < 1 || w.rank != 2) return ag_fail(node, "x needs a dimension and w exactly two");
    if (tensor_width(x) != w.dim[0])
        return ag_fail(node, "x has width %d, w takes %d", tensor_width(x), w.dim[0]);
    if (node->n_in == 3) {
        tensor_shape b = node->in[2]->val.shape;
        if (b.rank != 1 || b.dim[0] != w.dim[1])
            return ag_fail(node, "the bias needs width %d", w.dim[1]);
    }
    if (!ag_fits_int(node, tensor_rows(x), "rows")) return false;
    node->val.shape = x;
    node->val.shape.dim[x.rank - 1] = w.dim[1];
    return true;
}

static void forward(ag_node *node) {
    const tensor_shape of_w = node->in[1]->val.shape;
    const int I = of_w.dim[0], O = of_w.dim[1];
    const real *x = node->in[0]->val.x, *w = node->in[1]->val.x;  // [N,I] [I,O]
    const real *b = node->n_in == 3 ? node->in[2]->val.x : NULL;
    real *y = node->val.x;  // [N,O]
    for (size_t n = tensor_rows(node->val.shape); n > 0; n--, x += I, y += O)
        for (int o = 0; o < O; o++) {
            y[o] = 0;
            for (int i = 0; i < I; i++) y[o] += x[i] * w[i * (ptrdiff_t)O + o];
            if (b) y[o] += b[o];
        }
}

static void backward(ag_node *node) {
    const tensor_shape of_w = node->in[1]->val.shape;
    const int I = of_w.dim[0], O = of_w.dim[1];
    const real *x = node->in[0]->val.x, *w = node->in[1]->val.x, *dy = node->grad;
    real *dx = ag_grad(node->in[0]), *dw = ag_grad(node->in[1]);
    real *db = node->n_in == 3 ? ag_grad(node->in[2]) : NULL;
    for (size_t n = 0; n < tensor_rows(node->val.shape); n++, dy += O)
        for (int o = 0; o < O; o++) {
            // y[n,o] = sum over i of x[n,i] w[i,o] + b[o]
            for (int i = 0; i < I; i++) {
                const size_t at_x = n * (size_t)I + (size_t)i,
                             at_w = (size_t)i * (size_t)O + (size_t)o;
                if (dx) dx[at_x] += dy[o] * w[at_w];
                if (dw) dw[at_w] += dy[o] * x[at_x];
            }
            if (db) db[o] += dy[o];
        }
}

static ag_node *sample(ag_graph *g, int i) {
    const tensor_shape x[] = {
        tensor_dims(2, 3, 4), tensor_dims(1, 17),   tensor_dims(3, 2, 3, 5), tensor_dims(2, 1, 1),
        tensor_dims(2, 0, 4), tensor_dims(2, 3, 0), tensor_dims(3, 2, 2, 33)};
    static const int out[] = {2, 7, 1, 1, 3, 2, 17};
    if (i == 14) {  // one node as input and as weight
        ag_node *s = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, 3, 3));
        return ag_linear(s, s, NULL);
    }
    if (i > 14) return NULL;
    tensor_shape s = x[i / 2];
    int O = out[i / 2];
    ag_node *in = ag_sample(g, AG_SAMPLE_NORMAL, s);
    ag_node *w = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, tensor_width(s), O));
    return ag_linear(in, w, i % 2 ? ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, O)) : NULL);
}

static double flops(const ag_node *node) {
    return 2.0 * (double)node->in[0]->val.n * node->in[1]->val.shape.dim[1];
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    ag_node *x = ag_sample_x(g, z);
    ag_node *w = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, z->D, z->D));
    return ag_linear(x, w, ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, z->D)));
}

const ag_op ag_op_linear = {
    .name = "linear",
    .facts = AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .flops = flops,
    .timed = timed,
    .torch = "F.linear(x[0], x[1].T, x[2] if len(x) > 2 else None)",
};

ag_node *ag_linear(ag_node *x, ag_node *w, ag_node *b) {
    return b ? ag_apply(&ag_op_linear, AG_IN(x, w, b), NULL, 0)
             : ag_apply(&ag_op_linear, AG_IN(x, w), NULL, 0);
}
