/* circuits.c - the learned matrices multiplied together, symbol by symbol. */
#include "train/probe/circuits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/gemm.h"
#include "train/probe/look.h"

const char *const qkv_probe_circuit_names[QKV_PROBE_CIRCUITS] = {"qk_key", "qk_value", "ov_value",
                                                                 "ov_key"};

static gemm_view dense(const real *x, int width) { return (gemm_view){x, width, 1}; }
static gemm_view view(const ag_param_entry *p) { return dense(p->val.x, p->val.shape.dim[1]); }

/* Which of the parameters that the circuits are read from the layer lacks, as half a sentence; NULL: none. */
static const char *lacks_matrix(qkv_trainer *t) {
#define LACKS(name)                                          \
    "layer0 has no matrix called " name                      \
    ", and circuits are read from wq, wk, wv and wo (train " \
    "with --tie if one of yours is several of them, with --no-" name " if you have none)"
    static const char *const lacks[] = {LACKS("wq"), LACKS("wk"), LACKS("wv")};
    const qkv_config *c = qkv_trainer_config(t);
    nn_attention_config config = qkv_config_model(c, qkv_trainer_spec(t)).attention;
    char attn[64];
    snprintf(attn, sizeof attn, "layer0.%s", qkv_trainer_attention_name(qkv_trainer_spec(t)));
    for (const char *role = "qkv"; *role; role++) {
        const char *name = nn_attention_matrix(&config, *role);
        if (name && !qkv_probe_param(t, "%s.%s", attn, name))
            return lacks[name[1] == 'q' ? 0 : name[1] == 'k' ? 1 : 2];
    }
    if (c->wo && !qkv_probe_param(t, "%s.%s", attn, "wo")) return LACKS("wo");
    return !c->latent || qkv_probe_param(t, "%s.%s", attn, "wd") ? NULL
                                                                 : "layer0 has no matrix called wd";
#undef LACKS
}

/* U [channels,N_v] of a readout: a parameter of its own, or an embedding read across; *from, *channels: the
 * part of the width that it reads. */
static gemm_view unembedding(qkv_trainer *t, int readout, int *from, int *channels) {
    const data_spec *s = qkv_trainer_spec(t);
    const int D = qkv_trainer_config(t)->d_model;
    const ag_param_entry *u = qkv_probe_param(t, "unembed.%s", s->readout[readout].name);
    *from = 0;
    *channels = u ? u->val.shape.dim[0] : D;
    if (u && *channels < D) *from = readout * *channels;
    if (u) return view(u);
    u = qkv_probe_param(t, "embed.%s", s->readout[readout].name);
    if (!u) u = qkv_probe_param(t, "memory.%s", s->readout[readout].name);
    return (gemm_view){u->val.x, 1, D};
}

/* Row `at` of what positions add to the sequence's embedding, [D]; NULL: nothing. */
static const real *position_vector(qkv_trainer *t, int at) {
    const ag_param_entry *table = qkv_probe_param(t, "embed.position");
    const ag_node *waves = ag_find(qkv_trainer_any_worker(t)->graph, "embed.sinusoids");
    const real *first = table ? table->val.x : waves ? waves->val.x : NULL;
    return first ? first + (ptrdiff_t)at * qkv_trainer_config(t)->d_model : NULL;
}

static bool too_many(const data_spec *s, int question) {
    enum { MOST = 4096 };
    const data_stream *store = s->side[s->store].stream;
    return data_symbols(&s->side[DATA_SEQUENCE].stream[s->asked[question].query]) > MOST ||
           data_symbols(&store[s->asked[question].key]) > MOST ||
           data_symbols(&store[s->asked[question].value]) > MOST;
}

const char *qkv_probe_no_sums(const qkv_config *c) {
    return c->norm != NN_NORM_NONE ? "a norm weighs a symbol by what else stands at its place"
           : c->qk_norm      ? "queries and keys are brought to one size, whatever they are made of"
           : c->soft_cap > 0 ? "a soft cap bends the scores, which are no sums of parts then"
           : c->positions == NN_POSITIONS_ROTARY
               ? "with rotary positions a match depends on the distance"
           : c->d_ff && !c->residual ? "all that attention brings goes through the feed-forward"
                                     : NULL;
}

