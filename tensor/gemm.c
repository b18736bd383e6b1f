/* gemm.c - the matrix product: packed panels, and a kernel of registers. */
#include "tensor/gemm.h"

#include <stdbool.h>
#include <string.h>

#include "tensor/vec.h"

void gemm_naive(gemm_mode mode, int m, int n, int k, gemm_view a, gemm_view b, real *c,
                ptrdiff_t ldc) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = mode == GEMM_ADD ? (double)c[i * ldc + j] : 0;
            for (int p = 0; p < k; p++)
                sum += (double)a.x[i * a.row + p * a.col] * (double)b.x[p * b.row + j * b.col];
            c[i * ldc + j] = (real)sum;
        }
}

/* The fast one. C is cut into tiles of rows x (vecs vectors), each held in registers while k runs. One
 * step of k loads a row of B and an element of A for each row, and multiplies rows x vecs vectors: the
 * fewer loads for a multiplication the better. Of 32 registers 6 x 4 vectors make 10 loads for 24
 * multiplications, 12 to 18 % faster than 8 x 2 with 10 for 16. */
#if VEC_BYTES == 64
enum { MAX_VECS = 4, MAX_ROWS = 12 };
#define HEIGHT(vecs) ((vecs) == 4 ? 6 : (vecs) == 2 ? 12 : 8)
#elif VEC_BYTES == 32
enum { MAX_VECS = 2, MAX_ROWS = 6 };
#define HEIGHT(vecs) 6
#else
enum { MAX_VECS = 2, MAX_ROWS = 4 };
#define HEIGHT(vecs) 4
#endif

/* A DEPTH x COLS panel of B stays in the first-level cache while all rows of A go by. */
enum { COLS = MAX_VECS * VEC, DEPTH = 128 };

/* How a product ends: c = factor a b + what it is added to, whose element (i,j) stands at
 * x[i*row + j]; x NULL: zero. */
typedef struct {
    real factor;
    const real *x;
    ptrdiff_t row;
} ending;

static ending end_at(ending e, int i, int j) {
    return e.x ? (ending){e.factor, e.x + i * e.row + j, e.row} : e;
}

/* One tile, `rows` and `vecs` known at compile time: c = factor * sum over p of a[:,p] b[p,:] + .... */
VEC_INLINE void tile(const int rows, const int vecs, int k, gemm_view a, const real *b,
                     ptrdiff_t ldb, ending end, real *c, ptrdiff_t ldc) {
    vreal sum[MAX_ROWS][MAX_VECS];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vecs; v++) sum[i][v] = (vreal){0};
    for (int p = 0; p < k; p++, b += ldb, a.x += a.col) {
        vreal row[MAX_VECS];
        for (int v = 0; v < vecs; v++) row[v] = vec_load(b + v * VEC);
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vecs; v++) sum[i][v] += a.x[i * a.row] * row[v];
    }
    if (end.factor != 1)
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vecs; v++) sum[i][v] *= end.factor;
    if (end.x)
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vecs; v++) sum[i][v] += vec_load(end.x + i * end.row + v * VEC);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vecs; v++) vec_store(c + i * ldc + v * VEC, sum[i][v]);
}

/* All m rows of a panel `vecs` wide: tiles of the full height, then what is left in tiles of 8, 4, 2
 * and 1. */
VEC_INLINE void panel(const int vecs, int m, int k, gemm_view a, const real *b, ptrdiff_t ldb,
                      ending end, real *c, ptrdiff_t ldc) {
    int i = 0;
#define TILES(rows)                                                                            \
    for (; i + (rows) <= m; i += (rows))                                                       \
    tile(rows, vecs, k, (gemm_view){a.x + i * a.row, a.row, a.col}, b, ldb, end_at(end, i, 0), \
         c + i * ldc, ldc)
    TILES(HEIGHT(vecs));
    if (HEIGHT(vecs) > 8) TILES(8);
    if (HEIGHT(vecs) > 4) TILES(4);
    TILES(2);
    TILES(1);
#undef TILES
}

