/* row.h - one row of n reals, a vector at a time; header only, internal to autograd/. */
#pragma once

#include "tensor/exp.h"

/* Elements i .. i+VEC-1 of a row of n; those beyond its end are `rest`, and are not written. They ask in
 * such a way that a compiler can see when the answer changes, and make two loops of ROW_EACH. */
VEC_INLINE vreal row_get(const real *x, ptrdiff_t i, ptrdiff_t n, real rest) {
    return i <= n - VEC ? vec_load(x + i) : vec_load_part(x + i, (int)(n - i), rest);
}
VEC_INLINE void row_put(real *x, ptrdiff_t i, ptrdiff_t n, vreal v) {
    if (i <= n - VEC)
        vec_store(x + i, v);
    else
        vec_store_part(x + i, (int)(n - i), v);
}
VEC_INLINE void row_add(real *x, ptrdiff_t i, ptrdiff_t n, vreal v) {
    row_put(x, i, n, row_get(x, i, n, 0) + v);
}
#define ROW_EACH(i, n) for (ptrdiff_t i = 0; i < (ptrdiff_t)(n); i += VEC)

VEC_INLINE void row_zero(real *x, int n) {
    ROW_EACH(i, n) row_put(x, i, n, vec_set(0));
}
