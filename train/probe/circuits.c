/* circuits.c - the learned matrices multiplied together, symbol by symbol. */
#include "train/probe/circuits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/gemm.h"
#include "train/probe/look.h"

const char *const qkv_probe_circuit_names[QKV_PROBE_CIRCUITS] = {"qk_key", "qk_value", "ov_value",
                                                                 "ov_key"};

const data_stream *qkv_probe_circuit_rows(const data_spec *s, qkv_probe_circuit c) {
    return c == QKV_PROBE_OV_VALUE ? data_value(s)
           : c == QKV_PROBE_OV_KEY ? data_key(s)
                                   : data_query(s);
}

const data_stream *qkv_probe_circuit_cols(const data_spec *s, qkv_probe_circuit c) {
    return c == QKV_PROBE_QK_KEY ? data_key(s) : data_value(s);
}

/* A parameter "PREFIX.NAME", or NULL. */
static const ag_param_entry *parameter(qkv_trainer *t, const char *prefix, const char *name) {
    char full[192];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    return ag_params_find(qkv_trainer_params(t), full);
}

static gemm_view dense(const real *x, int width) { return (gemm_view){x, width, 1}; }
static gemm_view view(const ag_param_entry *p) { return dense(p->val.x, p->val.shape.dim[1]); }

/* Does the layer consist of the parameters that the circuits are read from? */
static bool has_matrices(qkv_trainer *t) {
    const qkv_config *c = qkv_trainer_config(t);
    nn_attention_config config = qkv_config_model(c, qkv_trainer_spec(t)).attention;
    char attn[64];
    snprintf(attn, sizeof attn, "layer0.%s", qkv_trainer_looker(qkv_trainer_spec(t)));
    for (const char *role = "qkv"; *role; role++) {
        const char *name = nn_attention_matrix(&config, *role);
        if (name && !parameter(t, attn, name)) return false;
    }
    return (!c->wo || parameter(t, attn, "wo")) && (!c->latent || parameter(t, attn, "wd"));
}

/* U [D,N_v]: a parameter of its own, or the values' embedding read across. */
static gemm_view unembedding(qkv_trainer *t) {
    const data_spec *s = qkv_trainer_spec(t);
    const ag_param_entry *own = parameter(t, "unembed", s->readout[0].name);
    if (own) return view(own);
    return (gemm_view){parameter(t, qkv_trainer_store_name(s), data_value(s)->name)->val.x, 1,
                       qkv_trainer_config(t)->d_model};
}

static bool too_many(const data_spec *s) {
    enum { MOST = 4096 };
    return data_symbols(data_query(s)) > MOST || data_symbols(data_key(s)) > MOST ||
           data_symbols(data_value(s)) > MOST;
}

const char *qkv_probe_circuits_missing(qkv_trainer *t) {
    const qkv_config *c = qkv_trainer_config(t);
    return data_no_roles(qkv_trainer_spec(t)) ? data_no_roles(qkv_trainer_spec(t))
           : too_many(qkv_trainer_spec(t)) ? "there are too many symbols to show all pairs of them"
           : c->layers > 1
               ? "with more than one layer a symbol's meaning is no longer its embedding's"
           : c->arch == QKV_CONFIG_ARCH_ENCODER_DECODER ? "the memory is encoded first"
           : c->readout == NN_READOUT_VECTOR            ? "the answer is a vector, no symbol"
           : !qkv_trainer_has_attention(t) || !has_matrices(t)
               ? "the model's layer is not made of the matrices W^Q, W^K, W^V, W^O"
               : NULL;
}

bool qkv_probe_circuits_new(tensor_arena *arena, qkv_trainer *t, qkv_probe_circuits *out) {
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_config *c = qkv_trainer_config(t);
    *out = (qkv_probe_circuits){0};
    if (qkv_probe_circuits_missing(t)) return false;
    bool room = true;
    int most = 0, E = c->d_k > c->d_v ? c->d_k : c->d_v;
    for (qkv_probe_circuit i = 0; i < QKV_PROBE_CIRCUITS; i++) {
        out->rows[i] = data_symbols(qkv_probe_circuit_rows(s, i));
        out->cols[i] = data_symbols(qkv_probe_circuit_cols(s, i));
        out->map[i] = tensor_arena_reals(arena, (size_t)out->rows[i] * (size_t)out->cols[i]);
        room = room && out->map[i];
        if (out->rows[i] > most) most = out->rows[i];
        if (out->cols[i] > most) most = out->cols[i];
    }
    out->right = tensor_arena_take(arena, (size_t)most, sizeof(int));
    for (int q = 0; out->right && q < most; q++) out->right[q] = -1;
    for (int k = 0; out->right && k < out->cols[QKV_PROBE_QK_KEY]; k++) {
        if (s->roles.keys && !s->roles.keys[k]) continue;
        out->right[data_asks_for(s, k)] = k;
        out->asked++;
    }
    for (int i = 0; i < 2; i++) {
        out->matrix[i] = tensor_arena_reals(arena, (size_t)c->d_model * (size_t)E);
        out->wide[i] = tensor_arena_reals(arena, (size_t)most * (size_t)c->d_model);
        out->narrow[i] = tensor_arena_reals(arena, (size_t)most * (size_t)E);
        room = room && out->matrix[i] && out->wide[i] && out->narrow[i];
    }
    return room && out->right;
}