typedef void panel_fn(int m, int k, gemm_view a, const real *b, ptrdiff_t ldb, ending end, real *c,
                      ptrdiff_t ldc);
#define PANEL(vecs)                                                                               \
    static void panel_##vecs(int m, int k, gemm_view a, const real *b, ptrdiff_t ldb, ending end, \
                             real *c, ptrdiff_t ldc) {                                            \
        panel(vecs, m, k, a, b, ldb, end, c, ldc);                                                \
    }
PANEL(1)
PANEL(2)
#if VEC_BYTES == 64
PANEL(3)
PANEL(4)
#endif
static panel_fn *const panels[MAX_VECS + 1] = {NULL, panel_1, panel_2,
#if VEC_BYTES == 64
                                               panel_3, panel_4
#endif
};

/* Columns that end inside a vector: computed aside at full width, then the wanted ones copied. */
static void panel_cut(int cols, int m, int k, gemm_view a, const real *b, ptrdiff_t ldb, ending end,
                      real *c, ptrdiff_t ldc) {
    real aside[MAX_ROWS * VEC];
    for (int i = 0; i < m; i += MAX_ROWS) {
        int rows = m - i < MAX_ROWS ? m - i : MAX_ROWS;
        panel_1(rows, k, (gemm_view){a.x + i * a.row, a.row, a.col}, b, ldb,
                (ending){end.factor, NULL, 0}, aside, VEC);
        for (int r = i; r < i + rows; r++) {
            vreal sum = vec_load(aside + (r - i) * VEC);
            if (end.x) sum += vec_load_part(end.x + r * end.row, cols, 0);
            vec_store_part(c + r * ldc, cols, sum);
        }
    }
}

/* ---- packing: operands that lie badly are copied first ---- */

/* Copies k x cols, cols <= VEC, of a B whose columns are contiguous (the transpose of a row-major
 * matrix) into rows of COLS: square blocks are transposed in registers. Worth 4 % of a step: every
 * dx = dy w^T packs its w. */
static void pack_transposed(int k, int cols, gemm_view b, real *out) {
    for (int p = 0; p < k; p += VEC) {
        vreal block[VEC];
        for (int j = 0; j < VEC; j++)
            block[j] = j < cols ? vec_load_upto(b.x + p + j * b.col, k - p, 0) : vec_set(0);
        vec_transpose(block);
        for (int i = 0; i < VEC && p + i < k; i++) vec_store(out + (p + i) * COLS, block[i]);
    }
}

/* Copies k x cols of B into rows of COLS, the columns up to the next whole vector zero. */
static void pack_b(int k, int cols, gemm_view b, real *out) {
    for (int j = 0; j < cols; j += VEC) {
        const real *x = b.x + j * b.col;
        const int n = cols - j < VEC ? cols - j : VEC;
        if (b.row == 1)
            pack_transposed(k, n, (gemm_view){x, 1, b.col}, out + j);
        else if (b.col == 1)
            for (int p = 0; p < k; p++)
                vec_store(out + p * COLS + j, vec_load_upto(x + p * b.row, n, 0));
        else
            for (int p = 0; p < k; p++)
                for (int i = 0; i < VEC; i++)
                    out[p * COLS + j + i] = i < n ? x[p * b.row + i * b.col] : 0;
    }
}

/* Columns j0 .. j1-1 of c = factor a b + ..., k <= DEPTH. */
static void slice(int m, int j0, int j1, int k, gemm_view a, gemm_view b, ending end, real *c,
                  ptrdiff_t ldc) {
    _Alignas(VEC_BYTES) real packed[DEPTH * COLS];
    // Rows far apart fall into the same sets of the first-level cache and drive each other out; from
    // 128 rows of A on a copy is cheaper: 2 to 12 %, most for the widest matrices.
    bool far = m >= 128 && b.row > COLS && k * b.row * (ptrdiff_t)sizeof(real) > 48 << 10;
    for (int j = j0, cols; j < j1; j += cols) {
        int vecs = (j1 - j) / VEC < MAX_VECS ? (j1 - j) / VEC : MAX_VECS;
        cols = vecs ? vecs * VEC : j1 - j;
        gemm_view right = {b.x + j * b.col, b.row, b.col};
        if (b.col != 1 || far || !vecs) {
            pack_b(k, cols, right, packed);
            right = (gemm_view){packed, COLS, 1};
        }
        if (vecs)
            panels[vecs](m, k, a, right.x, right.row, end_at(end, 0, j), c + j, ldc);
        else
            panel_cut(cols, m, k, a, right.x, right.row, end_at(end, 0, j), c + j, ldc);
    }
}

