#include "train/probe/circuits.h"

#include <math.h>
#include <stdio.h>

#include "tensor/gemm.h"

const char *const train_circuit_names[TRAIN_CIRCUITS] = {"qk_key", "qk_value", "ov_value", "ov_key"};

const data_stream *train_circuit_rows(const data_spec *s, train_circuit c) {
    return &s->stream[c == TRAIN_OV_VALUE ? s->roles.value : c == TRAIN_OV_KEY ? s->roles.key : s->roles.query];
}

const data_stream *train_circuit_cols(const data_spec *s, train_circuit c) {
    return &s->stream[c == TRAIN_QK_KEY ? s->roles.key : s->roles.value];
}

bool train_circuits_new(tensor_arena *arena, train_trainer *t, train_circuits *out) {
    const data_spec *s = train_trainer_spec(t);
    const train_config *c = train_trainer_config(t);
    *out = (train_circuits){0};
    if (s->roles.key < 0) return false;
    bool room = true;
    int most = 0;
    for (train_circuit i = 0; i < TRAIN_CIRCUITS; i++) {
        out->rows[i] = data_symbols(train_circuit_rows(s, i));
        out->cols[i] = data_symbols(train_circuit_cols(s, i));
        out->map[i] = tensor_arena_reals(arena, (size_t)out->rows[i] * (size_t)out->cols[i]);
        room = room && out->map[i];
        if (out->rows[i] > most) most = out->rows[i];
        if (out->cols[i] > most) most = out->cols[i];
    }
    int width = c->d_model + c->d_k + c->d_k + c->d_v + c->d_model;  // of a row of work: see train_circuits_read
    out->work = tensor_arena_reals(arena, (size_t)most * (size_t)width);
    return room && out->work;
}

/* A parameter "PREFIX.NAME" as a matrix. */
static gemm_view matrix(train_trainer *t, const char *prefix, const char *name) {
    char full[128];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    const ag_param_entry *p = ag_params_find(train_trainer_params(t), full);
    return p ? (gemm_view){p->val.x, p->val.shape.dim[1], 1} : (gemm_view){0};
}

static gemm_view dense(const real *x, int width) { return (gemm_view){x, width, 1}; }

/* The fraction of rows whose greatest entry stands on the diagonal; *margin: mean diagonal - mean of all others. */
static double diagonal(const real *x, int n, int cols, double *margin) {
    int hits = 0;
    double on = 0, off = 0;
    for (int r = 0; r < n; r++, x += cols) {
        int best = 0;
        for (int c = 0; c < cols; c++) {
            if (x[c] > x[best]) best = c;
            *(c == r ? &on : &off) += (double)x[c];
        }
        hits += best == r;
    }
    *margin = on / n - (cols > 1 ? off / ((double)n * (cols - 1)) : 0);
    return (double)hits / n;
}

/* Mean over rows of the variance within a row: softmax ignores what is common to a row. */
static double row_variance(const real *x, int rows, int cols) {
    double total = 0;
    for (int r = 0; r < rows; r++, x += cols) {
        double mean = 0, square = 0;
        for (int c = 0; c < cols; c++) mean += (double)x[c] / cols;
        for (int c = 0; c < cols; c++) square += ((double)x[c] - mean) * ((double)x[c] - mean);
        total += square / cols;
    }
    return total / rows;
}

static void scale(real *x, size_t n, double factor) {
    for (size_t i = 0; i < n; i++) x[i] *= (real)factor;
}

static void read_qk(train_trainer *t, const char *attn, int head, train_circuits *out) {
    const data_spec *s = train_trainer_spec(t);
    const train_config *c = train_trainer_config(t);
    int D = c->d_model, E = c->d_k, Nq = out->rows[TRAIN_QK_KEY], group = c->heads / c->kv_heads;
    gemm_view asks = matrix(t, "embed", s->stream[s->roles.query].name), wq = matrix(t, attn, "wq");
    gemm_view wk = matrix(t, attn, "wk");
    wq.x += head * E;
    wk.x += head / group * E;
    real *x = out->work, *q = x + (ptrdiff_t)Nq * D, *k = q + (ptrdiff_t)Nq * E;
    const real *marker = NULL;
    if (s->roles.marker >= 0)
        marker = matrix(t, "embed", s->stream[s->roles.marker_stream].name).x + s->roles.marker * D;
    for (int i = 0; i < Nq; i++)
        for (int d = 0; d < D; d++) x[i * D + d] = asks.x[i * D + d] + (marker ? marker[d] : 0);
    gemm_mul(GEMM_SET, Nq, E, D, dense(x, D), wq, q, E);
    for (train_circuit i = TRAIN_QK_KEY; i <= TRAIN_QK_VALUE; i++) {
        gemm_mul(GEMM_SET, out->cols[i], E, D, matrix(t, "embed", train_circuit_cols(s, i)->name), wk, k, E);
        gemm_mul(GEMM_SET, Nq, out->cols[i], E, dense(q, E), (gemm_view){k, 1, E}, out->map[i], out->cols[i]);
        scale(out->map[i], (size_t)Nq * (size_t)out->cols[i], 1 / sqrt(E));
    }
}

static void read_ov(train_trainer *t, const char *attn, int head, train_circuits *out) {
    const data_spec *s = train_trainer_spec(t);
    const train_config *c = train_trainer_config(t);
    int D = c->d_model, E = c->d_v, group = c->heads / c->kv_heads;
    gemm_view wv = matrix(t, attn, "wv"), wo = matrix(t, attn, "wo"), u = matrix(t, "unembed", s->readout[0].name);
    wv.x += head / group * E;
    wo.x += (ptrdiff_t)head * E * D;
    for (train_circuit i = TRAIN_OV_VALUE; i <= TRAIN_OV_KEY; i++) {
        int N = out->rows[i];
        real *v = out->work, *o = v + (ptrdiff_t)N * E;
        gemm_mul(GEMM_SET, N, E, D, matrix(t, "embed", train_circuit_rows(s, i)->name), wv, v, E);
        gemm_mul(GEMM_SET, N, D, E, dense(v, E), wo, o, D);
        gemm_mul(GEMM_SET, N, out->cols[i], D, dense(o, D), u, out->map[i], out->cols[i]);
    }
}

void train_circuits_read(train_trainer *t, int layer, int head, train_circuits *out) {
    char attn[64];
    snprintf(attn, sizeof attn, "layer%d.attn", layer);
    read_qk(t, attn, head, out);
    read_ov(t, attn, head, out);
    double variance[TRAIN_CIRCUITS];
    for (train_circuit i = 0; i < TRAIN_CIRCUITS; i++) variance[i] = row_variance(out->map[i], out->rows[i], out->cols[i]);
    out->qk_diag = diagonal(out->map[TRAIN_QK_KEY], out->rows[TRAIN_QK_KEY], out->cols[TRAIN_QK_KEY], &out->qk_margin);
    out->ov_diag = diagonal(out->map[TRAIN_OV_VALUE], out->rows[TRAIN_OV_VALUE], out->cols[TRAIN_OV_VALUE], &out->ov_margin);
    out->qk_ratio = variance[TRAIN_QK_VALUE] / variance[TRAIN_QK_KEY];
    out->ov_ratio = variance[TRAIN_OV_KEY] / variance[TRAIN_OV_VALUE];
}
