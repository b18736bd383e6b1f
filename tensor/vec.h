/* vec.h - short vectors of `real` on the compilers' vector extension; header only, internal to the
 * library.
 *
 * VEC is the number of reals in one register of the machine the file is compiled for; in a portable
 * build, whose sums are to have one order everywhere, as many as every machine has. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tensor/real.h"

#if defined(__AVX__) && !defined(QKV_PORTABLE)
#include <immintrin.h>
#endif
#if defined(__AVX512F__) && !defined(QKV_PORTABLE)
#define VEC_AVX512 1
#endif

#if defined(VEC_AVX512)
#define VEC_BYTES 64
#elif defined(__AVX__) && !defined(QKV_PORTABLE)
#define VEC_BYTES 32
#else
#define VEC_BYTES 16
#endif
#define VEC (VEC_BYTES / (int)sizeof(real))

typedef real vreal __attribute__((vector_size(VEC_BYTES)));
typedef real vreal_mem __attribute__((vector_size(VEC_BYTES), aligned(sizeof(real)), may_alias));
#ifdef QKV_DOUBLE
typedef int64_t vmask __attribute__((vector_size(VEC_BYTES)));  // comparisons give 0 or -1 a lane
typedef uint64_t vbits __attribute__((vector_size(VEC_BYTES)));
#else
typedef int32_t vmask __attribute__((vector_size(VEC_BYTES)));
typedef uint32_t vbits __attribute__((vector_size(VEC_BYTES)));
#endif

/* Keeps so many digits of a number that the product of two such is exact. */
#ifdef QKV_DOUBLE
#define VEC_HALF -0x8000000
#else
#define VEC_HALF -0x1000
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
#ifdef VEC_AVX512
#ifndef __OPTIMIZE__  // gcc's intrinsics are macros then, which change the sign of a mask
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif
#ifdef QKV_DOUBLE
#define VEC_512(name)      _mm512_##name##_pd
#define VEC_TRUE(a, is, b) _mm512_cmp_pd_mask(a, b, is)
#define VEC_LANES(n)       ((__mmask8)((1u << (n)) - 1))
#else
#define VEC_512(name)      _mm512_##name##_ps
#define VEC_TRUE(a, is, b) _mm512_cmp_ps_mask(a, b, is)
#define VEC_LANES(n)       ((__mmask16)((1u << (n)) - 1))
#endif
VEC_INLINE vreal vec_load_part(const real *p, int n, real rest) {
    return (vreal)VEC_512(mask_loadu)(vec_set(rest), VEC_LANES(n), p);
}
VEC_INLINE void vec_store_part(real *p, int n, vreal v) {
    VEC_512(mask_storeu)(p, VEC_LANES(n), v);
}
#else
VEC_INLINE vreal vec_load_part(const real *p, int n, real rest) {
    vreal v = vec_set(rest);
    memcpy(&v, p, (size_t)n * sizeof(real));
    return v;
}
VEC_INLINE void vec_store_part(real *p, int n, vreal v) { memcpy(p, &v, (size_t)n * sizeof(real)); }
#endif

/* Its first n lanes (0 <= n < VEC), the others 0. */
#ifdef VEC_AVX512
VEC_INLINE vreal vec_first(int n, vreal v) { return (vreal)VEC_512(maskz_mov)(VEC_LANES(n), v); }
#else
VEC_INLINE vreal vec_first(int n, vreal v) {
    for (int i = n; i < VEC; i++) v[i] = 0;
    return v;
}
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

/* A sum, not an "or": that gcc makes one blend of. */
VEC_INLINE vreal vec_select(vmask m, vreal yes, vreal no) {
    return (vreal)((m & (vmask)yes) + (~m & (vmask)no));
}

/* Whether a comparison holds in any lane. */
#ifdef VEC_AVX512
VEC_INLINE bool vec_any(vmask m) { return _mm512_test_epi32_mask((__m512i)m, (__m512i)m) != 0; }
#else
VEC_INLINE bool vec_any(vmask m) {
    uint64_t word[VEC_BYTES / 8], any = 0;
    memcpy(word, &m, sizeof word);
    for (int i = 0; i < VEC_BYTES / 8; i++) any |= word[i];
    return any != 0;
}
#endif

/* Of two, one of them NaN, the second. */
#ifdef VEC_AVX512
VEC_INLINE vreal vec_max(vreal a, vreal b) { return (vreal)VEC_512(max)(a, b); }
VEC_INLINE vreal vec_min(vreal a, vreal b) { return (vreal)VEC_512(min)(a, b); }
#else
VEC_INLINE vreal vec_max(vreal a, vreal b) { return vec_select(a > b, a, b); }
VEC_INLINE vreal vec_min(vreal a, vreal b) { return vec_select(a < b, a, b); }
#endif

/* a b, but 0 where a is 0, whatever b is: a gradient of exactly 0 stays 0 through a slope that is
 * infinite or no number. */
#ifdef VEC_AVX512
VEC_INLINE vreal vec_cut(vreal a, vreal b) {
    return (vreal)VEC_512(maskz_mul)(VEC_TRUE(a, _CMP_NEQ_UQ, vec_set(0)), a, b);
}
#else
VEC_INLINE vreal vec_cut(vreal a, vreal b) { return (vreal)((a != 0) & (vmask)(a * b)); }
#endif