/* What one head does to the input on its way to queries, keys or values, as one matrix [D,E]: the
 * role's matrix under the ties, after the latent if there is one; a part of the identity where the
 * input is taken as it is. */
static void effective(qkv_trainer *t, const char *attn, char role, int head, real *out) {
    const qkv_config *c = qkv_trainer_config(t);
    nn_attention_config config = qkv_config_model(c, qkv_trainer_spec(t)).attention;
    const char *name = nn_attention_matrix(&config, role);
    const ag_param_entry *w = name ? parameter(t, attn, name) : NULL;
    const ag_param_entry *down = c->latent && role != 'q' ? parameter(t, attn, "wd") : NULL;
    int D = c->d_model, E = role == 'v' ? c->d_v : c->d_k,
        first = (role == 'q' ? head : head / (c->heads / c->kv_heads)) * E;
    for (int d = 0; d < D; d++)
        for (int e = 0; e < E; e++) {
            const real *row = down ? down->val.x + (ptrdiff_t)d * c->latent : NULL;
            real sum = 0;
            if (!w) sum = down ? row[first + e] : (real)(d == first + e);
            for (int i = 0, width = w ? w->val.shape.dim[1] : 0; down && w && i < c->latent; i++)
                sum += row[i] * w->val.x[i * width + first + e];
            if (w && !down) sum = w->val.x[d * w->val.shape.dim[1] + first + e];
            out[d * E + e] = sum;
        }
}

/* The fraction of rows whose greatest entry is the right one (NULL: the diagonal's; -1: the row does not
 * count); *margin: mean right - mean other. */
