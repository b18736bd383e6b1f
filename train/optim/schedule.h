/* schedule.h - the learning rate as a pure function of the step. */
#ifndef QKV_OPTIM_SCHEDULE_H
#define QKV_OPTIM_SCHEDULE_H

#include "tensor/choice.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QKV_OPTIM_SCHEDULES(X) X(QKV_OPTIM_CONSTANT, "constant") X(QKV_OPTIM_COSINE, "cosine")
enum { QKV_OPTIM_SCHEDULES(TENSOR_CONSTANT) };

typedef struct {
    int kind;           // QKV_OPTIM_CONSTANT, QKV_OPTIM_COSINE
    double peak;        // the greatest rate
    int warmup, steps;  // steps of the rise from 0; of the whole schedule
} qkv_optim_schedule;

/* The rate of step 0..steps-1: never above the peak, never 0 in the first step (unless the peak
 * is), and finite for every warmup and number of steps. Cosine falls from the peak to 0 (Loshchilov
 * and Hutter, "SGDR", 2017, equation 5, one cycle). */
double qkv_optim_rate(const qkv_optim_schedule *s, int step);

#ifdef __cplusplus
}
#endif
#endif
