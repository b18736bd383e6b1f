/* reduce.h - what sum, mean and max share: which axes go, the shape that remains, and sums; internal to
 * autograd/. */
#pragma once

#include "autograd/broadcast.h"

typedef struct {
    int n_axes;  // 0: all of them
    int axes[TENSOR_MAXRANK];
} ag_axes;

/* Axes as a caller gave them (negative ones count from the end); false, with an error, on too many
 * or NULL. */
bool ag_axes_set(ag_graph *g, const char *op, int n_axes, const int *axes, ag_axes *out);

/* The shape rule: reduced axes disappear. attr is an ag_axes. */
bool ag_reduce_shape(ag_node *node);

/* How many elements of the input make one of the output. */
size_t ag_reduce_count(const ag_node *node);

/* The input's shape with every reduced axis 1: what broadcasts against the input. */
tensor_shape ag_reduce_kept(const ag_node *node);

/* y = the sum of x over the axes that go, in order. */
void ag_reduce_sum(ag_node *node);

/* Their arguments: "axes":[0,-1]. */
const char *ag_reduce_arguments(const ag_node *node);

/* Their samples: all shapes over all axes (`empty`: those without elements too), then some axes of
 * a [2,3,5] and of a [0,4]. */
ag_node *ag_sample_reduced(ag_graph *g, ag_node *(*op)(ag_node *, int, const int *), int i,
                           bool empty);
