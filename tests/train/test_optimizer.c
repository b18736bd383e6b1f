/* SGD, Adam and AdamW against a second implementation, written apart in double from the papers, and
 * against PyTorch; the schedule; clipping. */
#include "train/optim/optimizer.h"

#include <math.h>
#include <string.h>

#include "tests/lib/check.h"
#include "train/optim/schedule.h"
#include "train/trainer/trainer.h"

static const double TOLERANCE = sizeof(real) == sizeof(double) ? 1e-12 : 1e-5;

/* ---- the second implementation ---- */

/* One number that learns, with the optimiser's memory of it. */
typedef struct {
    double w, m, v;
} number;

/* Step t, from 1, of the algorithms as they are printed. */
static void naive_step(const qkv_config *c, int t, double lr, bool decay, double g, number *x) {
    double lambda = decay ? c->weight_decay : 0;
    if (c->optimizer != QKV_OPTIM_ADAMW) g += lambda * x->w;
    if (c->optimizer == QKV_OPTIM_SGD) {
        x->m = c->momentum * x->m + g;
        x->w -= lr * x->m;
        return;
    }
    x->m = c->beta1 * x->m + (1 - c->beta1) * g;
    x->v = c->beta2 * x->v + (1 - c->beta2) * g * g;
    double m_hat = x->m / (1 - pow(c->beta1, t)), v_hat = x->v / (1 - pow(c->beta2, t));
    if (c->optimizer == QKV_OPTIM_ADAMW) x->w -= lr * lambda * x->w;
    x->w -= lr * m_hat / (sqrt(v_hat) + c->eps);
}

/* ---- one parameter, 100 steps ---- */

enum { N = 37, STEPS = 100 };

static qkv_config config_of(int optimizer) {
    qkv_config c;
    qkv_config_default(&c);
    c.optimizer = optimizer;
    c.lr = 0.01;
    c.momentum = 0.9;
    c.beta1 = 0.8;
    c.beta2 = 0.95;
    c.eps = 1e-6;
    c.weight_decay = 0.1;
    return c;
}

static double start(int i) { return (i % 5 - 2) * 0.3; }
static double gradient(int i, int t, double w) { return ((7 * i + 13 * t) % 11 - 5) / 4.0 + w / 4; }

static qkv_optim_rule rule_at(const qkv_config *c, int step, double norm) {
    const qkv_optim_settings s = qkv_config_optim(c);
    return qkv_optim_rule_at(&s, step, norm);
}

static double rate(const qkv_config *c, int step) {
    const qkv_optim_settings s = qkv_config_optim(c);
    return qkv_optim_rate(&s.schedule, step);
}

static double norm_of(const real *g) {
    double sum = 0;
    for (int i = 0; i < N; i++) sum += (double)g[i] * (double)g[i];
    return sqrt(sum);
}

/* The library's result in w; compared at every step with the naive one. */
static void run_both(const qkv_config *c, bool decay, real w[N]) {
    real g[N], m[N] = {0}, s[N] = {0};
    number x[N] = {0};
    for (int i = 0; i < N; i++) w[i] = (real)(x[i].w = start(i));
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < N; i++) g[i] = (real)gradient(i, t, (double)w[i]);
        double norm = norm_of(g), clip = c->clip > 0 && norm > c->clip ? c->clip / norm : 1;
        qkv_optim_rule rule = rule_at(c, t, norm);
        for (int i = 0; i < N; i++)
            naive_step(c, t + 1, rule.lr, decay, clip * gradient(i, t, x[i].w), &x[i]);
        qkv_optim_apply(&rule, decay, N, w, g,
                        (real *[]){m, c->optimizer == QKV_OPTIM_SGD ? NULL : s});
        for (int i = 0; i < N; i++) assert_close(w[i], x[i].w, TOLERANCE);
    }
}

static void equal_to_a_naive_implementation(void **state) {
    (void)state;
    real w[N];
    for (int optimizer = QKV_OPTIM_SGD; optimizer <= QKV_OPTIM_ADAMW; optimizer++)
        for (int variant = 0; variant < 16; variant++) {
            qkv_config c = config_of(optimizer);
            if (variant & 2) c.clip = 4.85;  // of the norms some are longer, some are not
            if (variant & 4) c.schedule = QKV_OPTIM_COSINE, c.steps = STEPS, c.warmup = 20;
            if (variant & 8) c.momentum = 0, c.beta1 = 0, c.beta2 = 0.999, c.eps = 1e-8;
            run_both(&c, variant & 1, w);
        }
}

