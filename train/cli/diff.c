/* diff.c - how far two runs are apart at a step: their numbers, their circuits, their answers. */
#include "train/cli/diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const qkv_io_stored *peer(const diff_job *j, int i) {
    const qkv_run_layout *l = &j->of[1].l;
    return qkv_io_stored_find(l->tensor, l->n, i, j->of[0].l.tensor[i].name);
}

static double number(const qkv_io_stored *x, size_t i) {
    return (double)((const real *)x->data)[i];
}

void diff_look(diff_job *j, int step) {
    const qkv_run_layout *l = &j->of[0].l;
    for (int i = QKV_RUN_LAYOUT_STATE; i < l->n && j->step < 0; i++) {
        const qkv_io_stored *x = &l->tensor[i], *y = peer(j, i);
        if (!y || memcmp(x->data, y->data, x->bytes) == 0) continue;
        const char *p = x->data, *q = y->data;
        while (memcmp(p, q, sizeof(real)) == 0) p += sizeof(real), q += sizeof(real);
        j->step = step, j->tensor = i;
        j->at = (size_t)(p - (const char *)x->data) / sizeof(real);
        j->number[0] = number(x, j->at), j->number[1] = number(y, j->at);
    }
}

/* |A - B| / |A| of n numbers. */
typedef struct {
    double apart, size;
} distance;

static void add_pair(distance *d, double a, double b) {
    d->apart += (a - b) * (a - b);
    d->size += a * a;
}
static double relative(const distance *d) {
    return d->apart > 0 ? sqrt(d->apart / (d->size > 0 ? d->size : (double)NAN)) : 0;
}

static void put_weights(diff_job *j) {
    for (int i = QKV_RUN_LAYOUT_STATE; i < j->of[0].l.n; i++) {
        const qkv_io_stored *x = &j->of[0].l.tensor[i], *y = peer(j, i);
        distance d = {0, 0};
        if (qkv_run_layout_is_moment(x->name)) continue;
        for (size_t k = 0; k < x->bytes / sizeof(real); k++)
            add_pair(&d, number(x, k), number(y, k));
        cli_sheet_number(&j->sheet, x->name, relative(&d));
    }
}

static void put_circuits(diff_job *j) {
    static const qkv_probe_circuit shown[] = {QKV_PROBE_QK_KEY, QKV_PROBE_OV_VALUE};
    const int heads = j->circuits ? qkv_trainer_config(j->of[0].t)->heads : 0;
    for (int h = 0; h < heads; h++) {
        for (int i = 0; i < 2; i++) qkv_probe_circuits_read(j->of[i].t, 0, h, &j->of[i].c);
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
            const qkv_probe_circuits *a = &j->of[0].c, *b = &j->of[1].c;
            const int n = a->rows[shown[k]] * a->cols[shown[k]];
            char name[64];
            distance d = {0, 0};
            for (int i = 0; i < n; i++)
                add_pair(&d, (double)a->map[shown[k]][i], (double)b->map[shown[k]][i]);
            snprintf(name, sizeof name, "%s.head%d", qkv_probe_circuit_names[shown[k]], h);
            cli_sheet_number(&j->sheet, name, relative(&d));
        }
    }
}

/* What is summed over held-out questions. */
typedef struct {
    double loss[2], other, moved;  // other: answers that differ; moved: total variation
    long rows;
} answers;

/* The greatest of n logits in *most, and the sum of exp(x - that). */
static double softened(const real *x, int n, double *most) {
    double sum = 0;
    *most = (double)x[qkv_trainer_argmax(x, n)];
    for (int i = 0; i < n; i++) sum += exp((double)x[i] - *most);
    return sum;
}

static void compare_row(answers *sum, const real *a, const real *b, int classes) {
    double most_a, most_b;
    const double all_a = softened(a, classes, &most_a), all_b = softened(b, classes, &most_b);
    sum->rows++;
    sum->other += qkv_trainer_argmax(a, classes) != qkv_trainer_argmax(b, classes);
    for (int k = 0; k < classes; k++)
        sum->moved +=
            fabs(exp((double)a[k] - most_a) / all_a - exp((double)b[k] - most_b) / all_b) / 2;
}

/* The same held-out examples, those of the first run, to both. */
static bool ask(diff_job *j, int first, int n, int examples, answers *sum) {
    const uint64_t seed = (uint64_t)qkv_trainer_config(j->of[0].t)->seed;
    qkv_trainer_worker *w[2];
    for (int i = 0; i < 2; i++) {
        qkv_trainer *t = j->of[i].t;
        w[i] = qkv_trainer_training_worker(t);
        qkv_trainer_load(t, w[i], "valid", (uint64_t)first, n, examples);
        data_fill(&w[i]->data, seed, "valid", (uint64_t)first, n);
        qkv_trainer_reload(t, w[i]);
        ag_set_run(w[i]->graph, (ag_run){.training = false});
        if (!ag_forward(w[i]->graph)) return false;
        sum->loss[i] += (double)w[i]->out.loss->val.x[0];
    }
    const data_spec *s = qkv_trainer_spec(j->of[0].t);
    for (int r = 0; r < s->n_readouts && w[0]->out.logits[r] && w[1]->out.logits[r]; r++)
        for (int row = 0; row < w[0]->n_rows && row < w[1]->n_rows && w[0]->rows[row] >= 0; row++) {
            const size_t at = (size_t)row * (size_t)s->readout[r].classes;
            if (w[0]->target[r][row] >= 0)
                compare_row(sum, w[0]->out.logits[r]->val.x + at, w[1]->out.logits[r]->val.x + at,
                            s->readout[r].classes);
        }
    return true;
}

bool diff_row(diff_job *j, int step, char *error) {
    const int a = qkv_trainer_training_worker(j->of[0].t)->B,
              b = qkv_trainer_training_worker(j->of[1].t)->B, most = a < b ? a : b;
    const int all = data_at_most(qkv_trainer_spec(j->of[0].t), "valid", j->examples);
    answers sum = {.rows = 0};
    for (int i = 0; i < 2; i++) qkv_trainer_at_step(j->of[i].t, step);
    for (int first = 0; first < all; first += most)
        if (!ask(j, first, all - first < most ? all - first : most, all, &sum))
            return qkv_trainer_fail(j->of[0].t, error);
    const double rows = sum.rows ? (double)sum.rows : (double)NAN;
    cli_sheet_row(&j->sheet);
    cli_sheet_number(&j->sheet, "step", step);
    cli_sheet_number(&j->sheet, "loss_a", sum.loss[0]);
    cli_sheet_number(&j->sheet, "loss_b", sum.loss[1]);
    cli_sheet_number(&j->sheet, "other_answers", sum.other / rows);
    cli_sheet_number(&j->sheet, "moved", sum.moved / rows);
    put_circuits(j);
    put_weights(j);
    return !j->sheet.failed || qkv_io_fail(error, "out of memory");
}
