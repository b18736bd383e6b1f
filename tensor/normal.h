/* normal.h - the normal distribution, a vector at a time; header only, internal to the library.
 *
 * Below 0, Phi(-a) = e^(-a^2/2) t Q(s) with t = 1 / (a + 4), s = 1 - 8 t, which takes a in 0..infinity
 * to -1..1; Q is a polynomial of tests/accuracy/fit.py. a^2/2 has twice the digits: its error becomes
 * that of the power. */
#pragma once

#include "tensor/exp.h"

#ifdef QKV_DOUBLE
#define NORMAL_NOTHING 38.7  // Phi(-a) a is 0 from here on
#else
#define NORMAL_NOTHING 14.6f
#endif

/* The power e^(-a^2/2), s, and t with its relative error: that of Phi would be three times as large. */
typedef struct {
    vreal a, s, t, error;
    vec_power power;
} vec_bell;

VEC_INLINE vec_bell vec_bell_of(vreal x) {
    vec_bell b;
    b.a = vec_min(vec_set(NORMAL_NOTHING), vec_abs(x));
    const vreal half = (vreal)((vmask)b.a & VEC_HALF);  // its square is exact
    const vreal low = (b.a - half) * (b.a + half) * (real)-0.5;
    b.power = vec_power_of(half * half * (real)-0.5, &low);
    const vreal w = b.a + 4, w_low = (4 - w) + b.a, t = 1 / w;
    const vec_pair one = vec_product(w, t);
    b.error = (1 - one.high) - one.low - w_low * t;
    b.t = t;
    b.s = 1 - 8 * t - 8 * t * b.error;
    return b;
}

/* x Phi(x). */
VEC_INLINE vreal vec_gelu(vreal x) {
#ifdef QKV_DOUBLE
    static const real Q[] = {
        0.75528513041575149,     -0.60789664197189211,   0.38713740074221454,
        -0.18652185795965725,    0.060396574890936561,   -0.0075401889667267916,
        -0.0034796923673935952,  0.0016308184575887012,  0.00013334431240964574,
        -0.00023109493516945901, -1.9082584797734331e-6, 3.5144686053003463e-5,
        7.1666632452210312e-7,   -5.9201733230161029e-6, -6.2969656058158233e-7,
        1.0215540371961015e-6,   2.7180452962592836e-7,  -1.549649174224745e-7,
        -8.540841815685125e-8,   1.3280797787310328e-8,  1.961961086135556e-8,
        1.9182770203733403e-9,   -2.5220994578780735e-9, -7.2624198104095793e-10};
#else
    static const real Q[] = {0.755285131f,    -0.607896659f,    0.387137368f,    -0.186521281f,
                             0.0603975331f,   -0.00754526827f,  -0.00348931728f, 0.0016452193f,
                             0.000171054612f, -0.000231798678f, -5.15565933e-5f};
#endif
    const vec_bell b = vec_bell_of(x);
    // Q's last sum with what it was rounded by: 1/2 ulp of 3
    const vreal rest = b.s * vec_poly(Q + 1, sizeof Q / sizeof *Q - 1, b.s), q = Q[0] + rest;
    const vreal factor = vec_sign_of(b.a, x) * b.t, y = factor * q;
    const vreal low = y * (b.power.q + b.error) + factor * ((Q[0] - q) + rest);
    const vreal part = vec_scale(y + low, b.power.n);
    return vec_select(x < 0, part, x - part);
}

/* Its slope Phi(x) + x phi(x). At -a it is e^(-a^2/2) (-a - zero) H(s), zero being where it is 0; above
 * 0 it is 1 - that of -x. */
VEC_INLINE vreal vec_gelu_slope(vreal x) {
#ifdef QKV_DOUBLE
    static const real H[] = {
        0.4622112440495753,      -0.10336589852195695,    0.060462936767851312,
        -0.02808335995304573,    0.009504950375084639,    -0.001788260541310058,
        -0.00015461331259419431, 0.00018577577566548209,  -1.7477216467442935e-5,
        -1.8034946224740671e-5,  3.5389106149057795e-6,   2.2167672534991976e-6,
        -4.9219427010383126e-7,  -3.4943869763546265e-7,  5.2431920005157922e-8,
        6.3364117734684142e-8,   -7.6581979753410632e-10, -1.14342011753986e-8,
        -1.7671038705710357e-9,  1.7128147179162118e-9,   5.6037809037161865e-10,
        -1.4934989125580394e-10, -7.266933611907862e-11};
    const real zero = -0.75179152469356447, zero_low = 1.4956759177009883e-17;
#else
    static const real H[] = {0.462211244f,    -0.103365898f,   0.0604629187f,    -0.0280833712f,
                             0.00950522404f,  -0.00178820409f, -0.000156125806f, 0.000185395972f,
                             -1.38060555e-5f, -1.64635395e-5f};
    const real zero = -0.751791537f, zero_low = 1.21144495e-8f;
#endif
    const vec_bell b = vec_bell_of(x);
    const vreal h = ((-b.a - zero) - zero_low) * vec_poly(H, sizeof H / sizeof *H, b.s);
    const vreal below = vec_scale(h + h * b.power.q, b.power.n);
    return vec_select(x < 0, below, 1 - below);
}