/* The same 100 steps by PyTorch 2.13 in double: w = [(i % 5 - 2) * .3 for i in range(37)], and
 * before each step w.grad = ((7 * i + 13 * t) % 11 - 5) / 4 + w / 4; SGD(lr=.01, momentum=.9,
 * weight_decay=.1), Adam and AdamW(lr=.01, betas=(.8, .95), eps=1e-6, weight_decay=.1). */
static void equal_to_pytorch(void **state) {
    (void)state;
    static const struct {
        int optimizer;
        double w0, w1, w36, sum;
    } golden[] = {{QKV_OPTIM_SGD, -0.0094029112871873571, 0.00021742195646202303,
                   6.6055205524539679e-05, -0.011131715978757745},
                  {QKV_OPTIM_ADAM, -0.37540777786222884, -0.20619925278501244, -0.19935742537659182,
                   -0.61376956483751088},
                  {QKV_OPTIM_ADAMW, -0.38137988714577886, -0.21083397335932169,
                   -0.20395219470941411, -0.62529804387094945}};
    for (int i = 0; i < 3; i++) {
        qkv_config c = config_of(golden[i].optimizer);
        real w[N];
        double sum = 0;
        run_both(&c, true, w);
        for (int k = 0; k < N; k++) sum += (double)w[k];
        assert_close(w[0], golden[i].w0, TOLERANCE);
        assert_close(w[1], golden[i].w1, TOLERANCE);
        assert_close(w[36], golden[i].w36, TOLERANCE);
        assert_close(sum, golden[i].sum, N * TOLERANCE);
    }
}

/* With no gradient at all AdamW's decay is w (1 - lr lambda)^t, whatever the moments; Adam's goes
 * through them, so that every weight moves by about lr. */
static void decay_is_decoupled_in_adamw_only(void **state) {
    (void)state;
    qkv_config c = config_of(QKV_OPTIM_ADAMW);
    const real zero[2] = {0};
    real w[2] = {(real)0.5, -2}, m[2] = {0}, s[2] = {0};
    for (int t = 0; t < STEPS; t++) {
        qkv_optim_rule rule = rule_at(&c, t, 0);
        qkv_optim_apply(&rule, true, 2, w, zero, (real *[]){m, s});
    }
    assert_close(w[0], 0.5 * pow(1 - 0.001, STEPS), TOLERANCE);
    assert_close(w[1], -2 * pow(1 - 0.001, STEPS), TOLERANCE);
    assert_true(m[0] == 0 && s[0] == 0);
    c.optimizer = QKV_OPTIM_ADAM;
    real v[2] = {(real)0.5, -2};
    qkv_optim_rule rule = rule_at(&c, 0, 0);
    qkv_optim_apply(&rule, true, 2, v, zero, (real *[]){m, s});
    assert_close(v[0], 0.49, 1e-5);
    assert_close(v[1], -1.99, 1e-5);
}

/* ---- a whole model ---- */

enum { MOST = 100000 };
static number model[MOST];  // as a flat gradient buffer: found by each parameter's offset

/* The naive step for every number, from the gradient that the trainer holds. */
static void step_model(const qkv_config *c, qkv_trainer *t, int step) {
    ag_params *params = qkv_trainer_params(t);
    for (int i = 0; i < ag_params_count(params); i++) {
        const ag_param_entry *p = ag_params_at(params, i);
        const real *g = qkv_trainer_grads(t) + p->offset;
        for (size_t k = 0; k < p->val.n; k++) {
            number *x = &model[p->offset + k];
            x->w = (double)p->val.x[k];
            naive_step(c, step + 1, c->lr, p->val.shape.rank == 2, (double)g[k], x);
        }
    }
}

static void compare_model(qkv_trainer *t) {
    ag_params *params = qkv_trainer_params(t);
    for (int i = 0; i < ag_params_count(params); i++) {
        const ag_param_entry *p = ag_params_at(params, i);
        for (size_t k = 0; k < p->val.n; k++)
            assert_close(p->val.x[k], model[p->offset + k].w, TOLERANCE);
    }
}

static void decay_is_for_matrices_only(void **state) {
    (void)state;
    for (int optimizer = QKV_OPTIM_SGD; optimizer <= QKV_OPTIM_ADAMW; optimizer++) {
        qkv_config c = config_of(optimizer);
        data_spec spec;
        char error[QKV_IO_ERROR] = "";
        c.bias = true, c.norm = NN_NORM_LAYER, c.d_ff = 9;  // for vectors beside the matrices
        c.batch = 8, c.lanes = 2;
        assert_true(qkv_config_resolve(&c, &spec, error));
        qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, 1, error);
        assert_non_null(t);
        assert_true(ag_params_size(qkv_trainer_params(t)) <= MOST);
        memset(model, 0, sizeof model);
        for (int step = 0; step < 3; step++) {
            qkv_trainer_step s;
            assert_true(qkv_trainer_gradient(t, step, &s, error));
            step_model(&c, t, step);
            qkv_trainer_update(t, step, &s);
            compare_model(t);
        }
        qkv_trainer_free(t);
    }
}

