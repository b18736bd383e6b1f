/* ag.h - reverse-mode automatic differentiation on a recorded graph: the public header of
 * autograd/.
 *
 * A model is a function that records a graph. An op runs as it is recorded, so its value can be
 * printed on the next line. The list of nodes is then in topological order: ag_forward() walks it
 * forwards (replay), ag_backward() backwards. Nothing is allocated after the first backward pass.
 *
 * Ownership: nodes and values belong to the graph, parameters to the ag_params; both free
 *            everything at once.
 * Errors:    the first error of a graph becomes one sentence, ag_error(). The graph is then inert:
 *            constructors return an inert node (never NULL), replay and backward do nothing.
 *            Callers ask once, after recording or a step.
 * NULL:      for an input, a name or an array is such an error, unless said otherwise. Where there is no
 *            graph (memory was out for it) ag_error(NULL) says so: of a graph, a node or parameters
 *            that are NULL constructors return NULL, and everything else returns false, 0 or NULL, or
 *            does nothing. A printf-style format must be given.
 * Threads:   a graph belongs to one thread. Several graphs may read one frozen ag_params. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/arena.h"
#include "tensor/shape.h"

TENSOR_C_BEGIN

typedef struct ag_graph ag_graph;
typedef struct ag_params ag_params;
typedef struct ag_param_entry ag_param_entry;
typedef struct ag_node ag_node;
typedef struct ag_op ag_op;
typedef struct ag_hook_entry ag_hook_entry;
typedef struct ag_sizes ag_sizes;

struct ag_node {
    const ag_op *op;  // NULL: a leaf (input or parameter)
    ag_graph *graph;
    const char *name;  // "layer0.attn.weights": what hooks, plots and errors call it
    int index;         // its place in the recording
    int n_in;
    ag_node **in;
    tensor val;        // val.x NULL: it is not stored (ag_stream)
    real *grad;        // d loss / d val after ag_backward(); NULL where nobody wants it
    bool wants_grad;   // a leaf that learns, or something computed from one
    bool has_grad;     // something was added to grad in this backward pass
    const void *attr;  // the op's constants (heads, scale, eps ...), a copy owned by the graph
    real *save;        // n_save reals which forward keeps for backward
    size_t n_save;
    ag_param_entry *param;  // a parameter's leaf: its entry
};

/* What an op states of itself. The engine places memory by it; one that is left out costs memory, a
 * false one is found by the tests (tests/autograd/test_over.c).
 *
 *     AG_KINKS        its derivative jumps somewhere (relu, max)
 *     AG_ELEMENTWISE  y[i] depends on the inputs' elements i alone, or on those that broadcast to i
 *     AG_IN_PLACE     y may stand where an input of its size does, and the first input's gradient where
 *                     dy does: each number is read before it is overwritten. Of an op by rows (op.h):
 *                     band by band
 *     AG_NO_X         backward reads no input's value
 *     AG_NO_Y         backward does not read y
 *     AG_LINEAR       y is linear in each input while the others stay, but for numbers that do not depend
 *                     on it (a bias): slopes times values add up (why.h, tests/autograd/test_why.c)
 *     AG_LINEAR_IN(k) the same of input k alone */
enum { AG_KINKS = 1, AG_ELEMENTWISE = 2, AG_IN_PLACE = 4, AG_NO_X = 8, AG_NO_Y = 16 };
#define AG_LINEAR       0xffff0000u
#define AG_LINEAR_IN(k) (0x10000u << ((k) < 15 ? (k) : 15))

/* The whole contract of an op: whoever wants to know something of it asks here. What stands after
 * `sample` may be left out. */
struct ag_op {
    const char *name;
    unsigned facts;              // AG_KINKS, ...
    bool (*shape)(ag_node *);    // sets val.shape (and n_save), or ag_fail()s and returns false;
                                 // may set val.x and save too, which else are new memory
    void (*forward)(ag_node *);  // writes all of val (and save), in plain loops

    /* For each input that wants it: adds to ag_grad(input). NULL where shape() lets nothing pass back
     * (stop_gradient). */
    void (*backward)(ag_node *);

    /* The i-th example for the automatic tests; NULL ends the list. */
    ag_node *(*sample)(ag_graph *, int i);

