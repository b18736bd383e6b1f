/* attend.c - the three products of masked attention. */
#include "autograd/fast/attend.h"

#include <string.h>

#include "autograd/fast/row_math.h"

/* Do its rows see different keys? Of one row what is hidden stands behind what it sees: it is not read. */
static bool masked(ag_mask m, const ag_band *band) {
    return m.no_self || (m.causal && band->n > 1);
}

static bool all_finite(int rows, int E, const real *x, ptrdiff_t ld) {
    vreal sum[4] = {{0}};  // x * 0 is 0 where x is finite, else NaN, and NaN stays
    int r = 0;
    for (; r + 4 <= rows; r += 4)  // four at a time, as none waits for another
        ROW_EACH(e, E)
            for (int k = 0; k < 4; k++) sum[k] += row_get(x + (r + k) * ld, e, E, 0) * 0;
    for (; r < rows; r++)
        ROW_EACH(e, E) sum[0] += row_get(x + r * ld, e, E, 0) * 0;
    return vec_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) == 0;
}

/* How many keys the band's last query sees. */
static int keys_of(const ag_head *h, const ag_band *band) {
    return ag_mask_limit(h->mask, band->t + band->n - 1, h->S);
}

/* ---- what is kept for a plane: one flag, b turned around, what is added to b, too, and b itself ---- */

static ptrdiff_t turned_ld(int S) { return (S + 31) / 32 * 32 + 16; }

/* One head's rows lie far apart, as those of its neighbours stand between them. Every band goes through
 * all of them: where they are more than a part of the second-level cache, they are put together. */
static bool is_scattered(int S, int E, ptrdiff_t ldb) {
    return E < ldb && S * ldb * (ptrdiff_t)sizeof(real) > 1 << 19;
}

size_t ag_attend_room(int T, int S, int E, ptrdiff_t ldb) {
    const size_t copies = is_scattered(S, E, ldb) ? 3 : 2;
    return T > AG_BAND ? 16 + copies * (size_t)E * (size_t)turned_ld(S) : 0;
}

static real *turned(const ag_head *h) { return h->plane + 16; }
static real *sums(const ag_head *h) { return turned(h) + (ptrdiff_t)h->E * turned_ld(h->S); }
static real *gathered(const ag_head *h) { return sums(h) + (ptrdiff_t)h->E * turned_ld(h->S); }

/* y[j,i] = x[i,j], or added to it; x [rows,cols]. */
static void turn(bool add, int rows, int cols, const real *x, ptrdiff_t ldx, real *y,
                 ptrdiff_t ldy) {
    for (int i = 0; i < rows; i += VEC)
        for (int j = 0; j < cols; j += VEC) {
            vreal block[VEC];
            for (int k = 0; k < VEC; k++)
                block[k] = i + k < rows ? row_get(x + (i + k) * ldx, j, cols, 0) : vec_set(0);
            vec_transpose(block);
            for (int k = 0; k < VEC && j + k < cols; k++) {
                real *to = y + (j + k) * ldy;
                row_put(to, i, rows, add ? row_get(to, i, rows, 0) + block[k] : block[k]);
            }
        }
}

/* ---- the products ----
 *
 * Under a causal mask a band's last keys are seen by its last rows alone. Where that is much of it, it
 * is multiplied in parts of PART rows, or keys, each only with those that see each other: the same
 * bits, as all else is 0. */

enum { PART = 32 };

static bool by_parts(const ag_head *h, const ag_band *band) {
    return h->mask.causal && !h->mask.places.at && keys_of(h, band) <= 8 * PART;
}

/* Of a band's rows from r on, how many make the next part, and how many keys its last one sees. */
static int part_of(const ag_head *h, const ag_band *band, int r, int *keys) {
    const int left = band->n - r, n = left > PART && by_parts(h, band) ? PART : left;
    *keys = ag_mask_limit(h->mask, band->t + r + n - 1, h->S);
    return n;
}

/* Few keys of narrow heads: their dots with a query as vectors of products, whose lanes are then added up
 * for VEC keys at once. Nothing is turned around, which costs more there than the products. A question of
 * the keys and the head alone: a row has the same bits among any other rows. */
static bool are_few(const ag_head *h) { return h->S < VEC && h->E <= 2 * VEC && !h->plane; }

VEC_INLINE vreal part_of_row(const real *x, int v, const int vecs, int E) {
    return v + 1 < vecs ? vec_load(x + v * VEC) : row_get(x, v * VEC, E, 0);
}

