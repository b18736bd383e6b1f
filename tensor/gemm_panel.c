/* gemm_panel.c - panels of C, made of tiles; and operands that lie badly copied. */
#include "tensor/gemm_internal.h"

#if VEC_BYTES == 64
#define HEIGHT(vecs) ((vecs) == 4 ? 6 : (vecs) == 2 ? 12 : 8)
#elif VEC_BYTES == 32
#define HEIGHT(vecs) 6
#else
#define HEIGHT(vecs) 4
#endif

/* All m rows of a panel `vecs` wide: tiles of the full height, then what is left in tiles of 8, 4, 2
 * and 1. Where C reaches beyond the first-level cache, and a tile takes long enough for it, its place is
 * fetched before: up to 1.3 times as fast where C comes from the third level. */
VEC_INLINE void panel(const int vecs, const bool cut, int lanes, int m, int k, gemm_view a,
                      const real *b, ptrdiff_t ldb, const gemm_ending *end, real *c, ptrdiff_t ldc,
                      gemm_ahead *next) {
    const bool far =
        k >= GEMM_DEPTH / 2 && m * ldc * (ptrdiff_t)sizeof(real) > (ptrdiff_t)GEMM_FIRST_LEVEL;
    int i = 0;
#define TILES(rows)                                                                            \
    for (; i + (rows) <= m; i += (rows)) {                                                     \
        if (far) gemm_fetch_tile(rows, vecs, c + i * ldc, ldc);                                \
        gemm_fetch(next);                                                                      \
        gemm_tile(rows, vecs, 0, cut, lanes, k, (gemm_view){a.x + i * a.row, a.row, a.col}, b, \
                  ldb, gemm_end_at(end, i, 0), c + i * ldc, ldc);                              \
    }
    TILES(HEIGHT(vecs))
    if (HEIGHT(vecs) > 8) TILES(8)
    if (HEIGHT(vecs) > 4) TILES(4)
    TILES(2)
    TILES(1)
#undef TILES
}

typedef void panel_fn(int lanes, int m, int k, gemm_view a, const real *b, ptrdiff_t ldb,
                      const gemm_ending *end, real *c, ptrdiff_t ldc, gemm_ahead *next);
#define PANEL(name, vecs, cut)                                                                    \
    static void name##_##vecs(int lanes, int m, int k, gemm_view a, const real *b, ptrdiff_t ldb, \
                              const gemm_ending *end, real *c, ptrdiff_t ldc, gemm_ahead *next) { \
        panel(vecs, cut, lanes, m, k, a, b, ldb, end, c, ldc, next);                              \
    }
PANEL(whole, 1, false)
PANEL(whole, 2, false)
PANEL(cut, 1, true)
PANEL(cut, 2, true)
#if VEC_BYTES == 64
PANEL(whole, 3, false)
PANEL(whole, 4, false)
PANEL(cut, 3, true)
PANEL(cut, 4, true)
#endif
static panel_fn *const panels[2][GEMM_VECS] = {{whole_1, whole_2,
#if VEC_BYTES == 64
                                                whole_3, whole_4},
                                               {cut_1, cut_2, cut_3, cut_4}};
#else
                                               },
                                               {cut_1, cut_2}};
#endif

void gemm_panel(int cols, int m, int k, gemm_view a, const real *b, ptrdiff_t ldb,
                const gemm_ending *end, real *c, ptrdiff_t ldc, gemm_ahead *next) {
    const int lanes = cols % VEC;
    panels[lanes != 0][(cols - 1) / VEC](lanes, m, k, a, b, ldb, end, c, ldc, next);
}

/* Copies k x cols, cols <= VEC, of a B whose columns are contiguous (the transpose of a row-major
 * matrix) into rows `ld` apart: square blocks are transposed in registers. Worth 4 % of a step: every
 * dx = dy w^T packs its w. */
static void pack_transposed(int k, int cols, gemm_view b, real *out, ptrdiff_t ld) {
    for (int p = 0; p < k; p += VEC) {
        vreal block[VEC];
        for (int j = 0; j < VEC; j++)
            block[j] = j < cols ? vec_load_upto(b.x + p + j * b.col, k - p, 0) : vec_set(0);
        vec_transpose(block);
        for (int i = 0; i < VEC && p + i < k; i++) vec_store(out + (p + i) * ld, block[i]);
    }
}

void gemm_pack(int k, int cols, gemm_view b, real *out, ptrdiff_t ld) {
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
