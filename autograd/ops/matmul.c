/* matmul.c - y = a b on the last two dimensions, the others broadcast.
 *   da = dy b^T,  db = a^T dy */
#include "autograd/broadcast.h"

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

/* One product of the batch: y [M,N] = a [M,K] b [K,N]. */
typedef struct {
    size_t M, K, N;
} product;

static product product_of(const ag_node *node) {
    const tensor_shape a = node->in[0]->val.shape;
    return (product){(size_t)a.dim[a.rank - 2], (size_t)tensor_width(a),
                     (size_t)tensor_width(node->val.shape)};
}

static void multiply(product p, const real *a, const real *b, real *y) {
    for (size_t i = 0; i < p.M * p.N; i++) y[i] = 0;
    for (size_t m = 0; m < p.M; m++)
        for (size_t k = 0; k < p.K; k++)
            for (size_t n = 0; n < p.N; n++) y[m * p.N + n] += a[m * p.K + k] * b[k * p.N + n];
}

static void multiply_back(product p, const real *a, const real *b, const real *dy, real *da,
                          real *db) {
    for (size_t m = 0; m < p.M; m++)
        for (size_t k = 0; k < p.K; k++)
            for (size_t n = 0; n < p.N; n++) {
                // y[m,n] += a[m,k] b[k,n]
                if (da) da[m * p.K + k] += dy[m * p.N + n] * b[k * p.N + n];
                if (db) db[k * p.N + n] += a[m * p.K + k] * dy[m * p.N + n];
            }
}

static void forward(ag_node *node) {
    const tensor_shape y = leading(node->val.shape), a = leading(node->in[0]->val.shape),
                       b = leading(node->in[1]->val.shape);
    const real *A = node->in[0]->val.x, *B = node->in[1]->val.x;
    const product p = product_of(node);
    AG_BROADCAST(y, a, b,
                 multiply(p, A + ia * p.M * p.K, B + ib * p.K * p.N, node->val.x + iy * p.M * p.N))
}

static void backward(ag_node *node) {
    const tensor_shape y = leading(node->val.shape), a = leading(node->in[0]->val.shape),
                       b = leading(node->in[1]->val.shape);
    const real *A = node->in[0]->val.x, *B = node->in[1]->val.x;
    real *dA = ag_grad(node->in[0]), *dB = ag_grad(node->in[1]);
    const product p = product_of(node);
    AG_BROADCAST(
        y, a, b,
        multiply_back(p, A + ia * p.M * p.K, B + ib * p.K * p.N, node->grad + iy * p.M * p.N,
                      dA ? dA + ia * p.M * p.K : NULL, dB ? dB + ib * p.K * p.N : NULL))
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
    .facts = AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .flops = flops,
    .timed = timed,
    .torch = "x[0] @ x[1]",
};

ag_node *ag_matmul(ag_node *a, ag_node *b) { return ag_apply(&ag_op_matmul, AG_IN(a, b), NULL, 0); }
