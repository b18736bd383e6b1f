/* step.c - one training step: the lanes' gradients, their sum, the update. */
#include <math.h>
#include <stdio.h>

#include "train/io/given.h"
#include "train/trainer/anomaly.h"
#include "train/trainer/trainer_internal.h"

typedef struct {
    qkv_trainer *t;
    int step;
} job;

static int lanes_in_use(const qkv_trainer *t) {  // the others are empty
    return t->config.lanes < t->micro_batches ? t->config.lanes : t->micro_batches;
}

/* What is left out of training asks for nothing: it weighs 0 in the loss, and all else stays. */
static void leave_out(qkv_trainer *t, qkv_trainer_worker *w, uint64_t first, int count) {
    const data_spec *s = &t->spec;
    const int T = s->side[DATA_SEQUENCE].T;
    for (int b = 0; b < count; b++)
        if (s->task->line(s, "train", (uint64_t)t->config.seed, first + (uint64_t)b) < 0)
            for (int r = 0; r < s->n_readouts; r++)
                for (int i = b * T; i < (b + 1) * T; i++) w->data.rows.target[r][i] = -1;
    qkv_trainer_reload(t, w);
}

/* Loads one micro-batch of a step's training batch and runs it forwards and backwards. False on a
 * graph's error. */
static bool run_micro_batch(qkv_trainer *t, qkv_trainer_worker *w, int step, int micro_batch) {
    int batch = t->config.batch, first = micro_batch * t->micro_batch,
        count = batch - first < t->micro_batch ? batch - first : t->micro_batch;
    const uint64_t at = (uint64_t)step * (uint64_t)batch + (uint64_t)first;
    qkv_trainer_load(t, w, "train", at, count, batch);
    if (t->spec.leaves_out) leave_out(t, w, at, count);
    ag_set_run(w->graph, (ag_run){.seed = (uint64_t)t->config.seed,
                                  .step = (uint64_t)step,
                                  .micro_batch = (uint64_t)micro_batch,
                                  .training = true});
    return ag_forward(w->graph) && ag_backward(w->out.loss, NULL);
}

/* A lane: its micro-batches in order, gradients into its own buffer. */
static void run_lane(void *ctx, int lane, int worker) {
    const job *j = ctx;
    qkv_trainer *t = j->t;
    qkv_trainer_worker *w = &t->workers[worker];
    ag_grads_into(w->graph, t->lane[lane]);
    t->not_finite[lane] = false;
    for (int micro_batch = lane; micro_batch < t->micro_batches; micro_batch += t->config.lanes) {
        if (!run_micro_batch(t, w, j->step, micro_batch)) return;
        t->losses[micro_batch] = (double)w->out.loss->val.x[0];
        if (t->detect && !qkv_trainer_all_finite(w->graph)) t->not_finite[lane] = true;
    }
}

/* Squares are summed in double: huge gradients do not overflow it. Eight sums, so that it can be
 * vectorised. */
static void add_squares(double part[8], const real *x, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) part[k] += (double)x[i + (size_t)k] * (double)x[i + (size_t)k];
    for (; i < n; i++) part[0] += (double)x[i] * (double)x[i];
}

/* lane[0] = the sum of all lanes, pairwise: (0+1)+(2+3) ...; n numbers of each. */
static void add_lanes(qkv_trainer *t, size_t from, size_t n) {
    const int lanes = lanes_in_use(t);
    for (int gap = 1; gap < lanes; gap *= 2)
        for (int l = 0; l + gap < lanes; l += 2 * gap) {
            real *restrict a = t->lane[l] + from;
            const real *restrict b = t->lane[l + gap] + from;
            for (size_t i = 0; i < n; i++) a[i] += b[i];
        }
}

/* One parameter's gradient and the sum of its squares; so much at a time that all lanes' part stays in
 * the first-level cache. */
