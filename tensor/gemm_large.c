/* gemm_large.c - products of matrices beyond the second-level cache.
 *
 * DEPTH rows of B are packed in panels that stay in the second-level cache while all rows of A go by in
 * strips, a block of them packed at a time; a strip stays in the first-level cache while the panels
 * stream past. So each number of B is packed once, of A once for BLOCK_N columns. 1.1 to 1.3 times as fast
 * as panels in the first-level cache and strips from the second. Source: K. Goto and R. van de Geijn,
 * "Anatomy of High-Performance Matrix Multiplication", 2008. */
#include "tensor/gemm_internal.h"

#if VEC_BYTES == 64
enum { STRIP = 14, BLOCK_BYTES = 8192 };
#elif VEC_BYTES == 32
enum { STRIP = 6, BLOCK_BYTES = 4096 };
#else
enum { STRIP = 4, BLOCK_BYTES = 2048 };
#endif
enum {
    DEPTH = GEMM_DEPTH,
    PANEL_N = 2 * VEC,
    BLOCK_N = BLOCK_BYTES / (int)sizeof(real),
    BLOCK_M = 16 * STRIP,
    SLOT = (STRIP + VEC - 1) / VEC * VEC,  // what a column of a strip takes in memory
    AHEAD = 8
};

/* Packs k x cols of B in panels of `width` columns, each DEPTH rows `ld` apart, both known at compile
 * time. Where rows are contiguous they are read from end to end, and the fourth next is fetched: from
 * memory that is twice as fast as by panels. */
VEC_INLINE void pack_panels(int k, int cols, const int width, gemm_view b, real *out,
                            const int ld) {
    if (b.col != 1) {
        for (int j = 0; j < cols; j += width, out += DEPTH * ld)
            gemm_pack(k, cols - j < width ? cols - j : width,
                      (gemm_view){b.x + j * b.col, b.row, b.col}, out, ld);
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

/* c[rows,n] of one strip [k,SLOT] and packed panels. */
static void strip(int rows, int n, int k, const real *a, const real *b, const gemm_ending *end,
                  real *c, ptrdiff_t ldc, gemm_ahead *next) {
    const gemm_view left = {a, 1, SLOT};
    for (int j = 0, cols; j < n; j += cols, b += DEPTH * PANEL_N) {
        cols = n - j < PANEL_N ? n - j : PANEL_N;
        const gemm_ending at = gemm_end_at(end, 0, j);
        if (rows == STRIP && cols == PANEL_N) {
            gemm_fetch_tile(STRIP, 2, c + j, ldc);
            gemm_fetch(next);
            gemm_tile(STRIP, 2, AHEAD, false, 0, k, left, b, PANEL_N, at, c + j, ldc);
        } else
            gemm_panel(cols, rows, k, left, b, PANEL_N, &at, c + j, ldc, next);
    }
}

/* c[m,n] for k <= DEPTH, n <= BLOCK_N, the panels packed. */
static void strips(int m, int n, int k, gemm_view a, const real *panels_of_b,
                   const gemm_ending *end, real *c, ptrdiff_t ldc, gemm_ahead *next) {
    _Alignas(64) real packed[BLOCK_M / STRIP * DEPTH * SLOT];
    for (int i = 0; i < m; i += BLOCK_M) {
        const int rows = m - i < BLOCK_M ? m - i : BLOCK_M;
        pack_panels(k, rows, STRIP, (gemm_view){a.x + i * a.row, a.col, a.row}, packed, SLOT);
        for (int r = 0; r < rows; r += STRIP) {
            const gemm_ending at = gemm_end_at(end, i + r, 0);
            strip(rows - r < STRIP ? rows - r : STRIP, n, k, packed + r / STRIP * DEPTH * SLOT,
                  panels_of_b, &at, c + (i + r) * ldc, ldc, next);
        }
    }
}

static int least(int a, int b) { return a < b ? a : b; }

/* What is packed after rows p .. of columns j ..; fetched while m rows of A go by. */
static gemm_ahead after(int j, int p, int m, int n, int k, gemm_view b) {
    const int tiles = ((m + STRIP - 1) / STRIP) * (least(n - j, BLOCK_N) + PANEL_N - 1) / PANEL_N;
    p += DEPTH;
    if (p >= k) p = 0, j += BLOCK_N;
    if (j >= n || (b.row != 1 && b.col != 1)) return (gemm_ahead){0};
    return gemm_ahead_of((gemm_view){b.x + p * b.row + j * b.col, b.row, b.col},
                         least(k - p, DEPTH), least(n - j, BLOCK_N), tiles);
}

bool gemm_is_large(int m, int n, int k, gemm_view a) {
    const ptrdiff_t apart = a.row == 1 ? a.col : a.row;
    return k > 0 && n >= 256 && m > 256 && apart >= 256 && (a.row == 1 || a.col == 1);
}

void gemm_large(int m, int n, int k, gemm_view a, gemm_view b, const gemm_ending *end, real *c,
                ptrdiff_t ldc) {
    _Alignas(64) real packed[DEPTH * BLOCK_N];
    for (int j = 0; j < n; j += BLOCK_N)
        for (int p = 0; p < k; p += DEPTH) {
            const int cols = least(n - j, BLOCK_N), depth = least(k - p, DEPTH);
            const gemm_ending first = gemm_end_at(end, 0, j), more = {end->factor, c + j, ldc};
            gemm_ahead next = after(j, p, m, n, k, b);
            pack_panels(depth, cols, PANEL_N,
                        (gemm_view){b.x + p * b.row + j * b.col, b.row, b.col}, packed, PANEL_N);
            strips(m, cols, depth, (gemm_view){a.x + p * a.col, a.row, a.col}, packed,
                   p ? &more : &first, c + j, ldc, &next);
        }
}
