/* explain.c - one example, step by step. */
#include "train/probe/explain.h"

#include <math.h>
#include <stdio.h>

#include "tensor/gemm.h"
#include "train/io/given.h"
#include "train/probe/look.h"
#include "train/probe/observe.h"

static ag_node *node(qkv_trainer *t, const char *name) {
    return qkv_probe_node(t, qkv_trainer_any_worker(t), qkv_probe_last_layer(t), name);
}

/* What a value of one head says: v [E] through the head's rows of W^O, then the unembedding; the
 * greatest class. */
static int says(qkv_trainer *t, tensor_arena *arena, const real *v, int head, int readout) {
    const qkv_config *c = qkv_trainer_config(t);
    const data_spec *s = qkv_trainer_spec(t);
    const ag_param_entry *wo = c->wo ? qkv_probe_matrix(t, c->layers - 1, "wo") : NULL,
                         *u = qkv_probe_param(t, "unembed.%s", s->readout[readout].name);
    int D = c->d_model, E = c->d_v, V = s->readout[readout].classes;
    real *o = tensor_arena_reals(arena, (size_t)D), *logits = tensor_arena_reals(arena, (size_t)V);
    if (!u || (c->wo && !wo) || !o || !logits || c->readout == NN_READOUT_LOCAL) return -1;
    if (wo)
        gemm_mul(GEMM_SET, 1, D, E, (gemm_view){v, E, 1},
                 (gemm_view){wo->val.x + (ptrdiff_t)head * E * D, D, 1}, o, D);
    for (int e = 0; !wo && e < E; e++) o[head * E + e] = v[e];
    gemm_mul(GEMM_SET, 1, V, D, (gemm_view){o, D, 1}, (gemm_view){u->val.x, V, 1}, logits, V);
    return qkv_trainer_argmax(logits, V);
}

int qkv_probe_question_row(const qkv_trainer *t, const qkv_trainer_worker *w, int readout) {
    int first = -1, last = -1;
    bool stands = false;  // an answer does, in the example
    for (int n = 0; n < qkv_probe_rows(w) && qkv_probe_row_example(t, w, n) == 0; n++) {
        if (w->target[readout][n] < 0) continue;
        first = first < 0 ? n : first;
        last = n;
        stands = stands || w->source[readout][n] >= 0;
    }
    return first < 0 ? qkv_probe_scored_row(t, w, 0) : stands ? first : last;
}

static void fill_answer(qkv_trainer *t, qkv_trainer_worker *w, int readout,
                        qkv_probe_explanation *out) {
    const data_spec *s = qkv_trainer_spec(t);
    int n = qkv_probe_question_row(t, w, readout), V = s->readout[readout].classes;
    const real *logits = w->out.logits[readout]->val.x + (ptrdiff_t)n * V;
    double sum = 0;
    out->question = w->rows[n] % s->side[DATA_SEQUENCE].T;
    out->answer = qkv_trainer_argmax(logits, V);
    out->target = w->target[readout][n];
    out->source = w->source[readout][n];
    out->distractor = w->distractor[readout][n];
    for (int c = 0; c < V; c++) sum += exp((double)(logits[c] - logits[out->answer]));
    out->confidence = 1 / sum;
}

bool qkv_probe_explain(qkv_trainer *t, tensor_arena *arena, int head, int readout,
                       qkv_probe_explanation *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, arena, out)) return false;
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    const qkv_config *c = qkv_trainer_config(t);
    const data_spec *s = qkv_trainer_spec(t);
    ag_node *q = node(t, "q"), *k = node(t, "k"), *v = node(t, "v"), *scores = node(t, "scores"),
            *weights = node(t, "weights");
    if (!qkv_probe_has_nodes(t, "logits q k v weights scores", error)) return false;
    if (head >= c->heads)
        return qkv_io_fail(error, "there is no head %d: the heads are 0 to %d", head, c->heads - 1);
    ag_set_run(w->graph, (ag_run){.training = false});
    if (!ag_forward(w->graph)) return qkv_io_fail(error, "%s", ag_error(w->graph));
    int S = s->side[s->store].T, T = s->side[DATA_SEQUENCE].T, Ek = c->d_k, Ev = c->d_v,
        kv = head / (c->heads / c->kv_heads);
    *out = (qkv_probe_explanation){.S = data_length(&w->data, s->store, 0),
                                   .at = tensor_arena_take(arena, (size_t)S, sizeof *out->at)};
    if (!out->at) return qkv_io_fail(error, "out of memory");
    fill_answer(t, w, readout, out);
    const real *query = q->val.x + (ptrdiff_t)out->question * c->heads * Ek + head * Ek;
    ptrdiff_t row = ((ptrdiff_t)head * T + out->question) * S;
    for (int p = 0; p < out->S; p++) {
        const real *key = k->val.x + ((ptrdiff_t)p * c->kv_heads + kv) * Ek,
                   *value = v->val.x + ((ptrdiff_t)p * c->kv_heads + kv) * Ev;
        double weight = (double)weights->val.x[row + p];
        out->at[p] = (qkv_probe_step_of){.visible = qkv_probe_sees(t, w, 0, out->question, p),
                                         .product = qkv_probe_dot(query, key, Ek),
                                         .score = (double)scores->val.x[row + p],
                                         .weight = weight,
                                         .length = weight * sqrt(qkv_probe_dot(value, value, Ev)),
                                         .says = says(t, arena, value, head, readout)};
    }
    return true;
}
