/* graph_internal.h - what the engine's own files share (graph, params, backward, hooks, sample,
 * gradcheck). */
#ifndef AUTOGRAD_GRAPH_INTERNAL_H
#define AUTOGRAD_GRAPH_INTERNAL_H

#include "autograd/op.h"
#include "tensor/rng.h"

typedef struct {
    ag_node **at;
    int n, room;
} ag_node_list;

typedef struct frozen_pattern {
    const char *text;
    struct frozen_pattern *next;
} frozen_pattern;

struct ag_params {
    tensor_arena *arena;
    const tensor_allocator *mem;
    ag_param_entry **at;
    int n, room;
    size_t size;
    uint64_t seed;
    bool closed;
    frozen_pattern *frozen;  // names that are not to learn
};

/* Memory for the gradient of one inner node after the other (ag_keep_grads off). */
typedef struct {
    real *x;
    size_t n;
    bool taken;
} ag_block;

struct ag_graph {
    tensor_arena *arena;
    ag_params *params;
    ag_node_list nodes, leaves;  // every node; and those that are no op's result
    ag_node inert;               // what constructors return after an error
    real nothing;                // what the inert node's value points to
    real *own_grads, *grads;  // flat gradients of the parameters: the graph's own, and those in use
    size_t own_size;          // reals of own_grads
    int nodes_with_grads;     // so many nodes have had their gradient's memory provided
    bool share_grads;         // inner nodes' gradients take turns in `blocks`
    ag_block *blocks;
    int n_blocks, block_room;
    ag_run run;  // kept over ag_graph_reset()
    bool failed;
    char error[400];
    rng samples;  // the stream of ag_sample()
    /* Where ag_sample() takes nodes from, for tests that make one graph of many samples; NULL: new
     * leaves. */
    ag_node *(*source)(ag_graph *g, ag_sample_kind kind, tensor_shape shape, void *ctx);
    void *source_ctx;
    int frozen_leaf;  // the gradient check freezes the leaf of this number; -1: none
};

struct ag_hook_entry {
    ag_hook_fn *fn;
    void *ctx;
    ag_hook_entry *next;
};

/* Appends to a list in the graph's arena; false when memory is out (the graph then says so). */
bool ag_list_push(ag_graph *g, ag_node_list *list, ag_node *node);

/* A new unnamed node without inputs, recorded; the inert one on error. */
ag_node *ag_new_node(ag_graph *g);
ag_node *ag_new_leaf(ag_graph *g, const char *name, tensor val, bool wants_grad);

void ag_run_hooks(ag_node *node);

#endif
