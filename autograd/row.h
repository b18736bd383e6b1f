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

/* The greatest of so_far and x[0..n-1]; NaN is passed over. Four at a time, as none waits for another. */
VEC_INLINE real row_max(const real *x, int n, real so_far) {
    vreal m = vec_set(so_far), second = m, third = m, fourth = m;
    int i = 0;
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

/* p = softmax(x), *max = the greatest x; returns the sum of exp(x - max) over all others: added to the
 * 1 of the greatest itself, a small one would lose its digits. */
VEC_INLINE real row_softmax(const real *x, int n, real *p, real *max) {
    *max = row_max(x, n, (real)-INFINITY);
    vreal sum = {0}, times = {0};
    ROW_EACH(i, n) {
        const vreal v = row_get(x, i, n, (real)-INFINITY), e = vec_exp(v - *max);
        const vmask greatest = v == *max;
        row_put(p, i, n, e);
        sum += vec_select(greatest, e - 1, e);  // an infinity's is NaN
        times += vec_select(greatest, vec_set(1), vec_set(0));
    }
    const real others = vec_sum(sum) + (vec_sum(times) - 1);
    row_scale(p, n, 1 / (1 + others));
    return others;
}

#endif