static double diagonal(const real *x, int n, int cols, const int *right, double *margin) {
    int hits = 0, rows = 0;
    double on = 0, off = 0;
    for (int r = 0; r < n; r++, x += cols) {
        int best = 0;
        if (right && right[r] < 0) continue;
        rows++;
        for (int c = 0; c < cols; c++) {
            if (x[c] > x[best]) best = c;
            *(c == (right ? right[r] : r) ? &on : &off) += (double)x[c];
        }
        hits += best == (right ? right[r] : r);
    }
    if (rows == 0) return *margin = 0;
    *margin = on / rows - (cols > 1 ? off / ((double)rows * (cols - 1)) : 0);
    return (double)hits / rows;
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

double qkv_probe_score_factor(qkv_trainer *t, const ag_param_entry *temperature) {
    const qkv_config *c = qkv_trainer_config(t);
    const double root = 1 / sqrt(c->d_k), learned = temperature ? (double)temperature->val.x[0] : 0;
    const data_spec *s = qkv_trainer_spec(t);
    int seen = 0;
    switch ((nn_scale)c->scale) {
        case NN_SCALE_SQRT: return root;
        case NN_SCALE_NONE:
        case NN_SCALE_VALUE: return 1;
        case NN_SCALE_ZERO: return 0;
        case NN_SCALE_LEARNED: return learned / sqrt(c->d_k);
        case NN_SCALE_EXP: return exp(learned) / sqrt(c->d_k);
        case NN_SCALE_LOG:
            for (int i = 0; i < s->side[s->store].T; i++)
                seen += qkv_probe_sees(t, NULL, 0, s->side[DATA_SEQUENCE].T - 1, i);
            return log(seen > 1 ? seen : 1) * root;
    }
    return 1;
}

static void read_qk(qkv_trainer *t, const char *attn, int head, qkv_probe_circuits *out) {
    const data_spec *s = qkv_trainer_spec(t);
    int D = qkv_trainer_config(t)->d_model, E = qkv_trainer_config(t)->d_k,
        N = out->rows[QKV_PROBE_QK_KEY];
    const real *asks = parameter(t, "embed", data_query(s)->name)->val.x, *marker = NULL;
    if (s->roles.marker >= 0) {
        const data_stream *marks = &s->side[DATA_SEQUENCE].stream[s->roles.marker_stream];
        marker = parameter(t, "embed", marks->name)->val.x + (ptrdiff_t)s->roles.marker * D;
    }
    real *x = out->wide[0], *q = out->narrow[0], *k = out->narrow[1];
    for (int i = 0; i < N; i++)
        for (int d = 0; d < D; d++) x[i * D + d] = asks[i * D + d] + (marker ? marker[d] : 0);
    effective(t, attn, 'q', head, out->matrix[0]);
    effective(t, attn, 'k', head, out->matrix[1]);
    gemm_mul(GEMM_SET, N, E, D, dense(x, D), dense(out->matrix[0], E), q, E);
    for (qkv_probe_circuit i = QKV_PROBE_QK_KEY; i <= QKV_PROBE_QK_VALUE; i++) {
        const ag_param_entry *table =
            parameter(t, qkv_trainer_store_name(s), qkv_probe_circuit_cols(s, i)->name);
        gemm_mul(GEMM_SET, out->cols[i], E, D, view(table), dense(out->matrix[1], E), k, E);
        gemm_mul(GEMM_SET, N, out->cols[i], E, dense(q, E), (gemm_view){k, 1, E}, out->map[i],
                 out->cols[i]);
        scale(out->map[i], (size_t)N * (size_t)out->cols[i],
              qkv_probe_score_factor(t, parameter(t, attn, "temperature")));
    }
}

static void read_ov(qkv_trainer *t, const char *attn, int head, qkv_probe_circuits *out) {
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_config *c = qkv_trainer_config(t);
    const ag_param_entry *wo = c->wo ? parameter(t, attn, "wo") : NULL;
    gemm_view u = unembedding(t);
    int D = c->d_model, E = c->d_v;
    effective(t, attn, 'v', head, out->matrix[0]);
    if (c->scale == NN_SCALE_VALUE) scale(out->matrix[0], (size_t)D * (size_t)E, 1 / sqrt(c->d_k));
    for (qkv_probe_circuit i = QKV_PROBE_OV_VALUE; i <= QKV_PROBE_OV_KEY; i++) {
        int N = out->rows[i];
        const ag_param_entry *table =
            parameter(t, qkv_trainer_store_name(s), qkv_probe_circuit_rows(s, i)->name);
        gemm_mul(GEMM_SET, N, E, D, view(table), dense(out->matrix[0], E), out->narrow[0], E);
        real *o = out->wide[0];  // [N,D]: through the head's rows of W^O, or into its own channels
        memset(o, 0, (size_t)N * (size_t)D * sizeof *o);
        if (wo)
            gemm_mul(GEMM_SET, N, D, E, dense(out->narrow[0], E),
                     dense(wo->val.x + (ptrdiff_t)head * E * D, D), o, D);
        else
            for (int n = 0; n < N; n++)
                memcpy(o + n * D + head * E, out->narrow[0] + n * E, (size_t)E * sizeof *o);
        gemm_mul(GEMM_SET, N, out->cols[i], D, dense(o, D), u, out->map[i], out->cols[i]);
    }
}

void qkv_probe_circuits_read(qkv_trainer *t, int layer, int head, qkv_probe_circuits *out) {
    char attn[64];
    double variance[QKV_PROBE_CIRCUITS];
    snprintf(attn, sizeof attn, "layer%d.%s", layer, qkv_trainer_looker(qkv_trainer_spec(t)));
    read_qk(t, attn, head, out);
    read_ov(t, attn, head, out);
    for (qkv_probe_circuit i = 0; i < QKV_PROBE_CIRCUITS; i++)
        variance[i] = row_variance(out->map[i], out->rows[i], out->cols[i]);
    out->qk_diag = diagonal(out->map[QKV_PROBE_QK_KEY], out->rows[QKV_PROBE_QK_KEY],
                            out->cols[QKV_PROBE_QK_KEY], out->right, &out->qk_margin);
    out->ov_diag = diagonal(out->map[QKV_PROBE_OV_VALUE], out->rows[QKV_PROBE_OV_VALUE],
                            out->cols[QKV_PROBE_OV_VALUE], NULL, &out->ov_margin);
    out->qk_ratio = variance[QKV_PROBE_QK_VALUE] / variance[QKV_PROBE_QK_KEY];
    out->ov_ratio = variance[QKV_PROBE_OV_KEY] / variance[QKV_PROBE_OV_VALUE];
}