/* Copies m x k of A as it lies, its rows (or columns) so far apart that they share no cache sets. */
enum { BLOCK_M = 256, BLOCK_N = 512, GAP = 64 / sizeof(real) };
static gemm_view pack_a(int m, int k, gemm_view a, real *out) {
    bool transposed = a.row == 1;
    int lines = transposed ? k : m, length = transposed ? m : k;
    ptrdiff_t apart = transposed ? a.col : a.row, to = (transposed ? BLOCK_M : DEPTH) + GAP;
    for (int i = 0; i < lines; i++)
        memcpy(out + i * to, a.x + i * apart, (size_t)length * sizeof(real));
    return transposed ? (gemm_view){out, 1, to} : (gemm_view){out, to, 1};
}

/* For matrices beyond the second-level cache: a BLOCK_M x BLOCK_N block of C stays in it while k runs,
 * with a packed block of A. At 512 x 512 x 2048 it is 1.4 to 2 times as fast. */
static void large(int m, int n, int k, gemm_view a, gemm_view b, ending end, real *c,
                  ptrdiff_t ldc) {
    _Alignas(VEC_BYTES) real packed[(BLOCK_M + GAP) * (DEPTH + GAP)];
    for (int j = 0; j < n; j += BLOCK_N)
        for (int i = 0; i < m; i += BLOCK_M)
            for (int p = 0; p < k; p += DEPTH) {
                int rows = m - i < BLOCK_M ? m - i : BLOCK_M, depth = k - p < DEPTH ? k - p : DEPTH;
                real *out = c + i * ldc;
                gemm_view left = pack_a(
                    rows, depth, (gemm_view){a.x + i * a.row + p * a.col, a.row, a.col}, packed);
                slice(rows, j, j + BLOCK_N < n ? j + BLOCK_N : n, depth, left,
                      (gemm_view){b.x + p * b.row, b.row, b.col},
                      p ? (ending){end.factor, out, ldc} : end_at(end, i, 0), out, ldc);
            }
}

static void multiply(int m, int n, int k, gemm_view a, gemm_view b, ending end, real *c,
                     ptrdiff_t ldc) {
    ptrdiff_t apart = a.row == 1 ? a.col : a.row;
    if (k > 0 && n >= 256 && m >= 64 && apart >= 256 && (a.row == 1 || a.col == 1)) {
        large(m, n, k, a, b, end, c, ldc);
        return;
    }
    for (int p = 0; p < k || p == 0; p += DEPTH)
        slice(m, 0, n, k - p < DEPTH ? k - p : DEPTH, (gemm_view){a.x + p * a.col, a.row, a.col},
              (gemm_view){b.x + p * b.row, b.row, b.col}, p ? (ending){end.factor, c, ldc} : end, c,
              ldc);
}

void gemm_mul_scaled(gemm_mode mode, real factor, int m, int n, int k, gemm_view a, gemm_view b,
                     real *c, ptrdiff_t ldc) {
    multiply(m, n, k, a, b, (ending){factor, mode == GEMM_ADD ? c : NULL, ldc}, c, ldc);
}

void gemm_mul(gemm_mode mode, int m, int n, int k, gemm_view a, gemm_view b, real *c,
              ptrdiff_t ldc) {
    gemm_mul_scaled(mode, 1, m, n, k, a, b, c, ldc);
}

void gemm_mul_bias(int m, int n, int k, gemm_view a, gemm_view b, const real *bias, real *c,
                   ptrdiff_t ldc) {
    multiply(m, n, k, a, b, (ending){1, bias, 0}, c, ldc);
}