#ifdef VEC_AVX512
VEC_INLINE vreal vec_sqrt(vreal x) { return (vreal)VEC_512(sqrt)(x); }
#else
VEC_INLINE vreal vec_sqrt(vreal x) {
    for (int i = 0; i < VEC; i++) x[i] = real_sqrt(x[i]);
    return x;
}
#endif

/* x brought into low .. high; NaN stays NaN. */
VEC_INLINE vreal vec_clamp(vreal x, real low, real high) {
    return vec_min(vec_set(high), vec_max(vec_set(low), x));
}

VEC_INLINE vmask vec_sign(vreal x) { return (vmask)x & (vmask)vec_set((real)-0.0); }
VEC_INLINE vreal vec_abs(vreal x) { return (vreal)((vmask)x & ~(vmask)vec_set((real)-0.0)); }
VEC_INLINE vreal vec_minus_abs(vreal x) { return (vreal)((vmask)x | (vmask)vec_set((real)-0.0)); }
VEC_INLINE vreal vec_sign_of(vreal size, vreal x) { return (vreal)((vmask)size | vec_sign(x)); }

/* A number as the sum of two: what it is, and what it was rounded by. */
typedef struct {
    vreal high, low;
} vec_pair;

/* a + b exactly. Source: D. E. Knuth, "The Art of Computer Programming", volume 2, section 4.2.2. */
VEC_INLINE vec_pair vec_added(vreal a, vreal b) {
    const vreal high = a + b, added = high - a;
    return (vec_pair){high, (a - (high - added)) + (b - added)};
}

/* a b exactly: both cut into halves, whose products are exact. Source: T. J. Dekker, "A Floating-Point
 * Technique for Extending the Available Precision", 1971. With a fused multiply-add it is one step, and must
 * be: a compiler would fuse the product with what is taken from it. */
VEC_INLINE vec_pair vec_product(vreal a, vreal b) {
    const vreal high = a * b;
#if defined(VEC_AVX512)
    return (vec_pair){high, (vreal)VEC_512(fmsub)(a, b, high)};
#elif defined(__FMA__) && !defined(QKV_PORTABLE) && defined(QKV_DOUBLE)
    return (vec_pair){high, (vreal)_mm256_fmsub_pd(a, b, high)};
#elif defined(__FMA__) && !defined(QKV_PORTABLE)
    return (vec_pair){high, (vreal)_mm256_fmsub_ps(a, b, high)};
#elif defined(__ARM_FEATURE_FMA) && !defined(QKV_PORTABLE)
    vec_pair p = {high, high};
    for (int i = 0; i < VEC; i++) p.low[i] = (real)__builtin_fma(a[i], b[i], -high[i]);
    return p;
#else
    const vreal a1 = (vreal)((vmask)a & VEC_HALF), b1 = (vreal)((vmask)b & VEC_HALF);
    const vreal a2 = a - a1, b2 = b - b1;
    return (vec_pair){high, ((a1 * b1 - high) + (a1 * b2 + a2 * b1)) + a2 * b2};
#endif
}

/* c[0] + c[1] x + ... + c[n-1] x^(n-1) */
VEC_INLINE vreal vec_poly(const real *c, size_t n, vreal x) {
    vreal y = vec_set(c[n - 1]);
    for (size_t k = n - 1; k-- > 0;) y = y * x + c[k];
    return y;
}

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
VEC_INLINE vreal vec_zip_low(vreal a, vreal b) {
    return __builtin_shufflevector(a, b, VEC_ZIP_LOW);
}
VEC_INLINE vreal vec_zip_high(vreal a, vreal b) {
    return __builtin_shufflevector(a, b, VEC_ZIP_HIGH);
}
VEC_INLINE void vec_transpose(vreal row[VEC]) {
    for (int round = 1; round < VEC; round *= 2) {
        vreal zipped[VEC];
        for (int i = 0; i < VEC / 2; i++) {
            zipped[2 * i] = vec_zip_low(row[i], row[i + VEC / 2]);
            zipped[2 * i + 1] = vec_zip_high(row[i], row[i + VEC / 2]);
        }
        for (int i = 0; i < VEC; i++) row[i] = zipped[i];
    }
}

/* Sum and maximum of the lanes, halves folded onto each other. AVX-512 does it in registers: through
 * memory it takes longer than the row that is summed. */
#ifdef VEC_AVX512
VEC_INLINE real vec_sum(vreal v) { return VEC_512(reduce_add)(v); }
VEC_INLINE real vec_greatest(vreal v) { return VEC_512(reduce_max)(v); }
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

/* The same of VEC vectors at once, in a third of the instructions: lane i of the result is what row[i]
 * alone would give, folded in the same order. */
#define VEC_FOLD_ROWS(row, op)                                                                   \
    vreal part[VEC];                                                                             \
    memcpy(part, row, sizeof part);                                                              \
    for (int half = VEC / 2; half > 0; half /= 2)                                                \
        for (int i = 0; i < half; i++)                                                           \
            part[i] =                                                                            \
                op(vec_zip_low(part[i], part[i + half]), vec_zip_high(part[i], part[i + half])); \
    return part[0]
VEC_INLINE vreal vec_add_(vreal a, vreal b) { return a + b; }
VEC_INLINE vreal vec_sums(const vreal row[VEC]) { VEC_FOLD_ROWS(row, vec_add_); }
VEC_INLINE vreal vec_greatests(const vreal row[VEC]) { VEC_FOLD_ROWS(row, vec_max); }
