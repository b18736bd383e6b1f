/* matmul.c - y = a b, and its backward, as matrix products. */
#include "autograd/broadcast.h"
#include "autograd/fast.h"
#include "tensor/gemm.h"

/* The leading dimensions of a shape of rank >= 2. */
static tensor_shape leading(tensor_shape s) {
    s.rank -= 2;
    return s;
}

/* The sizes of one product of the batch, and the batch as three walks in step. */
typedef struct {
    int m, n, k;
    size_t mn, mk, kn;
    tensor_shape y, a, b;
} batch;

static batch batch_of(const ag_node *node) {
    tensor_shape a = node->in[0]->val.shape, b = node->in[1]->val.shape;
    batch s = {.m = a.dim[a.rank - 2], .n = b.dim[b.rank - 1], .k = a.dim[a.rank - 1]};
    s.mn = (size_t)s.m * (size_t)s.n;
    s.mk = (size_t)s.m * (size_t)s.k;
    s.kn = (size_t)s.k * (size_t)s.n;
    s.y = leading(node->val.shape);
    s.a = leading(a);
    s.b = leading(b);
    return s;
}

static void forward(ag_node *node) {
    batch s = batch_of(node);
    const real *A = node->in[0]->val.x, *B = node->in[1]->val.x;  // [..,M,K] [..,K,N]
    AG_BROADCAST(s.y, s.a, s.b,
                 gemm_mul(GEMM_SET, s.m, s.n, s.k, (gemm_view){A + ia * s.mk, s.k, 1},
                          (gemm_view){B + ib * s.kn, s.n, 1}, node->val.x + iy * s.mn, s.n))
}

static void backward(ag_node *node) {
    batch s = batch_of(node);
    const real *A = node->in[0]->val.x, *B = node->in[1]->val.x, *dY = node->grad;
    real *dA = ag_grad(node->in[0]);
    // y = a b
    if (dA)  // da += dy b^T
        AG_BROADCAST(s.y, s.a, s.b,
                     gemm_mul(GEMM_ADD, s.m, s.k, s.n, (gemm_view){dY + iy * s.mn, s.n, 1},
                              (gemm_view){B + ib * s.kn, 1, s.n}, dA + ia * s.mk, s.k))
    real *dB = ag_grad(node->in[1]);
    if (dB)  // db += a^T dy
        AG_BROADCAST(s.y, s.a, s.b,
                     gemm_mul(GEMM_ADD, s.k, s.n, s.m, (gemm_view){A + ia * s.mk, 1, s.k},
                              (gemm_view){dY + iy * s.mn, s.n, 1}, dB + ib * s.kn, s.n))
}

const ag_fast ag_fast_matmul = {
    .op = &ag_op_matmul,
    .forward = forward,
    .backward = backward,
};