/* ---- clipping ---- */

static void clipping_shortens_only_what_is_too_long(void **state) {
    (void)state;
    qkv_config c = config_of(QKV_OPTIM_SGD);
    assert_true(rule_at(&c, 0, 1e30).grad_scale == 1);  // clip 0: no limit
    c.clip = 2;
    assert_true(rule_at(&c, 0, 0).grad_scale == 1);
    assert_true(rule_at(&c, 0, 1.99).grad_scale == 1);
    assert_true(rule_at(&c, 0, 2).grad_scale == 1);
    assert_close(rule_at(&c, 0, 8).grad_scale, 0.25, 1e-15);
    assert_close(rule_at(&c, 0, 1e300).grad_scale, 2e-300, 1e-314);
    c.momentum = 0, c.weight_decay = 0, c.lr = 1;
    real w[2] = {0}, g[2] = {3, 4}, m[2] = {0};
    qkv_optim_rule rule = rule_at(&c, 0, 5);
    qkv_optim_apply(&rule, false, 2, w, g, (real *[]){m, NULL});
    assert_close(w[0], -1.2, 1e-6);  // the direction stays, the length is 2
    assert_close(w[1], -1.6, 1e-6);
}

/* ---- at the ends of what numbers can hold ---- */

/* One step from 0 along one gradient. */
static double one_step(qkv_config c, double gradient, int step) {
    real w = 0, g = (real)gradient, m = 0, s = 0;
    qkv_optim_rule rule = rule_at(&c, step, fabs(gradient));
    qkv_optim_apply(&rule, false, 1, &w, &g, (real *[]){&m, &s});
    return (double)w;
}

/* Squares that underflow must not leave a tiny eps alone in the denominator. */
static void a_tiny_gradient_makes_no_huge_step(void **state) {
    (void)state;
    for (int optimizer = QKV_OPTIM_ADAM; optimizer <= QKV_OPTIM_ADAMW; optimizer++)
        for (double eps = 1e-30; eps < 1e-6; eps *= 10)
            for (double g = 1e-37; g < 1e-8; g *= 3) {
                qkv_config c = config_of(optimizer);
                c.lr = 0.01, c.beta1 = 0.9, c.beta2 = 0.999, c.eps = eps, c.weight_decay = 0;
                double step = one_step(c, g, 0);
                if (!(fabs(step) <= 0.0101)) fail_msg("eps %g, gradient %g: %g", eps, g, step);
                real w = 0, x = (real)g, m = 0, s = 0;
                for (int t = 0; t < 3000; t++) {
                    real was = w;
                    qkv_optim_rule rule = rule_at(&c, t, g);
                    qkv_optim_apply(&rule, false, 1, &w, &x, (real *[]){&m, &s});
                    if (!(real_abs(w - was) <= (real)0.0105))
                        fail_msg("eps %g, gradient %g: %g at step %d", eps, g, (double)(w - was),
                                 t);
                }
            }
}

static void what_a_square_cannot_hold_is_refused(void **state) {
    (void)state;
    const double most = sqrt((double)REAL_MAX);
    qkv_config c = config_of(QKV_OPTIM_ADAM);
    qkv_optim_rule rule = rule_at(&c, 0, 1);
    assert_true(qkv_optim_holds(&rule, 0.99 * most) && !qkv_optim_holds(&rule, 1.01 * most));
    real w = 0, g = (real)(0.99 * most), m = 0, s = 0;
    qkv_optim_apply(&rule, false, 1, &w, &g, (real *[]){&m, &s});
    assert_true(isfinite((double)s) && w != 0);
    c.clip = 1;
    rule = rule_at(&c, 0, 1.01 * most);
    assert_true(qkv_optim_holds(&rule, 1.01 * most));  // clipped first
    c = config_of(QKV_OPTIM_SGD);
    rule = rule_at(&c, 0, 1.01 * most);
    assert_true(qkv_optim_holds(&rule, 1.01 * most));  // keeps no squares
}

/* ---- the schedule ---- */

static void check_schedule(const qkv_config *c) {
    int last = c->steps < 300 ? c->steps : 300;
    double before = 0;
    assert_true(rate(c, 0) > 0);
    for (int step = 0; step < last; step++) {
        double now = rate(c, step);
        assert_true(isfinite(now) && now >= 0 && now <= c->lr);
        assert_true(step < c->warmup ? now > before : step == c->warmup || now <= before);
        assert_true(now == rate(c, step));
        before = now;
    }
    double end = rate(c, c->steps - 1);
    assert_true(isfinite(end) && end >= 0 && end <= c->lr);
}

