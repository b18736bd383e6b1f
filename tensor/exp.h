/* exp.h - e^x a vector at a time, everywhere within 2 units of the last place; header only, internal
 * to the library. Nothing here branches, so what a vector costs does not depend on its numbers.
 *
 * x = n ln 2 + r with |r| <= ln(2)/2, then e^x = 2^n (1 + q), 1 + q = e^r by a polynomial of
 * tests/accuracy/fit.py. Whoever needs e^x times something that is large where e^x is smaller than the
 * smallest normal number takes both parts, and multiplies before 2^n does the last rounding. */
#pragma once

#include "tensor/vec.h"

#ifdef QKV_DOUBLE
#define EXP_LOW      -0x1.6232bdd7abcd2p9  // e^x is the smallest normal number
#define EXP_HIGH     0x1.62e42fefa39efp9   // the last x whose e^x is finite
#define EXP_NOTHING  -760                  // e^x is 0 from here on, even multiplied by 1000
#define EXP_INFINITE 710                   // and infinite from here on
#define EXP_ROUND    0x1.8p52  // adding it rounds to an integer, which then stands in the low bits
#define EXP_SHIFT    52
#define LN2_HIGH     0x1.62e42fefap-1
#define LN2_LOW      0x1.cf79abc9e3b3ap-40
#else
#define EXP_LOW      -0x1.5d589ep6f
#define EXP_HIGH     0x1.62e42ep6f
#define EXP_NOTHING  -115
#define EXP_INFINITE 89
#define EXP_ROUND    0x1.8p23f
#define EXP_SHIFT    23
#define LN2_HIGH     0x1.62e4p-1f
#define LN2_LOW      0x1.7f7d1cp-20f
#endif
#define LOG2_E ((real)1.44269504088896340736)

/* e^x = 2^n (1 + q), n a whole number. */
typedef struct {
    vreal n, q;
} vec_power;

/* Of x + low, where low says what x was rounded by (NULL: nothing); both within EXP_NOTHING ..
 * EXP_INFINITE. NaN gives NaN. */
VEC_INLINE vec_power vec_power_of(vreal x, const vreal *low) {
#ifdef QKV_DOUBLE
    static const real P[] = {0.5000000000000001,    0.16666666666666667,   0.041666666666623821,
                             0.0083333333333300382, 0.0013888888917367081, 0.00019841269863171556,
                             2.4801521057868205e-5, 2.7557268276905696e-6, 2.7620201591031549e-7,
                             2.5100472505694996e-8};
#else
    static const real P[] = {0.5f, 0.166665767f, 0.0416665542f, 0.00836323288f, 0.00139262508f};
#endif
    vec_power y;
    y.n = ((low ? x + *low : x) * LOG2_E + EXP_ROUND) - EXP_ROUND;
    vreal r = (x - y.n * LN2_HIGH) - y.n * LN2_LOW;
    if (low) r += *low;
    y.q = r + r * r * vec_poly(P, sizeof P / sizeof *P, r);
    return y;
}

/* 2^n for an n within the exponents of normal numbers; y 2^n for any n a vec_power has, rounded once,
 * also where that is subnormal: an instruction of AVX-512, or two halves. */
#ifdef VEC_AVX512
VEC_INLINE vreal vec_two_to(vreal n) { return (vreal)VEC_512(scalef)(vec_set(1), n); }
VEC_INLINE vreal vec_scale(vreal y, vreal n) { return (vreal)VEC_512(scalef)(y, n); }
#else
VEC_INLINE vreal vec_two_to(vreal n) {
    return (vreal)(((vbits)(n + EXP_ROUND) << EXP_SHIFT) + (vbits)vec_set(1));
}
VEC_INLINE vreal vec_scale(vreal y, vreal n) {
    const vreal half = (n * (real)0.5 + EXP_ROUND) - EXP_ROUND;
    return y * vec_two_to(half) * vec_two_to(n - half);
}
#endif

/* Of an x <= 0 of any size. */
VEC_INLINE vec_power vec_power_below(vreal x) {
    return vec_power_of(vec_max(vec_set(EXP_NOTHING), x), NULL);
}

VEC_INLINE vreal vec_exp_gradual(vreal x) {
    const vec_power y = vec_power_of(vec_clamp(x, EXP_NOTHING, EXP_INFINITE), NULL);
    return vec_scale(1 + y.q, y.n);
}

/* The same for weights and sums of them: 0 as soon as e^x is no normal number, one step shorter. */
VEC_INLINE vreal vec_exp(vreal x) {
#ifdef VEC_AVX512
    const vec_power p = vec_power_of(vec_min(vec_set(EXP_INFINITE), x), NULL);
    return (vreal)VEC_512(maskz_scalef)(VEC_TRUE(x, _CMP_NLT_UQ, vec_set(EXP_LOW)), 1 + p.q, p.n);
#else
    const vec_power p = vec_power_of(vec_clamp(x, EXP_LOW, EXP_HIGH), NULL);
    const vreal within = (vreal)((vbits)(1 + p.q) + ((vbits)(p.n + EXP_ROUND) << EXP_SHIFT));
    const vreal y = vec_select(x <= EXP_HIGH, within, x * (real)INFINITY);  // infinity, or NaN
    return (vreal)(~(x < EXP_LOW) & (vmask)y);
#endif
}

/* tanh(x) = (1 - t) / (1 + t), t = e^(-2|x|), with the sign of x; 1 - t = (1 - 2^n) - 2^n q. */
VEC_INLINE vreal vec_tanh(vreal x) {
    const vec_power t = vec_power_of(vec_max(vec_set(-60), 2 * vec_minus_abs(x)), NULL);
    const vreal s = vec_two_to(t.n), part = s * t.q;
    return vec_sign_of(((1 - s) - part) / ((1 + s) + part), x);
}