VEC_INLINE void dots_of_few(const ag_head *h, const int vecs, int keys, const real *a,
                            const real *b, real *p, ptrdiff_t room) {
    const int E = h->E > (vecs - 1) * VEC ? h->E : vecs * VEC;  // h->E: the compiler may not know
    vreal query[2];
    for (int v = 0; v < vecs; v++) query[v] = part_of_row(a, v, vecs, E);
    for (int s = 0; s < keys; s += VEC) {
        const int n = keys - s < VEC ? keys - s : VEC;
        vreal part[VEC];
        for (int k = 0; k < n; k++, b += h->ldb) {
            part[k] = query[0] * part_of_row(b, 0, vecs, E);
            for (int v = 1; v < vecs; v++) part[k] += query[v] * part_of_row(b, v, vecs, E);
        }
        for (int k = n; k < VEC; k++) part[k] = vec_set(0);
        row_put(p, s, room, h->factor * vec_sums(part));
    }
}

static void dots_of_band(const ag_head *h, const ag_band *band, const real *a, const real *b,
                         ag_strip p) {
    const int vecs = (h->E + VEC - 1) / VEC;
    for (int r = 0; r < band->n; r++, a += h->lda, p.x += p.ld) {
        const int keys = ag_mask_limit(h->mask, band->t + r, h->S);
        if (vecs == 1)
            dots_of_few(h, 1, keys, a, b, p.x, band->cols);
        else
            dots_of_few(h, 2, keys, a, b, p.x, band->cols);
    }
}

void ag_attend_dots(const ag_head *h, const ag_band *band, gemm_mode mode, const real *a,
                    const real *b, ag_strip p) {
    int begin[2], end[2];
    a += band->t * h->lda;
    if (mode == GEMM_SET && are_few(h)) {
        dots_of_band(h, band, a, b, p);
        ag_clear_masked(h->mask, band, p);
        return;
    }
    if (mode == GEMM_ADD) {
        for (int r = 0; r < band->n; r++)
            for (int i = 0, n = ag_visible(h->mask, band->t + r, h->S, begin, end); i < n; i++)
                gemm_mul_scaled(mode, h->factor, 1, end[i] - begin[i], h->E,
                                (gemm_view){a + r * h->lda, h->lda, 1},
                                (gemm_view){b + begin[i] * h->ldb, 1, h->ldb},
                                p.x + r * p.ld + begin[i], p.ld);
        return;
    }
    gemm_view right = {b, 1, h->ldb};
    if (h->plane) {
        if (band->first) turn(false, h->S, h->E, b, h->ldb, turned(h), turned_ld(h->S));
        right = (gemm_view){turned(h), turned_ld(h->S), 1};
    }
    for (int r = 0, n, keys; r < band->n; r += n) {
        n = part_of(h, band, r, &keys);
        gemm_mul_scaled(mode, h->factor, n, keys, h->E, (gemm_view){a + r * h->lda, h->lda, 1},
                        right, p.x + r * p.ld, p.ld);
    }
    ag_clear_masked(h->mask, band, p);
}

/* Must the masked numbers of b be kept out by more than a factor 0? */
static bool careful_rows(const ag_head *h, const ag_band *band, const real *b) {
    if (!masked(h->mask, band)) return false;
    if (!h->plane) return !all_finite(h->S, h->E, b, h->ldb);
    if (band->first) h->plane[0] = !all_finite(h->S, h->E, b, h->ldb);
    return h->plane[0] != 0;
}

static gemm_view rows_of(const ag_head *h, const ag_band *band, const real *b) {
    if (!h->plane || !is_scattered(h->S, h->E, h->ldb)) return (gemm_view){b, h->ldb, 1};
    real *y = gathered(h);
    for (int s = 0; s < h->S && band->first; s++, b += h->ldb, y += h->E)
        ROW_EACH(e, h->E) row_put(y, e, h->E, row_get(b, e, h->E, 0));
    return (gemm_view){gathered(h), h->E, 1};
}

/* One query: the keys' rows, each weighed, one after the other, as a product adds them up. */
VEC_INLINE void row_of_few(const ag_head *h, const int vecs, int keys, const real *p, const real *b,
                           real *a) {
    vreal sum[4] = {{0}};
    for (int s = 0; s < keys; s++, b += h->ldb)
        for (int v = 0; v < vecs; v++) sum[v] += p[s] * row_get(b, v * VEC, h->E, 0);
    for (int v = 0; v < vecs; v++) row_put(a, v * VEC, h->E, sum[v]);
}

