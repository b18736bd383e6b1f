/* gemm.c - the matrix product: which way it is computed, and the way for matrices in the cache. */
#include "tensor/gemm_internal.h"

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

/* Of n columns from the j-th on, how many the next panel has: whole vectors, or what is left of one. */
static int columns(int n, int j) {
    const int vecs = (n - j) / VEC < GEMM_VECS ? (n - j) / VEC : GEMM_VECS;
    return vecs ? vecs * VEC : n - j;
}

/* c = factor a b + ..., k <= DEPTH; below them B goes on for `below` rows. A panel of B that lies badly is
 * copied first, and the next one is fetched while this one is multiplied. */
VEC_INLINE void slice(int m, int n, int k, int below, gemm_view a, gemm_view b,
                      const gemm_ending *end, real *c, ptrdiff_t ldc) {
    _Alignas(VEC_BYTES) real packed[GEMM_DEPTH * GEMM_COLS];
    // Rows far apart fall into the same sets of the first-level cache and drive each other out; from
    // 128 rows of A on a copy is cheaper: 2 to 12 %, most for the widest matrices.
    const bool far = m >= 128 && b.row > GEMM_COLS &&
                     k * b.row * (ptrdiff_t)sizeof(real) > (ptrdiff_t)GEMM_FIRST_LEVEL;
    const bool fetch = m >= 48 && ((b.col == 1 && far) || b.row == 1);
    for (int j = 0, cols; j < n; j += cols) {
        cols = columns(n, j);
        const bool whole = cols >= VEC;
        gemm_view right = {b.x + j * b.col, b.row, b.col};
        gemm_ahead next = {0};
        if (fetch && j + cols < n)
            next = gemm_ahead_of((gemm_view){right.x + cols * b.col, b.row, b.col}, k,
                                 columns(n, j + cols), m / 6);
        else if (fetch && below > 0)
            next = gemm_ahead_of((gemm_view){b.x + k * b.row, b.row, b.col},
                                 below < GEMM_DEPTH ? below : GEMM_DEPTH, columns(n, 0), m / 6);
        if (b.col != 1 || far || !whole) {
            gemm_pack(k, cols, right, packed, GEMM_COLS);
            right = (gemm_view){packed, GEMM_COLS, 1};
        }
        const gemm_ending at = gemm_end_at(end, 0, j);
        if (whole)
            gemm_panel(cols / VEC, m, k, a, right.x, right.row, &at, c + j, ldc, &next);
        else
            gemm_panel_cut(cols, m, k, a, right.x, right.row, &at, c + j, ldc);
    }
}

static void multiply(int m, int n, int k, gemm_view a, gemm_view b, const gemm_ending *end, real *c,
                     ptrdiff_t ldc) {
    if (gemm_is_large(m, n, k, a)) {
        gemm_large(m, n, k, a, b, end, c, ldc);
        return;
    }
    const gemm_ending more = {end->factor, c, ldc};
    for (int p = 0; p < k || p == 0; p += GEMM_DEPTH) {
        const int depth = k - p < GEMM_DEPTH ? k - p : GEMM_DEPTH;
        slice(m, n, depth, k - p - depth, (gemm_view){a.x + p * a.col, a.row, a.col},
              (gemm_view){b.x + p * b.row, b.row, b.col}, p ? &more : end, c, ldc);
    }
}

void gemm_mul_scaled(gemm_mode mode, real factor, int m, int n, int k, gemm_view a, gemm_view b,
                     real *c, ptrdiff_t ldc) {
    multiply(m, n, k, a, b, &(gemm_ending){factor, mode == GEMM_ADD ? c : NULL, ldc}, c, ldc);
}

void gemm_mul(gemm_mode mode, int m, int n, int k, gemm_view a, gemm_view b, real *c,
              ptrdiff_t ldc) {
    gemm_mul_scaled(mode, 1, m, n, k, a, b, c, ldc);
}

void gemm_mul_bias(int m, int n, int k, gemm_view a, gemm_view b, const real *bias, real *c,
                   ptrdiff_t ldc) {
    multiply(m, n, k, a, b, &(gemm_ending){1, bias, 0}, c, ldc);
}
