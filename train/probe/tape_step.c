/* tape_step.c - what the next step does to the example of a tape: all matrices together, and each alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/words.h"
#include "train/probe/look.h"
#include "train/probe/tape.h"

enum { SCORE = QKV_PROBE_TAPE_SCORE, LOSS = QKV_PROBE_TAPE_LOSS, M = QKV_PROBE_TAPE_MEASURES };
const char *const qkv_probe_tape_measures[] = {"score", "weight", "logit", "loss", NULL};

/* ---- what is measured ---- */

static ag_node *node_of(const qkv_probe_tape *tape, const char *name) {
    return qkv_probe_node(tape->t, tape->w, qkv_probe_last_layer(tape->t), name);
}

/* The entry of a plane [1,H,T,S] where the question meets the right answer's position; NaN: none. */
static double entry(const qkv_probe_tape *tape, const char *name, int head) {
    const ag_node *plane = node_of(tape, name);
    const int source = tape->w->source[tape->readout][tape->row];
    const ag_node *weights = tape->w->weights[qkv_probe_last_layer(tape->t)];
    if (!plane || !weights || !tensor_same_shape(plane->val.shape, weights->val.shape) ||
        source < 0)
        return (double)NAN;
    int row = tape->question;
    for (int i = 0; i < tape->w->asked.n; i++)
        if (tape->w->asked_place[i] == tape->question) row = i;
    if (tape->w->asked.n && row >= tape->w->asked.n) return (double)NAN;
    return (double)qkv_probe_row_of(plane, 0, head, row)[source];
}

static void measure(const qkv_probe_tape *tape, int head, double out[M]) {
    const int target = tape->w->target[tape->readout][tape->row];
    const ag_node *logits = tape->w->out.logits[tape->readout];
    out[SCORE] = entry(tape, "scores", head);
    out[QKV_PROBE_TAPE_WEIGHT] = entry(tape, "weights", head);
    out[QKV_PROBE_TAPE_LOGIT] =
        logits && target >= 0
            ? (double)logits->val.x[tape->row * tensor_width(logits->val.shape) + target]
            : (double)NAN;
    out[LOSS] = (double)tape->w->out.loss->val.x[0];
}

static int best_head(const qkv_probe_tape *tape) {
    int best = 0;
    for (int h = 1; h < qkv_trainer_config(tape->t)->heads; h++)
        if (entry(tape, "weights", h) > entry(tape, "weights", best)) best = h;
    return best;
}

/* ---- parameters and moments, kept and put back ---- */

typedef struct {
    ag_params *params;
    const qkv_optim *optim;
    size_t n;
    real *before, *after, *moment[QKV_OPTIM_MOMENTS];
} kept;

static void put_param(const ag_param_entry *e, const real *flat) {
    if (e->val.n) memcpy(e->val.x, flat + e->offset, e->val.n * sizeof(real));
}

static bool keep(kept *k, qkv_trainer *t, tensor_arena *arena) {
    *k = (kept){.params = qkv_trainer_params(t), .optim = qkv_trainer_optim(t)};
    k->n = ag_params_size(k->params);
    k->before = tensor_arena_reals(arena, k->n);
    k->after = tensor_arena_reals(arena, k->n);
    bool ok = k->before && k->after;
    for (int m = 0; ok && m < QKV_OPTIM_MOMENTS; m++) {
        if (!k->optim->moment[m]) continue;
        ok = (k->moment[m] = tensor_arena_reals(arena, k->n));
        if (ok) memcpy(k->moment[m], k->optim->moment[m], k->n * sizeof(real));
    }
    if (ok) qkv_probe_params_copy(k->params, k->before, false);
    return ok;
}

static void put_back(const kept *k) {
    qkv_probe_params_copy(k->params, k->before, true);
    for (int m = 0; m < QKV_OPTIM_MOMENTS; m++)
        if (k->moment[m]) memcpy(k->optim->moment[m], k->moment[m], k->n * sizeof(real));
}

/* ---- the step ---- */

static void describe(const kept *k, qkv_probe_tape_update *u) {
    for (int i = 0; i < u->n; i++) {
        qkv_probe_tape_part *p = &u->part[i];
        p->p = ag_params_at(k->params, i);
        const size_t at = p->p->offset, n = p->p->val.n;
        for (size_t j = at; j < at + n; j++) u->step[j] = k->after[j] - k->before[j];
        p->weight = qkv_probe_tape_size(k->before + at, n);
        p->grad = qkv_probe_tape_size(u->grad + at, n);
        p->step = qkv_probe_tape_size(u->step + at, n);
        for (int m = 0; m < QKV_OPTIM_MOMENTS; m++)
            p->moment[m] = k->optim->moment[m] ? qkv_probe_tape_size(k->optim->moment[m] + at, n)
                                               : (double)NAN;
    }
}

static bool run_and_measure(qkv_probe_tape *tape, int head, double out[M], char *error) {
    if (!qkv_probe_tape_run(tape, false, error)) return false;
    measure(tape, head, out);
    return true;
}

/* Each matrix moved alone; what all of them leave of the whole is `together`. */
static bool split(qkv_probe_tape *tape, const kept *k, qkv_probe_tape_update *u, char *error) {
    double alone[M];
    for (int m = 0; m < M; m++) u->together[m] = u->after[m] - u->before[m];
    for (int i = 0; i < u->n; i++) {
        const ag_param_entry *e = u->part[i].p;
        put_param(e, k->after);
        const bool ok = run_and_measure(tape, u->head, alone, error);
        put_param(e, k->before);
        if (!ok) return false;
        for (int m = 0; m < M; m++) {
            u->part[i].part[m] = alone[m] - u->before[m];
            u->together[m] -= u->part[i].part[m];
        }
    }
    return true;
}

