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
enum { MAX_VECS = 4, MAX_ROWS = 14, STRIP = 14, BLOCK_BYTES = 8192 };
#define HEIGHT(vecs) ((vecs) == 4 ? 6 : (vecs) == 2 ? 12 : 8)
#elif VEC_BYTES == 32
enum { MAX_VECS = 2, MAX_ROWS = 6, STRIP = 6, BLOCK_BYTES = 4096 };
#define HEIGHT(vecs) 6
#else
enum { MAX_VECS = 2, MAX_ROWS = 4, STRIP = 4, BLOCK_BYTES = 2048 };
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

/* One tile, `rows`, `vecs` and `ahead` known at compile time: c = factor * sum over p of a[:,p] b[p,:] +
 * .... `ahead`: how many steps before it is needed a row of B is fetched from the second-level cache. */
VEC_INLINE void tile(const int rows, const int vecs, const int ahead, int k, gemm_view a,
                     const real *b, ptrdiff_t ldb, ending end, real *c, ptrdiff_t ldc) {
    vreal sum[MAX_ROWS][MAX_VECS];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vecs; v++) sum[i][v] = (vreal){0};
    for (int p = 0; p < k; p++, b += ldb, a.x += a.col) {
        vreal row[MAX_VECS];
        for (int v = 0; v < vecs && ahead; v++) __builtin_prefetch(b + ahead * ldb + v * VEC);
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
#define TILES(rows)                                                                               \
    for (; i + (rows) <= m; i += (rows))                                                          \
    tile(rows, vecs, 0, k, (gemm_view){a.x + i * a.row, a.row, a.col}, b, ldb, end_at(end, i, 0), \
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
 * matrix) into rows `ld` apart: square blocks are transposed in registers. Worth 4 % of a step: every
 * dx = dy w^T packs its w. */
static void pack_transposed(int k, int cols, gemm_view b, real *out, ptrdiff_t ld) {
    for (int p = 0; p < k; p += VEC) {
        vreal block[VEC];
        for (int j = 0; j < cols; j++) __builtin_prefetch(b.x + p + 4 * VEC + j * b.col);
        for (int j = 0; j < VEC; j++)
            block[j] = j < cols ? vec_load_upto(b.x + p + j * b.col, k - p, 0) : vec_set(0);
        vec_transpose(block);
        for (int i = 0; i < VEC && p + i < k; i++) vec_store(out + (p + i) * ld, block[i]);
    }
}

/* Copies k x cols of B into rows `ld` apart, the columns up to the next whole vector zero. */
static void pack(int k, int cols, gemm_view b, real *out, ptrdiff_t ld) {
    for (int j = 0; j < cols; j += VEC) {
        const real *x = b.x + j * b.col;
        const int n = cols - j < VEC ? cols - j : VEC;
        if (b.row == 1)
            pack_transposed(k, n, (gemm_view){x, 1, b.col}, out + j, ld);
        else if (b.col == 1)
            for (int p = 0; p < k; p++)
                vec_store(out + p * ld + j, vec_load_upto(x + p * b.row, n, 0));
        else
            for (int p = 0; p < k; p++)
                for (int i = 0; i < VEC; i++)
                    out[p * ld + j + i] = i < n ? x[p * b.row + i * b.col] : 0;
    }
}

/* The same in panels of `width` columns, each DEPTH rows `ld` apart, both known at compile time. Where
 * rows are contiguous they are read from end to end, and the fourth next is fetched: from memory that is
 * twice as fast as by panels. */
VEC_INLINE void pack_panels(int k, int cols, const int width, gemm_view b, real *out,
                            const int ld) {
    if (b.col != 1) {
        for (int j = 0; j < cols; j += width, out += DEPTH * ld)
            pack(k, cols - j < width ? cols - j : width, (gemm_view){b.x + j * b.col, b.row, b.col},
                 out, ld);
        return;
    }
    for (int p = 0; p < k; p++, b.x += b.row) {
        real *to = out + p * ld;
        for (int j = 0; j < cols; j += width, to += DEPTH * ld)
            for (int i = 0; i < width && j + i < cols; i += VEC) {
                const int left = cols - j < width ? cols - j - i : width - i;
                __builtin_prefetch(b.x + 4 * b.row + j + i);
                vec_store(to + i, vec_load_upto(b.x + j + i, left, 0));
            }
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
            pack(k, cols, right, packed, COLS);
            right = (gemm_view){packed, COLS, 1};
        }
        if (vecs)
            panels[vecs](m, k, a, right.x, right.row, end_at(end, 0, j), c + j, ldc);
        else
            panel_cut(cols, m, k, a, right.x, right.row, end_at(end, 0, j), c + j, ldc);
    }
}

