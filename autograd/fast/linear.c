/* linear.c - y = x w + b, and its backward, as matrix products. */
#include "autograd/fast.h"
#include "autograd/fast/row_math.h"
#include "tensor/gemm.h"

static void forward(ag_node *node) {
    const ag_node *x = node->in[0], *w = node->in[1];  // [N,I] [I,O]
    int N = (int)tensor_rows(x->val.shape), I = w->val.shape.dim[0], O = w->val.shape.dim[1];
    real *y = node->val.x;  // [N,O]
    gemm_view left = {x->val.x, I, 1}, right = {w->val.x, O, 1};
    if (node->n_in == 3)
        gemm_mul_bias(N, O, I, left, right, node->in[2]->val.x, y, O);
    else
        gemm_mul(GEMM_SET, N, O, I, left, right, y, O);
}

static void backward(ag_node *node) {
    ag_node *x = node->in[0], *w = node->in[1];
    int N = (int)tensor_rows(x->val.shape), I = w->val.shape.dim[0], O = w->val.shape.dim[1];
    const real *dy = node->grad;
    bool first;
    // y = x w
    real *dx = ag_grad_or_first(x, &first);
    if (dx)  // dx += dy w^T
        gemm_mul(first ? GEMM_SET : GEMM_ADD, N, I, O, (gemm_view){dy, O, 1},
                 (gemm_view){w->val.x, 1, O}, dx, I);
    real *dw = ag_grad_or_first(w, &first);
    if (dw)  // dw += x^T dy
        gemm_mul(first ? GEMM_SET : GEMM_ADD, I, O, N, (gemm_view){x->val.x, 1, I},
                 (gemm_view){dy, O, 1}, dw, O);
    // y[r,o] += b[o]
    real *db = node->n_in == 3 ? ag_grad(node->in[2]) : NULL;
    if (db) row_add_columns(db, O, dy, N);
}

const ag_fast ag_fast_linear = {
    .op = &ag_op_linear,
    .forward = forward,
    .backward = backward,
};
