/* metrics.c - the table of what is measured, and rows of it. */
#include "train/run/metrics.h"
#include "train/io/given.h"

#include <math.h>

/* ---- the table ---- */

static double batch_loss(const qkv_run_moment *m) { return m->loss; }
static double loss(const qkv_run_moment *m) { return m->scores.loss; }
static double bits(const qkv_run_moment *m) { return m->scores.bits; }
static double accuracy(const qkv_run_moment *m) { return m->scores.accuracy; }
static double in_context(const qkv_run_moment *m) { return m->scores.in_context; }
static double answer_attention(const qkv_run_moment *m) { return m->scores.answer_attention; }
static double distractor(const qkv_run_moment *m) { return m->scores.distractor; }
static double all_right(const qkv_run_moment *m) { return m->scores.all_right; }
static double lr(const qkv_run_moment *m) { return m->lr; }
static double seconds(const qkv_run_moment *m) { return m->seconds; }

static double circuit(const qkv_run_moment *m, double x) {
    return m->has_circuits ? x : (double)NAN;
}
static double qk_diag(const qkv_run_moment *m) { return circuit(m, m->circuits.qk_diag); }
static double qk_margin(const qkv_run_moment *m) { return circuit(m, m->circuits.qk_margin); }
static double qk_ratio(const qkv_run_moment *m) { return circuit(m, m->circuits.qk_ratio); }
static double ov_diag(const qkv_run_moment *m) { return circuit(m, m->circuits.ov_diag); }
static double ov_margin(const qkv_run_moment *m) { return circuit(m, m->circuits.ov_margin); }
static double ov_ratio(const qkv_run_moment *m) { return circuit(m, m->circuits.ov_ratio); }

const qkv_run_metric qkv_run_metrics[] = {
    {NULL, "loss", batch_loss, false, false},
    {"loss", "val_loss", loss, false, false},
    {"bits_per_character", "bits_per_character", bits, false, true},
    {"accuracy", "accuracy", accuracy, false, false},
    {"in_context", "in_context", in_context, false, false},
    {"answer_attention", "answer_attention", answer_attention, false, false},
    {"distractor", "distractor", distractor, false, false},
    {"all_right", NULL, all_right, false, false},
    {"qk_diag", "qk_diag", qk_diag, false, false},
    {"qk_margin", "qk_margin", qk_margin, false, false},
    {"qk_ratio", "qk_ratio", qk_ratio, false, false},
    {"ov_diag", "ov_diag", ov_diag, false, false},
    {"ov_margin", "ov_margin", ov_margin, false, false},
    {"ov_ratio", "ov_ratio", ov_ratio, false, false},
    {NULL, "lr", lr, true, false},
    {NULL, "seconds", seconds, true, false},
    {NULL, NULL, NULL, false, false}};

/* ---- a moment ---- */

qkv_run_moment qkv_run_moment_new(tensor_arena *arena, qkv_trainer *t) {
    qkv_run_moment m = {.loss = (double)NAN};
    m.has_circuits = qkv_probe_circuits_new(arena, t, &m.circuits);
    return m;
}

void qkv_run_moment_see(qkv_trainer *t, const qkv_trainer_scores *s, qkv_run_moment *m) {
    const qkv_config *c = qkv_trainer_config(t);
    const double *attention = s->head_attention + (c->layers - 1) * c->heads;
    int head = 0;
    for (int h = 1; h < c->heads; h++)
        if (attention[h] > attention[head]) head = h;
    m->scores = *s;
    if (m->has_circuits) qkv_probe_circuits_read(t, c->layers - 1, head, &m->circuits);
}

bool qkv_run_moment_look(qkv_trainer *t, const char *split, int count, int step, qkv_run_moment *m,
                         char *error) {
    if (!QKV_IO_GIVEN(error, t, split, m)) return false;
    qkv_trainer_scores s;
    qkv_trainer_at_step(t, step);
    if (!qkv_trainer_evaluate(t, split, 0, count, &s, error)) return false;
    m->step = step;
    qkv_run_moment_see(t, &s, m);
    return true;
}

/* ---- rows ---- */

static double norm(const real *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* Calls each() for every matrix, first its weights, then its gradient. */
typedef void each_fn(const char *prefix, const ag_param_entry *p, const real *x, qkv_io_text *out);

static void each_matrix(qkv_trainer *t, each_fn *each, qkv_io_text *out) {
    ag_params *params = qkv_trainer_params(t);
    for (int gradients = 0; gradients < 2; gradients++)
        for (int i = 0; i < ag_params_count(params); i++) {
            const ag_param_entry *p = ag_params_at(params, i);
            if (p->val.shape.rank == 2)
                each(gradients ? "grad" : "norm", p,
                     gradients ? qkv_trainer_grads(t) + p->offset : p->val.x, out);
        }
}

static void add_name(const char *prefix, const ag_param_entry *p, const real *x, qkv_io_text *out) {
    (void)x;
    qkv_io_text_add(out, ",%s.%s", prefix, p->name);
}

static void add_norm(const char *prefix, const ag_param_entry *p, const real *x, qkv_io_text *out) {
    (void)prefix;
    qkv_io_text_add(out, ",");
    qkv_io_text_number(out, norm(x, p->val.n));
}

/* Is it a column of the run's metrics.csv, before or behind the norms? */
static bool is_column(const qkv_trainer *t, const qkv_run_metric *k, bool after) {
    return k->column && k->after_norms == after &&
           (!k->of_text || qkv_trainer_spec(t)->characters > 0);
}

void qkv_run_metrics_header(qkv_trainer *t, qkv_io_text *out) {
    qkv_io_text_add(out, "step");
    for (int after = 0; after < 2; after++) {
        if (after) each_matrix(t, add_name, out);
        for (const qkv_run_metric *k = qkv_run_metrics; k->of; k++)
            if (is_column(t, k, after)) qkv_io_text_add(out, ",%s", k->column);
    }
    qkv_io_text_add(out, "\n");
}

void qkv_run_metrics_row(qkv_trainer *t, const qkv_run_moment *m, qkv_io_text *out) {
    qkv_io_text_add(out, "%d", m->step);
    for (int after = 0; after < 2; after++) {
        if (after) each_matrix(t, add_norm, out);
        for (const qkv_run_metric *k = qkv_run_metrics; k->of; k++) {
            if (!is_column(t, k, after)) continue;
            qkv_io_text_add(out, ",");
            qkv_io_text_number(out, k->of(m));
            if (k->of == loss && isnan(k->of(m))) qkv_io_text_add(out, "nan");  // was measured
        }
    }
    qkv_io_text_add(out, "\n");
}
