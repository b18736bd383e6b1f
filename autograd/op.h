/* op.h - what the author of an op needs beside ag.h. ops/exp.c is the shortest example,
 * ops/rms_norm.c a full one. What the engine hands to an op (node, band, graph) is never NULL, and is not
 * to be NULL where an op hands it on; ag_apply() takes inputs that are. */
#ifndef AUTOGRAD_OP_H
#define AUTOGRAD_OP_H

#include "autograd/ag.h"
#include "autograd/sample.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* ---- for arguments(): JSON, owned by the graph ---- */

const char *ag_text_ints(ag_graph *g, size_t n, const int *x);  // [1,2,3]
const char *ag_text_mask(const ag_node *node,
                         ag_mask mask);  // "mask":[causal,no_self,memory,first,lengths..]
const char *ag_text_weight(ag_graph *g, const real *weight);  // "weight":0.5, or null

/* ---- working by rows ----
 *
 * Attention's scores and weights are planes of T x T numbers. At T = 4096 one of them is 64 MiB, far
 * beyond every cache, and each op on the way would walk through all of it. So an op can say that it
 * works on a *band*, a few rows of one plane at a time. The engine then runs a whole chain of such
 * ops band by band, in memory that stays in the cache, and need not store the planes (ag_stream).
 *
 * An op says so by an ag_by_rows in its descriptor. Its functions ask for the rows' memory and never
 * know whether they are stored. Then it gives `ag_rows_forward` and `ag_rows_backward` as its forward
 * and backward, which run the same functions over all bands: stored or streamed, the same code runs
 * on the same bands in the same order, so the bits are the same. A plane of few rows is one band.
 *
 * The shape rule of such an op must not look at values: an input that is streamed has none. */

/* Rows t .. t+n-1 of a plane of [..,T,S]; of each the first `cols` numbers, behind which nobody looks
 * (a causal mask hides them). A plane's bands come in order. */
typedef struct {
    int T, S;
    size_t plane;  // counted over all dimensions before the last two
    int t, n, cols;
    bool first, last;  // of its plane, in this pass
    bool again;        // forward is run once more, by backward
    ptrdiff_t ld;      // the engine's
} ag_band;

typedef struct {
    real *x;  // row r of the band begins at x + r * ld; NULL: there is none
    ptrdiff_t ld;
} ag_strip;

struct ag_by_rows {
    void (*forward)(ag_node *, const ag_band *);   // writes the band's rows, `cols` of each
    void (*backward)(ag_node *, const ag_band *);  // adds what they contribute
    tensor_shape (*planes)(const ag_node *);  // [..,T,S] that it is cut by; NULL: its value's shape
    int (*cols)(const ag_node *,
                int t);               // how many numbers row t can see; NULL: any number will do
    size_t (*room)(const ag_node *);  // reals that it wants for itself while it goes through a
                                      // plane: ag_plane_memory(); NULL: none
    int keeps;      // reals of each row that forward leaves for forward again: ag_kept_rows()
    bool in_place;  // y may stand where its first input does, dx where dy does; and backward does
                    // not read that input
    bool reads_y;   // backward reads y
    bool whole;     // its forward and backward are functions of their own for whole tensors, by
                    // the same bits; only streamed nodes are run by rows
};

/* For elementwise ops: y[i] is a function of the inputs' elements i alone, or of those that broadcast
 * to i. Runs the op's own forward and backward, row by row. */
extern const ag_by_rows ag_elementwise;

void ag_rows_forward(ag_node *node);
void ag_rows_backward(ag_node *node);

/* The band's rows: of y or of an input that has the planes' shape; of dy; and of where d loss / d in
 * is added, as ag_grad_or_first() has it: x NULL if nobody wants it, *first: to be overwritten. All
 * other inputs are whole, and so is ag_grad() of them. */
ag_strip ag_band_of(const ag_node *node, const ag_band *b);
ag_strip ag_band_dy(const ag_node *node, const ag_band *b);
ag_strip ag_band_grad(ag_node *in, const ag_band *b, bool *first);

/* The op's own memory, the same for all bands of a plane in one pass; NULL if it asked for none. And
 * that which keeps `keeps` reals a row from forward to forward again, for the band's first row; NULL
 * where nothing will run again. */
real *ag_plane_memory(const ag_node *node);
real *ag_kept_rows(const ag_node *node, const ag_band *b);

/* How many rows a band of a plane has: all, if they are few; else so many that two bands stay in the
 * second-level cache, where a plane is wide. */
enum { AG_BAND = 64 };
static inline int ag_band_rows(int T, int S) {
    int rows = AG_BAND;
    if (T <= rows) return T;
    while (rows > 16 && S > (1 << 17) / rows) rows /= 2;
    return rows;
}

/* ---- for shape rules ---- */

/* The shape rule of an elementwise op: y is as large as the first input. */
bool ag_same_shape(ag_node *node);

/* The axis a caller means, negative ones counting from the end; -1 if there is none. */
int ag_axis(tensor_shape s, int axis);

/* The product of the dimensions after an axis. */
size_t ag_inner(tensor_shape s, int axis);

/* Ends in ag_fail() when n ("rows", "columns") is more than an int holds. */
bool ag_fits_int(ag_node *node, size_t n, const char *what);

#ifdef __cplusplus
}
#endif
#endif
