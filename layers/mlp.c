/* mlp.c - position-wise feed-forward: down(act(up(x)))        x: [..,D] -> [..,D] */
#include "autograd/sample.h"
#include "layers/nn.h"

static ag_node *activate(ag_node *x, nn_activation act) {
    switch (act) {
        case NN_ACT_RELU: return ag_relu(x);
        case NN_ACT_GELU: return ag_gelu(x, AG_GELU_ERF);
        case NN_ACT_GELU_TANH: return ag_gelu(x, AG_GELU_TANH);
    }
    return x;
}

ag_node *nn_mlp(ag_node *x, const char *name, int F, nn_activation act, const nn_init *init) {
    ag_graph *g = x->graph;
    ag_node *hidden = nn_linear(x, ag_text(g, "%s.up", name), F, init);
    hidden = ag_name(activate(hidden, act), "%s.hidden", name);
    return nn_linear(hidden, ag_text(g, "%s.down", name), tensor_width(x->val.shape), init);
}

ag_node *nn_sample_mlp(ag_graph *g, int i) {
    static const nn_activation act[] = {NN_ACT_GELU, NN_ACT_GELU_TANH};
    if (i >= 2) return NULL;
    nn_init init = {.gain = 1, .bias = i == 0};
    return nn_mlp(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 4)), "mlp", 6, act[i], &init);
}
