/* affine.h - what linear layers and attention's projections share; internal to layers/. */
#ifndef LAYERS_AFFINE_H
#define LAYERS_AFFINE_H

#include "layers/nn.h"

/* y = x W + b, W [I,O] and b [O] under the given names; no b unless init->bias. */
ag_node *nn_affine(ag_node *x, const char *weight, const char *bias, int O, const nn_init *init);

#endif
