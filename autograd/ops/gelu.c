/* gelu.c - y = x Phi(x), Phi the normal distribution function; two forms that differ by up to 5e-4.
 *   erf:   Phi(x) = (1 + erf(x / sqrt 2)) / 2                      dy/dx = Phi(x) + x phi(x)
 *   tanh:  Phi(x) ~ s = (1 + tanh u) / 2, u = sqrt(2/pi) (x + c x^3)   dy/dx = s + 2 x s (1 - s) u'
 * Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, sections 1 and 2. */
#include "autograd/unary.h"
#include "tensor/gate.h"
#include "tensor/normal.h"

typedef struct {
    ag_gelu_form form;
} attr;

static bool is_erf(const ag_node *node) { return ((const attr *)node->attr)->form == AG_GELU_ERF; }

static void forward(ag_node *node) {
    if (is_erf(node))
        AG_VECTORS(node, y = vec_gelu(x))
    else
        AG_VECTORS(node, y = vec_gelu_tanh(x))
}

static void backward(ag_node *node) {
    if (is_erf(node))
        AG_VECTORS_BACK(node, slope = vec_gelu_slope(x))
    else
        AG_VECTORS_BACK(node, slope = vec_gelu_tanh_slope(x))
}

static ag_node *sample(ag_graph *g, int i) {
    tensor_shape s;
    if (!ag_sample_shape(i / 2, &s)) return NULL;
    return ag_gelu(ag_sample(g, AG_SAMPLE_NORMAL, s), i % 2 ? AG_GELU_TANH : AG_GELU_ERF);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    return ag_gelu(ag_sample_x(g, z), AG_GELU_ERF);
}

static const char *arguments(const ag_node *node) {
    const ag_gelu_form form = ((const attr *)node->attr)->form;
    return form == AG_GELU_TANH ? "\"form\":\"tanh\"" : "\"form\":\"none\"";
}

const ag_op ag_op_gelu = {
    .name = "gelu",
    .facts = AG_ELEMENTWISE | AG_IN_PLACE | AG_NO_Y,
    .shape = ag_same_shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "F.gelu(x[0], approximate=form)",
};

ag_node *ag_gelu(ag_node *x, ag_gelu_form form) {
    return ag_apply(&ag_op_gelu, AG_IN(x), &(attr){form}, sizeof(attr));
}
