/* gelu.c - y = x Phi(x), Phi the normal distribution function; two forms that differ by up to 5e-4.
 *   erf:   Phi(x) = (1 + erf(x / sqrt 2)) / 2                      dy/dx = Phi(x) + x phi(x)
 *   tanh:  Phi(x) ~ (1 + tanh u) / 2, u = sqrt(2/pi) (x + c x^3)   dy/dx = (1 + tanh u)/2 + x (1 - tanh^2 u) u'/2
 * Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, sections 1 and 2. */
#include "autograd/op.h"

typedef struct {
    ag_gelu_form form;
} attr;

static const real ROOT_HALF = (real)0.70710678118654752, ROOT_2_PI = (real)0.79788456080286536,
                  INV_ROOT_2PI = (real)0.39894228040143268, CUBIC = (real)0.044715;

static bool shape(ag_node *node) {
    node->val.shape = node->in[0]->val.shape;
    return true;
}

static void forward(ag_node *node) {
    const real *x = node->in[0]->val.x;
    real *y = node->val.x;
    if (((const attr *)node->attr)->form == AG_GELU_ERF)
        for (size_t i = 0; i < node->val.n; i++) y[i] = x[i] * (1 + real_erf(x[i] * ROOT_HALF)) / 2;
    else
        for (size_t i = 0; i < node->val.n; i++) {
            real u = ROOT_2_PI * (x[i] + CUBIC * x[i] * x[i] * x[i]);
            y[i] = x[i] * (1 + real_tanh(u)) / 2;
        }
}

static void backward(ag_node *node) {
    const real *x = node->in[0]->val.x, *dy = node->grad;
    real *dx = ag_grad(node->in[0]);
    if (((const attr *)node->attr)->form == AG_GELU_ERF)
        for (size_t i = 0; i < node->val.n; i++) {
            // y = x Phi(x)
            real phi = INV_ROOT_2PI * real_exp(-x[i] * x[i] / 2);
            dx[i] += dy[i] * ((1 + real_erf(x[i] * ROOT_HALF)) / 2 + x[i] * phi);
        }
    else
        for (size_t i = 0; i < node->val.n; i++) {
            // y = x (1 + tanh u) / 2
            real t = real_tanh(ROOT_2_PI * (x[i] + CUBIC * x[i] * x[i] * x[i]));
            real du = ROOT_2_PI * (1 + 3 * CUBIC * x[i] * x[i]);
            dx[i] += dy[i] * ((1 + t) / 2 + x[i] * (1 - t * t) * du / 2);
        }
}

static ag_node *sample(ag_graph *g, int i) {
    tensor_shape s;
    if (!ag_sample_shape(i / 2, &s)) return NULL;
    return ag_gelu(ag_sample(g, AG_SAMPLE_NORMAL, s), i % 2 ? AG_GELU_TANH : AG_GELU_ERF);
}

const ag_op ag_op_gelu = {"gelu", false, shape, forward, backward, sample};

ag_node *ag_gelu(ag_node *x, ag_gelu_form form) {
    return ag_apply(&ag_op_gelu, AG_IN(x), &(attr){form}, sizeof(attr));
}
