/* gemm_internal.h - what the files of the matrix product share: a tile of C in registers, and what is
 * fetched while it is computed; internal to tensor/.
 *
 * C is cut into tiles of rows x (vecs vectors), each held in registers while k runs. One step of k
 * loads a row of B and an element of A for each row, and multiplies rows x vecs vectors: the fewer
 * loads for a multiplication the better. Of 32 registers 6 x 4 vectors make 10 loads for 24
 * multiplications, 12 to 18 % faster than 8 x 2 with 10 for 16. */
#pragma once

#include <stdbool.h>

#include "tensor/gemm.h"
#include "tensor/vec.h"

#if VEC_BYTES == 64
enum { GEMM_VECS = 4, GEMM_ROWS = 14 };  // of a tile at most
#elif VEC_BYTES == 32
enum { GEMM_VECS = 2, GEMM_ROWS = 6 };
#else
enum { GEMM_VECS = 2, GEMM_ROWS = 4 };
#endif

/* Can a part of a vector be loaded as fast as a whole one? Else B is copied where it ends in a part. */
#ifdef VEC_AVX512
#define GEMM_MASKS 1
#else
#define GEMM_MASKS 0
#endif

/* A DEPTH x COLS panel of B stays in the first-level cache while all rows of A go by. */
enum { GEMM_COLS = GEMM_VECS * VEC, GEMM_DEPTH = 128, GEMM_FIRST_LEVEL = 48 << 10 };

/* How a product ends: c = factor a b + what it is added to, whose element (i,j) stands at
 * x[i*row + j]; x NULL: zero. Passed on by its address: copying it costs as much as a tile of a small
 * product. */
typedef struct {
    real factor;
    const real *x;
    ptrdiff_t row;
} gemm_ending;

static inline gemm_ending gemm_end_at(const gemm_ending *e, int i, int j) {
    return (gemm_ending){e->factor, e->x ? e->x + i * e->row + j : NULL, e->row};
}

VEC_INLINE vreal gemm_get(const real *x, const bool part, int lanes) {
    return part ? vec_load_part(x, lanes, 0) : vec_load(x);
}

/* One tile, `rows`, `vecs`, `ahead` and `cut` known at compile time: c = factor * sum over p of
 * a[:,p] b[p,:] + .... `ahead`: how many steps before it is needed a row of B is fetched from the
 * second-level cache. `cut`: of the last vector only the first `lanes` are there, in c, and in b too where
 * masks load them. */
VEC_INLINE void gemm_tile(const int rows, const int vecs, const int ahead, const bool cut,
                          int lanes, int k, gemm_view a, const real *b, ptrdiff_t ldb,
                          gemm_ending end, real *c, ptrdiff_t ldc) {
    vreal sum[GEMM_ROWS][GEMM_VECS];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vecs; v++) sum[i][v] = (vreal){0};
    for (int p = 0; p < k; p++, b += ldb, a.x += a.col) {
        vreal row[GEMM_VECS];
        for (int v = 0; v < vecs && ahead; v++) __builtin_prefetch(b + ahead * ldb + v * VEC);
        for (int v = 0; v < vecs; v++)
            row[v] = gemm_get(b + v * VEC, GEMM_MASKS && cut && v + 1 == vecs, lanes);
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vecs; v++) sum[i][v] += a.x[i * a.row] * row[v];
    }
    if (end.factor != 1)
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vecs; v++) sum[i][v] *= end.factor;
    if (end.x)
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vecs; v++)
                sum[i][v] += gemm_get(end.x + i * end.row + v * VEC, cut && v + 1 == vecs, lanes);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vecs; v++)
            if (cut && v + 1 == vecs)
                vec_store_part(c + i * ldc + v * VEC, lanes, sum[i][v]);
            else
                vec_store(c + i * ldc + v * VEC, sum[i][v]);
}

/* ---- fetching ---- */

/* Memory that is read next: `rows` of so many `lines` of the cache. `each` lines are fetched with every
 * tile that is computed before, so that nothing waits for them. */
typedef struct {
    const real *x;
    ptrdiff_t row;
    int rows, lines, at, each;
} gemm_ahead;

/* Of k x cols of B, for so many tiles. */
static inline gemm_ahead gemm_ahead_of(gemm_view b, int k, int cols, int tiles) {
    enum { LINE = 64 / (int)sizeof(real) };
    const bool across = b.col == 1;
    const int rows = across ? k : cols, lines = ((across ? cols : k) + LINE - 1) / LINE;
    return (gemm_ahead){
        b.x, across ? b.row : b.col, rows, lines, 0, (rows * lines + tiles - 1) / tiles};
}

static inline void gemm_fetch(gemm_ahead *f) {
    for (int n = f->each; n > 0 && f->rows > 0; n--) {
        __builtin_prefetch(f->x + f->at * (64 / (int)sizeof(real)), 0, 2);
        if (++f->at < f->lines) continue;
        f->at = 0;
        f->x += f->row;
        f->rows--;
    }
}

/* A tile of C, which is written last. */
VEC_INLINE void gemm_fetch_tile(int rows, int vecs, const real *c, ptrdiff_t ldc) {
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vecs; v++) __builtin_prefetch(c + i * ldc + v * VEC, 1);
}

/* ---- panels ---- */

/* All m rows of c, cols <= GEMM_COLS; `next` is fetched meanwhile. b must be whole vectors wide, unless
 * GEMM_MASKS. */
void gemm_panel(int cols, int m, int k, gemm_view a, const real *b, ptrdiff_t ldb,
                const gemm_ending *end, real *c, ptrdiff_t ldc, gemm_ahead *next);

/* Copies k x cols of B into rows `ld` apart, the columns up to the next whole vector zero. */
void gemm_pack(int k, int cols, gemm_view b, real *out, ptrdiff_t ld);

/* Products beyond the second-level cache: is this one, and does it pay? And the product. */
bool gemm_is_large(int m, int n, int k, gemm_view a);
void gemm_large(int m, int n, int k, gemm_view a, gemm_view b, const gemm_ending *end, real *c,
                ptrdiff_t ldc);
