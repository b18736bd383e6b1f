#include "train/optimizer.h"

#include <math.h>

#include "train/schedule.h"

train_rule train_rule_at(const train_config *c, int step, double grad_norm) {
    return (train_rule){.kind = c->optimizer,
                        .lr = train_learning_rate(c, step),
                        .momentum = c->momentum,
                        .beta1 = c->beta1,
                        .beta2 = c->beta2,
                        .eps = c->eps,
                        .weight_decay = c->weight_decay,
                        .correction1 = 1 - pow(c->beta1, step + 1.0),
                        .correction2 = 1 - pow(c->beta2, step + 1.0),
                        .grad_scale = c->clip > 0 && grad_norm > c->clip ? c->clip / grad_norm : 1};
}

static void sgd(const train_rule *r, real decay, size_t n, real *restrict w, const real *restrict g,
                real *restrict m) {
    const real lr = (real)r->lr, mu = (real)r->momentum, scale = (real)r->grad_scale;
    for (size_t i = 0; i < n; i++) {
        m[i] = mu * m[i] + (scale * g[i] + decay * w[i]);
        w[i] -= lr * m[i];
    }
}

static void adam(const train_rule *r, real decay, size_t n, real *restrict w,
                 const real *restrict g, real *restrict m, real *restrict s) {
    const real b1 = (real)r->beta1, b2 = (real)r->beta2, c1 = (real)(1 - r->beta1),
               c2 = (real)(1 - r->beta2);
    const real rate = (real)(r->lr / r->correction1), root = (real)(1 / sqrt(r->correction2)),
               eps = (real)r->eps;
    const real scale = (real)r->grad_scale;
    const real in_gradient = r->kind == TRAIN_ADAM ? decay : 0;
    const real keep = r->kind == TRAIN_ADAMW ? (real)(1 - r->lr * (double)decay) : 1;
    for (size_t i = 0; i < n; i++) {
        real grad = scale * g[i] + in_gradient * w[i];
        const real mean = b1 * m[i] + c1 * grad;
        m[i] = real_abs(mean) < REAL_MIN ? 0
                                         : mean;  // a dead unit's fades; below REAL_MIN all is slow
        s[i] = b2 * s[i] + c2 * grad * grad;
        w[i] = keep * w[i] - rate * m[i] / (real_sqrt(s[i]) * root + eps);
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