static bool take_step(qkv_probe_tape *tape, int step, kept *k, qkv_probe_tape_update *u,
                      char *error) {
    qkv_trainer_step s;
    if (!qkv_trainer_gradient(tape->t, step, &s, error)) return false;
    const qkv_optim_rule rule = qkv_optim_rule_at(&k->optim->settings, step, s.grad_norm);
    memcpy(u->grad, qkv_trainer_grads(tape->t), k->n * sizeof(real));
    qkv_trainer_update(tape->t, step, &s);
    qkv_probe_params_copy(k->params, k->after, false);
    u->method = rule.method;
    u->loss = s.loss, u->grad_norm = s.grad_norm, u->rate = rule.lr, u->scale = rule.grad_scale;
    describe(k, u);
    return run_and_measure(tape, u->head, u->after, error);
}

bool qkv_probe_tape_step(qkv_probe_tape *tape, int step, tensor_arena *arena,
                         qkv_probe_tape_update *out, char *error) {
    if (!QKV_IO_GIVEN(error, tape, arena, out)) return false;
    kept k;
    *out = (qkv_probe_tape_update){.n = ag_params_count(qkv_trainer_params(tape->t))};
    out->part = tensor_arena_take(arena, (size_t)out->n, sizeof *out->part);
    out->grad = tensor_arena_reals(arena, ag_params_size(qkv_trainer_params(tape->t)));
    out->step = tensor_arena_reals(arena, ag_params_size(qkv_trainer_params(tape->t)));
    if (!out->part || !out->grad || !out->step || !keep(&k, tape->t, arena))
        return qkv_io_fail(error, "out of memory");
    qkv_trainer_at_step(tape->t, step);
    bool ok = qkv_probe_tape_run(tape, false, error);
    out->head = ok ? best_head(tape) : 0;
    if (ok) measure(tape, out->head, out->before);
    ok = ok && take_step(tape, step, &k, out, error);
    put_back(&k);
    ok = ok && split(tape, &k, out, error);
    return ok && qkv_probe_tape_run(tape, true, error);
}

/* ---- the sentence ---- */

char *qkv_probe_tape_matrix(const qkv_trainer *t, const char *name, char *out, size_t size) {
    static const char *const ends[][2] = {
        {".wq", "W^Q"}, {".wk", "W^K"}, {".wv", "W^V"}, {".wo", "W^O"}};
    const size_t n = strlen(name);
    const int several = qkv_trainer_config(t)->layers > 1;
    snprintf(out, size, "%s", name);
    for (int i = 0; i < 4; i++) {
        if (n < 3 || strcmp(name + n - 3, ends[i][0]) != 0) continue;
        if (several || strncmp(name, "layer0.attn", 11) != 0)
            snprintf(out, size, "%.*s %s", (int)strcspn(name, "."), name, ends[i][1]);
        else
            snprintf(out, size, "%s", ends[i][1]);
    }
    return out;
}

/* "(W^Q 0.012, W^K 0.017, others 0.001, together 0.002)": the four greatest parts by name. */
static size_t parts_text(const qkv_probe_tape *tape, const qkv_probe_tape_update *u, int measure,
                         char *out, size_t size) {
    enum { NAMED = 4 };
    char name[96];
    size_t n = 0;
    double others = 0;
    for (int i = 0; i < u->n; i++) {
        const double x = u->part[i].part[measure];
        int greater = 0;
        for (int j = 0; j < u->n; j++) {
            const double y = fabs(u->part[j].part[measure]);
            greater += y > fabs(x) || (y == fabs(x) && j < i);
        }
        if (x == 0) continue;
        if (greater >= NAMED)
            others += x;
        else if (n < size)
            n += (size_t)qkv_io_words(
                out + n, size - n, "%s%s %.3g", n ? ", " : "",
                qkv_probe_tape_matrix(tape->t, u->part[i].p->name, name, sizeof name), x);
    }
    if (others != 0 && n < size)
        n += (size_t)qkv_io_words(out + n, size - n, ", others %.3g", others);
    if (n && n < size)
        n += (size_t)qkv_io_words(out + n, size - n, ", together %.3g", u->together[measure]);
    return n;
}

char *qkv_probe_tape_taught(const qkv_probe_tape *tape, const qkv_probe_tape_update *u, char *out,
                            size_t size) {
    char parts[400] = "";
    const bool scored = isfinite(u->before[SCORE]) && isfinite(u->after[SCORE]);
    const double score = u->after[SCORE] - u->before[SCORE],
                 loss = u->after[LOSS] - u->before[LOSS];
    const char *fell = loss < 0 ? "fell" : loss > 0 ? "rose" : "changed";
    parts_text(tape, u, scored ? SCORE : LOSS, parts, sizeof parts);
    if (scored)
        qkv_io_words(out, size,
                     "This step %s the score of the right entry by %.3g%s%s%s and the loss of this "
                     "example %s by %.3g.",
                     score < 0 ? "lowered" : "raised", fabs(score), *parts ? " (" : "", parts,
                     *parts ? ")" : "", fell, fabs(loss));
    else
        qkv_io_words(out, size, "By this step the loss of this example %s by %.3g%s%s%s.", fell,
                     fabs(loss), *parts ? " (" : "", parts, *parts ? ")" : "");
    return out;
}
