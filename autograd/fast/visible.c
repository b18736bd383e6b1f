/* visible.c - which keys a query sees, and cells that are masked. */
#include "autograd/fast/attend.h"
#include "autograd/row.h"

int ag_visible(ag_mask mask, int r, int S, int begin[2], int end[2]) {
    const int limit = ag_mask_limit(mask, r, S), t = ag_mask_position(mask, r);
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

int ag_mask_cols(ag_mask mask, int t, int S) {
    return mask.places.at ? S : ag_mask_limit(mask, t, S);
}

/* x[limit .. cols-1] = 0. Of a row of whole vectors whole ones are stored: they can be loaded again at once,
 * unlike parts. */
static inline void clear_after(real *x, int limit, int cols) {
    const int s = limit / VEC * VEC;
    if (s < limit && cols % VEC == 0) {
        vec_store(x + s, vec_first(limit - s, vec_load(x + s)));
        limit = s + VEC;
    }
    row_zero(x + limit, cols - limit);
}

void ag_clear_masked(ag_mask mask, const ag_band *band, ag_strip p) {
    if (!mask.causal && !mask.no_self && ag_mask_limit(mask, 0, band->cols) == band->cols) return;
    for (int t = band->t; t < band->t + band->n; t++, p.x += p.ld) {
        const int limit = ag_mask_limit(mask, t, band->cols);
        clear_after(p.x, limit, band->cols);
        const int self = ag_mask_position(mask, t);
        if (mask.no_self && self < limit) p.x[self] = 0;
    }
}
