/* gelu.c - y = x Phi(x), Phi the normal distribution function; two forms that differ by up to 5e-4.
 *   erf:   Phi(x) = (1 + erf(x / sqrt 2)) / 2                      dy/dx = Phi(x) + x phi(x)
 *   tanh:  Phi(x) ~ (1 + tanh u) / 2 = s, u = sqrt(2/pi) (x + c x^3)   dy/dx = s + 2 x s (1 - s) u'
 * s is computed as 1 / (1 + e^-2u), the same number without cancellation and several times faster.
 * Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, sections 1 and 2. */
#include "autograd/unary.h"

typedef struct {
    ag_gelu_form form;
} attr;

static const real ROOT_2_PI = (real)0.79788456080286536, CUBIC = (real)0.044715;

VEC_INLINE vreal tanh_phi(vreal x) { return vec_sigmoid(2 * ROOT_2_PI * (x + CUBIC * x * x * x)); }

static void forward(ag_node *node) {
    vreal phi;
    if (((const attr *)node->attr)->form == AG_GELU_ERF)
        AG_VECTORS(node, y = x * vec_normal(x, &phi))
    else
        AG_VECTORS(node, y = x * tanh_phi(x))
}

static void backward(ag_node *node) {
    if (((const attr *)node->attr)->form == AG_GELU_ERF)
        AG_VECTORS_BACK(node, {
            // y = x Phi(x)
            vreal phi;
            const vreal Phi = vec_normal(x, &phi);
            slope = Phi + x * phi;
        })
    else
        AG_VECTORS_BACK(node, {
            // y = x s
            const vreal s = tanh_phi(x), du = ROOT_2_PI * (1 + 3 * CUBIC * x * x);
            slope = s + 2 * x * s * (1 - s) * du;
        })
}

static ag_node *sample(ag_graph *g, int i) {
    tensor_shape s;
    if (!ag_sample_shape(i / 2, &s)) return NULL;
    return ag_gelu(ag_sample(g, AG_SAMPLE_NORMAL, s), i % 2 ? AG_GELU_TANH : AG_GELU_ERF);
}

const ag_op ag_op_gelu = {"gelu", false, ag_same_shape, forward, backward, sample, &ag_elementwise};

ag_node *ag_gelu(ag_node *x, ag_gelu_form form) {
    return ag_apply(&ag_op_gelu, AG_IN(x), &(attr){form}, sizeof(attr));
}
