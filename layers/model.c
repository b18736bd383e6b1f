/* model.c - the model that a configuration describes, from ids to loss. */
#include "autograd/sample.h"
#include "layers/affine.h"

nn_outputs nn_model(ag_graph *g, const nn_model_config *c, const nn_batch *batch) {
    nn_outputs out = {0};
    const nn_init unembed = {.uniform = c->init.uniform, .gain = 1};
    ag_node *x = nn_embedding(g, "embed", batch->B, &batch->sequence, c->d_model, c->positions, c->embed_std);
    for (int l = 0; l < c->layers; l++) x = nn_block(x, ag_text(g, "layer%d", l), c);
    x = ag_gather(x, batch->rows, batch->n_rows);  // logits only where something is scored
    x = ag_name(nn_norm(x, "norm", c->norm), "final");
    for (int r = 0; r < batch->n_readouts; r++) {
        const nn_readout *readout = &batch->readout[r];
        ag_node *logits = nn_affine(x, ag_text(g, "unembed.%s", readout->name), "", readout->classes, &unembed);
        out.logits[r] = ag_name(logits, "logits.%s", readout->name);
        ag_node *loss = ag_cross_entropy(out.logits[r], readout->targets, readout->weight);
        out.loss = ag_name(r == 0 ? loss : ag_add(out.loss, loss), "loss");
    }
    return out;
}

ag_node *nn_sample_model(ag_graph *g, int i) {
    static const int rows[] = {3, 7, 5};
    if (i >= 2) return NULL;
    nn_batch b = {.B = 2, .sequence = {.T = 4, .n_streams = 2, .stream = {"key", "value"}, .vocab = {5, 3}},
                  .n_rows = 3, .rows = rows, .n_readouts = 1 + i};
    b.sequence.ids[0] = ag_sample_ids(g, 8, 5, false);
    b.sequence.ids[1] = ag_sample_ids(g, 8, 3, true);
    for (int r = 0; r < b.n_readouts; r++)
        b.readout[r] = (nn_readout){r ? "second" : "first", 3, ag_sample_ids(g, 3, 3, true), NULL};
    nn_model_config c = {.layers = 1 + i, .d_model = 4, .d_ff = 5 * i,
                         .attention = {2, 2, 2, 2, {.causal = true}, {.gain = 1}},
                         .norm = i ? NN_NORM_LAYER : NN_NORM_NONE, .activation = NN_ACT_GELU,
                         .positions = i ? NN_POSITIONS_LEARNED : NN_POSITIONS_NONE,
                         .residual = true, .embed_std = 1, .init = {.gain = 1}};
    return nn_model(g, &c, &b).loss;
}
