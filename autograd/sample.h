/* sample.h - leaves for the examples on which ops and layers are tested automatically. */
#pragma once

#include "autograd/ag.h"

TENSOR_C_BEGIN

/* A leaf that wants a gradient, filled from the graph's sample stream: standard normal; away from
 * 0 by 0.05 (for kinks); in [0.5, 1.5] (for roots and logarithms). */
typedef enum { AG_SAMPLE_NORMAL, AG_SAMPLE_NO_KINK, AG_SAMPLE_POSITIVE } ag_sample_kind;
ag_node *ag_sample(ag_graph *g, ag_sample_kind kind, tensor_shape shape);

/* The i-th of the shapes on which every elementwise op is tried: scalar, short, odd, empty. False
 * after the last. */
bool ag_sample_shape(int i, tensor_shape *shape);

/* The i-th example of such an op: on one leaf of that shape. */
ag_node *ag_sample_unary(ag_graph *g, ag_node *(*op)(ag_node *), int i, ag_sample_kind kind);

/* The same of an op on rows of which a mask hides some: every kind of mask, with lengths too. */
ag_node *ag_sample_masked(ag_graph *g, ag_node *(*op)(ag_node *, ag_mask), int i);

/* A leaf [B,T,D] of positive numbers: what ops are timed on. */
ag_node *ag_sample_x(ag_graph *g, const ag_sizes *z);

/* Records the op once at these sizes: as its `timed` does; else, if it has no arguments and a sample's
 * inputs are all as large as the result, on [B,T,D]; else its largest sample. Its node, NULL if there
 * is none. */
ag_node *ag_sample_timed(ag_graph *g, const ag_op *op, const ag_sizes *z);

/* Lengths of B batch rows of S keys: S - 2, S, 0 ... Owned by the graph. */
const int *ag_sample_lengths(ag_graph *g, int B, int S);

/* Places of n rows of each of B examples, of `of`; the last example has fewer rows. Owned by the graph. */
ag_places ag_sample_places(ag_graph *g, int B, int n, int of);

/* n ids in 0..bound-1, duplicates included; `absent`: some are -1. Owned by the graph. */
const int *ag_sample_ids(ag_graph *g, int n, int bound, bool absent);

TENSOR_C_END
