/* log.h - logarithms a vector at a time, everywhere within 2 units of the last place; header only,
 * internal to the library. */
#pragma once

#include "tensor/exp.h"

#ifdef QKV_DOUBLE
#define LOG_LIFT     0x1p54
#define LOG_LIFTED   54
#define LOG_ZERO     (EXP_ROUND + 1023)
#define LOG_ROOT     0x1.6a09e667f3bcdp-1  // sqrt(1/2)
#define LOG_INTERVAL 48                    // 16 of them
#else
#define LOG_LIFT     0x1p25f
#define LOG_LIFTED   25
#define LOG_ZERO     (EXP_ROUND + 127)
#define LOG_ROOT     0x1.6a09e6p-1f
#define LOG_INTERVAL 18  // 32 of them
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
 * and that of infinity infinity. Below 0 f, or m, is NaN. */
#ifdef VEC_AVX512
VEC_INLINE vec_parts vec_parts_of(vreal x) {
    const vreal m = (vreal)VEC_512(getmant)(x, _MM_MANT_NORM_1_2,
                                            _MM_MANT_SIGN_nan | _MM_MANT_SIGN_zero);  // below 0, -0
    const vmask large = m >= 2 * LOG_ROOT;
    const vreal half = vec_select(large, vec_set((real)0.5), vec_set(1));
    return (vec_parts){m * half - 1,
                       (vreal)VEC_512(getexp)(x) + vec_select(large, vec_set(1), vec_set(0))};
}

/* Without the division: x = 2^n m, 3/4 <= m < 3/2, and of the interval in which m is, by its first bits,
 * the reciprocal of a c within it and log c stand in registers. r = m / c - 1 is small; around 1 c is 1, and
 * r exact. The others were chosen such that log c has few digits, and n ln 2 + log c is exact. */
VEC_INLINE vreal vec_entry(const real table[2 * VEC], vbits i) {
    return (vreal)VEC_512(permutex2var)(vec_load(table), (__m512i)i, vec_load(table + VEC));
}
VEC_INLINE vreal vec_log(vreal x) {
#ifdef QKV_DOUBLE
    static const real RECIPROCAL[] = {1.0,
                                      0.91455999994642556,
                                      0.86512432434829278,
                                      0.82075897433180223,
                                      0.78072195117764176,
                                      0.74440930233455427,
                                      0.7113244445017477,
                                      0.68105531910237704,
                                      1.3065142858195686,
                                      1.25527843126059,
                                      1.2079094339084528,
                                      1.1639854544371255,
                                      1.123143859542526,
                                      1.0850711865226395,
                                      1.0494950818682514,
                                      1.0};
    static const real LOG_C[] = {0.0,
                                 0.089312203739268625,
                                 0.1448820548077947,
                                 0.19752578835402801,
                                 0.24753620894921369,
                                 0.29516425787278422,
                                 0.3406266318810367,
                                 0.38411174396969727,
                                 -0.26736274033862628,
                                 -0.22735740555515349,
                                 -0.18889112477199888,
                                 -0.15184985304313159,
                                 -0.11613177043921041,
                                 -0.081645594538485966,
                                 -0.048309174101063945,
                                 0.0};
    static const real P[] = {-0.5,
                             0.33333333333333338,
                             -0.25000000000021154,
                             0.20000000000125646,
                             -0.16666666585323034,
                             0.14285713149076168,
                             -0.12500098520848238,
                             0.11113259220134569,
                             -0.099707730204864908,
                             0.079772039706462683};
#else
    static const real RECIPROCAL[] = {
        1.0f,         0.960942507f, 0.930723906f, 0.895075262f, 0.880667448f, 0.853800118f,
        0.824248612f, 0.815242708f, 0.788077235f, 0.76979208f,  0.747486889f, 0.729736984f,
        0.716884911f, 0.699658811f, 0.693875134f, 0.674566925f, 1.30816233f,  1.30205858f,
        1.26721811f,  1.24273634f,  1.2249639f,   1.20136261f,  1.16913629f,  1.15293527f,
        1.13146389f,  1.1174376f,   1.0942955f,   1.07190251f,  1.05683923f,  1.04208302f,
        1.02655339f,  1.0f};
    static const real LOG_C[] = {0.0f,           0.0398406982f,  0.0717926025f,  0.110847473f,
                                 0.127075195f,   0.158058167f,   0.193283081f,   0.204269409f,
                                 0.23815918f,    0.261634827f,   0.291038513f,   0.315071106f,
                                 0.332839966f,   0.357162476f,   0.365463257f,   0.393684387f,
                                 -0.268623352f,  -0.263946533f,  -0.236824036f,  -0.217315674f,
                                 -0.202911377f,  -0.183456421f,  -0.156265259f,  -0.142311096f,
                                 -0.123512268f,  -0.111038208f,  -0.0901107788f, -0.0694351196f,
                                 -0.0552825928f, -0.0412216187f, -0.0262069702f, 0.0f};
    static const real P[] = {-0.499999998f, 0.333334439f, -0.250039411f, 0.195197822f};
#endif
    const vreal m =
        (vreal)VEC_512(getmant)(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan | _MM_MANT_SIGN_zero);
    const vreal e = (vreal)VEC_512(getexp)(x), one = vec_set(1);
    const vreal n = (vreal)VEC_512(mask_add)(e, VEC_TRUE(m, _CMP_LT_OQ, one), e, one);
    const vbits i = (vbits)m >> LOG_INTERVAL;
    const vreal r = (vreal)VEC_512(fmsub)(m, vec_entry(RECIPROCAL, i), one);
    const vreal base = n * LN2_HIGH + vec_entry(LOG_C, i), high = base + r, low = (base - high) + r;
    const vreal rest = low + (n * LN2_LOW + r * r * vec_poly(P, sizeof P / sizeof *P, r));
    return (vreal)VEC_512(mask_add)(high, VEC_TRUE(low, _CMP_ORD_Q, low), high,
                                    rest);  // of infinity NaN
}
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
