/* model.c - the model that a configuration describes, from ids to loss. */
#include "autograd/sample.h"
#include "layers/affine.h"

/* The memory, passed through the encoder's blocks; m: its embedding, or NULL where there is none. */
static ag_node *encode(ag_graph *g, const nn_model_config *c, ag_node *m) {
    if (!m) return NULL;
    nn_model_config encoder = *c;
    encoder.self_attention = true;
    encoder.attention.mask = c->across;
    encoder.attention.past = NULL;
    encoder.asked = NULL;
    for (int l = 0; l < c->encoder_layers; l++)
        m = nn_block(m, NULL, ag_text(g, "encoder%d", l), &encoder);
    if (c->encoder_layers > 0 && !c->post_norm) m = nn_norm(m, "encoder.norm", c->norm);
    return m;
}

/* x times the unembedding: a table of its own, or the embedding's rows of the readout's stream,
 * transposed. */
static ag_node *unembed(ag_node *x, const nn_model_config *c, const nn_readout *readout) {
    const nn_init init = {.uniform = c->init.uniform, .gain = 1};
    if (!c->tied_unembedding)
        return nn_affine(x, ag_text(x->graph, "unembed.%s", readout->name), "", readout->classes,
                         &init);
    ag_node *table = ag_find(x->graph, ag_text(x->graph, "embed.%s", readout->name));
    if (!table) table = ag_find(x->graph, ag_text(x->graph, "memory.%s", readout->name));
    if (!table)
        return ag_fail_graph(x->graph,
                             "no embedding is called '%s', to which the unembedding could be tied",
                             readout->name);
    table = ag_slice(table, 0, 0, readout->classes);
    return ag_linear(x, ag_permute(table, 2, (int[]){1, 0}), NULL);
}

/* The readout's logits and loss at the scored rows x [n_rows,D]. */
static ag_node *read_out(ag_node *x, const nn_model_config *c, const nn_batch *batch, int r,
                         ag_node **logits) {
    const nn_readout *readout = &batch->readout[r];
    if (!readout->name) return *logits = ag_fail_graph(x->graph, "readout %d has no name", r);
    int part = tensor_width(x->val.shape) / batch->n_readouts;
    if (c->readout == NN_READOUT_LOCAL) x = ag_slice(x, 1, r * part, (r + 1) * part);
    *logits = ag_name(unembed(x, c, readout), "logits.%s", readout->name);
    ag_node *loss = ag_cross_entropy(*logits, readout->targets, readout->weight);
    if (!(c->label_smoothing > 0)) return loss;
    return ag_add(
        loss, ag_label_smoothing(*logits, readout->targets, readout->weight, c->label_smoothing));
}

nn_outputs nn_model(ag_graph *g, const nn_model_config *config, const nn_batch *batch) {
    nn_outputs out = {0};
    if (!g || !config || !batch) return out.loss = nn_missing(g, "model"), out;
    nn_model_config with_lengths = *config, *c = &with_lengths;
    c->attention.mask.length = batch->sequence.length;
    c->attention.mask.first = batch->sequence.first;
    c->across.length = batch->memory.length;
    nn_block_fn *block = c->block ? c->block : nn_block;
    ag_node *stored = NULL;
    if (batch->memory.T > 0) stored = nn_embedding(g, "memory", batch->B, &batch->memory, c);
    ag_node *memory = encode(g, c, stored);
    ag_node *embedded = nn_embedding(g, "embed", batch->B, &batch->sequence, c), *x = embedded;
    if (c->dropout > 0) x = ag_dropout(x, c->dropout, "embed");
    const bool some = batch->asked.n > 0 && block == nn_block && c->layers > 0;
    for (int l = 0; l < c->layers; l++) {
        c->asked = some && l + 1 == c->layers ? &batch->asked : NULL;
        x = block(x, memory, ag_text(g, "layer%d", l), c);
        if (!x) x = ag_fail_graph(g, "the block returned NULL instead of a node, as layer%d", l);
    }
    x = ag_gather(x, some ? batch->asked.picked : batch->rows, batch->n_rows);  // what is scored
    x = ag_name(c->post_norm ? x : nn_norm(x, "norm", c->norm), "final");
    if (c->readout == NN_READOUT_VECTOR) {
        ag_node *wanted =
            ag_gather(batch->in_memory ? stored : embedded, batch->sources, batch->n_rows);
        out.loss = ag_name(ag_squared_error(x, wanted, batch->readout[0].weight), "loss");
        return out;
    }
    for (int r = 0; r < batch->n_readouts; r++) {
        ag_node *loss = read_out(x, c, batch, r, &out.logits[r]);
        out.loss = ag_name(r == 0 ? loss : ag_add(out.loss, loss), "loss");
    }
    return out;
}

/* Decoder-only; with norms, positions and two readouts; encoder-decoder; tied, with token shift;
 * local; vectors, of the sequence and of a memory; with lengths, everybody seeing all; the same with a
 * memory. */
ag_node *nn_sample_model(ag_graph *g, int i) {
    static const int rows[] = {3, 7, 5}, stored[] = {2, 5, -1};
    if (i >= 9) return NULL;
    ag_set_run(g, (ag_run){.training = i == 1});  // for what training alone adds
    nn_batch b = {.B = 2,
                  .sequence = {.T = 4, .n_streams = 2, .stream = {"key", "first"}, .vocab = {5, 3}},
                  .n_rows = 3,
                  .rows = rows,
                  .sources = i == 6 ? stored : rows,
                  .in_memory = i == 6,
                  .n_readouts = i == 1 || i == 4 ? 2 : 1};
    b.sequence.ids[0] = ag_sample_ids(g, 8, 5, false);
    b.sequence.ids[1] = ag_sample_ids(g, 8, 3, true);
    if (i >= 7) b.sequence.length = ag_sample_lengths(g, 2, 4);
    if (i == 2 || i == 6 || i == 8) {
        b.memory = (nn_sequence){.T = 3, .n_streams = 1, .stream = {"key"}, .vocab = {4}};
        b.memory.ids[0] = ag_sample_ids(g, 6, 4, false);
        if (i == 8) b.memory.length = ag_sample_lengths(g, 2, 3);
    }
    for (int r = 0; r < b.n_readouts; r++)
        b.readout[r] = (nn_readout){r ? "second" : "first", 3, ag_sample_ids(g, 3, 3, true), NULL};
    nn_model_config c = {.layers = 1 + (i == 1),
                         .d_model = 4,
                         .d_ff = i == 1 ? 5 : 0,
                         .encoder_layers = i == 2 || i == 8,
                         .self_attention = true,
                         .attention = {2, 2, 2, 2, .mask = {.causal = i < 7}, .init = {.gain = 1}},
                         .norm = i == 1 ? NN_NORM_LAYER : NN_NORM_NONE,
                         .activation = NN_ACT_GELU,
                         .positions = i == 1 ? NN_POSITIONS_LEARNED : NN_POSITIONS_NONE,
                         .token_shift = i == 3,
                         .tied_unembedding = i == 3,
                         .embed_init = i == 5 ? NN_EMBED_UNIT : NN_EMBED_NORMAL,
                         .readout = i == 4             ? NN_READOUT_LOCAL
                                    : i == 5 || i == 6 ? NN_READOUT_VECTOR
                                                       : NN_READOUT_FULL,
                         .residual = true,
                         .label_smoothing = i == 1 ? 0.2 : 0,
                         .embed_std = 1,
                         .init = {.gain = 1}};
    return nn_model(g, &c, &b).loss;
}
