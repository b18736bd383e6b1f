/* rms_norm.c - y = gain xh, xh = x r, r = 1 / sqrt(mean(x^2) + eps), over the last dimension.
 *   w = dy gain;  dx = r (w - xh mean(w xh));  dgain = sum of dy xh
 * A row whose squares leave the range of numbers is scaled.
 * Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019, equation 4 (without
 * eps). */
#include "autograd/norm.h"
#include "autograd/op.h"

typedef struct {
    double eps;
} attr;

enum { R, SCALE, KEPT };  // of each row: r, its scale

static bool shape(ag_node *node) {
    tensor_shape x = node->in[0]->val.shape, g = node->in[1]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar has no width");
    if (g.rank != 1 || g.dim[0] != tensor_width(x))
        return ag_fail(node, "the gain needs width %d", tensor_width(x));
    const double eps = ((const attr *)node->attr)->eps;
    if (!(eps >= 0 && isfinite(eps))) return ag_fail(node, "eps %g is no number from 0 on", eps);
    node->val.shape = x;
    node->n_save = KEPT * tensor_rows(x);
    return ag_norm_eps(node, ((const attr *)node->attr)->eps);
}

/* mean(x^2) + eps of a row that is x times `scale`. */
static real size(const real *x, int D, real eps, real scale, real *kept) {
    const real square = row_dot(x, x, D) / (real)D + eps * scale * scale;
    kept[R] = 1 / real_sqrt(square);
    kept[SCALE] = scale;
    return square;
}

static void forward(ag_node *node) {
    const real *g = node->in[1]->val.x;
    int D = tensor_width(node->val.shape);
    size_t N = tensor_rows(node->val.shape);
    real eps = (real)((const attr *)node->attr)->eps, *kept = node->save;
    for (size_t n = 0; n < N && D > 0; n++, kept += KEPT) {
        const real *x = node->in[0]->val.x + n * (size_t)D;
        real *y = node->val.x + n * (size_t)D;
        if (!ag_norm_in_range(size(x, D, eps, 1, kept))) {
            const real scale = ag_norm_scaled(x, D, eps, y);
            size(x = y, D, eps, scale, kept);
        }
        const real r = kept[R];
        ROW_EACH(d, D) row_put(y, d, D, row_get(x, d, D, 0) * r * row_get(g, d, D, 0));
    }
}

static void backward(ag_node *node) {
    const real *g = node->in[1]->val.x, *kept = node->save;
    int D = tensor_width(node->val.shape);
    size_t N = tensor_rows(node->val.shape);
    real *DX = ag_grad(node->in[0]), *dg = ag_grad(node->in[1]);  // may be one
    for (size_t n = 0; n < N && D > 0; n++, kept += KEPT) {
        const real *x = node->in[0]->val.x + n * (size_t)D, *dy = node->grad + n * (size_t)D;
        const real scale = kept[SCALE], r = kept[R];
        vreal sum_wx = {0};
        // y[d] = xh * g[d]
        ROW_EACH(d, D) {
            const vreal xh = row_get(x, d, D, 0) * scale * r, e = row_get(dy, d, D, 0);
            sum_wx += vec_cut(vec_cut(e, row_get(g, d, D, 0)), xh);
            if (dg) row_add(dg, d, D, vec_cut(e, xh));
        }
        if (!DX) continue;
        // xh = x[d] * r
        const vreal mean_wx = vec_set(vec_sum(sum_wx) / (real)D), back = vec_set(r * scale);
        real *dx = DX + n * (size_t)D;
        ROW_EACH(d, D) {
            const vreal w = vec_cut(row_get(dy, d, D, 0), row_get(g, d, D, 0));
            const vreal xh = row_get(x, d, D, 0) * scale * r;
            row_add(dx, d, D, vec_cut(w - vec_cut(mean_wx, xh), back));
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

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    ag_node *x = ag_sample_x(g, z);
    return ag_rms_norm(x, ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, z->D)), 1e-5);
}

static const char *arguments(const ag_node *node) {
    return ag_text(node->graph, "\"eps\":%.17g", ((const attr *)node->attr)->eps);
}

const ag_op ag_op_rms_norm = {
    .name = "rms_norm",
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "F.rms_norm(x[0], x[1].shape, x[1], eps)",
};

ag_node *ag_rms_norm(ag_node *x, ag_node *gain, double eps) {
    return ag_apply(&ag_op_rms_norm, AG_IN(x, gain), &(attr){eps}, sizeof(attr));
}
