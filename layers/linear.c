/* linear.c - y = x w (+ b)        x: [..,I] -> [..,O] */
#include <math.h>

#include "autograd/sample.h"
#include "layers/affine.h"

ag_node *nn_affine(ag_node *x, const char *weight, const char *bias, int O, const nn_init *init) {
    if (!x) return NULL;
    ag_graph *g = x->graph;
    int I = tensor_width(x->val.shape);
    ag_init start = {.kind = init->uniform ? AG_UNIFORM : AG_NORMAL,
                     .scale = init->gain / sqrt(I > 0 ? I : 1)};
    ag_node *w = ag_param(g, weight, tensor_dims(2, I, O), start);
    ag_node *b =
        init->bias ? ag_param(g, bias, tensor_dims(1, O), (ag_init){.kind = AG_ZEROS}) : NULL;
    return ag_linear(x, w, b);
}

ag_node *nn_linear(ag_node *x, const char *name, int O, const nn_init *init) {
    if (!x || !name || !init) return nn_missing_of(x, "linear");
    ag_graph *g = x->graph;
    return ag_name(nn_affine(x, ag_text(g, "%s.w", name), ag_text(g, "%s.b", name), O, init), "%s",
                   name);
}

ag_node *nn_sample_linear(ag_graph *g, int i) {
    if (i >= 2) return NULL;
    nn_init init = {.uniform = i == 1, .gain = 1, .bias = i == 1};
    return nn_linear(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 5)), "linear", 4, &init);
}
