/* weigh.h - what softmax and softmax_one are: rows of scores to rows of weights, one constant apart;
 * internal to autograd/. */
#ifndef AUTOGRAD_WEIGH_H
#define AUTOGRAD_WEIGH_H

#include "autograd/op.h"

/* Their attr. `nothing` is the score of a place that holds nothing, 0, or -infinity if there is no such
 * place. */
typedef struct {
    ag_mask mask;
    real nothing;
} ag_weights;

bool ag_weigh_shape(ag_node *node);
extern const ag_by_rows ag_weigh_by_rows;
ag_node *ag_weigh_sample(ag_graph *g, ag_node *(*op)(ag_node *, ag_mask), int i);
const char *ag_weigh_arguments(const ag_node *node);

#endif
