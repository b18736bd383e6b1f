/* bench_peak.c - how long a call takes, and what the machine can do at most. */
#include <stdlib.h>

#include "tensor/vec.h"
#include "train/cli/bench.h"
#include "train/study/statistics.h"

enum { MOST_SAMPLES = 2000 };

static double time_of(void (*fn)(void *), void *ctx, long calls) {
    double began = qkv_io_clock(CLOCK_THREAD_CPUTIME_ID);
    for (long i = 0; i < calls; i++) fn(ctx);
    return qkv_io_clock(CLOCK_THREAD_CPUTIME_ID) - began;
}

double bench_time(void (*fn)(void *), void *ctx, double seconds) {
    double sample[MOST_SAMPLES], spent = 0;
    long calls = 1;
    fn(ctx);
    while (calls < 1L << 40 && time_of(fn, ctx, calls) < 1e-3) calls *= 2;
    int n = 0;
    while (n < 3 || (spent < seconds && n < MOST_SAMPLES))
        spent += sample[n++] = time_of(fn, ctx, calls);
    qkv_study_sort(sample, n);
    return sample[n / 2] / (double)calls;
}

enum { CHAINS = 16, ROUNDS = 1000, ADDED = 8 << 10 };

/* Independent sums, as many as hide the latency of a multiply-add. */
static void multiply_add(void *ctx) {
    vreal *sum = ctx, x = vec_set((real)0.9999), y = vec_set((real)1e-6), s[CHAINS];
    for (int i = 0; i < CHAINS; i++) s[i] = sum[i];
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < CHAINS; i++) s[i] = s[i] * x + y;
    for (int i = 0; i < CHAINS; i++) sum[i] = s[i];
}

/* y = a + b: two are read while one is written, which is the most that a core can do. */
static void add(void *ctx) {
    real *block = ctx;
    const int n = ADDED / (int)sizeof(real);
    for (int i = 0; i < n; i += 4 * VEC)
        for (int v = 0; v < 4; v++)
            vec_store(block + 2 * n + i + v * VEC,
                      vec_load(block + i + v * VEC) + vec_load(block + n + i + v * VEC));
    __asm__ volatile("" : : "r"(block) : "memory");  // else sums that nobody reads are left out
}

bench_peak bench_measure_peak(void) {
    vreal sum[CHAINS] = {{0}};
    const int flops = 2 * CHAINS * VEC * ROUNDS;
    bench_peak peak = {flops / bench_time(multiply_add, sum, 0.2), 0};
    real *block = aligned_alloc(64, 3 * ADDED);
    if (!block) return peak;
    for (size_t i = 0; i < 3 * ADDED / sizeof(real); i++) block[i] = 1;
    peak.bytes = 3.0 * ADDED / bench_time(add, block, 0.2);
    free(block);
    return peak;
}
