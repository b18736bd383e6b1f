#include "tensor/gemm.h"

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

/* The fast one: C is cut into tiles of ROWS x (2 vectors), each held in registers while k runs.
 * ROWS is what the register file holds beside one row of B and one broadcast element of A. */
#if VEC_BYTES == 64
enum { ROWS = 8 };
#elif VEC_BYTES == 32
enum { ROWS = 6 };
#else
enum { ROWS = 4 };
#endif
enum { COLS = 2 * VEC, DEPTH = 256 };  // a DEPTH x COLS panel of B stays in the first-level cache

/* One tile, `rows` and `vecs` known at compile time: c (+)= sum over p of a[:,p] b[p,:]. */
VEC_INLINE void tile(const int rows, const int vecs, gemm_mode mode, int k, gemm_view a,
                     const real *b, ptrdiff_t ldb, real *c, ptrdiff_t ldc) {
    vreal sum[ROWS][2];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vecs; v++) sum[i][v] = (vreal){0};
    for (int p = 0; p < k; p++, b += ldb, a.x += a.col) {
        vreal row[2];
        for (int v = 0; v < vecs; v++) row[v] = vec_load(b + v * VEC);
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vecs; v++) sum[i][v] += a.x[i * a.row] * row[v];
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vecs; v++) {
            real *out = c + i * ldc + v * VEC;
            vec_store(out, mode == GEMM_ADD ? vec_load(out) + sum[i][v] : sum[i][v]);
        }
}

/* A tile with `rows` <= ROWS rows: one instance of the body above for each height. */
VEC_INLINE void tile_of_height(int rows, const int vecs, gemm_mode mode, int k, gemm_view a,
                               const real *b, ptrdiff_t ldb, real *c, ptrdiff_t ldc) {
    switch (rows) {
        case 1: tile(1, vecs, mode, k, a, b, ldb, c, ldc); break;
        case 2: tile(2, vecs, mode, k, a, b, ldb, c, ldc); break;
        case 3: tile(3, vecs, mode, k, a, b, ldb, c, ldc); break;
        case 4: tile(4, vecs, mode, k, a, b, ldb, c, ldc); break;
#if VEC_BYTES >= 32
        case 5: tile(5, vecs, mode, k, a, b, ldb, c, ldc); break;
        case 6: tile(6, vecs, mode, k, a, b, ldb, c, ldc); break;
#endif
#if VEC_BYTES == 64
        case 7: tile(7, vecs, mode, k, a, b, ldb, c, ldc); break;
        case 8: tile(8, vecs, mode, k, a, b, ldb, c, ldc); break;
#endif
        default: break;
    }
}

static void tile_1(int rows, gemm_mode mode, int k, gemm_view a, const real *b, ptrdiff_t ldb,
                   real *c, ptrdiff_t ldc) {
    tile_of_height(rows, 1, mode, k, a, b, ldb, c, ldc);
}

static void tile_2(int rows, gemm_mode mode, int k, gemm_view a, const real *b, ptrdiff_t ldb,
                   real *c, ptrdiff_t ldc) {
    tile_of_height(rows, 2, mode, k, a, b, ldb, c, ldc);
}

/* A tile whose `cols` end inside a vector: computed aside at full width, then the wanted columns
 * are copied. */
static void tile_cut(int rows, int cols, gemm_mode mode, int k, gemm_view a, const real *b,
                     ptrdiff_t ldb, real *c, ptrdiff_t ldc) {
    real aside[ROWS * COLS];
    (cols > VEC ? tile_2 : tile_1)(rows, GEMM_SET, k, a, b, ldb, aside, COLS);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            real *out = c + i * ldc + j;
            *out = (mode == GEMM_ADD ? *out : 0) + aside[i * COLS + j];
        }
}

/* Copies k x VEC of a B whose columns are contiguous (the transpose of a row-major matrix) into
 * rows of COLS: square blocks are transposed in registers. Worth 4 % of a step: every dx = dy w^T
 * packs its w. */
static void pack_transposed(int k, gemm_view b, real *out) {
    int p = 0;
    for (; p + VEC <= k; p += VEC) {
        vreal block[VEC];
        for (int j = 0; j < VEC; j++) block[j] = vec_load(b.x + p + j * b.col);
        vec_transpose(block);
        for (int i = 0; i < VEC; i++) vec_store(out + (p + i) * COLS, block[i]);
    }
    for (; p < k; p++)
        for (int j = 0; j < VEC; j++) out[p * COLS + j] = b.x[p + j * b.col];
}

/* Copies k x cols of B into rows of COLS, the missing columns zero. */
static void pack(int k, int cols, gemm_view b, real *out) {
    int j = 0;
    for (; b.row == 1 && j + VEC <= cols; j += VEC)
        pack_transposed(k, (gemm_view){b.x + j * b.col, b.row, b.col}, out + j);
    for (; j < cols; j++)
        for (int p = 0; p < k; p++) out[p * COLS + j] = b.x[p * b.row + j * b.col];
    for (; j < COLS; j++)
        for (int p = 0; p < k; p++) out[p * COLS + j] = 0;
}

void gemm_mul(gemm_mode mode, int m, int n, int k, gemm_view a, gemm_view b, real *c,
              ptrdiff_t ldc) {
    _Alignas(VEC_BYTES) real packed[DEPTH * COLS];
    for (int p0 = 0; p0 < k || p0 == 0; p0 += DEPTH) {
        int depth = k - p0 < DEPTH ? k - p0 : DEPTH;
        gemm_mode how = p0 == 0 ? mode : GEMM_ADD;
        for (int j = 0; j < n; j += COLS) {
            int cols = n - j < COLS ? n - j : COLS;
            gemm_view panel = {b.x + p0 * b.row + j * b.col, b.row, b.col};
            if (b.col != 1 || cols % VEC) {
                pack(depth, cols, panel, packed);
                panel = (gemm_view){packed, COLS, 1};
            }
            for (int i = 0; i < m; i += ROWS) {
                int rows = m - i < ROWS ? m - i : ROWS;
                gemm_view left = {a.x + i * a.row + p0 * a.col, a.row, a.col};
                real *out = c + i * ldc + j;
                if (cols % VEC)
                    tile_cut(rows, cols, how, depth, left, panel.x, panel.row, out, ldc);
                else
                    (cols > VEC ? tile_2 : tile_1)(rows, how, depth, left, panel.x, panel.row, out,
                                                   ldc);
            }
        }
    }
}
