/* optimizer.c - the methods, one step of each. */
#include "train/optim/optimizer.h"

#include <math.h>

static void sgd(const qkv_optim_rule *r, real decay, size_t n, real *restrict w,
                const real *restrict g, real *const moment[]) {
    real *restrict m = moment[0];
    const real lr = (real)r->lr, mu = (real)r->momentum, scale = (real)r->grad_scale;
    for (size_t i = 0; i < n; i++) {
        m[i] = mu * m[i] + (scale * g[i] + decay * w[i]);
        w[i] -= lr * m[i];
    }
}

/* adam and adamw: they differ in where the decay acts. A square that is too small for a number
 * counts as the smallest that can add up to one: else a tiny gradient over a tinier eps would make
 * a step far beyond the rate. */
static void adam_either(const qkv_optim_rule *r, real in_gradient, real keep, size_t n,
                        real *restrict w, const real *restrict g, real *const moment[]) {
    real *restrict m = moment[0], *restrict s = moment[1];
    const real b1 = (real)r->beta1, b2 = (real)r->beta2, c1 = (real)(1 - r->beta1),
               c2 = (real)(1 - r->beta2);
    const real rate = (real)(r->lr / r->correction1), root = (real)(1 / sqrt(r->correction2)),
               eps = (real)r->eps;
    const real scale = (real)r->grad_scale, least = REAL_MIN / c2;
    for (size_t i = 0; i < n; i++) {
        real grad = scale * g[i] + in_gradient * w[i];
        const real mean = b1 * m[i] + c1 * grad;
        m[i] = real_abs(mean) < REAL_MIN ? 0
                                         : mean;  // a dead unit's fades; below REAL_MIN all is slow
        s[i] = b2 * s[i] + c2 * grad * grad;
        w[i] = keep * w[i] - rate * m[i] / (real_sqrt(s[i] > least ? s[i] : least) * root + eps);
    }
}

static void adam(const qkv_optim_rule *r, real decay, size_t n, real *w, const real *g,
                 real *const moment[]) {
    adam_either(r, decay, 1, n, w, g, moment);
}

static void adamw(const qkv_optim_rule *r, real decay, size_t n, real *w, const real *g,
                  real *const moment[]) {
    adam_either(r, 0, (real)(1 - r->lr * (double)decay), n, w, g, moment);
}

#define METHOD(constant, word, update, ...) [constant] = {word, {__VA_ARGS__}, update},
const qkv_optim_method qkv_optim_methods[] = {QKV_OPTIM_METHODS(METHOD){0}};

qkv_optim_settings qkv_optim_adam(double rate) {
    return (qkv_optim_settings){.method = QKV_OPTIM_ADAM,
                                .schedule = {.kind = QKV_OPTIM_CONSTANT, .peak = rate},
                                .beta1 = 0.9,
                                .beta2 = 0.999,
                                .eps = 1e-8};
}

qkv_optim_rule qkv_optim_rule_at(const qkv_optim_settings *s, int step, double grad_norm) {
    const double t = (double)step - s->first_step + 1;
    return (qkv_optim_rule){
        .method = &qkv_optim_methods[s->method],
        .lr = qkv_optim_rate(&s->schedule, step),
        .momentum = s->momentum,
        .beta1 = s->beta1,
        .beta2 = s->beta2,
        .eps = s->eps,
        .weight_decay = s->weight_decay,
        .correction1 = 1 - pow(s->beta1, t),
        .correction2 = 1 - pow(s->beta2, t),
        .grad_scale = s->clip > 0 && grad_norm > s->clip ? s->clip / grad_norm : 1};
}

bool qkv_optim_holds(const qkv_optim_rule *r, double grad_norm) {
    const double norm = grad_norm * r->grad_scale;
    return !r->method->moment[1] || norm * norm <= (double)REAL_MAX;
}

void qkv_optim_apply(const qkv_optim_rule *rule, bool decay, size_t n, real *w, const real *g,
                     real *const m[QKV_OPTIM_MOMENTS]) {
    rule->method->update(rule, decay ? (real)rule->weight_decay : 0, n, w, g, m);
}

bool qkv_optim_init(qkv_optim *o, tensor_arena *arena, ag_params *params, qkv_optim_settings s) {
    *o = (qkv_optim){.settings = s, .params = params};
    for (int i = 0; i < QKV_OPTIM_MOMENTS; i++) {
        if (!qkv_optim_methods[s.method].moment[i]) continue;
        if (!(o->moment[i] = tensor_arena_reals(arena, ag_params_size(params)))) return false;
    }
    return true;
}

void qkv_optim_update(qkv_optim *o, const qkv_optim_rule *rule, int param, const real *grads) {
    const ag_param_entry *p = ag_params_at(o->params, param);
    real *m[QKV_OPTIM_MOMENTS];
    if (p->frozen) return;
    for (int i = 0; i < QKV_OPTIM_MOMENTS; i++)
        m[i] = o->moment[i] ? o->moment[i] + p->offset : NULL;
    qkv_optim_apply(rule, p->val.shape.rank >= 2, p->val.n, p->val.x, grads + p->offset, m);
}

double qkv_optim_step(qkv_optim *o, ag_graph *g) {
    const real *grads = ag_grads(g);
    double squares = 0;
    for (size_t i = 0; i < ag_params_size(o->params); i++)
        squares += (double)grads[i] * (double)grads[i];
    const double norm = sqrt(squares);
    if (!isfinite(norm)) return norm;
    const qkv_optim_rule rule = qkv_optim_rule_at(&o->settings, o->step, norm);
    if (!qkv_optim_holds(&rule, norm)) return (double)INFINITY;
    o->step++;
    for (int i = 0; i < ag_params_count(o->params); i++) qkv_optim_update(o, &rule, i, grads);
    ag_grads_zero(g);
    return norm;
}
