/* catalogue.c - layers.def as a table. */
#include "layers/nn.h"

const nn_layer nn_layers[] = {
#define NN_LAYER(name, arguments, shapes, formula) {#name, shapes, formula, nn_sample_##name},
#include "layers/layers.def"
#undef NN_LAYER
    {"model", "ids, targets -> scalar", "cross-entropy of unembed(blocks(embed))", nn_sample_model},
    {NULL, NULL, NULL, NULL}};
