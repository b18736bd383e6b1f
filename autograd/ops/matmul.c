/* matmul.c - y = a b on the last two dimensions, the others broadcast.
 *   da = dy b^T,  db = a^T dy */
#include "autograd/broadcast.h"
#include "tensor/gemm.h"

/* The leading dimensions of a shape of rank >= 2. */
static tensor_shape leading(tensor_shape s) {
    s.rank -= 2;
    return s;
}

static bool shape(ag_node *node) {
    tensor_shape a = node->in[0]->val.shape, b = node->in[1]->val.shape, y;
    if (a.rank < 2 || b.rank < 2) return ag_fail(node, "both need at least two dimensions");
    int k = a.dim[a.rank - 1], k_of_b = b.dim[b.rank - 2];
    if (k != k_of_b) return ag_fail(node, "inner dimensions %d and %d differ", k, k_of_b);
    if (!tensor_broadcast(leading(a), leading(b), &y))
        return ag_fail(node, "leading dimensions do not broadcast");
    y.dim[y.rank++] = a.dim[a.rank - 2];
    y.dim[y.rank++] = b.dim[b.rank - 1];
    node->val.shape = y;
    return true;
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

static ag_node *sample(ag_graph *g, int i) {
    const tensor_shape pairs[][2] = {{tensor_dims(2, 1, 1), tensor_dims(2, 1, 1)},
                                     {tensor_dims(2, 3, 5), tensor_dims(2, 5, 2)},
                                     {tensor_dims(2, 17, 3), tensor_dims(2, 3, 17)},
                                     {tensor_dims(2, 2, 0), tensor_dims(2, 0, 3)},
                                     {tensor_dims(2, 0, 3), tensor_dims(2, 3, 2)},
                                     {tensor_dims(2, 2, 3), tensor_dims(2, 3, 0)},
                                     {tensor_dims(3, 2, 3, 4), tensor_dims(3, 2, 4, 2)},
                                     {tensor_dims(3, 2, 3, 4), tensor_dims(2, 4, 2)},
                                     {tensor_dims(2, 3, 4), tensor_dims(3, 2, 4, 2)},
                                     {tensor_dims(4, 2, 1, 3, 2), tensor_dims(3, 3, 2, 4)},
                                     {tensor_dims(3, 1, 2, 3), tensor_dims(3, 2, 3, 1)}};
    if (i == (int)(sizeof pairs / sizeof *pairs)) {
        ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, 3, 3));
        return ag_matmul(x, x);
    }
    if (i > (int)(sizeof pairs / sizeof *pairs)) return NULL;
    // Drawn in this order by every compiler.
    ag_node *a = ag_sample(g, AG_SAMPLE_NORMAL, pairs[i][0]);
    return ag_matmul(a, ag_sample(g, AG_SAMPLE_NORMAL, pairs[i][1]));
}

static double flops(const ag_node *node) {
    return 2.0 * (double)node->val.n * tensor_width(node->in[0]->val.shape);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    ag_node *x = ag_sample_x(g, z);
    return ag_matmul(x, ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, z->D, z->D)));
}

const ag_op ag_op_matmul = {
    .name = "matmul",
    .facts = AG_NO_Y,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .flops = flops,
    .timed = timed,
    .torch = "x[0] @ x[1]",
};

ag_node *ag_matmul(ag_node *a, ag_node *b) { return ag_apply(&ag_op_matmul, AG_IN(a, b), NULL, 0); }
