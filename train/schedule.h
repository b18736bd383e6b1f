/* schedule.h - the learning rate as a pure function of the step. */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include "train/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rate of step 0..steps-1: never above c->lr, never 0 in the first step (unless lr is), and
 * finite for every warmup and number of steps. Cosine falls from lr to 0 (Loshchilov and Hutter,
 * "SGDR", 2017, equation 5, one cycle). */
double train_learning_rate(const train_config *c, int step);

#ifdef __cplusplus
}
#endif
#endif
