/* graph_internal.h - what the engine's own files share (graph, params, backward, hooks, sample,
 * gradcheck). */
#ifndef AUTOGRAD_GRAPH_INTERNAL_H
#define AUTOGRAD_GRAPH_INTERNAL_H

#include "autograd/fast.h"
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

/* Of the memory that inner nodes' gradients share (ag_keep_grads off), what one of them has. */
typedef struct {
    size_t from, n;
} ag_span;

/* Memory that the bands of one chain after the other are computed in. */
typedef struct {
    real *x;
    size_t n;
} ag_buffer;

struct ag_graph {
    tensor_arena *arena;
    ag_params *params;
    ag_node_list nodes, leaves;  // every node; and those that are no op's result
    ag_node inert;               // what constructors return after an error
    real nothing;                // what the inert node's value points to
    real *own_grads, *grads;  // flat gradients of the parameters: the graph's own, and those in use
    size_t own_size;          // reals of own_grads
    int nodes_with_grads;     // so many nodes have had their gradient's memory provided
    bool share_grads;         // inner nodes' gradients take turns in `shared`
    real *shared;
    size_t n_shared;
    ag_span *spans;  // what is taken, while it is dealt out; in order
    int n_spans, span_room;
    int stream_rows;  // planes of more rows may be streamed; 0: none. Kept over ag_graph_reset()
    ag_buffer *buffers;
    int n_buffers;
    bool plain;              // nodes have no fast forms. Kept over ag_graph_reset()
    const ag_fast *claimed;  // what a test claims of an op of its own; NULL: nothing
    ag_run run;              // kept over ag_graph_reset()
    bool failed;
    char error[400];
    rng samples;  // the stream of ag_sample()
    /* Where ag_sample() takes nodes from, for tests that make one graph of many samples; NULL: new
     * leaves. */
    ag_node *(*source)(ag_graph *g, ag_sample_kind kind, tensor_shape shape, void *ctx);
    void *source_ctx;
    int frozen_leaf;  // the gradient check freezes the leaf of this number; -1: none
};

/* Of a node that is run by rows. A stored one heads a chain: the streamed nodes that it asks for,
 * readers before what they read. Each of them has one reader, so that a chain is a tree. */
struct ag_flow {
    ag_node *reader;           // of a streamed node; NULL: nobody reads it yet
    ag_node *next, *previous;  // in the chain
    ag_node *last;             // of a stored node: the chain's last one, or itself
    int x, dx, own;            // its buffers among the graph's; -1: none
    real *kept;                // `keeps` numbers for each row
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

/* Decides, when the shape of a new node is known, whether it is streamed, and what becomes of its
 * streamed inputs. */
void ag_plan(ag_node *node);

/* Memory for the value of a stored node, and for what it saves; then its value. False on an error. */
bool ag_make(ag_node *node);

/* Lets a new node's value stand in an input's memory, if it may (ag_op.over_x). */
void ag_write_over(ag_node *node);

/* Forward of a stored node, and before it of what it is written over. */
void ag_run_node(ag_node *node);

/* Memory of its own for a node that was written over, and its value. */
void ag_take_back(ag_node *node);

enum { AG_EACH_MOST = 4 };  // inputs of an elementwise op that is streamed

/* Of an op by rows: [..,T,S] that its bands are cut from. */
tensor_shape ag_planes(const ag_node *node);

/* How far the rows of a streamed band are apart: aligned, and never a power of two, which would put
 * all rows into the same sets of the cache. */
static inline ptrdiff_t ag_band_ld(int cols) { return (cols + 31) / 32 * 32 + 16; }

#endif
