/* log.h - logarithms a vector at a time, everywhere within 2 units of the last place; header only,
 * internal to the library. */
#ifndef TENSOR_LOG_H
#define TENSOR_LOG_H

#include "tensor/exp.h"

#ifdef QKV_DOUBLE
#define LOG_LIFT   0x1p54
#define LOG_LIFTED 54
#define LOG_BIAS   1023
#define LOG_ROOT   0x3fe6a09e667f3bcd  // the bits of sqrt(1/2)
#else
#define LOG_LIFT   0x1p25f
#define LOG_LIFTED 25
#define LOG_BIAS   127
#define LOG_ROOT   0x3f3504f3
#endif

/* ln(1 + f) + n ln 2 for sqrt(1/2) <= 1 + f < sqrt(2), where f is exact.
 * With s = f / (2 + f), z = s^2: ln(1 + f) = f - (f^2/2 - s (f^2/2 + z R(z))). */
VEC_INLINE vreal vec_log_of(vreal f, vreal n) {
#ifdef QKV_DOUBLE
    static const real R[] = {0.66666666666666697, 0.39999999999898273, 0.28571428626533616,
                             0.22222211043776858, 0.18182895750119194, 0.15331501611145328,
                             0.14619166134887971};
#else
    static const real R[] = {0.666666666f, 0.400001226f, 0.285507364f, 0.23332763f};
#endif
    const vreal s = f / (2 + f), z = s * s, half = (real)0.5 * f * f;
    const vreal rest = s * (half + z * vec_poly(R, sizeof R / sizeof *R, z)) + n * LN2_LOW;
    return n * LN2_HIGH - ((half - rest) - f);
}

/* ln x of positive normal numbers x = 2^n (1 + f). The exponent of x / sqrt(1/2), which is n, stands in
 * the bits over the mantissa. */
VEC_INLINE vreal vec_log_normal(vreal x, vreal lifted) {
    const vbits one = (vbits)vec_set(1), exponent = ((vbits)x - LOG_ROOT + one) >> EXP_SHIFT;
    const vreal n = (vreal)(exponent + (vbits)vec_set(EXP_ROUND)) - (EXP_ROUND + LOG_BIAS);
    const vreal m = (vreal)((vbits)x - (exponent << EXP_SHIFT) + one);
    return vec_log_of(m - 1, n - lifted);
}

/* -infinity at 0, NaN below. */
VEC_INLINE vreal vec_log(vreal x) {
    const vmask small = x < REAL_MIN;
    const vreal y = vec_log_normal(vec_select(small, x * LOG_LIFT, x),
                                   vec_select(small, vec_set(LOG_LIFTED), vec_set(0)));
    const vreal at_0 = vec_select(x == 0, vec_set((real)-INFINITY), vec_set((real)NAN));
    return vec_select(x > 0, vec_select(x < (real)INFINITY, y, x), vec_select(x <= 0, at_0, x));
}

/* ln(1 + x) for x >= 0: of what 1 + x is rounded to, and what it was rounded by. */
VEC_INLINE vreal vec_log1p(vreal x) {
    const vreal u = 1 + x, low = x - (u - 1);
    return vec_select(u < (real)INFINITY, vec_log_normal(u, vec_set(0)) + low / u, u);
}

#endif
