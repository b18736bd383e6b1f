/* layer_norm.c - y = gain xh + bias, xh = (x - mean) r, r = 1 / sqrt(var + eps), over the last
 * dimension.
 *   w = dy gain;  dx = r (w - mean(w) - xh mean(w xh));  dgain = sum of dy xh;  dbias = sum of dy
 * Source: Ba, Kiros and Hinton, "Layer Normalization", 2016, equations 3 and 4. */
#include "autograd/op.h"

static double eps_of(const ag_node *node) { return *(const double *)node->attr; }

static bool shape(ag_node *node) {
    tensor_shape x = node->in[0]->val.shape, g = node->in[1]->val.shape, b = node->in[2]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar has no width");
    if (g.rank != 1 || b.rank != 1 || g.dim[0] != tensor_width(x) || b.dim[0] != tensor_width(x))
        return ag_fail(node, "gain and bias need width %d", tensor_width(x));
    const double eps = eps_of(node);
    if (!(eps >= 0 && eps <= FLT_MAX)) return ag_fail(node, "eps %g is no number from 0 on", eps);
    node->val.shape = x;
    node->n_save = 2 * tensor_rows(x);  // of each: mean, r
    return true;
}

static void forward(ag_node *node) {
    const int D = tensor_width(node->val.shape);
    const real *x = node->in[0]->val.x, *gain = node->in[1]->val.x, *bias = node->in[2]->val.x;
    real *y = node->val.x, *kept = node->save;
    for (size_t n = tensor_rows(node->val.shape); n > 0; n--, x += D, y += D) {
        double mean = 0, var = 0;
        for (int d = 0; d < D; d++) mean += (double)x[d] / D;
        for (int d = 0; d < D; d++) var += ((double)x[d] - mean) * ((double)x[d] - mean) / D;
        const double r = 1 / sqrt(var + eps_of(node));
        for (int d = 0; d < D; d++) y[d] = gain[d] * (real)(((double)x[d] - mean) * r) + bias[d];
        *kept++ = (real)mean;
        *kept++ = (real)r;
    }
}

static void backward(ag_node *node) {
    const int D = tensor_width(node->val.shape);
    const real *x = node->in[0]->val.x, *gain = node->in[1]->val.x, *dy = node->grad;
    const real *kept = node->save;
    real *dx = ag_grad(node->in[0]), *dgain = ag_grad(node->in[1]), *dbias = ag_grad(node->in[2]);
    for (size_t at = 0; at < node->val.n; at += (size_t)D, x += D, dy += D) {
        const real mean = *kept++, r = *kept++;
        real mean_w = 0, mean_wx = 0;
        for (int d = 0; d < D; d++) {
            const real xh = (x[d] - mean) * r, w = ag_cut(dy[d], gain[d]);
            mean_w += w / (real)D;
            mean_wx += ag_cut(w, xh) / (real)D;
            // y[d] = gain[d] xh + bias[d]
            if (dgain) dgain[d] += ag_cut(dy[d], xh);
            if (dbias) dbias[d] += dy[d];
        }
        for (int d = 0; dx && d < D; d++) {
            const real xh = (x[d] - mean) * r, w = ag_cut(dy[d], gain[d]);
            // xh = (x[d] - mean) r, and mean and r are made of every x
            dx[at + (size_t)d] += ag_cut(w - mean_w - ag_cut(mean_wx, xh), r);
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
    return ag_text(node->graph, "\"eps\":%.17g", eps_of(node));
}

const ag_op ag_op_layer_norm = {
    .name = "layer_norm",
    .facts = AG_NO_Y | AG_LINEAR_IN(1) | AG_LINEAR_IN(2),
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "layer_norm(x[0], x[1], x[2], eps)",
};

ag_node *ag_layer_norm(ag_node *x, ag_node *gain, ag_node *bias, double eps) {
    return ag_apply(&ag_op_layer_norm, AG_IN(x, gain, bias), &eps, sizeof eps);
}
