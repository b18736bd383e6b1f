/* rms_norm.c - y = gain xh, xh = x r, r = 1 / sqrt(mean(x^2) + eps), over the last dimension.
 *   w = dy gain;  dx = r (w - xh mean(w xh));  dgain = sum of dy xh
 * Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019, equation 4 (without
 * eps). */
#include "autograd/op.h"
#include "autograd/row.h"

typedef struct {
    double eps;
} attr;

static bool shape(ag_node *node) {
    tensor_shape x = node->in[0]->val.shape, g = node->in[1]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar has no width");
    if (g.rank != 1 || g.dim[0] != tensor_width(x))
        return ag_fail(node, "the gain needs width %d", tensor_width(x));
    node->val.shape = x;
    node->n_save = tensor_rows(x);  // r of each row
    return true;
}

static void forward(ag_node *node) {
    const real *g = node->in[1]->val.x;
    int D = tensor_width(node->val.shape);
    size_t N = tensor_rows(node->val.shape);
    real eps = (real)((const attr *)node->attr)->eps;
    for (size_t n = 0; n < N && D > 0; n++) {
        const real *x = node->in[0]->val.x + n * (size_t)D;
        real *y = node->val.x + n * (size_t)D;
        const real r = 1 / real_sqrt(row_dot(x, x, D) / (real)D + eps);
        ROW_EACH(d, D) row_put(y, d, D, row_get(x, d, D, 0) * r * row_get(g, d, D, 0));
        node->save[n] = r;
    }
}

static void backward(ag_node *node) {
    const real *g = node->in[1]->val.x;
    int D = tensor_width(node->val.shape);
    size_t N = tensor_rows(node->val.shape);
    real *DX = ag_grad(node->in[0]), *dg = ag_grad(node->in[1]);  // may be one
    for (size_t n = 0; n < N && D > 0; n++) {
        const real *x = node->in[0]->val.x + n * (size_t)D, *dy = node->grad + n * (size_t)D;
        const real r = node->save[n];
        vreal sum_wx = {0};
        // y[d] = xh * g[d]
        ROW_EACH(d, D) {
            const vreal xh = row_get(x, d, D, 0) * r, e = row_get(dy, d, D, 0);
            sum_wx += e * row_get(g, d, D, 0) * xh;
            if (dg) row_add(dg, d, D, e * xh);
        }
        if (!DX) continue;
        // xh = x[d] * r
        const real mean_wx = vec_sum(sum_wx) / (real)D;
        real *dx = DX + n * (size_t)D;
        ROW_EACH(d, D) {
            const vreal w = row_get(dy, d, D, 0) * row_get(g, d, D, 0);
            row_add(dx, d, D, r * (w - row_get(x, d, D, 0) * r * mean_wx));
        }
    }
}

static ag_node *sample(ag_graph *g, int i) {
    const tensor_shape shapes[] = {
        tensor_dims(2, 3, 4), tensor_dims(1, 7),    tensor_dims(3, 2, 3, 5), tensor_dims(2, 2, 33),
        tensor_dims(2, 3, 1), tensor_dims(2, 0, 4), tensor_dims(2, 3, 0)};
    if (i == 7) {  // one node for both
        ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 5));
        return ag_rms_norm(x, x, 0.1);
    }
    if (i > 7) return NULL;
    tensor_shape width = tensor_dims(1, tensor_width(shapes[i]));
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, shapes[i]);
    return ag_rms_norm(x, ag_sample(g, AG_SAMPLE_NORMAL, width), i % 2 ? 1e-5 : 0.1);
}

const ag_op ag_op_rms_norm = {"rms_norm", false, shape, forward, backward, sample, NULL};

ag_node *ag_rms_norm(ag_node *x, ag_node *gain, double eps) {
    return ag_apply(&ag_op_rms_norm, AG_IN(x, gain), &(attr){eps}, sizeof(attr));
}
