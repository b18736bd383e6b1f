/* real.h - the one number type. The library is built twice from this source: `float` trains,
 * `double` (compiled with -DQKV_DOUBLE) checks gradients, so that the code which is checked is the
 * code which trains. */
#pragma once

#include <float.h>
#include <math.h>

#include "tensor/linkage.h"

#ifdef __FAST_MATH__
#error "qkv must not be built with -ffast-math: masked attention needs infinities, checks need NaN"
#endif

#ifdef QKV_DOUBLE
typedef double real;
#define REAL_EPSILON      DBL_EPSILON
#define REAL_NAME         "double"
#define real_sqrt         sqrt
#define real_abs          fabs
#define real_fma          fma
#define REAL_MIN          DBL_MIN
#define REAL_MAX          DBL_MAX
#define REAL_MAX_EXPONENT DBL_MAX_EXP
#else
typedef float real;
#define REAL_EPSILON      FLT_EPSILON
#define REAL_NAME         "float"
#define real_sqrt         sqrtf
#define real_abs          fabsf
#define real_fma          fmaf
#define REAL_MIN          FLT_MIN
#define REAL_MAX          FLT_MAX
#define REAL_MAX_EXPONENT FLT_MAX_EXP
#endif

/* The greater one, `most` where x is NaN: fmax(), but gcc 12 for aarch64 dies of that at -O3 in a loop over
 * float. */
static inline double real_greater(double most, double x) { return x > most ? x : most; }
