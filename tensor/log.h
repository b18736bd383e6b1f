/* log.h - logarithms a vector at a time, everywhere within 2 units of the last place; header only,
 * internal to the library. */
#ifndef TENSOR_LOG_H
#define TENSOR_LOG_H

#include "tensor/exp.h"

#ifdef QKV_DOUBLE
#define LOG_LIFT   0x1p54
#define LOG_LIFTED 54
#define LOG_ZERO   (EXP_ROUND + 1023)
#define LOG_ROOT   0x1.6a09e667f3bcdp-1  // sqrt(1/2)
#else
#define LOG_LIFT   0x1p25f
#define LOG_LIFTED 25
#define LOG_ZERO   (EXP_ROUND + 127)
#define LOG_ROOT   0x1.6a09e6p-1f
#endif

/* x = 2^n (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). */
typedef struct {
    vreal f, n;
} vec_parts;

/* Its logarithm, ln(1 + f) + n ln 2, where f is exact.
 * With s = f / (2 + f), z = s^2: ln(1 + f) = f - (f^2/2 - s (f^2/2 + z R(z))). */
VEC_INLINE vreal vec_log_of(vec_parts x) {
#ifdef QKV_DOUBLE
    static const real R[] = {0.66666666666666697, 0.39999999999898273, 0.28571428626533616,
                             0.22222211043776858, 0.18182895750119194, 0.15331501611145328,
                             0.14619166134887971};
#else
    static const real R[] = {0.666666666f, 0.400001226f, 0.285507364f, 0.23332763f};
#endif
    const vreal f = x.f, s = f / (2 + f), z = s * s, half = (real)0.5 * f * f;
    const vreal rest = s * (half + z * vec_poly(R, sizeof R / sizeof *R, z)) + x.n * LN2_LOW;
    return x.n * LN2_HIGH - ((half - rest) - f);
}

/* AVX-512 knows the exponents of subnormal numbers, too; that of 0 is -infinity, as is then its logarithm,
 * and that of infinity infinity. Below 0 f is NaN. */
#ifdef VEC_AVX512
VEC_INLINE vec_parts vec_parts_of(vreal x) {
    const vreal m = (vreal)VEC_512(getmant)(x, _MM_MANT_NORM_1_2,
                                            _MM_MANT_SIGN_nan | _MM_MANT_SIGN_zero);  // below 0, -0
    const vmask large = m >= 2 * LOG_ROOT;
    const vreal half = vec_select(large, vec_set((real)0.5), vec_set(1));
    return (vec_parts){m * half - 1,
                       (vreal)VEC_512(getexp)(x) + vec_select(large, vec_set(1), vec_set(0))};
}
VEC_INLINE vreal vec_log(vreal x) { return vec_log_of(vec_parts_of(x)); }
#else

/* Of positive normal numbers. The exponent of x / sqrt(1/2) stands in the bits over the mantissa; `zero`,
 * that of n = 0, is to be taken off it. */
VEC_INLINE vec_parts vec_parts_from(vreal zero, vreal x) {
    const vbits root = (vbits)vec_set(LOG_ROOT), mantissa = (((vbits){0} + 1) << EXP_SHIFT) - 1;
    const vbits quotient = (vbits)x - root + (vbits)vec_set(1);
    const vreal n = (vreal)((quotient >> EXP_SHIFT) + (vbits)vec_set(EXP_ROUND)) - zero;
    return (vec_parts){(vreal)((quotient & mantissa) + root) - 1, n};
}
VEC_INLINE vec_parts vec_parts_of(vreal x) { return vec_parts_from(vec_set(LOG_ZERO), x); }

/* -infinity at 0, NaN below. */
VEC_INLINE vreal vec_log(vreal x) {
    const vmask small = x < REAL_MIN;
    const vreal zero = vec_select(small, vec_set(LOG_ZERO + LOG_LIFTED), vec_set(LOG_ZERO));
    const vreal y = vec_log_of(vec_parts_from(zero, vec_select(small, x * LOG_LIFT, x)));
    const vreal at_0 = vec_select(x == 0, vec_set((real)-INFINITY), vec_set((real)NAN));
    return vec_select(x > 0, vec_select(x < (real)INFINITY, y, x), vec_select(x <= 0, at_0, x));
}
#endif

/* ln(1 + x) for x >= 0: of what 1 + x is rounded to, and what it was rounded by. */
VEC_INLINE vreal vec_log1p(vreal x) {
    const vreal u = 1 + x, low = x - (u - 1);
    return vec_select(u < (real)INFINITY, vec_log_of(vec_parts_of(u)) + low / u, u);
}

#endif
