/* row.h - sums, maxima and exponentials of one row of n reals, a vector at a time; header only,
 * internal to autograd/. */
#ifndef AUTOGRAD_ROW_H
#define AUTOGRAD_ROW_H

#include "tensor/vec.h"

/* The greatest of so_far and x[0..n-1]; NaN is passed over. */
VEC_INLINE real row_max(const real *x, int n, real so_far) {
    vreal m = vec_set(so_far);
    int i = 0;
    for (; i + VEC <= n; i += VEC) m = vec_max(vec_load(x + i), m);
    if (i < n) m = vec_max(vec_load_part(x + i, n - i, so_far), m);
    return vec_greatest(m);
}

/* Sum over i of (x[i] - shift)^power, power 1 or 2. */
VEC_INLINE real row_sum(const real *x, int n, real shift, const int power) {
    vreal total = {0};
    int i = 0;
    for (; i + VEC <= n; i += VEC) {
        vreal d = vec_load(x + i) - shift;
        total += power == 2 ? d * d : d;
    }
    if (i < n) {
        vreal d = vec_load_part(x + i, n - i, shift) - shift;
        total += power == 2 ? d * d : d;
    }
    return vec_sum(total);
}

/* Sum over i of a[i] b[i]. */
VEC_INLINE real row_dot(const real *a, const real *b, int n) {
    vreal sum = {0};
    int i = 0;
    for (; i + VEC <= n; i += VEC) sum += vec_load(a + i) * vec_load(b + i);
    if (i < n) sum += vec_load_part(a + i, n - i, 0) * vec_load_part(b + i, n - i, 0);
    return vec_sum(sum);
}

/* With w = dy gain: returns the sum of w (x - shift) and puts the sum of w into *w. */
VEC_INLINE real row_dot_gained(const real *x, const real *dy, const real *gain, int n, real shift,
                               real *w) {
    vreal sum = {0}, sum_x = {0};
    int i = 0;
    for (; i + VEC <= n; i += VEC) {
        vreal each = vec_load(dy + i) * vec_load(gain + i);
        sum += each;
        sum_x += each * (vec_load(x + i) - shift);
    }
    if (i < n) {
        vreal each = vec_load_part(dy + i, n - i, 0) * vec_load_part(gain + i, n - i, 0);
        sum += each;
        sum_x += each * (vec_load_part(x + i, n - i, shift) - shift);
    }
    *w = vec_sum(sum);
    return vec_sum(sum_x);
}

/* y[i] = exp(x[i] - shift); returns the sum. */
VEC_INLINE real row_exp(const real *x, int n, real shift, real *y) {
    vreal sum = {0};
    int i = 0;
    for (; i + VEC <= n; i += VEC) {
        vreal e = vec_exp(vec_load(x + i) - shift);
        vec_store(y + i, e);
        sum += e;
    }
    if (i < n) {
        vreal e = vec_exp(vec_load_part(x + i, n - i, (real)-INFINITY) - shift);
        vec_store_part(y + i, n - i, e);
        sum += e;
    }
    return vec_sum(sum);
}

/* p = softmax(x), *max = the greatest x; returns the sum of exp(x - max). */
VEC_INLINE real row_softmax(const real *x, int n, real *p, real *max) {
    *max = row_max(x, n, (real)-INFINITY);
    const real sum = row_exp(x, n, *max, p);
    for (int i = 0; i < n; i++) p[i] *= 1 / sum;
    return sum;
}

#endif