static bool is_one(const ag_head *h, const ag_band *band, gemm_mode mode) {
    return band->n == 1 && mode == GEMM_SET && h->factor == 1 && h->E <= 2 * VEC && !h->plane;
}

void ag_attend_rows(const ag_head *h, const ag_band *band, gemm_mode mode, ag_strip p,
                    const real *b, real *a) {
    a += band->t * h->lda;
    if (!careful_rows(h, band, b)) {
        const int keys = keys_of(h, band);
        if (is_one(h, band, mode)) {
            if (h->E <= VEC)
                row_of_few(h, 1, keys, p.x, b, a);
            else
                row_of_few(h, 2, keys, p.x, b, a);
            return;
        }
        const gemm_view right = rows_of(h, band, b);
        for (int r = 0, n, seen; r < band->n; r += n) {
            n = part_of(h, band, r, &seen);
            gemm_mul_scaled(mode, h->factor, n, h->E, seen, (gemm_view){p.x + r * p.ld, p.ld, 1},
                            right, a + r * h->lda, h->lda);
        }
        return;
    }
    for (int r = 0; r < band->n; r++) {
        int begin[2], end[2], ranges = ag_visible(h->mask, band->t + r, h->S, begin, end);
        if (!ranges) begin[0] = end[0] = 0, ranges = 1;  // sees nothing: zero
        for (int i = 0; i < ranges; i++)
            gemm_mul_scaled(i ? GEMM_ADD : mode, h->factor, 1, h->E, end[i] - begin[i],
                            (gemm_view){p.x + r * p.ld + begin[i], p.ld, 1},
                            (gemm_view){b + begin[i] * h->ldb, h->ldb, 1}, a + r * h->lda, h->lda);
    }
}

/* A band's queries one by one. */
static void cols_carefully(const ag_head *h, const ag_band *band, ag_strip p, const real *a,
                           real *b) {
    for (int r = 0; r < band->n; r++) {
        int begin[2], end[2], ranges = ag_visible(h->mask, band->t + r, h->S, begin, end);
        for (int i = 0; i < ranges; i++)
            gemm_mul_scaled(GEMM_ADD, h->factor, end[i] - begin[i], h->E, 1,
                            (gemm_view){p.x + r * p.ld + begin[i], 1, p.ld},
                            (gemm_view){a + r * h->lda, h->lda, 1}, b + begin[i] * h->ldb, h->ldb);
    }
}

/* Keys up to those of the band's own rows are seen by all of them. */
static void cols_by_parts(const ag_head *h, const ag_band *band, ag_strip p, const real *a,
                          real *b) {
    const int keys = keys_of(h, band), own = by_parts(h, band) ? h->mask.first + band->t : keys;
    for (int s = 0, n; s < keys; s += n) {
        const int r = s > own ? s - own : 0;  // the first that sees key s
        n = s || own < 0 ? PART : own + PART;
        if (n > keys - s) n = keys - s;
        const real *from = a + r * h->lda, *weights = p.x + r * p.ld + s;
        if (h->plane)
            gemm_mul_scaled(GEMM_ADD, h->factor, h->E, n, band->n - r, (gemm_view){from, 1, h->lda},
                            (gemm_view){weights, p.ld, 1}, sums(h) + s, turned_ld(h->S));
        else
            gemm_mul_scaled(GEMM_ADD, h->factor, n, h->E, band->n - r,
                            (gemm_view){weights, 1, p.ld}, (gemm_view){from, h->lda, 1},
                            b + s * h->ldb, h->ldb);
    }
}

void ag_attend_cols(const ag_head *h, const ag_band *band, ag_strip p, const real *a, real *b) {
    const ptrdiff_t ld = turned_ld(h->S);
    a += band->t * h->lda;
    if (h->plane && band->first) memset(sums(h), 0, (size_t)h->E * (size_t)ld * sizeof(real));
    if (masked(h->mask, band) && !all_finite(band->n, h->E, a, h->lda))
        cols_carefully(h, band, p, a, b);
    else
        cols_by_parts(h, band, p, a, b);
    if (h->plane && band->last) turn(true, h->E, h->S, sums(h), ld, b, h->ldb);
}
