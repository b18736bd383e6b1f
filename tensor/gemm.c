/* gemm.c - the matrix product: which way it is computed, and the way for matrices in the cache. */
#include "tensor/gemm_internal.h"

static int least(int a, int b) { return a < b ? a : b; }

/* Must a panel of B be copied before tiles can read it? */
static bool lies_badly(int cols, gemm_view b) { return b.col != 1 || (!GEMM_MASKS && cols % VEC); }

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
        cols = least(n - j, GEMM_COLS);
        gemm_view right = {b.x + j * b.col, b.row, b.col};
        gemm_ahead next = {0};
        if (fetch && j + cols < n)
            next = gemm_ahead_of((gemm_view){right.x + cols * b.col, b.row, b.col}, k,
                                 least(n - j - cols, GEMM_COLS), m / 6);
        else if (fetch && below > 0)
            next = gemm_ahead_of((gemm_view){b.x + k * b.row, b.row, b.col},
                                 least(below, GEMM_DEPTH), least(n, GEMM_COLS), m / 6);
        if (far || lies_badly(cols, right)) {
            gemm_pack(k, cols, right, packed, GEMM_COLS);
            right = (gemm_view){packed, GEMM_COLS, 1};
        }
        const gemm_ending at = gemm_end_at(end, 0, j);
        gemm_panel(cols, m, k, a, right.x, right.row, &at, c + j, ldc, &next);
    }
}

/* Of any size, in slices. */
static void in_slices(int m, int n, int k, gemm_view a, gemm_view b, const gemm_ending *end,
                      real *c, ptrdiff_t ldc) {
    if (gemm_is_large(m, n, k, a)) {
        gemm_large(m, n, k, a, b, end, c, ldc);
        return;
    }
    const gemm_ending more = {end->factor, c, ldc};
    for (int p = 0; p < k || p == 0; p += GEMM_DEPTH) {
        const int depth = least(k - p, GEMM_DEPTH);
        slice(m, n, depth, k - p - depth, (gemm_view){a.x + p * a.col, a.row, a.col},
              (gemm_view){b.x + p * b.row, b.row, b.col}, p ? &more : end, c, ldc);
    }
}

/* What is one panel of few rows needs no more said: heads of 16 or 32 numbers are multiplied up to 1.4 times
 * as fast, by the same tiles. */
static void one_panel(int n, int m, int k, gemm_view a, gemm_view b, const gemm_ending *end,
                      real *c, ptrdiff_t ldc) {
    _Alignas(VEC_BYTES) real packed[GEMM_DEPTH * GEMM_COLS];
    gemm_ahead none = {0};
    if (lies_badly(n, b)) {
        gemm_pack(k, n, b, packed, GEMM_COLS);
        b = (gemm_view){packed, GEMM_COLS, 1};
    }
    gemm_panel(n, m, k, a, b.x, b.row, end, c, ldc, &none);
}

static inline void multiply(int m, int n, int k, gemm_view a, gemm_view b, const gemm_ending *end,
                            real *c, ptrdiff_t ldc) {
    if (n > 0 && n <= GEMM_COLS && k <= GEMM_DEPTH && m < 48)
        one_panel(n, m, k, a, b, end, c, ldc);
    else
        in_slices(m, n, k, a, b, end, c, ldc);
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
