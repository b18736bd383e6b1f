/* norm.h - what layer norm and rms norm share: rows whose squares are too large or too small for
 * numbers are normalised as scaled copies; internal to autograd/. */
#pragma once

#include "autograd/fast.h"
#include "autograd/fast/row_math.h"

/* ag_grad_or_first() of x, unless what is added to another input's gradient stands there, too. */
static inline real *ag_norm_grad(ag_node *node, bool *first) {
    *first = false;
    for (int i = 1; i < node->n_in; i++)
        if (node->in[i] == node->in[0]) return ag_grad(node->in[0]);
    return ag_grad_or_first(node->in[0], first);
}

/* Whether a mean square with its eps is finite and has all its digits. */
static inline bool ag_norm_in_range(real square) {
    return square > REAL_MIN / (REAL_EPSILON * REAL_EPSILON) && square < (real)INFINITY;
}

/* y = x times a power of two, which is returned, such that neither y nor eps (times its square) is far
 * from 1. 1 where x is all 0, or not finite. */
static inline real ag_norm_scaled(const real *x, int D, real eps, real *y) {
    vreal most = vec_set(real_sqrt(eps));
    ROW_EACH(d, D) most = vec_max(vec_abs(row_get(x, d, D, 0)), most);
    const real size = vec_greatest(most);
    real scale = 1;
    if (size > 0 && size < (real)INFINITY) {
        int exponent;
        frexp((double)size, &exponent);
        const int least = 3 - REAL_MAX_EXPONENT;  // 2^-exponent is to be a normal number
        if (exponent < least) exponent = least;
        if (exponent > -least) exponent = -least;
        scale = (real)ldexp(1, -exponent);
    }
    ROW_EACH(d, D) row_put(y, d, D, row_get(x, d, D, 0) * scale);
    return scale;
}
