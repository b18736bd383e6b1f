/* gate.h - the logistic function, and what x is multiplied by in silu and gelu, with their slopes; a
 * vector at a time, header only, internal to the library.
 *
 * Everything is made of z = e^(-|w|) <= 1, so that both tails keep their digits: 1 / (1 + e^-w) is
 * z / (1 + z) below 0 and 1 / (1 + z) above. Below 0 a result can be larger than z by so much that z
 * alone is subnormal, or 0: the power of two is multiplied last. Above 0 the slopes follow from
 * y'(x) + y'(-x) = 1, which holds for silu and both forms of gelu. */
#pragma once

#include "tensor/exp.h"

/* 1 / (1 + e^-x), the logistic function. */
VEC_INLINE vreal vec_sigmoid(vreal x) {
    const vec_power p = vec_power_below(vec_minus_abs(x));
    const vreal z = vec_scale(1 + p.q, p.n);
    return vec_select(x < 0, z, vec_set(1)) / (1 + z);
}

/* factor z / (1 + z)^2 of z = 2^n (1 + q) <= 1. */
VEC_INLINE vreal vec_bump(vreal factor, vec_power p) {
    const vreal z = vec_scale(1 + p.q, p.n);
    return vec_scale((factor + factor * p.q) / (1 + z * (2 + z)), p.n);
}

/* factor times the slope of the logistic function. */
VEC_INLINE vreal vec_sigmoid_slope(vreal x, real factor) {
    return vec_bump(vec_set(factor), vec_power_below(vec_minus_abs(x)));
}

/* x z / (1 + z) below 0, x / (1 + z) above, z = e^w 2^n(1+q) */
VEC_INLINE vreal vec_gate(vreal x, vreal clamped, vec_power p) {
    const vreal more = 1 + vec_scale(1 + p.q, p.n);
    const vmask below = x < 0;
    return vec_scale(vec_select(below, clamped + clamped * p.q, x) / more,
                     vec_select(below, p.n, vec_set(0)));
}

/* Its slope. Below 0 it is z g / (1 + z)^2; within 1/2 of its zero, where g cancels, d G(d) instead, d
 * being how far that is. */
VEC_INLINE vreal vec_gate_slope(vreal x, vreal g, vec_power p, vreal d, vreal G) {
    const vreal below = vec_select(vec_abs(d) < (real)0.5, d * G, vec_bump(g, p));
    return vec_select(x < 0, below, 1 - below);
}

/* ---- silu: w = x ---- */

VEC_INLINE vreal vec_silu(vreal x) {
    const vreal low = vec_max(vec_set(EXP_NOTHING), vec_minus_abs(x));
    return vec_gate(x, low, vec_power_of(low, NULL));
}

/* g = 1 + x + z, at -|x|. */
VEC_INLINE vreal vec_silu_slope(vreal x) {
#ifdef QKV_DOUBLE
    static const real G[] = {0.2178117057198001,     0.14664879699694689,    0.018874814223782313,
                             -0.015222655223185993,  -0.0066065891383565731, 0.0001266274099668298,
                             0.00079852188183285611, 0.00018570724649065926, -4.0905342198131738e-5,
                             -2.9733580707919542e-5, -2.9426342713705308e-6, 2.3463222041160545e-6,
                             8.599879413064147e-7,   -3.1782810440867218e-8, -9.2749065657745351e-8,
                             -1.5925545782218684e-8, 4.82333081735212e-9};
    const real zero = -1.2784645427610737, zero_low = -1.0946994183093437e-16;
#else
    static const real G[] = {0.217811706f,    0.146648801f,   0.0188748146f,
                             -0.0152228637f,  -0.0066066074f, 0.000129642029f,
                             0.000798789184f, 0.00016947461f, -4.23852593e-5f};
    const real zero = -1.27846456f, zero_low = 1.29792827e-8f;
#endif
    const vreal low = vec_max(vec_set(EXP_NOTHING), vec_minus_abs(x));
    const vec_power p = vec_power_of(low, NULL);
    const vreal d = (low - zero) - zero_low, g = 1 + low + vec_scale(1 + p.q, p.n);
    return vec_gate_slope(x, g, p, d, vec_poly(G, sizeof G / sizeof *G, d));
}

