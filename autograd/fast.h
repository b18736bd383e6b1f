/* fast.h - fast forms: what the engine may run in place of an op's plain loops; internal to autograd/.
 *
 * ops/NAME.c holds the formula and its plain loops, fast/NAME.c the same in vectors, bands and shared
 * memory. A line of fast.def says that one stands in for the other; graphs that are plain
 * (ag_plain), and builds without fast/ (make PLAIN=1), do without. A test holds the two together. */
#pragma once

#include "autograd/attr.h"
#include "autograd/op.h"

typedef struct ag_by_rows ag_by_rows;

typedef struct {
    const ag_op *op;             // whose loops it stands in for
    void (*forward)(ag_node *);  // NULL: the op's own
    void (*backward)(ag_node *);
    size_t (*save)(
        const ag_node *);  // reals it keeps for backward; NULL: as many as the plain loops
    const ag_by_rows
        *rows;       // how it works on some rows at a time; NULL: it cannot, or is elementwise
    unsigned facts;  // AG_IN_PLACE ..: what is true of this form beside what the op states
} ag_fast;

/* The form of an op in that graph; where it has none, or the graph is plain, one that says nothing. */
const ag_fast *ag_fast_of(const ag_graph *g, const ag_op *op);

#define AG_FAST(name) extern const ag_fast ag_fast_##name;
#include "autograd/fast.def"
#undef AG_FAST

/* ---- working by rows ----
 *
 * Attention's scores and weights are planes of T x T numbers. At T = 4096 one of them is 64 MiB, far
 * beyond every cache, and each op on the way would walk through all of it. So an op can say that it
 * works on a *band*, a few rows of one plane at a time. The engine then runs a whole chain of such
 * ops band by band, in memory that stays in the cache, and need not store the planes (ag_stream).
 *
 * An op says so by an ag_by_rows in its fast form. Its functions ask for the rows' memory and never
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
    int keeps;  // reals of each row that forward leaves for forward again: ag_kept_rows()
};

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
