/* vec.h - short vectors of `real` on the compilers' vector extension; header only, internal to the
 * library.
 *
 * VEC is the number of reals in one register of the machine the file is compiled for. */
#ifndef TENSOR_VEC_H
#define TENSOR_VEC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tensor/real.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VEC_BYTES 64
#elif defined(__AVX__)
#define VEC_BYTES 32
#else
#define VEC_BYTES 16
#endif
#define VEC (VEC_BYTES / (int)sizeof(real))

typedef real vreal __attribute__((vector_size(VEC_BYTES)));
typedef real vreal_mem __attribute__((vector_size(VEC_BYTES), aligned(sizeof(real)), may_alias));
#ifdef QKV_DOUBLE
typedef int64_t vmask __attribute__((vector_size(VEC_BYTES)));  // comparisons give 0 or -1 a lane
#else
typedef int32_t vmask __attribute__((vector_size(VEC_BYTES)));
#endif

#define VEC_INLINE static inline __attribute__((always_inline, unused))

VEC_INLINE vreal vec_load(const real *p) { return *(const vreal_mem *)p; }
VEC_INLINE void vec_store(real *p, vreal v) { *(vreal_mem *)p = v; }
VEC_INLINE vreal vec_set(real x) {
    vreal zero = {0};
    return x - zero;
}

/* The first n (0 < n < VEC) lanes from memory and the others `rest`; and back. AVX-512 masks a
 * load by itself, which is ten times as fast as a copy of n numbers: it counts in attention, where
 * most rows end inside a vector. */
#ifdef __AVX512F__
#ifdef QKV_DOUBLE
#define VEC_LANES(n)     ((__mmask8)((1u << (n)) - 1))
#define VEC_MASKED_LOAD  _mm512_mask_loadu_pd
#define VEC_MASKED_STORE _mm512_mask_storeu_pd
#else
#define VEC_LANES(n)     ((__mmask16)((1u << (n)) - 1))
#define VEC_MASKED_LOAD  _mm512_mask_loadu_ps
#define VEC_MASKED_STORE _mm512_mask_storeu_ps
#endif
VEC_INLINE vreal vec_load_part(const real *p, int n, real rest) {
    return (vreal)VEC_MASKED_LOAD(vec_set(rest), VEC_LANES(n), p);
}
VEC_INLINE void vec_store_part(real *p, int n, vreal v) { VEC_MASKED_STORE(p, VEC_LANES(n), v); }
#else
VEC_INLINE vreal vec_load_part(const real *p, int n, real rest) {
    vreal v = vec_set(rest);
    memcpy(&v, p, (size_t)n * sizeof(real));
    return v;
}
VEC_INLINE void vec_store_part(real *p, int n, vreal v) { memcpy(p, &v, (size_t)n * sizeof(real)); }
#endif

/* The same for n > 0 that may be VEC or more. */
VEC_INLINE vreal vec_load_upto(const real *p, int n, real rest) {
    return n >= VEC ? vec_load(p) : vec_load_part(p, n, rest);
}
VEC_INLINE void vec_store_upto(real *p, int n, vreal v) {
    if (n >= VEC)
        vec_store(p, v);
    else
        vec_store_part(p, n, v);
}

VEC_INLINE vreal vec_select(vmask m, vreal yes, vreal no) {
    return (vreal)((m & (vmask)yes) | (~m & (vmask)no));
}
VEC_INLINE vreal vec_max(vreal a, vreal b) { return vec_select(a > b, a, b); }

/* VEC rows of VEC lanes, transposed in place: log2(VEC) times the two halves of the rows are
 * interleaved, lane by lane. */
#if VEC_BYTES / 4 == 16 && !defined(QKV_DOUBLE)
#define VEC_ZIP_LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define VEC_ZIP_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif VEC_BYTES / 4 == 16 || (VEC_BYTES / 4 == 8 && !defined(QKV_DOUBLE))
#define VEC_ZIP_LOW  0, 8, 1, 9, 2, 10, 3, 11
#define VEC_ZIP_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#elif VEC_BYTES / 4 == 8 || !defined(QKV_DOUBLE)
#define VEC_ZIP_LOW  0, 4, 1, 5
#define VEC_ZIP_HIGH 2, 6, 3, 7
#else
#define VEC_ZIP_LOW  0, 2
#define VEC_ZIP_HIGH 1, 3
#endif
VEC_INLINE void vec_transpose(vreal row[VEC]) {
    for (int round = 1; round < VEC; round *= 2) {
        vreal zipped[VEC];
        for (int i = 0; i < VEC / 2; i++) {
            zipped[2 * i] = __builtin_shufflevector(row[i], row[i + VEC / 2], VEC_ZIP_LOW);
            zipped[2 * i + 1] = __builtin_shufflevector(row[i], row[i + VEC / 2], VEC_ZIP_HIGH);
        }
        for (int i = 0; i < VEC; i++) row[i] = zipped[i];
    }
}

