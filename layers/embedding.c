/* embedding.c - the streams of a sequence, looked up and summed        ids: [B,T] -> [B,T,D] */
#include "autograd/sample.h"
#include "layers/nn.h"

ag_node *nn_embedding(ag_graph *g, const char *name, int B, const nn_sequence *s, int D, nn_positions positions,
                      double std) {
    ag_node *table[AG_EMBED_MAX + 1];
    const int *ids[AG_EMBED_MAX + 1];
    ag_init start = {AG_NORMAL, std};
    int n = 0;
    for (; n < s->n_streams && n < AG_EMBED_MAX; n++) {
        table[n] = ag_param(g, ag_text(g, "%s.%s", name, s->stream[n]), tensor_dims(2, s->vocab[n], D), start);
        ids[n] = s->ids[n];
    }
    if (positions == NN_POSITIONS_LEARNED) {
        table[n] = ag_param(g, ag_text(g, "%s.position", name), tensor_dims(2, s->T, D), start);
        ids[n++] = NULL;
    }
    return ag_name(ag_embedding(n, table, ids, tensor_dims(2, B, s->T)), "%s", name);
}

ag_node *nn_sample_embedding(ag_graph *g, int i) {
    if (i >= 2) return NULL;
    nn_sequence s = {.T = 4, .n_streams = 2, .stream = {"key", "value"}, .vocab = {5, 3}};
    s.ids[0] = ag_sample_ids(g, 8, 5, false);
    s.ids[1] = ag_sample_ids(g, 8, 3, true);
    return nn_embedding(g, "embed", 2, &s, 3, i ? NN_POSITIONS_LEARNED : NN_POSITIONS_NONE, 0.3);
}
