/* catalogue.c - layers.def as a table, and the blocks that can be chosen by name. */
#include "layers/nn.h"

const nn_layer nn_layers[] = {
#define NN_LAYER(name, arguments, shapes, formula) {#name, shapes, formula, nn_sample_##name},
#include "layers/layers.def"
#undef NN_LAYER
    {"model", "ids, targets -> scalar", "cross-entropy of unembed(blocks(embed))", nn_sample_model},
    {NULL, NULL, NULL, NULL}};

static double of_keys_and_values(const nn_attention_config *c, int T) {
    return (double)T * (c->latent ? c->latent : c->kv_heads * (c->d_k + c->d_v));
}
static double of_sums(const nn_attention_config *c, int T) {
    return (void)T, (double)c->kv_heads * c->d_k * (c->d_v + 1);
}
static double of_recurrence(const nn_attention_config *c, int T) {
    return (void)T, (double)c->kv_heads * c->d_k * c->d_v;
}

const nn_block_kind nn_block_kinds[] = {
    {"transformer", nn_block, of_keys_and_values},    {"linear", nn_linear_block, of_sums},
    {"positive-sum", nn_positive_sum, of_recurrence}, {"signed-sum", nn_signed_sum, of_recurrence},
    {"recurrent", nn_recurrent_block, of_recurrence}, {NULL, NULL, NULL}};
