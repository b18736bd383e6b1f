/* past.h - where attention keeps keys and values; internal to layers/. */
#pragma once

#include "layers/nn.h"

/* x [B,n,W], at positions first .. first+n-1, behind what is kept of those before it: [B,first+n,W]; and
 * keeps x. p NULL: x itself. */
ag_node *nn_past_join(nn_past *p, ag_node *x, const char *name, int first);