static void schedules_are_finite_and_below_the_peak(void **state) {
    (void)state;
    static const int grid[] = {0, 1, 2, 3, 10, 99, 100, 101, 1000, 1000000000};
    enum { SIZE = sizeof grid / sizeof *grid };
    for (int schedule = QKV_OPTIM_CONSTANT; schedule <= QKV_OPTIM_WSD; schedule++)
        for (int w = 0; w < SIZE; w++)
            for (int s = 1; s < SIZE; s++) {  // a run of no steps has no rate
                qkv_config c = config_of(QKV_OPTIM_ADAM);
                c.schedule = schedule, c.warmup = grid[w], c.steps = grid[s];
                check_schedule(&c);
            }
}

static void schedules_have_their_shape(void **state) {
    (void)state;
    qkv_config c = config_of(QKV_OPTIM_ADAM);
    c.lr = 1, c.steps = 110, c.warmup = 10;
    assert_close(rate(&c, 0), 1.0 / 11, 1e-15);
    assert_close(rate(&c, 9), 10.0 / 11, 1e-15);
    assert_true(rate(&c, 10) == 1 && rate(&c, 109) == 1);
    c.schedule = QKV_OPTIM_COSINE;
    assert_close(rate(&c, 10), 1, 1e-15);
    assert_close(rate(&c, 35), (1 + sqrt(0.5)) / 2, 1e-15);
    assert_close(rate(&c, 60), 0.5, 1e-15);
    assert_close(rate(&c, 110), 0, 1e-15);
    c.steps = 1000, c.schedule_steps = 110;  // its length is its own
    assert_close(rate(&c, 60), 0.5, 1e-15);
    assert_close(rate(&c, 500), 0, 1e-15);
    c.least_lr = 0.2;
    assert_close(rate(&c, 60), 0.6, 1e-15);
    assert_close(rate(&c, 500), 0.2, 1e-15);
    c.schedule = QKV_OPTIM_LINEAR;
    assert_close(rate(&c, 9), 10.0 / 11, 1e-15);
    assert_close(rate(&c, 10), 1, 1e-15);
    assert_close(rate(&c, 35), 0.8, 1e-15);
    assert_close(rate(&c, 500), 0.2, 1e-15);
    c.schedule = QKV_OPTIM_WSD, c.decay = 20;
    assert_true(rate(&c, 10) == 1 && rate(&c, 90) == 1);
    assert_close(rate(&c, 100), 0.6, 1e-15);
    assert_close(rate(&c, 110), 0.2, 1e-15);
    assert_close(rate(&c, 500), 0.2, 1e-15);
}

/* Whatever gradients have a square, no weight moves by much more than the rate, and moments stay
 * numbers that are normal or 0. */
static void steps_are_bounded_by_the_rate(void **state) {
    (void)state;
    const double small = (double)REAL_MIN, root = sqrt(small);
    const double grads[] = {1, 1e-3 / root, root / 1e3, root, root * 30, small, small / 4};
    for (int method = QKV_OPTIM_ADAM; method <= QKV_OPTIM_ADAMW; method++)
        for (size_t k = 0; k < sizeof grads / sizeof *grads; k++) {
            qkv_config c = config_of(method);
            c.eps = 1e-30, c.beta1 = 0.9, c.beta2 = 0.999, c.weight_decay = 0, c.lr = 0.01;
            real w = 1, m = 0, s = 0;
            for (int t = 0; t < 40; t++) {
                const real g = (real)(t < 20 ? grads[k] : t % 2 ? -grads[k] : 0), before = w;
                qkv_optim_rule rule = rule_at(&c, t, 1);
                qkv_optim_apply(&rule, false, 1, &w, &g, (real *[]){&m, &s});
                assert_true(fabs((double)(w - before)) <= 1.01 * c.lr);
                assert_true(isfinite((double)m) && isfinite((double)s));
                assert_true(m == 0 || real_abs(m) >= REAL_MIN);
                assert_true(s == 0 || s >= REAL_MIN);
            }
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(equal_to_a_naive_implementation),
    cmocka_unit_test(equal_to_pytorch),
    cmocka_unit_test(decay_is_decoupled_in_adamw_only),
    cmocka_unit_test(decay_is_for_matrices_only),
    cmocka_unit_test(clipping_shortens_only_what_is_too_long),
    cmocka_unit_test(a_tiny_gradient_makes_no_huge_step),
    cmocka_unit_test(what_a_square_cannot_hold_is_refused),
    cmocka_unit_test(steps_are_bounded_by_the_rate),
    cmocka_unit_test(schedules_are_finite_and_below_the_peak),
    cmocka_unit_test(schedules_have_their_shape),
};
CHECK_MAIN(tests)