    /* FLOPs of the matrix product in_0 in_1 that it is, 2 a term; NULL: its time is that of reading
     * and writing. */
    double (*flops)(const ag_node *);

    /* One call at a training step's sizes, for benchmarks; NULL: found among the samples. */
    ag_node *(*timed)(ag_graph *, const ag_sizes *);

    /* What attr holds, as members of a JSON object ("factor":0.5); NULL: nothing. */
    const char *(*arguments)(const ag_node *);

    /* The same in PyTorch: a Python expression of the inputs x[0], x[1] .., the arguments by their
     * names, and y's shape; NULL: it has no peer. */
    const char *torch;
};

/* A training step's sizes: x is [B,T,D], of H heads, over V classes. */
struct ag_sizes {
    int B, T, D, H, V;
};

/* ---- parameters: what learns, by name ---- */

typedef enum { AG_ZEROS, AG_ONES, AG_NORMAL, AG_UNIFORM, AG_UNIT_ROWS } ag_init_kind;
typedef struct {
    ag_init_kind kind;
    double scale;       // deviation (AG_NORMAL, AG_UNIFORM) or length of each row (AG_UNIT_ROWS)
    int from, columns;  // AG_NORMAL: only these columns, the others are 0; columns 0: all
} ag_init;

struct ag_param_entry {
    const char *name;
    tensor val;     // what learns; stable for the life of the ag_params
    size_t offset;  // where its gradient stands in a flat gradient buffer of ag_params_size() reals
    bool frozen;    // never updated
};

/* A new, empty list over `mem` (NULL: malloc). Initial values are drawn from streams keyed by
 * (seed, name), so adding a parameter leaves the others as they were. NULL when memory is out. */
ag_params *ag_params_new(const tensor_allocator *mem, uint64_t seed);
void ag_params_free(ag_params *p);

/* After this, asking for an unknown name is an error instead of a new parameter. */
void ag_params_close(ag_params *p);

int ag_params_count(const ag_params *p);
ag_param_entry *ag_params_at(ag_params *p, int i);               // in order of first request
ag_param_entry *ag_params_find(ag_params *p, const char *name);  // NULL if there is none

/* The reals of a flat gradient buffer, each entry padded to 64 bytes. */
size_t ag_params_size(const ag_params *p);
// Numbers that learn: frozen ones and padding not counted.
size_t ag_params_learned(const ag_params *p);

/* Freezes every parameter whose name matches, those there are and those created later; '*' in the
 * pattern stands for any characters, or none. What is recorded afterwards leaves them out of
 * backward; a graph recorded before still computes their gradients. False when memory is out. */
bool ag_params_freeze_matching(ag_params *p, const char *pattern);
bool ag_matches(const char *pattern, const char *name);

/* ---- recording ---- */

/* A new graph over parameters (which it does not own and which must outlive it). NULL when memory
 * is out. */
ag_graph *ag_graph_new(ag_params *params);
void ag_graph_free(ag_graph *g);

/* Forgets all nodes, hooks and the error; keeps the memory for the next recording. */
void ag_graph_reset(ag_graph *g);

/* A leaf of the given shape, zeroed; fill node->val.x before recording what reads it. It takes
 * part in backward only after ag_want_grad(), which must come before its first use: later it is an
 * error. */
ag_node *ag_input(ag_graph *g, const char *name, tensor_shape shape);
ag_node *ag_want_grad(ag_node *leaf);

/* Whether every leaf that is recorded from now on wants a gradient, inputs and frozen parameters too: for
 * looking (why.h). Kept over ag_graph_reset(). */
void ag_want_all(ag_graph *g, bool all);

/* The parameter of that name: created at the first request, found afterwards; asking again with
 * another shape is an error. Tying two layers is asking for the same name: one node, which
 * collects both gradients. */
ag_node *ag_param(ag_graph *g, const char *name, tensor_shape shape, ag_init init);