static void sum_lanes(void *ctx, int param, int worker) {
    enum { PART = 1024 };
    qkv_trainer *t = ((const job *)ctx)->t;
    const ag_param_entry *p = ag_params_at(t->params, param);
    double s[8] = {0};
    (void)worker;
    for (size_t i = 0; i < p->val.n; i += PART) {
        const size_t n = p->val.n - i < PART ? p->val.n - i : PART;
        add_lanes(t, p->offset + i, n);
        add_squares(s, t->lane[0] + p->offset + i, n);
    }
    t->squares[param] = qkv_optim_stays(&t->optim, param)
                            ? 0
                            : ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

static const char *graph_error(const qkv_trainer *t) {
    for (int i = 0; i < qkv_trainer_pool_size(t->pool); i++)
        if (ag_error(t->workers[i].graph)) return ag_error(t->workers[i].graph);
    return NULL;
}

void qkv_trainer_detect_anomaly(qkv_trainer *t, bool on) {
    if (!t) return;
    t->detect = on;
    for (int i = 0; on && i < qkv_trainer_pool_size(t->pool); i++)
        ag_keep_grads(t->workers[i].graph, true);  // and stay so: it costs little
}

/* Runs the micro-batches of a step again, one by one, until a number is not finite. The parameters have
 * not changed since. */
static qkv_trainer_anomaly find_again(qkv_trainer *t, int step) {
    qkv_trainer_worker *w = &t->workers[0];
    qkv_trainer_anomaly found = {NULL, NULL};
    size_t bytes = ag_params_size(t->params) * sizeof(real);
    real *grads = t->mem->alloc(t->mem->ctx, bytes);  // lane 0 holds what was computed
    if (!grads) return found;
    ag_keep_grads(w->graph, true);
    for (int micro_batch = 0; micro_batch < t->micro_batches && !found.node; micro_batch++) {
        ag_grads_into(w->graph, grads);
        if (run_micro_batch(t, w, step, micro_batch))
            found = qkv_trainer_first_not_finite(w->graph);
    }
    ag_grads_into(w->graph, t->lane[0]);
    t->mem->release(t->mem->ctx, grads);
    return found;
}

static bool diverged(qkv_trainer *t, qkv_trainer_step *out, char *error, int step,
                     const char *what) {
    char where[QKV_IO_ERROR / 2 + 64];
    out->diverged = true;
    qkv_trainer_anomaly_text(find_again(t, step), where, sizeof where);
    qkv_io_fail(error, "step %d: %s is not finite; %s", step, what, where);
    return false;
}

/* Refuses a gradient that the optimiser's moments cannot hold, by the name of its greatest part. */
static bool holds(const qkv_trainer *t, int step, qkv_trainer_step *out, char *error) {
    const qkv_optim_rule rule = qkv_optim_rule_at(&t->optim.settings, step, out->grad_norm);
    int most = 0;
    if (qkv_optim_holds(&rule, out->grad_norm)) return true;
    for (int i = 1; i < ag_params_count(t->params); i++)
        if (t->squares[i] > t->squares[most]) most = i;
    out->diverged = true;
    return qkv_io_fail(
        error,
        "step %d: the gradient of '%.100s' has the norm %.3g, whose square %s cannot "
        "hold; --clip bounds it",
        step, ag_params_at(t->params, most)->name, sqrt(t->squares[most]), rule.method->name);
}

/* With detect: has any lane met a number that is not finite? */
static bool is_odd(const qkv_trainer *t) {
    for (int lane = 0; lane < t->config.lanes; lane++)
        if (t->detect && t->not_finite[lane]) return true;
    return false;
}

bool qkv_trainer_gradient(qkv_trainer *t, int step, qkv_trainer_step *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, out)) return false;
    const int params = ag_params_count(t->params);
    *out = (qkv_trainer_step){0};
    qkv_trainer_at_step(t, step);
    qkv_trainer_pool_run(t->pool, run_lane, &(job){t, step}, lanes_in_use(t));
    if (graph_error(t)) return qkv_io_fail(error, "step %d: %s", step, graph_error(t));
    qkv_trainer_pool_run(t->pool, sum_lanes, &(job){t, step}, params);
    for (int s = 0; s < t->micro_batches; s++) out->loss += t->losses[s];
    double squares = 0;
    for (int i = 0; i < params; i++) {
        if (!isfinite(t->squares[i])) {
            char what[160];
            snprintf(what, sizeof what, "the gradient of '%.100s'",
                     ag_params_at(t->params, i)->name);
            return diverged(t, out, error, step, what);
        }
        squares += t->squares[i];
    }
    out->grad_norm = sqrt(squares);
    if (!isfinite(out->loss)) return diverged(t, out, error, step, "the loss");
    if (!holds(t, step, out, error)) return false;
    return !is_odd(t) || diverged(t, out, error, step, "a number on the way");
}

typedef struct {
    qkv_trainer *t;
    qkv_optim_rule rule;
} update;

static void update_one(void *ctx, int param, int worker) {
    const update *u = ctx;
    (void)worker;
    qkv_optim_update(&u->t->optim, &u->rule, param, u->t->lane[0]);
}

void qkv_trainer_update(qkv_trainer *t, int step, const qkv_trainer_step *s) {
    if (!t || !s) return;
    update u = {t, qkv_optim_rule_at(&t->optim.settings, step, s->grad_norm)};
    qkv_trainer_pool_run(t->pool, update_one, &u, ag_params_count(t->params));
}
