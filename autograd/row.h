/* row.h - sums, maxima and exponentials of one row of n reals, a vector at a time; header only,
 * internal to autograd/. */
#ifndef AUTOGRAD_ROW_H
#define AUTOGRAD_ROW_H

#include "tensor/exp.h"

/* Elements i .. i+VEC-1 of a row of n; those beyond its end are `rest`, and are not written. They ask in
 * such a way that a compiler can see when the answer changes, and make two loops of ROW_EACH. */
VEC_INLINE vreal row_get(const real *x, ptrdiff_t i, ptrdiff_t n, real rest) {
    return i <= n - VEC ? vec_load(x + i) : vec_load_part(x + i, (int)(n - i), rest);
}
VEC_INLINE void row_put(real *x, ptrdiff_t i, ptrdiff_t n, vreal v) {
    if (i <= n - VEC)
        vec_store(x + i, v);
    else
        vec_store_part(x + i, (int)(n - i), v);
}
VEC_INLINE void row_add(real *x, ptrdiff_t i, ptrdiff_t n, vreal v) {
    row_put(x, i, n, row_get(x, i, n, 0) + v);
}
#define ROW_EACH(i, n) for (ptrdiff_t i = 0; i < (ptrdiff_t)(n); i += VEC)

/* Where one pass over a row waits for what the last one found, some rows are taken at a time, pass by pass:
 * it is found when the others have had theirs. How many of so many rows of n; all of them stay in the
 * first-level cache. */
enum { ROW_SOME = 16 };
static inline size_t row_some(int n, size_t rows) {
    const size_t most = n <= 4096 / ROW_SOME ? ROW_SOME : n <= 2048 ? 4096 / (size_t)n : 1;
    return rows < most ? rows : most;
}

/* The greatest of so_far and x[0..n-1]; NaN is passed over. Four at a time, as none waits for another. */
VEC_INLINE real row_max(const real *x, ptrdiff_t n, real so_far) {
    vreal m = vec_set(so_far), second = m, third = m, fourth = m;
    ptrdiff_t i = 0;
    for (; i + 4 * VEC <= n; i += 4 * VEC) {
        m = vec_max(vec_load(x + i), m);
        second = vec_max(vec_load(x + i + VEC), second);
        third = vec_max(vec_load(x + i + 2 * VEC), third);
        fourth = vec_max(vec_load(x + i + 3 * VEC), fourth);
    }
    for (; i < n; i += VEC) m = vec_max(row_get(x, i, n, so_far), m);
    return vec_greatest(vec_max(vec_max(second, m), vec_max(fourth, third)));
}

/* Sum over i of x[i] - shift; with the sum of its squares. */
VEC_INLINE real row_sum(const real *x, int n, real shift) {
    vreal sum = {0};
    ROW_EACH(i, n) sum += row_get(x, i, n, shift) - shift;
    return vec_sum(sum);
}
VEC_INLINE real row_sums(const real *x, int n, real shift, real *squares) {
    vreal sum = {0}, square = {0};
    ROW_EACH(i, n) {
        const vreal d = row_get(x, i, n, shift) - shift;
        sum += d;
        square += d * d;
    }
    *squares = vec_sum(square);
    return vec_sum(sum);
}

/* Sum over i of a[i] b[i]. */
VEC_INLINE real row_dot(const real *a, const real *b, int n) {
    vreal sum = {0};
    ROW_EACH(i, n) sum += row_get(a, i, n, 0) * row_get(b, i, n, 0);
    return vec_sum(sum);
}

/* The same, but 0 where a is 0, whatever b is. */
VEC_INLINE real row_cut_dot(const real *a, const real *b, int n) {
    vreal sum = {0};
    ROW_EACH(i, n) sum += vec_cut(row_get(a, i, n, 0), row_get(b, i, n, 0));
    return vec_sum(sum);
}

/* y[i] = exp(x[i] - shift); returns the sum. Of the `room` >= n elements of y those in the last vector
 * become 0: whole vectors are stored, which can be loaded again at once, unlike parts. */
VEC_INLINE real row_exp(const real *x, int n, real shift, real *y, int room) {
    vreal sum = {0};
    ROW_EACH(i, n) {
        const vreal e = vec_exp(row_get(x, i, n, (real)-INFINITY) - shift);
        row_put(y, i, room, e);
        sum += e;
    }
    return vec_sum(sum);
}

VEC_INLINE void row_zero(real *x, int n) { ROW_EACH(i, n) row_put(x, i, n, vec_set(0)); }
VEC_INLINE void row_scale(real *x, int n, real factor) {
    ROW_EACH(i, n) row_put(x, i, n, factor * row_get(x, i, n, 0));
}

/* sum[0..n-1] += the columns' sums of x [rows,n]; eight rows at a time, so that `sum` is loaded and
 * stored less often. */
VEC_INLINE void row_add_columns(real *sum, int n, const real *x, int rows) {
    int r = 0;
    for (; r + 8 <= rows; r += 8, x += 8 * (ptrdiff_t)n) ROW_EACH(i, n) {
            vreal part[8];
            for (int k = 0; k < 8; k++) part[k] = row_get(x + k * (ptrdiff_t)n, i, n, 0);
            row_add(sum, i, n,
                    ((part[0] + part[1]) + (part[2] + part[3])) +
                        ((part[4] + part[5]) + (part[6] + part[7])));
        }
    for (; r < rows; r++, x += n) ROW_EACH(i, n) row_add(sum, i, n, row_get(x, i, n, 0));
}

/* Of some rows: p = softmax(x), max = the greatest x, others = the sum of exp(x - max) over all but that
 * one: added to the 1 of the greatest itself, a small one would lose its digits. */
typedef struct {
    const real *x;
    real *p, max, others;
} row_soft;

VEC_INLINE void row_softmax(row_soft *r, int rows, int n) {
    for (row_soft *s = r; s < r + rows; s++) s->max = row_max(s->x, n, (real)-INFINITY);
    for (row_soft *s = r; s < r + rows; s++) {
        vreal sum = {0}, times = {0};
        ROW_EACH(i, n) {
            const vreal v = row_get(s->x, i, n, (real)-INFINITY), e = vec_exp(v - s->max);
            const vmask greatest = v == s->max;
            row_put(s->p, i, n, e);
            sum += vec_select(greatest, e - 1, e);  // an infinity's is NaN
            times += vec_select(greatest, vec_set(1), vec_set(0));
        }
        s->others = vec_sum(sum) + (vec_sum(times) - 1);
    }
    for (row_soft *s = r; s < r + rows; s++) row_scale(s->p, n, 1 / (1 + s->others));
}

#endif
