/* metrics.c - the rows of metrics.csv. */
#include "train/run/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/number.h"

static bool is_matrix(const ag_param_entry *p) { return p->val.shape.rank == 2; }

static void each_matrix(qkv_trainer *t, const char *prefix, qkv_io_text *out) {
    ag_params *params = qkv_trainer_params(t);
    for (int i = 0; i < ag_params_count(params); i++)
        if (is_matrix(ag_params_at(params, i)))
            qkv_io_text_add(out, ",%s.%s", prefix, ag_params_at(params, i)->name);
}

void qkv_run_metrics_header(qkv_trainer *t, qkv_io_text *out) {
    qkv_io_text_add(out,
                    "step,loss,val_loss,accuracy,in_context,answer_attention,distractor,"
                    "qk_diag,qk_margin,qk_ratio,ov_diag,ov_margin,ov_ratio");
    each_matrix(t, "norm", out);
    each_matrix(t, "grad", out);
    qkv_io_text_add(out, ",lr,seconds\n");
}

static double norm(const real *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

void qkv_run_metrics_row(qkv_trainer *t, const qkv_run_moment *m, qkv_io_text *out) {
    enum { VAL_LOSS = 1 };
    const qkv_probe_circuits *c = &m->circuits;
    const double none = (double)NAN, numbers[] = {m->loss,
                                                  m->scores.loss,
                                                  m->scores.accuracy,
                                                  m->scores.in_context,
                                                  m->scores.answer_attention,
                                                  m->scores.distractor,
                                                  m->has_circuits ? c->qk_diag : none,
                                                  m->has_circuits ? c->qk_margin : none,
                                                  m->has_circuits ? c->qk_ratio : none,
                                                  m->has_circuits ? c->ov_diag : none,
                                                  m->has_circuits ? c->ov_margin : none,
                                                  m->has_circuits ? c->ov_ratio : none};
    ag_params *params = qkv_trainer_params(t);
    qkv_io_text_add(out, "%d", m->step);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        qkv_io_text_add(out, ",");
        qkv_io_text_number(out, numbers[i]);
        if (i == VAL_LOSS && isnan(numbers[i])) qkv_io_text_add(out, "nan");  // was measured
    }
    for (int of_gradients = 0; of_gradients < 2; of_gradients++)
        for (int i = 0; i < ag_params_count(params); i++) {
            const ag_param_entry *p = ag_params_at(params, i);
            if (!is_matrix(p)) continue;
            qkv_io_text_add(out, ",");
            qkv_io_text_number(
                out, norm(of_gradients ? qkv_trainer_grads(t) + p->offset : p->val.x, p->val.n));
        }
    qkv_io_text_add(out, ",");
    qkv_io_text_number(out, m->lr);
    qkv_io_text_add(out, ",");
    qkv_io_text_number(out, m->seconds);
    qkv_io_text_add(out, "\n");
}

/* The number in a row's field (0: the step), or NaN. */
static double field(const char *row, const char *end, int index) {
    char text[QKV_IO_NUMBER];
    double x;
    for (; index > 0 && row; index--) {
        row = memchr(row, ',', (size_t)(end - row));
        if (row) row++;
    }
    size_t n = 0;
    while (row && row + n < end && row[n] != ',' && n < sizeof text - 1) n++;
    if (!row || n == 0) return (double)NAN;
    memcpy(text, row, n);
    text[n] = '\0';
    return qkv_io_parse_real(text, &x) ? x : (double)NAN;
}

size_t qkv_run_metrics_keep(const char *text, size_t n, int step, int *steps99) {
    enum { STEP = 0, ACCURACY = 3 };
    const char *end = text + n, *row = n ? memchr(text, '\n', n) : NULL;  // after the header
    *steps99 = -1;
    if (!row) return 0;
    for (row++; row < end;) {
        const char *line_end = memchr(row, '\n', (size_t)(end - row));
        if (!line_end || !(field(row, line_end, STEP) < step))
            break;  // torn, or of a step that is to come again
        if (*steps99 < 0 && field(row, line_end, ACCURACY) >= 0.99)
            *steps99 = (int)field(row, line_end, STEP);
        row = line_end + 1;
    }
    return (size_t)(row - text);
}
