/* graph_internal.h - what the engine's own files share. Lowest first, each calls those above it alone:
 *
 *     graph    nodes, leaves, names, errors: what there is
 *     grads    where the gradients of parameters are, and how an op adds to one
 *     rows     an op that works by rows, band after band
 *     run      forward of one node, with what shares its memory
 *     chain    nodes that are computed a band at a time, and making them stored
 *     plan     where each value and each gradient lives
 *     record   an op's node: shape, plan, memory, first run; replay
 *     backward, hooks, params, sample, gradcheck, why */
#pragma once

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

/* A node, and what the engine alone knows of it. */
typedef struct {
    ag_node node;         // first: every node of a graph is the beginning of one of these
    const ag_fast *fast;  // the op's fast form; one that says nothing: none, or the graph is plain
    ag_hook_entry *hooks;
    bool blocked;  // its backward is left out (ag_block)

    /* Where its value is, if not in memory of its own (plan.c). */
    bool streamed;   // computed a few rows at a time, never stored
    ag_node *taker;  // who writes over its value, which is gone then
    ag_node *over;   // the input that it writes over itself

    /* Where its gradient is. */
    size_t grad_at;    // in the memory that is shared
    size_t unwritten;  // last rows to which nothing was written yet in this backward pass

    /* If it is run by rows (chain.c). A stored node heads a chain: the streamed ones that it asks for,
     * readers before what they read. Each of them has one reader, so that a chain is a tree. */
    bool by_rows;
    ag_node *reader;           // of a streamed node; NULL: nobody reads it yet
    ag_node *next, *previous;  // in the chain
    ag_node *last;             // of a stored node: the chain's last one, or itself
    int x, dx, room;           // its buffers among the graph's; -1: none
    real *kept;                // `keeps` numbers for each row
} ag_private;

/* Elementwise ops by rows: the op's own forward and backward, row by row. */
extern const ag_by_rows ag_elementwise;

static inline ag_private *ag_own(const ag_node *node) { return (ag_private *)node; }

/* Whether all of those facts are true of how the node's op is run. */
static inline bool ag_states(const ag_node *node, unsigned facts) {
    return ((node->op->facts | ag_own(node)->fast->facts) & facts) == facts;
}

/* How it works on some rows at a time; NULL: it cannot. */
static inline const ag_by_rows *ag_rows_of(const ag_node *node) {
    return ag_states(node, AG_ELEMENTWISE) ? &ag_elementwise : ag_own(node)->fast->rows;
}

/* Has it functions of its own for whole tensors? Then it is run by rows only where it is streamed. */
static inline bool ag_is_whole(const ag_node *node) {
    return ag_own(node)->fast->forward != ag_rows_forward;
}

struct ag_graph {
    tensor_arena *arena;
    ag_params *params;
    ag_node_list nodes, leaves;  // every node; and those that are no op's result
    ag_private inert;            // what constructors return after an error
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
    bool plain;     // nodes have no fast forms. Kept over ag_graph_reset()
    bool want_all;  // new leaves want gradients. Kept over ag_graph_reset()
    ag_run run;     // kept over ag_graph_reset()
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

/* ---- run ---- */

/* Memory for the value of a stored node, and for what it saves; then its value. False on an error. */
bool ag_make(ag_node *node);

/* Forward of a stored node; before it, of what it is written over. */
void ag_run_node(ag_node *node);

/* ---- chain ---- */

/* Puts together the chain of a stored node that is run by rows. */
void ag_link_chain(ag_node *head);

/* ---- plan ---- */

/* Decides, when the shape of a new node is known, whether it is streamed, and what becomes of its
 * streamed inputs; else in which input's memory its value may stand. */
void ag_plan_value(ag_node *node);

/* Memory for the gradients of all nodes that were recorded; none is asked for in the steady state. */
bool ag_plan_grads(ag_graph *g);

/* ---- grads ---- */

/* The flat gradient of the parameters: the graph's own, unless the caller gave one. */
bool ag_own_grads(ag_graph *g);

/* Parameters that nothing was added to: the first backward into a buffer fills all of it. */
void ag_zero_the_rest(ag_graph *g);

/* ---- rows ---- */

enum { AG_EACH_MOST = 4 };  // inputs of an elementwise op that is streamed

/* Of an op by rows: [..,T,S] that its bands are cut from. */
tensor_shape ag_planes(const ag_node *node);

/* How far the rows of a streamed band are apart: aligned, and never a power of two, which would put
 * all rows into the same sets of the cache. */
static inline ptrdiff_t ag_band_ld(int cols) { return (cols + 31) / 32 * 32 + 16; }

/* What the plan relies on, asserted in debug builds (-DQKV_DEBUG) and under the address sanitizer. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QKV_DEBUG
#endif
#endif
#if defined(QKV_DEBUG) || defined(__SANITIZE_ADDRESS__)
#include <assert.h>
#define AG_ASSERT(what) assert(what)
#else
#define AG_ASSERT(what) ((void)0)
#endif
