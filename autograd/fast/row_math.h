/* row_math.h - sums, maxima, exponentials and softmax of rows, a vector at a time; header only, internal
 * to autograd/fast/. */
#pragma once

#include "autograd/row.h"

/* Where one pass over a row waits for what the last one found, some rows are taken at a time, pass by pass:
 * it is found when the others have had theirs. How many of so many rows of n; all of them stay in the
 * first-level cache. */
enum { ROW_SOME = 16 };
static inline size_t row_some(int n, size_t rows) {
    const size_t most = n <= 4096 / ROW_SOME ? ROW_SOME : n <= 2048 ? 4096 / (size_t)n : 1;
    return rows < most ? rows : most;
}

/* What each of some rows comes to whose lanes are still to be added up, or compared: all at once. */
VEC_INLINE void row_fold_sums(vreal part[ROW_SOME], int rows, real sum[ROW_SOME]) {
    for (int r = rows; r < ROW_SOME; r++) part[r] = vec_set(0);
    for (int r = 0; r < ROW_SOME; r += VEC) vec_store(sum + r, vec_sums(part + r));
}
VEC_INLINE void row_fold_greatest(vreal part[ROW_SOME], int rows, real most[ROW_SOME]) {
    for (int r = rows; r < ROW_SOME; r++) part[r] = vec_set(0);
    for (int r = 0; r < ROW_SOME; r += VEC) vec_store(most + r, vec_greatests(part + r));
}

/* The greatest of so_far and x[0..n-1], in VEC parts; NaN is passed over. Four at a time, as none waits
 * for another. */
VEC_INLINE vreal row_max_parts(const real *x, ptrdiff_t n, real so_far) {
    vreal m = vec_set(so_far), second = m, third = m, fourth = m;
    ptrdiff_t i = 0;
    for (; i + 4 * VEC <= n; i += 4 * VEC) {
        m = vec_max(vec_load(x + i), m);
        second = vec_max(vec_load(x + i + VEC), second);
        third = vec_max(vec_load(x + i + 2 * VEC), third);
        fourth = vec_max(vec_load(x + i + 3 * VEC), fourth);
    }
    for (; i < n; i += VEC) m = vec_max(row_get(x, i, n, so_far), m);
    return vec_max(vec_max(second, m), vec_max(fourth, third));
}
VEC_INLINE real row_max(const real *x, ptrdiff_t n, real so_far) {
    return vec_greatest(row_max_parts(x, n, so_far));
}

/* Sum over i of x[i] - shift, in VEC parts; with the sum of its squares. */
VEC_INLINE vreal row_sum_parts(const real *x, int n, real shift) {
    vreal sum = {0};
    ROW_EACH(i, n) sum += row_get(x, i, n, shift) - shift;
    return sum;
}
VEC_INLINE vreal row_sums_parts(const real *x, int n, real shift, vreal *squares) {
    vreal sum = {0}, square = {0};
    ROW_EACH(i, n) {
        const vreal d = row_get(x, i, n, shift) - shift;
        sum += d;
        square += d * d;
    }
    *squares = square;
    return sum;
}

/* Sum over i of a[i] b[i], in VEC parts. */
VEC_INLINE vreal row_dot_parts(const real *a, const real *b, int n) {
    vreal sum = {0};
    ROW_EACH(i, n) sum += row_get(a, i, n, 0) * row_get(b, i, n, 0);
    return sum;
}

/* Their sum, but 0 where a is 0, whatever b is. */
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

VEC_INLINE void row_scale(real *x, int n, real factor) {
    ROW_EACH(i, n) row_put(x, i, n, factor * row_get(x, i, n, 0));
}

/* sum[0..n-1] += the columns' sums of x [rows,n]; eight rows at a time, so that `sum` is loaded and
 * stored less often. */
VEC_INLINE void row_add_columns(real *sum, int n, const real *x, int rows) {
    int r = 0;
    for (; r + 8 <= rows; r += 8, x += 8 * (ptrdiff_t)n)
        ROW_EACH(i, n) {
            vreal part[8];
            for (int k = 0; k < 8; k++) part[k] = row_get(x + k * (ptrdiff_t)n, i, n, 0);
            row_add(sum, i, n,
                    ((part[0] + part[1]) + (part[2] + part[3])) +
                        ((part[4] + part[5]) + (part[6] + part[7])));
        }
    for (; r < rows; r++, x += n)
        ROW_EACH(i, n) row_add(sum, i, n, row_get(x, i, n, 0));
}

/* Of some rows: p = softmax(x), max = the greatest x, others = the sum of exp(x - max) over all but that
 * one: added to the 1 of the greatest itself, a small one would lose its digits. */
typedef struct {
    const real *x[ROW_SOME];
    real *p[ROW_SOME];
    real max[ROW_SOME], others[ROW_SOME];
} row_soft;

VEC_INLINE void row_softmax(row_soft *s, int rows, int n) {
    vreal most[ROW_SOME], sum[ROW_SOME], times[ROW_SOME];
    real count[ROW_SOME], factor[ROW_SOME];
    for (int r = 0; r < rows; r++) most[r] = row_max_parts(s->x[r], n, (real)-INFINITY);
    row_fold_greatest(most, rows, s->max);
    for (int r = 0; r < rows; r++) {
        const vreal max = vec_set(s->max[r]);
        vreal others = {0}, ones = {0};
        ROW_EACH(i, n) {
            const vreal v = row_get(s->x[r], i, n, (real)-INFINITY), e = vec_exp(v - max);
            const vmask greatest = v == max;
            row_put(s->p[r], i, n, e);
            others += (vreal)(~greatest & (vmask)e);
            ones += (vreal)(greatest & (vmask)vec_set(1));
        }
        sum[r] = others;
        times[r] = ones;
    }
    row_fold_sums(sum, rows, s->others);
    row_fold_sums(times, rows, count);
    ROW_EACH(r, ROW_SOME) {
        const vreal infinite = vec_load(s->max + r) * 0;  // NaN, if that is the greatest
        const vreal others = vec_load(s->others + r) + (vec_load(count + r) - 1) + infinite;
        vec_store(s->others + r, others);
        vec_store(factor + r, 1 / (1 + others));
    }
    for (int r = 0; r < rows; r++) row_scale(s->p[r], n, factor[r]);
}
