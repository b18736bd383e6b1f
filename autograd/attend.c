/* attend.c - the three products of masked attention. */
#include "autograd/attend.h"

#include "autograd/row.h"

// Queries handled together: what lies right of a block's last visible key is skipped.
enum { BLOCK = 64 };

int ag_visible(ag_mask mask, int r, int S, int begin[2], int end[2]) {
    const int limit = ag_mask_limit(mask, r, S), t = mask.first + r;
    if (!mask.no_self || t >= limit) {
        begin[0] = 0;
        end[0] = limit;
        return limit > 0;
    }
    int n = 0;
    if (t > 0) begin[n] = 0, end[n++] = t;
    if (t + 1 < limit) begin[n] = t + 1, end[n++] = limit;
    return n;
}

ag_mask ag_mask_at(ag_mask mask, tensor_shape s, size_t r) {
    if (!mask.length) return mask;
    return ag_mask_row(mask, (int)(r / (tensor_rows(s) / (size_t)s.dim[0])));
}

bool ag_mask_fits(ag_node *node, ag_mask mask, tensor_shape s) {
    if ((mask.causal || mask.no_self) && s.rank < 2)
        return ag_fail(node, "this mask needs [..,T,S]");
    return !mask.length || s.rank > 2 || ag_fail(node, "lengths need [B,..,T,S]");
}

void ag_clear_masked(ag_mask mask, int T, int S, real *p) {
    if (!mask.causal && !mask.no_self && ag_mask_limit(mask, 0, S) == S) return;
    for (int t = 0; t < T; t++, p += S) {
        const int limit = ag_mask_limit(mask, t, S);
        row_zero(p + limit, S - limit);
        if (mask.no_self && mask.first + t < limit) p[mask.first + t] = 0;
    }
}

static bool masked(ag_mask m) { return m.causal || m.no_self; }

static bool all_finite(int rows, int E, const real *x, ptrdiff_t ld) {
    vreal sum = {0};  // x * 0 is 0 where x is finite, else NaN, and NaN stays
    for (int r = 0; r < rows; r++) ROW_EACH(e, E) sum += row_get(x + r * ld, e, E, 0) * 0;
    return vec_sum(sum) == 0;
}

/* Queries t0 .. t0+n-1 of one block, and how many keys the last of them sees. */
static int block_at(const ag_head *h, int t0, int *keys) {
    int n = !h->mask.causal || h->T - t0 < BLOCK ? h->T - t0 : BLOCK;
    *keys = ag_mask_limit(h->mask, t0 + n - 1, h->S);
    return n;
}

void ag_attend_dots(const ag_head *h, gemm_mode mode, const real *a, const real *b, real *p) {
    int begin[2], end[2];
    if (mode == GEMM_ADD) {
        for (int t = 0; t < h->T; t++)
            for (int i = 0, n = ag_visible(h->mask, t, h->S, begin, end); i < n; i++)
                gemm_mul_scaled(mode, h->factor, 1, end[i] - begin[i], h->E,
                                (gemm_view){a + t * h->lda, h->lda, 1},
                                (gemm_view){b + begin[i] * h->ldb, 1, h->ldb},
                                p + (ptrdiff_t)t * h->S + begin[i], h->S);
        return;
    }
    for (int t = 0, n, keys; t < h->T; t += n) {
        n = block_at(h, t, &keys);
        gemm_mul_scaled(mode, h->factor, n, keys, h->E, (gemm_view){a + t * h->lda, h->lda, 1},
                        (gemm_view){b, 1, h->ldb}, p + (ptrdiff_t)t * h->S, h->S);
    }
    ag_clear_masked(h->mask, h->T, h->S, p);
}

void ag_attend_rows(const ag_head *h, gemm_mode mode, const real *p, const real *b, real *a) {
    bool careful = masked(h->mask) && !all_finite(h->S, h->E, b, h->ldb);
    for (int t = 0, n, keys; t < h->T; t += n) {
        n = block_at(h, t, &keys);
        if (!careful) {
            gemm_mul_scaled(mode, h->factor, n, h->E, keys,
                            (gemm_view){p + (ptrdiff_t)t * h->S, h->S, 1},
                            (gemm_view){b, h->ldb, 1}, a + t * h->lda, h->lda);
            continue;
        }
        for (int r = t; r < t + n; r++) {
            int begin[2], end[2], ranges = ag_visible(h->mask, r, h->S, begin, end);
            if (!ranges) begin[0] = end[0] = 0, ranges = 1;  // sees nothing: zero
            for (int i = 0; i < ranges; i++)
                gemm_mul_scaled(i ? GEMM_ADD : mode, h->factor, 1, h->E, end[i] - begin[i],
                                (gemm_view){p + (ptrdiff_t)r * h->S + begin[i], h->S, 1},
                                (gemm_view){b + begin[i] * h->ldb, h->ldb, 1}, a + r * h->lda,
                                h->lda);
        }
    }
}

void ag_attend_cols(const ag_head *h, const real *p, const real *a, real *b) {
    bool careful = masked(h->mask) && !all_finite(h->T, h->E, a, h->lda);
    for (int t = 0, n, keys; t < h->T; t += n) {
        n = block_at(h, t, &keys);
        if (!careful) {
            gemm_mul_scaled(GEMM_ADD, h->factor, keys, h->E, n,
                            (gemm_view){p + (ptrdiff_t)t * h->S, 1, h->S},
                            (gemm_view){a + t * h->lda, h->lda, 1}, b, h->ldb);
            continue;
        }
        for (int r = t; r < t + n; r++) {
            int begin[2], end[2], ranges = ag_visible(h->mask, r, h->S, begin, end);
            for (int i = 0; i < ranges; i++)
                gemm_mul_scaled(GEMM_ADD, h->factor, end[i] - begin[i], h->E, 1,
                                (gemm_view){p + (ptrdiff_t)r * h->S + begin[i], 1, h->S},
                                (gemm_view){a + r * h->lda, h->lda, 1}, b + begin[i] * h->ldb,
                                h->ldb);
        }
    }
}
