/* norm.c - normalisation with a learned gain, in layer norm also a bias      x: [..,D] -> [..,D] */
#include "autograd/sample.h"
#include "layers/affine.h"

ag_node *nn_norm(ag_node *x, const char *name, nn_norm_kind kind) {
    static const double eps = 1e-5;
    if (!x || kind == NN_NORM_NONE) return x;
    if (!name) return nn_missing_of(x, "norm");
    ag_graph *g = x->graph;
    tensor_shape width = tensor_dims(1, tensor_width(x->val.shape));
    ag_node *gain = ag_param(g, ag_text(g, "%s.gain", name), width, (ag_init){.kind = AG_ONES});
    if (kind == NN_NORM_RMS) return ag_name(ag_rms_norm(x, gain, eps), "%s", name);
    ag_node *bias = ag_param(g, ag_text(g, "%s.bias", name), width, (ag_init){.kind = AG_ZEROS});
    return ag_name(ag_layer_norm(x, gain, bias, eps), "%s", name);
}

ag_node *nn_sample_norm(ag_graph *g, int i) {
    if (i >= 2) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 5));
    return nn_norm(x, "norm", i ? NN_NORM_RMS : NN_NORM_LAYER);
}
