/* rng.h - every random number of the project: PCG32 (XSH-RR 64/32).
 *
 * Source: M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
 * Algorithms for Random Number Generation", 2014. Only integer arithmetic, + - * / and sqrt: the
 * same bits on every compiler. No pointer may be NULL, as for memcpy(). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tensor/linkage.h"

TENSOR_C_BEGIN

typedef struct {
    uint64_t state, inc;  // inc is odd and selects the sequence
} rng;

/* The reference seeding (pcg32_srandom): equal to the published vectors. The top bit of `sequence`
 * is lost and sequences that differ in high bits only are correlated: for independent streams use
 * rng_stream. */
rng rng_seed(uint64_t state, uint64_t sequence);

/* The stream for one purpose: (seed, purpose, index) is hashed into both state and sequence. */
rng rng_stream(uint64_t seed, const char *purpose, uint64_t index);

uint32_t rng_u32(rng *r);

/* The next n of them, several steps at a time: 1.6 times as fast. */
void rng_fill(rng *r, uint32_t *out, size_t n);

/* Uniform in 0..bound-1, without bias (rejection). A bound of 0 is the caller's error: it draws
 * nothing and returns UINT32_MAX. */
uint32_t rng_below(rng *r, uint32_t bound);

double rng_double(rng *r);  // [0,1): 53 bits, never 1

/* Standard normal, by Marsaglia's polar method; no second value is kept. */
double rng_normal(rng *r);

/* k distinct numbers of 0..n-1 in random order into out[k], using scratch[n]. Needs 0 <= k <= n. */
void rng_choose(rng *r, int n, int k, int *out, int *scratch);

/* As if `delta` numbers had been drawn, in O(log delta); delta counts modulo 2^64, so -1 steps
 * back. */
void rng_advance(rng *r, uint64_t delta);

/* The 64-bit hash behind rng_stream, for names. */
uint64_t rng_hash(const char *text);

TENSOR_C_END
