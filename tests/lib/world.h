/* world.h - a small Transformer to try the engine on, over an allocator that counts. */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

#include "autograd/op.h"
#include "tests/lib/check.h"

enum { B = 2, T = 5, D = 8, H = 2, F = 12, V = 7, N = B * T };

typedef struct {
    int words[N], seats[N], targets[N];
} batch;
extern const batch SOME_BATCH;

/* The loss of one block. */
ag_node *record(ag_graph *g, const batch *b);

/* A parameter [in,out] of normal numbers; one [n]. */
ag_node *weight(ag_graph *g, const char *name, int in, int out);
ag_node *vector(ag_graph *g, const char *name, int n, ag_init_kind kind);

/* An input that learns, holding start, start + 1, ... */
ag_node *counting(ag_graph *g, const char *name, tensor_shape shape, double start);

/* Parameters and a graph. */
typedef struct {
    check_allocator memory;
    ag_params *params;
    ag_graph *g;
} world;
void open_world(world *w);
void close_world(world *w);  // nothing may be left

void no_error(const ag_graph *g);
void error_says(const ag_graph *g, const char *part);

#endif
