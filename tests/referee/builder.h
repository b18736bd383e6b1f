/* builder.h - a random graph under construction, and what the makers of its nodes are made of.
 *
 * Every choice is drawn from one PCG stream keyed by (seed, number of the graph): a graph that was
 * found to be wrong can be made again alone. Operands are chosen among all nodes that are there, so
 * shared inputs, diamonds, tied parameters and unused nodes come by themselves. */
#ifndef TESTS_REFEREE_BUILDER_H
#define TESTS_REFEREE_BUILDER_H

#include "autograd/ag.h"
#include "tensor/rng.h"

enum { MOST_NODES = 192, MOST_ELEMENTS = 300 };

typedef struct {
    ag_graph *graph;
    ag_params *params;
    rng random;
    bool training;
    int leaves;                    // made so far, for their names
    const char *args[MOST_NODES];  // of each node: its op's arguments as members of a JSON object
    const ag_mask *mask[MOST_NODES];  // set where the node is exactly 0 wherever this mask hides
} builder;

/* What an operand's values must be like. */
typedef enum {
    ANY,
    SMALL,     // at most 3 in absolute value: for exp
    POSITIVE,  // at least 0.04: for log, sqrt, division
    NO_KINK,   // 1e-6 away from 0, or an exact leaf: for relu
    DISTINCT   // 1e-6 away from each other, or an exact leaf (with ties): for max
} domain;

/* Makers are listed in makers.c, one line an op. */
typedef struct {
    const char *op;
    ag_node *(*unary)(ag_node *);  // one of these three
    ag_node *(*pair)(ag_node *, ag_node *);
    ag_node *(*make)(builder *b);
    domain last;  // what the last operand must be like
} maker;
extern const maker makers[];
extern const int n_makers;

/* ---- chance ---- */

int below(builder *b, int n);               // 0..n-1; 0 if n < 1
bool chance(builder *b, int k, int of);     // true k times of `of`
ag_mask random_mask(builder *b, int rank);  // none, half of the time; for a rank < 2 no triangle
const int *random_ids(builder *b, int n, int bound, bool absent);  // duplicates; some -1

/* ---- nodes ---- */

/* A node that is there, or a new leaf; the second one of nonzero size and of a rank in the range,
 * reshaped if need be. */
ag_node *pick(builder *b);
ag_node *pick_rank(builder *b, int least, int most);

/* A node of that shape: one that is there, or a new leaf. */
ag_node *operand(builder *b, tensor_shape s);

/* A new leaf: a parameter (some are frozen), an input that learns, or a constant. An exact one
 * holds multiples of 1/2: ties and zeros. */
ag_node *leaf(builder *b, tensor_shape s, bool exact);

/* x, or a node of its shape whose values lie in the domain. */
ag_node *confine(builder *b, ag_node *x, domain d);

/* A random shape of n elements. */
tensor_shape factors(builder *b, size_t n, int rank);

/* The node itself, its op's arguments noted down. */
ag_node *with(builder *b, ag_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "[1,2,3]", owned by the graph. */
const char *list_text(builder *b, int n, const int *x);

/* ---- writing, to stdout ---- */

void die(const char *why) __attribute__((noreturn));
void write_ints(const char *key, int n, const int *x);  // ,"key":[..]
void write_node(const builder *b, const ag_node *x);  // {"op":..}, a comma before all but the first
void write_numbers(size_t n, const real *x);          // as they stand in memory

#endif
