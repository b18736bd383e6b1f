/* normal.h - the normal distribution, a vector at a time; header only, internal to the library. */
#ifndef TENSOR_NORMAL_H
#define TENSOR_NORMAL_H

#include "tensor/vec.h"

/* Phi(x), the probability of less than x, within 2 units of REAL_EPSILON; *density = phi(x), its slope.
 *
 * With u = |x| / sqrt 2 the tail Phi(-|x|) is erfc(u) / 2 = e^(-x^2/2) P(s) / 2, where s = (3 - u) / (3 + u)
 * takes u in 0..infinity to 1..-1, and P is the Chebyshev approximation of e^(u^2) erfc(u) over s (its
 * error: 9e-9, in double 4e-17), computed with 60 digits and written in powers of s. */
VEC_INLINE vreal vec_normal(vreal x, vreal *density) {
#ifdef QKV_DOUBLE
    static const real P[] = {
        0.17900115118138996,     0.32623356004303644,     0.24560380171232726,
        0.15011593650084654,     0.07166583719815157,     0.024392499316826917,
        0.004269136329574221,    -0.0007077464161369134,  -0.0005970619166482283,
        -4.5255455972329074e-05, 6.405637095980165e-05,   1.286116774232076e-05,
        -7.97745375760794e-06,   -2.1218568423294364e-06, 1.2508572335122541e-06,
        2.972782959631279e-07,   -2.320136940092794e-07,  -3.238389487720839e-08,
        4.4091453237287747e-08,  1.7224392307220836e-09,  -6.996042527391528e-09,
        8.365905097263794e-11,   6.39052805592391e-10};
#else
    static const real P[] = {
        0.17900115365185434f,     0.32623364583192993f,    0.2456036216271468f,
        0.15011418584856487f,     0.07166797533270303f,    0.02440260496936182f,
        0.004259766871257394f,    -0.0007320455403284751f, -0.0005781560561591779f,
        -1.8398235500739622e-05f, 4.564088760267887e-05f};
#endif
    const real root_half = (real)0.70710678118654752440,
               inverse_root_2pi = (real)0.39894228040143267794;
    const vreal u = vec_max(x, -x) * root_half, s = 6 / (3 + u) - 1;
    const vreal e = vec_exp(x * x * (real)-0.5);
    vreal p = vec_set(0);
    for (int k = (int)(sizeof P / sizeof *P) - 1; k >= 0; k--) p = p * s + P[k];
    const vreal tail = e * p * (real)0.5;
    *density = e * inverse_root_2pi;
    return vec_select(x < 0, tail, 1 - tail);
}

/* 1 / (1 + e^-x), the logistic function. */
VEC_INLINE vreal vec_sigmoid(vreal x) { return 1 / (1 + vec_exp(-x)); }

#endif