const char *qkv_probe_circuits_missing_of(qkv_trainer *t, int question) {
    const qkv_config *c = qkv_trainer_config(t);
    const data_spec *s = qkv_trainer_spec(t);
    return s->asked[question].key < 0
               ? (s->n_readouts > 1 ? "its answer is not asked for by one symbol"
                                    : data_no_roles(s))
           : too_many(s, question) ? "there are too many symbols to show all pairs of them"
           : c->layers > 1
               ? "with more than one layer a symbol's meaning is no longer its embedding's"
           : c->arch == QKV_CONFIG_ARCH_ENCODER_DECODER ? "the memory is encoded first"
           : c->readout == NN_READOUT_VECTOR            ? "the answer is a vector, no symbol"
           : !qkv_trainer_has_attention(t) || (lacks_matrix(t) && !c->plugin)
               ? "the model's layer is not made of the matrices W^Q, W^K, W^V, W^O"
           : lacks_matrix(t) ? lacks_matrix(t)
                             : qkv_probe_no_sums(c);
}

const char *qkv_probe_circuits_missing(qkv_trainer *t) {
    const char *none = data_no_roles(qkv_trainer_spec(t));
    return none ? none : qkv_probe_circuits_missing_of(t, 0);
}

bool qkv_probe_circuits_new(tensor_arena *arena, qkv_trainer *t, qkv_probe_circuits *out) {
    *out = (qkv_probe_circuits){0};
    return !qkv_probe_circuits_missing(t) && qkv_probe_circuits_new_of(arena, t, 0, out);
}

/* The streams of a question's maps. */
static void name_maps(const data_spec *s, int question, qkv_probe_circuits *out) {
    const data_stream *store = s->side[s->store].stream;
    const data_stream *query = &s->side[DATA_SEQUENCE].stream[s->asked[question].query],
                      *key = &store[s->asked[question].key],
                      *value = &store[s->asked[question].value];
    out->row[QKV_PROBE_QK_KEY] = out->row[QKV_PROBE_QK_VALUE] = query;
    out->row[QKV_PROBE_OV_VALUE] = value;
    out->row[QKV_PROBE_OV_KEY] = key;
    for (qkv_probe_circuit i = 0; i < QKV_PROBE_CIRCUITS; i++)
        out->col[i] = i == QKV_PROBE_QK_KEY ? key : value;
}