/* Sum and maximum of the lanes, halves folded onto each other. AVX-512 does it in registers: through
 * memory it takes longer than the row that is summed. */
#if defined(__AVX512F__) && defined(QKV_DOUBLE)
VEC_INLINE real vec_sum(vreal v) { return _mm512_reduce_add_pd((__m512d)v); }
VEC_INLINE real vec_greatest(vreal v) { return _mm512_reduce_max_pd((__m512d)v); }
#elif defined(__AVX512F__)
VEC_INLINE real vec_sum(vreal v) { return _mm512_reduce_add_ps((__m512)v); }
VEC_INLINE real vec_greatest(vreal v) { return _mm512_reduce_max_ps((__m512)v); }
#else
#define VEC_HALVE(half, op) \
    for (int i = 0; (half) < VEC && i < (half); i++) u.x[i] = op(u.x[i], u.x[(i + (half)) % VEC]);
#define VEC_FOLD(v, op) \
    union {             \
        vreal whole;    \
        real x[VEC];    \
    } u = {v};          \
    VEC_HALVE(8, op) VEC_HALVE(4, op) VEC_HALVE(2, op) VEC_HALVE(1, op) return u.x[0]
#define VEC_ADD_(a, b) ((a) + (b))
#define VEC_MAX_(a, b) ((a) > (b) ? (a) : (b))
VEC_INLINE real vec_sum(vreal v) { VEC_FOLD(v, VEC_ADD_); }
VEC_INLINE real vec_greatest(vreal v) { VEC_FOLD(v, VEC_MAX_); }
#endif

/* e^x within 2 ulp: 0 below the smallest normal result, infinity above the largest, NaN stays NaN.
 * x = n ln 2 + r, |r| <= ln(2)/2; e^r by its Taylor series, 2^n added to the exponent's bits. */
#ifdef QKV_DOUBLE
#define EXP_LOW   -0x1.6232bdd7abcd2p9  // e^x is the smallest normal number
#define EXP_HIGH  0x1.62e42fefa39efp9   // the last x whose e^x is finite
#define EXP_ROUND 0x1.8p52  // adding it rounds to an integer, which then stands in the low bits
#define EXP_SHIFT 52
#define LN2_HIGH  0x1.62e42fefap-1
#define LN2_LOW   0x1.cf79abc9e3b3ap-40
#define EXP_TERMS 13
#else
#define EXP_LOW   -0x1.5d589ep6f
#define EXP_HIGH  0x1.62e42ep6f
#define EXP_ROUND 0x1.8p23f
#define EXP_SHIFT 23
#define LN2_HIGH  0x1.62e4p-1f
#define LN2_LOW   0x1.7f7d1cp-20f
#define EXP_TERMS 7
#endif
#define LOG2_E ((real)1.44269504088896340736)

VEC_INLINE vreal vec_exp(vreal x) {
    static const real inverse_factorial[] = {(real)1,
                                             (real)1,
                                             (real)(1. / 2),
                                             (real)(1. / 6),
                                             (real)(1. / 24),
                                             (real)(1. / 120),
                                             (real)(1. / 720),
                                             (real)(1. / 5040),
                                             (real)(1. / 40320),
                                             (real)(1. / 362880),
                                             (real)(1. / 3628800),
                                             (real)(1. / 39916800),
                                             (real)(1. / 479001600),
                                             (real)(1. / 6227020800)};
    // NaN too: its bits are no exponent.
    vreal clamped = vec_select(x > EXP_LOW, x, vec_set(EXP_LOW));
    clamped = vec_select(x > EXP_HIGH, vec_set(EXP_HIGH), clamped);
    vreal shifted = clamped * LOG2_E + EXP_ROUND;
    vreal n = shifted - EXP_ROUND;
    vreal r = (clamped - n * LN2_HIGH) - n * LN2_LOW;
    vreal p = vec_set(inverse_factorial[EXP_TERMS]);
    for (int k = EXP_TERMS - 1; k >= 0; k--) p = p * r + inverse_factorial[k];
    vreal y = (vreal)((vmask)p + ((vmask)shifted << EXP_SHIFT));
    y = vec_select(x < EXP_LOW, vec_set(0), y);
    y = vec_select(x > EXP_HIGH, vec_set((real)INFINITY), y);
    return vec_select(x == x, y, x);
}

#endif
