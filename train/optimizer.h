/* optimizer.h - SGD with momentum, Adam and AdamW, on one parameter at a time.
 * Source: Kingma and Ba, "Adam", 2015, algorithm 1 (eps outside the root, both moments
 * bias-corrected);
 *         Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 2. */
#ifndef TRAIN_OPTIMIZER_H
#define TRAIN_OPTIMIZER_H

#include "train/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is the same for all parameters in one step. */
typedef struct {
    int kind;  // TRAIN_SGD, TRAIN_ADAM, TRAIN_ADAMW
    double lr, momentum, beta1, beta2, eps, weight_decay;
    double correction1, correction2;  // 1 - beta^t
    double grad_scale;                // < 1 when the gradient is clipped
} train_rule;

/* The rule of step (from 0), for a gradient of this norm. */
train_rule train_rule_at(const train_config *c, int step, double grad_norm);

/* Updates n numbers: w from their gradient g; m and s are the optimiser's memory (momentum or
 * mean; mean square), 0 before the first step. decay: whether weight decay applies (to matrices
 * only). */
void train_apply(const train_rule *rule, bool decay, size_t n, real *w, const real *g, real *m,
                 real *s);

#ifdef __cplusplus
}
#endif
#endif
