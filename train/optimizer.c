#include "train/optimizer.h"

#include <math.h>

#include "tensor/scalar.h"
#include "train/schedule.h"

train_rule train_rule_at(const train_config *c, int step, double grad_norm) {
    return (train_rule){.kind = c->optimizer,
                        .lr = train_learning_rate(c, step),
                        .momentum = c->momentum,
                        .beta1 = c->beta1,
                        .beta2 = c->beta2,
                        .eps = c->eps,
                        .weight_decay = c->weight_decay,
                        .correction1 = 1 - tensor_pow(c->beta1, step + 1.0),
                        .correction2 = 1 - tensor_pow(c->beta2, step + 1.0),
                        .grad_scale = c->clip > 0 && grad_norm > c->clip ? c->clip / grad_norm : 1};
}

/* What decays below the smallest normal number is 0: subnormal numbers are slow, and would last. */
static inline real faded(real x) { return real_abs(x) < REAL_MIN ? 0 : x; }

static void sgd(const train_rule *r, real decay, size_t n, real *restrict w, const real *restrict g,
                real *restrict m) {
    const real lr = (real)r->lr, mu = (real)r->momentum, scale = (real)r->grad_scale;
    for (size_t i = 0; i < n; i++) {
        m[i] = faded(mu * m[i] + (scale * g[i] + decay * w[i]));
        w[i] = faded(w[i] - lr * m[i]);
    }
}

/* The square of a gradient has to be a number, or mean and mean square no longer fit together: a step
 * would be far longer than the rate (a square of 0 under a mean that is none), or a weight would never
 * move again (an infinite one). So gradients beyond GREATEST count as that, and those whose share of
 * the mean square is below the smallest normal number as 0. */
#ifdef QKV_DOUBLE
#define GREATEST 0x1p511
#else
#define GREATEST 0x1p63f
#endif

static void adam(const train_rule *r, real decay, size_t n, real *restrict w,
                 const real *restrict g, real *restrict m, real *restrict s) {
    const real b1 = (real)r->beta1, b2 = (real)r->beta2, c1 = (real)(1 - r->beta1),
               c2 = (real)(1 - r->beta2);
    const real rate = (real)(r->lr / r->correction1), root = (real)(1 / sqrt(r->correction2)),
               eps = (real)r->eps;
    const real scale = (real)r->grad_scale, least = (real)sqrt((double)REAL_MIN / (1 - r->beta2));
    const real in_gradient = r->kind == TRAIN_ADAM ? decay : 0;
    const real keep = r->kind == TRAIN_ADAMW ? (real)(1 - r->lr * (double)decay) : 1;
    for (size_t i = 0; i < n; i++) {
        real grad = scale * g[i] + in_gradient * w[i];
        grad = real_abs(grad) < least ? 0 : grad;
        grad = grad > GREATEST ? GREATEST : grad < -GREATEST ? -GREATEST : grad;
        const real square = faded(b2 * s[i] + c2 * grad * grad);
        const real mean = faded(square == 0 ? 0 : b1 * m[i] + c1 * grad);
        m[i] = mean;
        s[i] = square;
        w[i] = faded(keep * w[i] - rate * mean / (real_sqrt(square) * root + eps));
    }
}

void train_apply(const train_rule *rule, bool decay, size_t n, real *w, const real *g, real *m,
                 real *s) {
    real strength = decay ? (real)rule->weight_decay : 0;
    if (rule->kind == TRAIN_SGD)
        sgd(rule, strength, n, w, g, m);
    else
        adam(rule, strength, n, w, g, m, s);
}
