/* layer_norm.c - y = gain xh + bias, xh = (x - mean) r, r = 1 / sqrt(var + eps), over the last
 * dimension.
 *   w = dy gain;  dx = r (w - mean(w) - xh mean(w xh));  dgain = sum of dy xh;  dbias = sum of dy
 * Mean and variance in two passes, and the mean kept with what it was rounded by, so that a small
 * spread around a large mean is exact.
 * Source: Ba, Kiros and Hinton, "Layer Normalization", 2016, equations 3 and 4. */
#include "autograd/op.h"
#include "autograd/row.h"

typedef struct {
    double eps;
} attr;

static bool shape(ag_node *node) {
    tensor_shape x = node->in[0]->val.shape, g = node->in[1]->val.shape, b = node->in[2]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar has no width");
    if (g.rank != 1 || b.rank != 1 || g.dim[0] != tensor_width(x) || b.dim[0] != tensor_width(x))
        return ag_fail(node, "gain and bias need width %d", tensor_width(x));
    node->val.shape = x;
    node->n_save = 3 * tensor_rows(x);  // of each row: mean, what it was rounded by, r
    return true;
}

static void forward(ag_node *node) {
    const real *g = node->in[1]->val.x, *b = node->in[2]->val.x;
    int D = tensor_width(node->val.shape);
    size_t N = tensor_rows(node->val.shape);
    real eps = (real)((const attr *)node->attr)->eps;
    for (size_t n = 0; n < N && D > 0; n++) {
        const real *x = node->in[0]->val.x + n * (size_t)D;
        real *y = node->val.x + n * (size_t)D;
        const real mean = x[0] + row_sum(x, D, x[0]) / (real)D;
        real squares;
        const real low = row_sums(x, D, mean, &squares) / (real)D;
        const real r = 1 / real_sqrt(squares / (real)D - low * low + eps);
        ROW_EACH(d, D) {
            const vreal xh = (row_get(x, d, D, 0) - mean - low) * r;
            row_put(y, d, D, xh * row_get(g, d, D, 0) + row_get(b, d, D, 0));
        }
        node->save[3 * n] = mean;
        node->save[3 * n + 1] = low;
        node->save[3 * n + 2] = r;
    }
}

static void backward(ag_node *node) {
    const real *g = node->in[1]->val.x;
    int D = tensor_width(node->val.shape);
    size_t N = tensor_rows(node->val.shape);
    real *DX = ag_grad(node->in[0]), *dg = ag_grad(node->in[1]),
         *db = ag_grad(node->in[2]);  // may be one
    for (size_t n = 0; n < N && D > 0; n++) {
        const real *x = node->in[0]->val.x + n * (size_t)D, *dy = node->grad + n * (size_t)D;
        const real mean = node->save[3 * n], low = node->save[3 * n + 1], r = node->save[3 * n + 2];
        vreal sum_w = {0}, sum_wx = {0};
        // y[d] = xh * g[d] + b[d]
        ROW_EACH(d, D) {
            const vreal xh = (row_get(x, d, D, mean) - mean - low) * r, e = row_get(dy, d, D, 0);
            const vreal w = e * row_get(g, d, D, 0);
            sum_w += w;
            sum_wx += w * xh;
            if (dg) row_add(dg, d, D, e * xh);
            if (db) row_add(db, d, D, e);
        }
        if (!DX) continue;
        // xh = (x[d] - mean) * r
        const real mean_w = vec_sum(sum_w) / (real)D, mean_wx = vec_sum(sum_wx) / (real)D;
        real *dx = DX + n * (size_t)D;
        ROW_EACH(d, D) {
            const vreal xh = (row_get(x, d, D, 0) - mean - low) * r;
            const vreal w = row_get(dy, d, D, 0) * row_get(g, d, D, 0);
            row_add(dx, d, D, r * (w - mean_w - xh * mean_wx));
        }
    }
}

static ag_node *sample(ag_graph *g, int i) {
    const tensor_shape shapes[] = {
        tensor_dims(2, 3, 4), tensor_dims(1, 7),    tensor_dims(3, 2, 3, 5), tensor_dims(2, 2, 33),
        tensor_dims(2, 3, 1), tensor_dims(2, 0, 4), tensor_dims(2, 3, 0)};
    if (i == 7) {  // one node for all three
        ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 5));
        return ag_layer_norm(x, x, x, 0.1);
    }
    if (i > 7) return NULL;
    tensor_shape width = tensor_dims(1, tensor_width(shapes[i]));
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, shapes[i]),
            *gain = ag_sample(g, AG_SAMPLE_NORMAL, width);
    return ag_layer_norm(x, gain, ag_sample(g, AG_SAMPLE_NORMAL, width), i % 2 ? 1e-5 : 0.1);
}

const ag_op ag_op_layer_norm = {"layer_norm", false, shape, forward, backward, sample, NULL};

ag_node *ag_layer_norm(ag_node *x, ag_node *gain, ag_node *bias, double eps) {
    return ag_apply(&ag_op_layer_norm, AG_IN(x, gain, bias), &(attr){eps}, sizeof(attr));
}
