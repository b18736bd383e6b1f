/* Compiled with -ffp-contract=off: a fused multiply-add would change the last bit of normals. */
#include "tensor/rng.h"

#include <math.h>
#include <string.h>

#include "tensor/vec.h"

static const uint64_t MULTIPLIER = 6364136223846793005u;

static inline uint32_t permuted(uint64_t state) {
    uint32_t xorshifted = (uint32_t)(((state >> 18) ^ state) >> 27);
    uint32_t turn = (uint32_t)(state >> 59);
    return (xorshifted >> turn) | (xorshifted << (-turn & 31));
}

uint32_t rng_u32(rng *r) {
    uint64_t old = r->state;
    r->state = old * MULTIPLIER + r->inc;
    return permuted(old);
}

/* LEAP states side by side, each of which goes LEAP steps at once: x mul + add. */
#ifdef VEC_AVX512
enum { LEAP = 8, VECTORS = 4 };
typedef uint64_t states __attribute__((vector_size(LEAP * sizeof(uint64_t))));
typedef uint32_t outputs __attribute__((vector_size(LEAP * sizeof(uint64_t))));

/* permuted() of twice LEAP states: of every state the half that counts is put beside the others'. */
static inline outputs permuted_states(states a, states b) {
#define LOW_HALVES  0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define HIGH_HALVES 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
    const outputs high = __builtin_shufflevector((outputs)a, (outputs)b, HIGH_HALVES);
    a = ((a >> 18) ^ a) >> 27;
    b = ((b >> 18) ^ b) >> 27;
    const outputs xorshifted = __builtin_shufflevector((outputs)a, (outputs)b, LOW_HALVES);
    return (outputs)_mm512_rorv_epi32((__m512i)xorshifted, (__m512i)(high >> 27));
}

/* Four vectors of them, so that none waits for its last product. */
static size_t leap(uint64_t state[LEAP], uint64_t mul, uint64_t add, uint32_t *out, size_t n) {
    states s[VECTORS];
    size_t at = 0;
    memcpy(s, state, sizeof *s);
    for (int i = 1; i < VECTORS; i++) s[i] = s[i - 1] * mul + add;
    for (int i = 1; i < VECTORS; i *= 2) {
        add *= mul + 1;
        mul *= mul;
    }
    for (; at + VECTORS * LEAP <= n; at += VECTORS * LEAP)
        for (int i = 0; i < VECTORS; i += 2) {
            const outputs drawn = permuted_states(s[i], s[i + 1]);
            memcpy(out + at + i * LEAP, &drawn, sizeof drawn);
            s[i] = s[i] * mul + add;
            s[i + 1] = s[i + 1] * mul + add;
        }
    state[0] = s[0][0];
    return at;
}
#else
enum { LEAP = 16 };
static size_t leap(uint64_t state[LEAP], uint64_t mul, uint64_t add, uint32_t *out, size_t n) {
    size_t at = 0;
    for (; at + LEAP <= n; at += LEAP)
        for (int i = 0; i < LEAP; i++) {
            out[at + (size_t)i] = permuted(state[i]);
            state[i] = state[i] * mul + add;
        }
    return at;
}
#endif

void rng_fill(rng *r, uint32_t *out, size_t n) {
    uint64_t state[LEAP], mul = 1, add = 0;
    rng ahead = *r;
    for (int i = 0; i < LEAP; i++) {
        state[i] = ahead.state;
        rng_u32(&ahead);
        mul *= MULTIPLIER;
        add = add * MULTIPLIER + r->inc;
    }
    size_t at = leap(state, mul, add, out, n);
    r->state = state[0];
    for (; at < n; at++) out[at] = rng_u32(r);
}

rng rng_seed(uint64_t state, uint64_t sequence) {
    rng r = {.state = 0, .inc = (sequence << 1) | 1};
    rng_u32(&r);
    r.state += state;
    rng_u32(&r);
    return r;
}

/* A bijection of 64 bits in which every input bit moves half of the output bits (the finaliser of
 * splitmix64, Steele, Lea and Flood 2014). */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t rng_hash(const char *text) {
    uint64_t h = 0xcbf29ce484222325u;  // FNV-1a, then mixed
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return mix(h);
}

rng rng_stream(uint64_t seed, const char *purpose, uint64_t index) {
    uint64_t key = mix(seed + 0x9e3779b97f4a7c15u) ^ rng_hash(purpose);
    uint64_t a = mix(key + mix(index + 0x9e3779b97f4a7c15u));
    return rng_seed(a, mix(a ^ 0xda3e39cb94b95bdbu));
}

uint32_t rng_below(rng *r, uint32_t bound) {
    if (bound == 0) return UINT32_MAX;
    // 2^32 mod bound: as many of the lowest numbers are rejected.
    uint32_t threshold = -bound % bound;
    for (;;) {
        uint32_t x = rng_u32(r);
        if (x >= threshold) return x % bound;
    }
}

double rng_double(rng *r) {
    uint64_t high = rng_u32(r) >> 6, low = rng_u32(r) >> 5;  // 26 and 27 bits
    return (double)(high << 27 | low) * 0x1p-53;
}

/* ln(x) for 0 < x < 1, from + - * / alone: x = m 2^e with m in [sqrt(1/2), sqrt(2)), ln m = 2
 * atanh(z). */
static double log_below_one(double x) {
    int e = 0;
    while (x < 0.70710678118654752) {
        x *= 2;
        e--;
    }
    double z = (x - 1) / (x + 1), z2 = z * z, sum = 0;
    for (int k = 23; k >= 1; k -= 2) sum = sum * z2 + 1.0 / k;  // |z| < 0.172: z^25 is below 1e-19
    return 2 * z * sum + e * 0.69314718055994531;
}

double rng_normal(rng *r) {
    for (;;) {
        double u = 2 * rng_double(r) - 1, v = 2 * rng_double(r) - 1;
        double s = u * u + v * v;
        if (s > 0 && s < 1) return u * sqrt(-2 * log_below_one(s) / s);
    }
}

void rng_choose(rng *r, int n, int k, int *out, int *scratch) {
    for (int i = 0; i < n; i++) scratch[i] = i;
    for (int i = 0; i < k; i++) {
        int j = i + (int)rng_below(r, (uint32_t)(n - i));
        out[i] = scratch[j];
        scratch[j] = scratch[i];
    }
}

/* F. Brown, "Random Number Generation with Arbitrary Strides", 1994: square and multiply on x ->
 * ax + c. */
void rng_advance(rng *r, uint64_t delta) {
    uint64_t mul = MULTIPLIER, add = r->inc, total_mul = 1, total_add = 0;
    for (; delta; delta >>= 1) {
        if (delta & 1) {
            total_mul *= mul;
            total_add = total_add * mul + add;
        }
        add *= mul + 1;
        mul *= mul;
    }
    r->state = total_mul * r->state + total_add;
}