/* ---- matrices beyond the second-level cache ----
 * DEPTH rows of B are packed in panels that stay in the second-level cache while all rows of A go by in
 * strips, a block of them packed at a time; a strip stays in the first-level cache while the panels
 * stream past. So each number of B is packed once, of A once for BLOCK_N columns. 1.1 to 1.3 times as fast
 * as panels in the first-level cache and strips from the second. Source: K. Goto and R. van de Geijn,
 * "Anatomy of High-Performance Matrix Multiplication", 2008. */
enum {
    PANEL_N = 2 * VEC,
    BLOCK_N = BLOCK_BYTES / (int)sizeof(real),
    BLOCK_M = 16 * STRIP,
    SLOT = (STRIP + VEC - 1) / VEC * VEC,  // what a column of a strip takes in memory
    AHEAD = 8
};

/* c[rows,n] of one strip [k,SLOT] and packed panels. */
static void strip(int rows, int n, int k, const real *a, const real *b, ending end, real *c,
                  ptrdiff_t ldc) {
    const gemm_view left = {a, 1, SLOT};
    for (int j = 0, cols; j < n; j += cols, b += DEPTH * PANEL_N) {
        cols = n - j < PANEL_N ? n - j : PANEL_N;
        for (int i = 0; i < rows; i++) __builtin_prefetch(c + i * ldc + j, 1);
        for (int i = 0; i < rows && cols > VEC; i++) __builtin_prefetch(c + i * ldc + j + VEC, 1);
        const int whole = cols / VEC * VEC;
        if (rows == STRIP && whole == PANEL_N)
            tile(STRIP, 2, AHEAD, k, left, b, PANEL_N, end_at(end, 0, j), c + j, ldc);
        else if (whole)
            panels[whole / VEC](rows, k, left, b, PANEL_N, end_at(end, 0, j), c + j, ldc);
        if (whole < cols)
            panel_cut(cols - whole, rows, k, left, b + whole, PANEL_N, end_at(end, 0, j + whole),
                      c + j + whole, ldc);
    }
}

/* c[m,n] for k <= DEPTH, n <= BLOCK_N, the panels packed. */
static void strips(int m, int n, int k, gemm_view a, const real *panels_of_b, ending end, real *c,
                   ptrdiff_t ldc) {
    _Alignas(64) real packed[BLOCK_M / STRIP * DEPTH * SLOT];
    for (int i = 0; i < m; i += BLOCK_M) {
        const int rows = m - i < BLOCK_M ? m - i : BLOCK_M;
        pack_panels(k, rows, STRIP, (gemm_view){a.x + i * a.row, a.col, a.row}, packed, SLOT);
        for (int r = 0; r < rows; r += STRIP)
            strip(rows - r < STRIP ? rows - r : STRIP, n, k, packed + r / STRIP * DEPTH * SLOT,
                  panels_of_b, end_at(end, i + r, 0), c + (i + r) * ldc, ldc);
    }
}

static void large(int m, int n, int k, gemm_view a, gemm_view b, ending end, real *c,
                  ptrdiff_t ldc) {
    _Alignas(64) real packed[DEPTH * BLOCK_N];
    for (int j = 0; j < n; j += BLOCK_N)
        for (int p = 0; p < k; p += DEPTH) {
            const int cols = n - j < BLOCK_N ? n - j : BLOCK_N,
                      depth = k - p < DEPTH ? k - p : DEPTH;
            pack_panels(depth, cols, PANEL_N,
                        (gemm_view){b.x + p * b.row + j * b.col, b.row, b.col}, packed, PANEL_N);
            strips(m, cols, depth, (gemm_view){a.x + p * a.col, a.row, a.col}, packed,
                   p ? (ending){end.factor, c + j, ldc} : end_at(end, 0, j), c + j, ldc);
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
