/* mlp.c - position-wise feed-forward: down(act(up(x)))        x: [..,D] -> [..,D]
 * Gated ("SwiGLU"): down(silu(gate(x)) * up(x)). Source: Shazeer, "GLU Variants Improve
 * Transformer", 2020. */
#include "autograd/sample.h"
#include "layers/affine.h"

static ag_node *hidden(ag_node *x, const char *name, int F, nn_activation act,
                       const nn_init *init) {
    ag_graph *g = x->graph;
    ag_node *up = nn_linear(x, ag_text(g, "%s.up", name), F, init);
    switch (act) {
        case NN_ACT_RELU: return ag_relu(up);
        case NN_ACT_GELU: return ag_gelu(up, AG_GELU_ERF);
        case NN_ACT_GELU_TANH: return ag_gelu(up, AG_GELU_TANH);
        case NN_ACT_SILU_GATED:
            return ag_mul(ag_silu(nn_linear(x, ag_text(g, "%s.gate", name), F, init)), up);
    }
    return up;
}

ag_node *nn_mlp(ag_node *x, const char *name, int F, nn_activation act, const nn_init *init) {
    if (!x || !name || !init) return nn_missing_of(x, "mlp");
    ag_node *h = ag_name(hidden(x, name, F, act, init), "%s.hidden", name);
    return nn_linear(h, ag_text(x->graph, "%s.down", name), tensor_width(x->val.shape), init);
}

ag_node *nn_sample_mlp(ag_graph *g, int i) {
    static const nn_activation act[] = {NN_ACT_GELU, NN_ACT_GELU_TANH, NN_ACT_SILU_GATED};
    if (i >= 3) return NULL;
    nn_init init = {.gain = 1, .bias = i == 0};
    return nn_mlp(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 4)), "mlp", 6, act[i], &init);
}
