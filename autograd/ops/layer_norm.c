/* layer_norm.c - y = gain xh + bias, xh = (x - mean) r, r = 1 / sqrt(var + eps), over the last
 * dimension.
 *   w = dy gain;  dx = r (w - mean(w) - xh mean(w xh));  dgain = sum of dy xh;  dbias = sum of dy
 * Mean and variance in two passes, and the mean kept with what it was rounded by, so that a small
 * spread around a large mean is exact. A row whose squares leave the range of numbers is scaled.
 * Source: Ba, Kiros and Hinton, "Layer Normalization", 2016, equations 3 and 4. */
#include "autograd/norm.h"
#include "autograd/op.h"

typedef struct {
    double eps;
} attr;

enum { MEAN, LOW, R, SCALE, KEPT };  // of each row: mean, what it was rounded by, r, its scale

static bool shape(ag_node *node) {
    tensor_shape x = node->in[0]->val.shape, g = node->in[1]->val.shape, b = node->in[2]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar has no width");
    if (g.rank != 1 || b.rank != 1 || g.dim[0] != tensor_width(x) || b.dim[0] != tensor_width(x))
        return ag_fail(node, "gain and bias need width %d", tensor_width(x));
    const double eps = ((const attr *)node->attr)->eps;
    if (!(eps >= 0 && isfinite(eps))) return ag_fail(node, "eps %g is no number from 0 on", eps);
    node->val.shape = x;
    node->n_save = KEPT * tensor_rows(x);
    return ag_norm_eps(node, ((const attr *)node->attr)->eps);
}

/* Of a row that is x times `scale`; returns var + eps. */
static real moments(const real *x, int D, real eps, real scale, real *kept) {
    const real mean = x[0] + row_sum(x, D, x[0]) / (real)D;
    real squares;
    const real low = row_sums(x, D, mean, &squares) / (real)D;
    const real spread = squares / (real)D - low * low + eps * scale * scale;
    kept[MEAN] = mean;
    kept[LOW] = low;
    kept[R] = 1 / real_sqrt(spread);
    kept[SCALE] = scale;
    return spread;
}

static void forward(ag_node *node) {
    const real *g = node->in[1]->val.x, *b = node->in[2]->val.x;
    int D = tensor_width(node->val.shape);
    size_t N = tensor_rows(node->val.shape);
    real eps = (real)((const attr *)node->attr)->eps, *kept = node->save;
    for (size_t n = 0; n < N && D > 0; n++, kept += KEPT) {
        const real *x = node->in[0]->val.x + n * (size_t)D;
        real *y = node->val.x + n * (size_t)D;
        if (!ag_norm_in_range(moments(x, D, eps, 1, kept))) {
            const real scale = ag_norm_scaled(x, D, eps, y);
            moments(x = y, D, eps, scale, kept);
        }
        const real mean = kept[MEAN], low = kept[LOW], r = kept[R];
        ROW_EACH(d, D) {
            const vreal xh = (row_get(x, d, D, 0) - mean - low) * r;
            row_put(y, d, D, xh * row_get(g, d, D, 0) + row_get(b, d, D, 0));
        }
    }
}

static void backward(ag_node *node) {
    const real *g = node->in[1]->val.x, *kept = node->save;
    int D = tensor_width(node->val.shape);
    size_t N = tensor_rows(node->val.shape);
    real *DX = ag_grad(node->in[0]), *dg = ag_grad(node->in[1]),
         *db = ag_grad(node->in[2]);  // may be one
    for (size_t n = 0; n < N && D > 0; n++, kept += KEPT) {
        const real *x = node->in[0]->val.x + n * (size_t)D, *dy = node->grad + n * (size_t)D;
        const real scale = kept[SCALE], mean = kept[MEAN], low = kept[LOW], r = kept[R];
        vreal sum_w = {0}, sum_wx = {0};
        // y[d] = xh * g[d] + b[d]
        ROW_EACH(d, D) {
            const vreal xh = (row_get(x, d, D, 0) * scale - mean - low) * r;
            const vreal e = row_get(dy, d, D, 0);
            const vreal w = vec_cut(e, row_get(g, d, D, 0));
            sum_w += w;
            sum_wx += vec_cut(w, xh);
            if (dg) row_add(dg, d, D, vec_cut(e, xh));
            if (db) row_add(db, d, D, e);
        }
        if (!DX) continue;
        // xh = (x[d] - mean) * r
        const vreal mean_w = vec_set(vec_sum(sum_w) / (real)D),
                    mean_wx = vec_set(vec_sum(sum_wx) / (real)D), back = vec_set(r * scale);
        real *dx = DX + n * (size_t)D;
        ROW_EACH(d, D) {
            const vreal w = vec_cut(row_get(dy, d, D, 0), row_get(g, d, D, 0));
            const vreal xh = (row_get(x, d, D, 0) * scale - mean - low) * r;
            row_add(dx, d, D, vec_cut(w - mean_w - vec_cut(mean_wx, xh), back));
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

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    ag_node *x = ag_sample_x(g, z), *gain = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, z->D));
    return ag_layer_norm(x, gain, ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, z->D)), 1e-5);
}

static const char *arguments(const ag_node *node) {
    return ag_text(node->graph, "\"eps\":%.17g", ((const attr *)node->attr)->eps);
}

const ag_op ag_op_layer_norm = {
    .name = "layer_norm",
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "layer_norm(x[0], x[1], x[2], eps)",
};

ag_node *ag_layer_norm(ag_node *x, ag_node *gain, ag_node *bias, double eps) {
    return ag_apply(&ag_op_layer_norm, AG_IN(x, gain, bias), &(attr){eps}, sizeof(attr));
}