bool qkv_probe_circuits_new_of(tensor_arena *arena, qkv_trainer *t, int question,
                               qkv_probe_circuits *out) {
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_config *c = qkv_trainer_config(t);
    *out = (qkv_probe_circuits){.question = question};
    if (qkv_probe_circuits_missing_of(t, question)) return false;
    name_maps(s, question, out);
    bool room = true;
    int most = 0, E = c->d_k > c->d_v ? c->d_k : c->d_v;
    for (qkv_probe_circuit i = 0; i < QKV_PROBE_CIRCUITS; i++) {
        out->rows[i] = data_symbols(out->row[i]);
        out->cols[i] = data_symbols(out->col[i]);
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

static void scale(real *x, size_t n, double factor) {
    for (size_t i = 0; i < n; i++) x[i] *= (real)factor;
}

/* What one head does to the input on its way to queries, keys or values, as one matrix [D,E]: the
 * role's matrix under the ties, after the latent if there is one; a part of the identity where the
 * input is taken as it is. Keys and values are those of entries, whose embeddings have a factor. */
static void effective(qkv_trainer *t, const char *attn, char role, int head, real *out) {
    const qkv_config *c = qkv_trainer_config(t);
    nn_attention_config config = qkv_config_model(c, qkv_trainer_spec(t)).attention;
    const char *name = nn_attention_matrix(&config, role);
    const ag_param_entry *w = name ? qkv_probe_param(t, "%s.%s", attn, name) : NULL;
    const ag_param_entry *down =
        c->latent && role != 'q' ? qkv_probe_param(t, "%s.%s", attn, "wd") : NULL;
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
    if (role != 'q') scale(out, (size_t)D * (size_t)E, data_entry_scale(qkv_trainer_spec(t)));
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

/* How many questions are asked at once, by a symbol each. */
static int questions(const data_spec *s) {
    int n = 0;
    for (int r = 0; r < s->n_readouts; r++) n += s->asked[r].key >= 0;
    return n;
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

/* What is the same in every question, the marker and its place, shared out among those that are asked at
 * once: added to x [N,D]. */
static void add_common(qkv_trainer *t, int N, real *x) {
    const data_spec *s = qkv_trainer_spec(t);
    const int D = qkv_trainer_config(t)->d_model;
    const real *marker = NULL, *place = position_vector(t, s->side[DATA_SEQUENCE].T - 1);
    if (s->roles.marker >= 0) {
        const data_stream *marks = &s->side[DATA_SEQUENCE].stream[s->roles.marker_stream];
        marker =
            qkv_probe_param(t, "embed.%s", marks->name)->val.x + (ptrdiff_t)s->roles.marker * D;
    }
    for (int i = 0; i < N; i++)
        for (int d = 0; d < D; d++) {
            if (marker) x[i * D + d] += marker[d] / (real)questions(s);
            if (place) x[i * D + d] += place[d] / (real)questions(s);
        }
}

/* The head's bias of queries, added to q [N,E] in the same way. */
static void add_bias(qkv_trainer *t, const char *attn, int head, int N, real *q) {
    const qkv_config *c = qkv_trainer_config(t);
    const ag_param_entry *bias = c->wq ? qkv_probe_param(t, "%s.%s", attn, "bq") : NULL;
    for (int i = 0; bias && i < N; i++)
        for (int e = 0; e < c->d_k; e++)
            q[i * c->d_k + e] +=
                bias->val.x[head * c->d_k + e] / (real)questions(qkv_trainer_spec(t));
}

static void read_qk(qkv_trainer *t, const char *attn, int head, qkv_probe_circuits *out) {
    const data_spec *s = qkv_trainer_spec(t);
    int D = qkv_trainer_config(t)->d_model, E = qkv_trainer_config(t)->d_k,
        N = out->rows[QKV_PROBE_QK_KEY];
    const real *asks = qkv_probe_param(t, "embed.%s", out->row[QKV_PROBE_QK_KEY]->name)->val.x;
    real *x = out->wide[0], *q = out->narrow[0], *k = out->narrow[1];
    memcpy(x, asks, (size_t)N * (size_t)D * sizeof *x);
    add_common(t, N, x);
    effective(t, attn, 'q', head, out->matrix[0]);
    effective(t, attn, 'k', head, out->matrix[1]);
    gemm_mul(GEMM_SET, N, E, D, dense(x, D), dense(out->matrix[0], E), q, E);
    add_bias(t, attn, head, N, q);
    for (qkv_probe_circuit i = QKV_PROBE_QK_KEY; i <= QKV_PROBE_QK_VALUE; i++) {
        const ag_param_entry *table =
            qkv_probe_param(t, "%s.%s", qkv_trainer_store_name(s), out->col[i]->name);
        gemm_mul(GEMM_SET, out->cols[i], E, D, view(table), dense(out->matrix[1], E), k, E);
        gemm_mul(GEMM_SET, N, out->cols[i], E, dense(q, E), (gemm_view){k, 1, E}, out->map[i],
                 out->cols[i]);
        scale(out->map[i], (size_t)N * (size_t)out->cols[i],
              qkv_probe_score_factor(t, qkv_probe_param(t, "%s.%s", attn, "temperature")));
    }
}

static void read_ov(qkv_trainer *t, const char *attn, int head, qkv_probe_circuits *out) {
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_config *c = qkv_trainer_config(t);
    const ag_param_entry *wo = c->wo ? qkv_probe_param(t, "%s.%s", attn, "wo") : NULL;
    int from, channels;
    gemm_view u = unembedding(t, out->question, &from, &channels);
    int D = c->d_model, E = c->d_v;
    effective(t, attn, 'v', head, out->matrix[0]);
    if (c->scale == NN_SCALE_VALUE) scale(out->matrix[0], (size_t)D * (size_t)E, 1 / sqrt(c->d_k));
    for (qkv_probe_circuit i = QKV_PROBE_OV_VALUE; i <= QKV_PROBE_OV_KEY; i++) {
        int N = out->rows[i];
        const ag_param_entry *table =
            qkv_probe_param(t, "%s.%s", qkv_trainer_store_name(s), out->row[i]->name);
        gemm_mul(GEMM_SET, N, E, D, view(table), dense(out->matrix[0], E), out->narrow[0], E);
        real *o = out->wide[0];  // [N,D]: through the head's rows of W^O, or into its own channels
        memset(o, 0, (size_t)N * (size_t)D * sizeof *o);
        if (wo)
            gemm_mul(GEMM_SET, N, D, E, dense(out->narrow[0], E),
                     dense(wo->val.x + (ptrdiff_t)head * E * D, D), o, D);
        else
            for (int n = 0; n < N; n++)
                memcpy(o + n * D + head * E, out->narrow[0] + n * E, (size_t)E * sizeof *o);
        gemm_mul(GEMM_SET, N, out->cols[i], channels, dense(o + from, D), u, out->map[i],
                 out->cols[i]);
    }
}

void qkv_probe_circuits_read(qkv_trainer *t, int layer, int head, qkv_probe_circuits *out) {
    char attn[64];
    double variance[QKV_PROBE_CIRCUITS];
    snprintf(attn, sizeof attn, "layer%d.%s", layer,
             qkv_trainer_attention_name(qkv_trainer_spec(t)));
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
