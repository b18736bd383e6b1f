/* schedule.h - the learning rate as a pure function of the step. */
#pragma once

#include "tensor/choice.h"
#include "tensor/linkage.h"

TENSOR_C_BEGIN

#define QKV_OPTIM_SCHEDULES(X)        \
    X(QKV_OPTIM_CONSTANT, "constant") \
    X(QKV_OPTIM_COSINE, "cosine") X(QKV_OPTIM_LINEAR, "linear") X(QKV_OPTIM_WSD, "wsd")
enum { QKV_OPTIM_SCHEDULES(TENSOR_CONSTANT) };

typedef struct {
    int kind;
    double peak;        // the greatest rate
    int warmup, steps;  // steps of the rise from 0; of the whole schedule
    double least;       // the rate at its end, and after it; not of the constant one
    int decay;          // of wsd: the steps of its fall
} qkv_optim_schedule;

/* The rate of step 0, 1, ...: never above the peak (while least is not), never 0 in the first step
 * (unless the peak is), and finite for all numbers of steps. Cosine falls from the peak to the least
 * rate (Loshchilov and Hutter, "SGDR", 2017, equation 5, one cycle), linear on a straight line; wsd
 * stays at the peak and falls on a straight line in its last `decay` steps (Hu et al., "MiniCPM",
 * 2024, section 4). */
double qkv_optim_rate(const qkv_optim_schedule *s, int step);

TENSOR_C_END
