/* builder.h - a random graph under construction.
 *
 * It is made of the ops' own samples: one after the other is recorded into the same graph, and where a
 * sample asks for a leaf it may get a node that is there already. So shared inputs, diamonds, tied
 * parameters and unused nodes come by themselves, and a new op takes part without a line here.
 * Every choice is drawn from one PCG stream keyed by (seed, number of the graph): a graph that was
 * found to be wrong can be made again alone. */
#ifndef TESTS_REFEREE_BUILDER_H
#define TESTS_REFEREE_BUILDER_H

#include "autograd/op.h"
#include "tensor/rng.h"

typedef struct {
    ag_graph *graph;
    ag_params *params;
    rng random;
    ag_run run;
    int leaves;      // made so far, for their names
    bool has_kinks;  // the op whose sample is being recorded
    int elements;    // > 0: every leaf is new, and has so many; -1: new, and of its own shape
} builder;

int below(builder *b, int n);            // 0..n-1; 0 if n < 1
bool chance(builder *b, int k, int of);  // true k times of `of`

/* Records the i-th sample of an op on nodes of the graph. False when there is none. */
bool add_sample(builder *b, const ag_op *op, int i);

/* ---- writing, to stdout ---- */

void die(const char *why) __attribute__((noreturn));
void write_ints(const char *key, int n, const int *x);  // ,"key":[..]
void write_node(const ag_node *x);            // {"op":..}, a comma before all but the first
void write_numbers(size_t n, const real *x);  // as they stand in memory

#endif
