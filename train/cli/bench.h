/* bench.h - what `qkv bench` measures beside a whole step, and how. */
#pragma once

#include <stdbool.h>

#include "train/trainer/trainer.h"

/* Median seconds of one call of fn on this thread, from samples of about a millisecond taken for
 * `seconds`. */
double bench_time(void (*fn)(void *ctx), void *ctx, double seconds);

/* What one core can do: multiply-adds on registers, in FLOP/s; and adding within the first-level
 * cache, bytes read and written, in B/s. Each takes about a fifth of a second. */
typedef struct {
    double flops, bytes;
} bench_peak;
bench_peak bench_measure_peak(void);

/* What an op costs, and has to do at least. */
typedef struct {
    const char *name;
    int nodes;
    double forward, backward;              // seconds of one step, or of one call
    double flops_forward, flops_backward;  // of matrix products; 0: memory is what counts
    double bytes_forward, bytes_backward;
} bench_cost;

/* One call of an op alone, at those sizes, by its fast form or its plain loops. False with a sentence. */
bool bench_alone(const ag_op *op, const ag_sizes *z, bool plain, double seconds, bench_cost *out,
                 char *error);

/* The tables, on stdout, one line of JSON a row if `json`; an exit code. `seconds` is for the
 * whole. */
int bench_ops(qkv_trainer *t, double seconds, bool json);
int bench_plain(qkv_trainer *t, double seconds, bool json);  // leaves the trainer plain
int bench_gemm(double seconds, bool json);
int bench_startup(bool json);
