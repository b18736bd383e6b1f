/* affine.h - what linear layers and attention's projections share; internal to layers/. */
#pragma once

#include "layers/nn.h"

/* y = x W + b, W [I,O] and b [O] under the given names; no b unless init->bias. */
ag_node *nn_affine(ag_node *x, const char *weight, const char *bias, int O, const nn_init *init);

/* Of a layer whose input, name or configuration is NULL: an error where there is a graph. */
static inline ag_node *nn_missing(ag_graph *g, const char *layer) {
    return g ? ag_fail_graph(g, "%s: its input, name or configuration is NULL", layer) : NULL;
}
static inline ag_node *nn_missing_of(const ag_node *x, const char *layer) {
    return x ? nn_missing(x->graph, layer) : NULL;
}
