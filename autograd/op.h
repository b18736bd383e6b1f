/* op.h - what the author of an op needs beside ag.h. ops/exp.c is the shortest example,
 * ops/softmax.c a full one. What the engine hands to an op (node, band, graph) is never NULL, and is not
 * to be NULL where an op hands it on; ag_apply() takes inputs that are. */
#pragma once

#include "autograd/ag.h"
#include "autograd/sample.h"

TENSOR_C_BEGIN

/* All bookkeeping, once: makes the node, copies attr, asks the op for the shape, takes the memory,
 * runs forward. Returns an inert node when the graph has, or now gets, an error. */
ag_node *ag_apply(const ag_op *op, int n_in, ag_node *const *in, const void *attr,
                  size_t attr_size);
#define AG_IN(...) \
    (int)(sizeof((ag_node *[]){__VA_ARGS__}) / sizeof(ag_node *)), (ag_node *[]) { __VA_ARGS__ }

/* The graph that an input belongs to, or NULL: for constructors that look at something before ag_apply()
 * does, which is where an input that is NULL becomes an error. */
static inline ag_graph *ag_graph_of(const ag_node *in) { return in ? in->graph : NULL; }

/* Records an error against a node: op, node and the shapes of its inputs are put before the
 * message. Returns false, so that a shape rule can end in `return ag_fail(...)`. The first error
 * stays. */
bool ag_fail(ag_node *node, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory of the graph that lives as long as the node, zeroed; NULL (and an error) when memory is
 * out. */
void *ag_take(ag_graph *g, size_t count, size_t size);

/* In backward: the buffer to which d loss / d in is added, or NULL if nobody wants it. Zeroed at
 * the first contribution of a pass, so an op only ever writes +=. */
real *ag_grad(ag_node *in);

/* The same for ops that can also overwrite: *first says that nothing was added yet and the buffer
 * is not zeroed; the op must then write all of it. */
real *ag_grad_or_first(ag_node *in, bool *first);

/* a b, but 0 where a is 0, whatever b is: in backward, a is a gradient. (Both are loaded whatever a is,
 * as a loop in vectors can.) */
static inline real ag_cut(real a, real b) {
    const real product = a * b;
    return a == 0 ? 0 : product;
}

/* ---- for arguments(): JSON, owned by the graph ---- */

const char *ag_text_ints(ag_graph *g, size_t n, const int *x);  // [1,2,3]
const char *ag_text_mask(const ag_node *node,
                         ag_mask mask);  // "mask":[causal,no_self,memory,first or places,lengths..]
const char *ag_text_places(const ag_node *node, ag_places p);  // [[..] of each example], or []
const char *ag_text_weight(ag_graph *g, const real *weight);   // "weight":0.5, or null

/* ---- for shape rules ---- */

/* The shape rule of an elementwise op: y is as large as the first input. */
bool ag_same_shape(ag_node *node);

/* The axis a caller means, negative ones counting from the end; -1 if there is none. */
int ag_axis(tensor_shape s, int axis);

/* The product of the dimensions after an axis. */
size_t ag_inner(tensor_shape s, int axis);

/* Are there places for the rows of [B,..,n,W], if there are places at all? Else it ends in ag_fail(). */
bool ag_places_fit(ag_node *node, ag_places p, tensor_shape s);

/* Where row r stands among those that it was taken out of, counted over all dimensions but the last; of a
 * tensor [B,..,n,W]. */
size_t ag_place_of(ag_places p, tensor_shape s, size_t r);

/* Ends in ag_fail() when n ("rows", "columns") is more than an int holds. */
bool ag_fits_int(ag_node *node, size_t n, const char *what);

/* ---- masks ---- */

/* Can a tensor of that shape be masked so? Else the node fails. */
bool ag_mask_fits(ag_node *node, ag_mask mask, tensor_shape s);

/* The mask of a plane of a tensor [B,..,T,S], as one without lengths. */
ag_mask ag_mask_of_plane(ag_mask mask, tensor_shape s, size_t plane);

/* The mask of one row of [B,..,T,S], counted over all of them; and whether that row sees key s. */
ag_mask ag_mask_of_row(ag_mask mask, tensor_shape s, size_t row);
static inline bool ag_sees(ag_mask row, int s, int S) {
    return s < ag_mask_limit(row, 0, S) && !(row.no_self && s == row.first);
}

TENSOR_C_END