/* ---- gelu's tanh form: w = A x + B x^3, A = 2 sqrt(2/pi), B = 0.044715 A ---- */

#ifdef QKV_DOUBLE
#define GATE_NOTHING -21.7  // e^w x is 0 from here on
#define GATE_A       1.5957691216057308
#define GATE_A_LOW   -9.9693088091109203e-17
#define GATE_B       0.071354816272600249
#define GATE_B_LOW   -6.1751499181553155e-19
#else
#define GATE_NOTHING -11
#define GATE_A       1.59576917f
#define GATE_A_LOW   -4.53406804e-8f
#define GATE_B       0.0713548139f
#define GATE_B_LOW   2.3988324e-9f
#endif

/* w at x, with twice the digits: its error becomes e^w's, and |w| may be as much as EXP_NOTHING. *slope
 * = A + 3 B x^2. */
VEC_INLINE vec_pair vec_gate_w(vreal x, vec_pair *slope) {
    const vec_pair square = vec_product(x, x), cubic = vec_product(square.high, vec_set(GATE_B));
    const vreal cubic_low = cubic.low + square.high * GATE_B_LOW + square.low * GATE_B;
    vec_pair v = vec_added(vec_set(GATE_A), cubic.high);
    v.low += cubic_low + GATE_A_LOW;
    *slope = vec_added(v.high, 2 * cubic.high);
    slope->low += v.low + 2 * cubic_low;
    const vec_pair w = vec_product(x, v.high);
    return (vec_pair){w.high, w.low + x * v.low};
}

VEC_INLINE vreal vec_gelu_tanh(vreal x) {
    const vreal low = vec_max(vec_set(GATE_NOTHING), vec_minus_abs(x));
    vec_pair slope;
    const vec_pair w = vec_gate_w(low, &slope);
    return vec_gate(x, low, vec_power_of(w.high, &w.low));
}

/* g = 1 + x w' + z, x w' = A x + 3 B x^3, at -|x|. */
VEC_INLINE vreal vec_gelu_tanh_slope(vreal x) {
#ifdef QKV_DOUBLE
    static const real G[] = {
        0.43040009102485851,    0.38751844613578892,    -0.015782853521848031,
        -0.11394448308095799,   -0.016619328343051894,  0.019682309459762864,
        0.0052610592548747493,  -0.0024227318436229649, -0.00092744202150755534,
        0.00026392760138147199, 0.00012425225169899301, -3.4955771425492752e-5,
        -1.5950627205528256e-5, 5.9161318340174802e-6,  2.4318763367429928e-6,
        -9.806892331185908e-7,  -4.247968717260026e-7,  1.2278403207499807e-7,
        6.2329566806413069e-8};
    const real zero = -0.75246142207101629, zero_low = 3.6355605092068876e-17;
#else
    static const real G[] = {0.430400091f,     0.387518446f,   -0.0157828974f, -0.113944471f,
                             -0.0166179206f,   0.0196819229f,  0.00524517669f, -0.00241836019f,
                             -0.000853637085f, 0.000243501773f};
    const real zero = -0.752461433f, zero_low = 1.13396283e-8f;
#endif
    const vreal low = vec_max(vec_set(GATE_NOTHING), vec_minus_abs(x));
    vec_pair slope;
    const vec_pair w = vec_gate_w(low, &slope);
    const vec_power p = vec_power_of(w.high, &w.low);
    const vreal d = (low - zero) - zero_low;
    const vreal g = (1 + vec_scale(1 + p.q, p.n) + low * slope.low) + low * slope.high;
    return vec_gate_slope(x, g, p, d, vec_poly(G, sizeof G / sizeof *G, d));
}
