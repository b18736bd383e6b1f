/* optimizer.c - the methods, one step of each. */
#include "train/optim/optimizer.h"

#include <math.h>

#include "tensor/scalar.h"
#include "train/optim/muon.h"

/* What decays below the smallest normal number is 0: subnormal numbers are slow, and would last. */
static inline real faded(real x) { return real_abs(x) < REAL_MIN ? 0 : x; }

static void sgd(const qkv_optim_rule *r, real decay, size_t n, real *restrict w,
                const real *restrict g, real *const moment[]) {
    real *restrict m = moment[0];
    const real lr = (real)r->lr, mu = (real)r->momentum, scale = (real)r->grad_scale;
    for (size_t i = 0; i < n; i++) {
        m[i] = faded(mu * m[i] + (scale * g[i] + decay * w[i]));
        w[i] = faded(w[i] - lr * m[i]);
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
        m[i] = faded(b1 * m[i] + c1 * grad);
        s[i] = faded(b2 * s[i] + c2 * grad * grad);
        const real square = s[i] > least ? s[i] : least;
        w[i] = faded(keep * w[i] - rate * m[i] / (real_sqrt(square) * root + eps));
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

#define METHOD(constant, word, update, matrix, ...) \
    [constant] = {word, {__VA_ARGS__}, update, matrix},
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
        .correction1 = 1 - tensor_pow(s->beta1, t),
        .correction2 = 1 - tensor_pow(s->beta2, t),
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
    if (!o || !params) return false;
    *o = (qkv_optim){.settings = s, .params = params};
    for (int i = 0; i < QKV_OPTIM_MOMENTS; i++) {
        if (!qkv_optim_methods[s.method].moment[i]) continue;
        if (!(o->moment[i] = tensor_arena_reals(arena, ag_params_size(params)))) return false;
    }
    if (!qkv_optim_methods[s.method].matrix) return true;
    o->scratch = tensor_arena_reals(arena, QKV_OPTIM_SCRATCH * ag_params_size(params));
    return o->scratch != NULL;
}

/* A matrix between two spaces, whose directions can be made equally long; the rows of a table are
 * looked up one at a time. */
static bool is_map(const ag_param_entry *p) {
    static const char *const tables[] = {"embed.*", "memory.*", "unembed.*"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (ag_matches(tables[i], p->name)) return false;
    return p->val.shape.rank == 2 && p->val.n > 0;
}

bool qkv_optim_stays(const qkv_optim *o, int param) {
    return ag_params_at(o->params, param)->frozen || (o->moves && !(o->moves[param] > 0));
}

void qkv_optim_update(qkv_optim *o, const qkv_optim_rule *rule, int param, const real *grads) {
    const ag_param_entry *p = ag_params_at(o->params, param);
    const int *dim = p->val.shape.dim;
    qkv_optim_rule own = *rule;
    real *m[QKV_OPTIM_MOMENTS];
    if (qkv_optim_stays(o, param)) return;
    if (o->rate) own.lr *= o->rate[param];
    if (o->gradient) own.grad_scale *= o->gradient[param];
    for (int i = 0; i < QKV_OPTIM_MOMENTS; i++)
        m[i] = o->moment[i] ? o->moment[i] + p->offset : NULL;
    if (rule->method->matrix && is_map(p))
        rule->method->matrix(&own, (real)own.weight_decay, dim[0], dim[1], p->val.x,
                             grads + p->offset, m, o->scratch + QKV_OPTIM_SCRATCH * p->offset);
    else
        qkv_optim_apply(&own, p->val.shape.rank >= 2, p->val.n, p->val.x, grads + p->offset, m);
}

/* The gradient by which a parameter is to learn; NULL: it stays. */
static const real *gradient_of(const qkv_optim *o, ag_graph *g, int param) {
    return qkv_optim_stays(o, param) ? NULL : ag_param_grad(g, ag_params_at(o->params, param));
}

double qkv_optim_step(qkv_optim *o, ag_graph *g) {
    if (!o || !g) return 0;
    if (ag_error(g)) return (double)NAN;
    if (!ag_grads(g)) return 0;
    const int params = ag_params_count(o->params);
    double squares = 0;
    for (int i = 0; i < params; i++) {
        const real *grad = gradient_of(o, g, i);
        for (size_t k = 0; grad && k < ag_params_at(o->params, i)->val.n; k++)
            squares += (double)grad[k] * (double)grad[k];
    }
    const double norm = sqrt(squares);
    if (!isfinite(norm)) return norm;
    const qkv_optim_rule rule = qkv_optim_rule_at(&o->settings, o->step, norm);
    if (!qkv_optim_holds(&rule, norm)) return (double)INFINITY;
    o->step++;
    for (int i = 0; i < params; i++)
        if (gradient_of(o, g, i)) qkv_optim_update(o, &rule, i, ag_grads(g));
    ag_grads_zero(g);
    return norm;
}