/* Names a node, printf-style; returns it. Inert nodes are left alone. */
ag_node *ag_name(ag_node *node, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A formatted string owned by the graph ("" when memory is out). */
const char *ag_text(ag_graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- running ---- */

/* What random ops (dropout) are a pure function of, beside their own name. A graph starts with
 * zeros, not training, and keeps what was set, over ag_graph_reset() too. */
typedef struct {
    uint64_t seed, step;
    uint64_t micro_batch;  // which micro-batch of the step's batch this graph is to run
    bool training;
} ag_run;
void ag_set_run(ag_graph *g, ag_run run);
ag_run ag_get_run(const ag_graph *g);

/* Replays every op in order, with the leaves as they are now. False if the graph has an error. */
bool ag_forward(ag_graph *g);

/* Gradients of sum(cotangent * node->val) into every node that wants one; cotangent NULL: all
 * ones; it is read first, and may be a node's gradient. Leaves accumulate over calls (twice gives
 * twice), everything else starts anew. A node whose has_grad is false got none: its gradient is
 * zero and its buffer is not to be read. */
bool ag_backward(ag_node *node, const real *cotangent);

/* Whether backward passes end at this node: it gets its gradient and passes nothing on to what it was made
 * from. The gradient that is then missing is the one that came through it. A blocked node is stored
 * from then on (ag_store). Returns it, the inert node on an error. */
ag_node *ag_block(ag_node *node, bool block);

/* Whether the gradients of all nodes can be read after ag_backward(), as at first. Without, those of
 * nodes that are no leaves share memory and are gone once used: a graph that trains is smaller and
 * faster so, by the same bits. Kept over ag_graph_reset(). */
void ag_keep_grads(ag_graph *g, bool keep);

/* From now on not every value need be stored; the bits are the same. 0, as at first: all are. Kept over
 * ag_graph_reset().
 *
 * Attention's scores and weights are planes of T x T numbers, and nothing reads them but the next op. So
 * planes of more than `rows` rows are *streamed*: mix asks softmax for some rows, softmax asks scores, and
 * they are computed, used and forgotten; backward computes them once more. Memory then grows with T, not
 * with its square. And where y = relu(x) and nobody else needs x, y is *written over* it.
 *
 * The value of such a node is not there: val.x is NULL. Look at it, and it is stored from then on:
 * ag_find(), ag_hook(), ag_store(), ag_backward() from it, another op that reads it. As long as gradients
 * are kept (ag_keep_grads) everything is stored. Leaves must stay as they are from ag_forward() to
 * ag_backward(). */
void ag_stream(ag_graph *g, int rows);

/* Makes a node stored that is streamed or written over; others it leaves alone. Returns it, the inert
 * node on an error. */
ag_node *ag_store(ag_node *node);

/* Whether nodes recorded from now on are run by the plain loops that stand in ops/, and stored, instead
 * of by the fast forms of the same ops (not so, at first). What was recorded before stays as it is. Kept
 * over ag_graph_reset(). */
void ag_plain(ag_graph *g, bool plain);
bool ag_has_fast(const ag_op *op);  // beside its plain loops

/* Runs one op, as ag_forward() and ag_backward() do: by its fast form or its plain loops. */
void ag_node_forward(ag_node *node);
void ag_node_backward(ag_node *node);

/* Copies rows t .. t+n-1 of a plane of [..,T,S] into out [n,S], the planes counted over all
 * dimensions before the last two. A streamed node computes just these and stays streamed. False if
 * the graph has an error or there are no such rows. */
bool ag_read_rows(ag_node *node, size_t plane, int t, int n, real *out);

/* Where the gradients of parameters go: a flat buffer of ag_params_size() reals owned by the
 * caller. The next backward overwrites what stands there, those after it add to it. Without one (NULL)
 * the graph uses a buffer of its own. */
void ag_grads_into(ag_graph *g, real *flat);
real *ag_grads(ag_graph *g);  // the buffer in use (NULL before the first backward)
/* A parameter's part of it; NULL where nothing was added since ag_grads_zero(): the graph does not have the
 * parameter, recorded it frozen, or what went backward does not come from it. What else stands in the
 * buffer, as between the parts, is nobody's. */
real *ag_param_grad(ag_graph *g, const ag_param_entry *p);
// Zeroes the gradients of all leaves, in whichever buffer, and the graph's own.
void ag_grads_zero(ag_graph *g);

/* The first error in words, or NULL. */
const char *ag_error(const ag_graph *g);

/* Records an error, for functions that check their arguments before there is a node to blame.
 * Returns the inert node. */
ag_node *ag_fail_graph(ag_graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- looking, and intervening ---- */

/* The node of that name, the last one if several bear it; NULL if there is none, or no memory to store
 * it (ag_stream). */
ag_node *ag_find(ag_graph *g, const char *name);
/* The same without looking: what is streamed stays so, and has no val.x (ag_stream). */
ag_node *ag_find_unseen(ag_graph *g, const char *name);
int ag_count(const ag_graph *g);
ag_node *ag_at(ag_graph *g, int i);

/* fn runs after that node's forward at every replay (not while recording) and may read or
 * overwrite node->val. What is computed afterwards, backward included, uses the value as it then
 * is; no other node's value changes. A leaf's value is its own: a parameter that a hook overwrites
 * is another one from then on. False when memory is out, or for an inert node. */
typedef void ag_hook_fn(ag_node *node, void *ctx);
bool ag_hook(ag_node *node, ag_hook_fn *fn, void *ctx);

/* Removes the first hook of that fn and ctx, if there is one. A running hook may remove itself,
 * and others. */
void ag_unhook(ag_node *node, ag_hook_fn *fn, void *ctx);

/* ---- what ops are made of ---- */

/* Where rows stand that were taken out of a longer example: row r of example b is its place
 * at[b * n + r], one of 0 .. of - 1, ascending in r. The array is the caller's, and read when an op runs.
 * {0}: nothing was taken out, row r stands at r. */
typedef struct {
    const int *at;
    int n, of;
} ag_places;

/* Who sees whom: the query in row r stands at position t of the keys, first + r or its place, and sees key
 * s iff s < limit(t) and not (no_self and s == t), where limit(t) is the least of S, memory (if not 0),
 * t + 1 (if causal), and the batch row's length (if there are lengths: what stands behind it is padding).
 * Everything masked is never read. */
typedef struct {
    bool causal;
    bool no_self;
    int first;   // the position of the first query
    int memory;  // 0: no limit; else only the first `memory` positions can be seen; below 0: none
    const int *length;  // [B] of the keys, as they are when the op runs; NULL: all have S
    ag_places places;   // of the queries
} ag_mask;

/* The mask of batch row b alone. */
static inline ag_mask ag_mask_row(ag_mask m, int b) {
    if (m.places.at) m.places.at += (ptrdiff_t)b * m.places.n;
    const int n = m.length ? m.length[b] : 0;
    if (m.length && (m.memory == 0 || n < m.memory)) m.memory = n > 0 ? n : -1;
    m.length = NULL;
    return m;
}

/* The position of the query in row r, and limit() of it; of one batch row's mask. */
static inline int ag_mask_position(ag_mask m, int r) {
    return m.places.at ? m.places.at[r] : m.first + r;
}
static inline int ag_mask_limit(ag_mask m, int r, int S) {
    int limit = m.memory == 0 || m.memory > S ? S : m.memory > 0 ? m.memory : 0;
    if (!m.causal) return limit;
    const int t = ag_mask_position(m, r);
    return t + 1 < limit ? t + 1 : limit;
}

typedef enum { AG_GELU_ERF, AG_GELU_TANH } ag_gelu_form;

enum { AG_EMBED_MAX = 16 };  // tables of one embedding

/* Rows scored by a cross-entropy node's last forward. */
int ag_cross_entropy_scored(const ag_node *node);

/* The catalogue: one prototype and one descriptor for each line of ops.def. */
#define AG_OP(name, arguments, shapes, formula) \
    ag_node *ag_##name arguments;               \
    extern const ag_op ag_op_##name;
#include "autograd/ops.def"
#undef AG_OP

/* rope and dropout of rows that were taken out: what these rows get where all are there. */
ag_node *ag_rope_at(ag_node *x, int heads, double base, ag_places places);
ag_node *ag_dropout_at(ag_node *x, double p, const char *name, ag_places places);

extern const ag_op *const ag_ops[];  // the catalogue as a table, NULL ends it

TENSOR_C_END
