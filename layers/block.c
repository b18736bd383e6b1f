/* block.c - one Transformer layer        x: [B,T,D] -> [B,T,D]
 * Normalisation stands before each sublayer ("pre-norm"); without a residual each sublayer replaces x. */
#include "autograd/sample.h"
#include "layers/nn.h"

ag_node *nn_block(ag_node *x, const char *name, const nn_model_config *c) {
    ag_graph *g = x->graph;
    ag_node *y = nn_norm(x, ag_text(g, "%s.norm1", name), c->norm);
    y = nn_attention(y, NULL, ag_text(g, "%s.attn", name), &c->attention);
    if (c->residual) y = ag_name(ag_add(x, y), "%s.mid", name);
    if (c->d_ff == 0) return ag_name(y, "%s.out", name);
    ag_node *z = nn_norm(y, ag_text(g, "%s.norm2", name), c->norm);
    z = nn_mlp(z, ag_text(g, "%s.mlp", name), c->d_ff, c->activation, &c->init);
    if (c->residual) z = ag_add(y, z);
    return ag_name(z, "%s.out", name);
}

ag_node *nn_sample_block(ag_graph *g, int i) {
    if (i >= 3) return NULL;
    nn_model_config c = {.d_model = 4,
                         .d_ff = i == 2 ? 0 : 6,
                         .attention = {2, 2, 2, 2, {.causal = true}, {.gain = 1, .bias = i == 0}},
                         .norm = i == 0 ? NN_NORM_LAYER : NN_NORM_NONE,
                         .activation = NN_ACT_GELU,
                         .residual = i != 1,
                         .init = {.gain = 1, .bias = i == 0}};
    return nn_block(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 4)), "layer0", &c);
}
