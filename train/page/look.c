/* look.c - what the model does with the example, and what its matrices say. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/json.h"
#include "train/page/engine_internal.h"
#include "train/probe/explain.h"
#include "train/probe/look.h"

enum { TOP = 5 };  // answers that are named

/* ---- the answers ---- */

static void add_class(const data_readout *readout, int class, double p, qkv_io_text *out) {
    char symbol[DATA_SYMBOL];
    qkv_io_text_add(out, "[");
    qkv_io_json_put(out, data_answer(readout, class, symbol));
    qkv_io_text_add(out, ",");
    qkv_page_text_real(out, p);
    qkv_io_text_add(out, "]");
}

/* The likeliest classes with their probabilities, falling. */
static void add_top(const data_readout *readout, const real *logits, qkv_io_text *out) {
    int said[TOP], n = 0, V = readout->classes;
    double sum = 0, most = (double)logits[qkv_trainer_argmax(logits, V)];
    for (int c = 0; c < V; c++) sum += exp((double)logits[c] - most);
    for (; n < TOP && n < V; n++) {
        int best = -1;
        for (int c = 0; c < V; c++) {
            bool taken = false;
            for (int i = 0; i < n; i++) taken = taken || said[i] == c;
            if (!taken && (best < 0 || logits[c] > logits[best])) best = c;
        }
        said[n] = best;
        qkv_io_text_add(out, n ? "," : "");
        add_class(readout, best, exp((double)logits[best] - most) / sum, out);
    }
}

static void add_answers(qkv_page_run *r, qkv_io_text *out) {
    const data_spec *s = qkv_trainer_spec(r->t);
    const qkv_trainer_worker *w = qkv_trainer_any_worker(r->t);
    char symbol[DATA_SYMBOL];
    bool first = true;
    qkv_io_text_add(out, "\"answers\":[");
    for (int k = 0; k < s->n_readouts; k++) {
        int target = w->target[k][0];
        if (!w->out.logits[k] || target < 0) continue;
        const real *logits = w->out.logits[k]->val.x;  // of scored row 0
        qkv_io_text_add(out, "%s{\"readout\":", first ? "" : ",");
        qkv_io_json_put(out, s->readout[k].name);
        qkv_io_text_add(out, ",\"wanted\":");
        qkv_io_json_put(out, data_answer(&s->readout[k], target, symbol));
        qkv_io_text_add(out, ",\"source\":%d,\"class\":%d,\"target\":%d,\"top\":[", w->source[k][0],
                        qkv_trainer_argmax(logits, s->readout[k].classes), target);
        add_top(&s->readout[k], logits, out);
        qkv_io_text_add(out, "]}");
        first = false;
    }
    qkv_io_text_add(out, "]");
}

/* ---- the steps to it ---- */

static void add_steps(const data_spec *s, const qkv_probe_explanation *e, qkv_io_text *out) {
    char symbol[DATA_SYMBOL];
    qkv_io_text_add(out, ",\"source\":%d,\"distractor\":%d,\"at\":[", e->source, e->distractor);
    for (int i = 0; i < e->S; i++) {
        const qkv_probe_step_of *a = &e->at[i];
        const double numbers[] = {a->product, a->score, a->weight, a->length};
        static const char *const names[] = {"product", "score", "weight", "length"};
        qkv_io_text_add(out, "%s{\"visible\":%s,\"says\":", i ? "," : "",
                        a->visible ? "true" : "false");
        qkv_io_json_put(
            out, a->visible && a->says >= 0 ? data_answer(&s->readout[0], a->says, symbol) : "");
        for (int k = 0; k < 4; k++) {
            qkv_io_text_add(out, ",\"%s\":", names[k]);
            qkv_page_text_real(out, a->visible ? numbers[k] : (double)NAN);
        }
        qkv_io_text_add(out, "}");
    }
    qkv_io_text_add(out, "]");
}

/* The explanation by one head, or by that which looks most at the answer. */
static bool explain(qkv_page *p, int head, int *which, qkv_probe_explanation *out) {
    qkv_page_run *r = p->run;
    double most = -1;
    *which = head < 0 ? 0 : head;
    for (int h = 0; head < 0 && h < qkv_trainer_config(r->t)->heads; h++) {
        if (!qkv_probe_explain(r->t, p->scratch, h, 0, out, p->error)) return false;
        double weight = out->source >= 0 ? out->at[out->source].weight : 0;
        if (weight > most) most = weight, *which = h;
    }
    return qkv_probe_explain(r->t, p->scratch, *which, 0, out, p->error);
}

const char *qkv_page_look(qkv_page *p, bool changed, int head) {
    qkv_page_applied a;
    qkv_probe_explanation e;
    qkv_io_text out = qkv_page_text_new(p);
    if (!qkv_page_load(p, changed, 1) || !qkv_page_apply(p, changed, &a)) return NULL;
    qkv_page_run *r = p->run;
    int which;
    bool explained = explain(p, head, &which, &e),
         ok = qkv_probe_replay(qkv_trainer_any_worker(r->t));
    qkv_page_undo(&a);
    if (!ok) {
        qkv_trainer_fail(r->t, p->error);
        return NULL;
    }
    qkv_io_text_add(&out, "{\"step\":%d,\"question\":%d,\"head\":%d,", r->step, r->question, which);
    add_answers(r, &out);
    if (explained) add_steps(qkv_trainer_spec(r->t), &e, &out);
    qkv_io_text_add(&out, "}");
    return qkv_page_text_end(p, &out);
}

const real *qkv_page_node(qkv_page *p, const char *name, int *dim) {
    if (!p->run) return NULL;
    ag_node *node = ag_find(qkv_trainer_any_worker(p->run->t)->graph, name);
    if (!node) return NULL;
    int rank = node->val.shape.rank;
    bool batched = rank > 1 && node->val.shape.dim[0] == qkv_trainer_any_worker(p->run->t)->B;
    for (int i = 0; i < 4; i++) dim[i] = i + batched < rank ? node->val.shape.dim[i + batched] : 0;
    return node->val.x;
}

/* ---- every question of the example ---- */

/* Rows 0.. of the worker ask for the keys that were drawn for the entries first, first + 1 ...: when a
 * key has moved, its row shows where attention followed it. */
static void ask_for(qkv_page_run *r, int first, int count) {
    const data_spec *s = qkv_trainer_spec(r->t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(r->t);
    for (int b = 0; b < count; b++) {
        int key = r->drawn.ids[s->store][s->roles.key][first + b];
        if (key >= 0 && key < data_symbols(data_key(s)))
            qkv_probe_ids(r->t, w, DATA_SEQUENCE, s->roles.query, b)[r->question] =
                data_asks_for(s, key);
    }
    qkv_trainer_reload(r->t, w);
}

static void read_answers(qkv_page_run *r, int first, int count, int head, real *out, real *said) {
    const data_spec *s = qkv_trainer_spec(r->t);
    const qkv_trainer_worker *w = qkv_trainer_any_worker(r->t);
    const ag_node *weights = qkv_trainer_weights(w, qkv_probe_last_layer(r->t));
    int S = s->side[s->store].T;
    for (int b = 0; b < count; b++) {
        memcpy(out + (ptrdiff_t)(first + b) * S, qkv_probe_row_of(weights, b, head, r->question),
               (size_t)S * sizeof(real));
        said[first + b] = (real)qkv_probe_answer(r->t, w, 0, b);
    }
}

bool qkv_page_can_ask(const qkv_page_run *r) {
    const data_spec *s = qkv_trainer_spec(r->t);
    return s->roles.key >= 0 && s->scored == 1 && s->n_readouts == 1 &&
           qkv_trainer_has_attention(r->t) && qkv_trainer_any_worker(r->t)->out.logits[0];
}

const real *qkv_page_questions(qkv_page *p, bool changed, int head) {
    qkv_page_run *r = p->run;
    if (!r || !qkv_page_can_ask(r) || head < 0 || head >= qkv_trainer_config(r->t)->heads)
        return NULL;
    const data_spec *s = qkv_trainer_spec(r->t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(r->t);
    tensor_arena_reset(p->scratch);
    int S = s->side[s->store].T;
    real *out = tensor_arena_reals(p->scratch, (size_t)s->entries * (size_t)(S + 1));
    bool ok = out != NULL;
    for (int first = 0; ok && first < s->entries; first += w->B) {
        int count = s->entries - first < w->B ? s->entries - first : w->B;
        qkv_page_applied a;
        if (!qkv_page_load(p, changed, count)) return NULL;
        ask_for(r, first, count);
        if (!qkv_page_apply(p, changed, &a)) return NULL;
        ok = qkv_probe_replay(w);
        qkv_page_undo(&a);
        if (ok) read_answers(r, first, count, head, out, out + (ptrdiff_t)s->entries * S);
    }
    return ok ? out : NULL;
}

/* ---- the matrices ---- */

const real *qkv_page_circuit(qkv_page *p, bool changed, int head, int which) {
    qkv_page_run *r = p->run;
    if (!r || !r->has_circuits || which < 0 || which >= QKV_PROBE_CIRCUITS || head < 0 ||
        head >= qkv_trainer_config(r->t)->heads)
        return NULL;
    qkv_page_applied a;
    qkv_page_changes all = r->changes;
    r->changes = (qkv_page_changes){.silent = -1, .random = all.random};
    bool ok = qkv_page_apply(p, changed, &a);
    if (ok) qkv_probe_circuits_read(r->t, qkv_probe_last_layer(r->t), head, &r->now.circuits);
    if (ok) qkv_page_undo(&a);
    r->changes = all;
    return ok ? r->now.circuits.map[which] : NULL;
}

/* ---- other examples ---- */

typedef struct {
    qkv_page *p;
    bool changed;
    long right, answered, sourced;
    double attention;
} tally;

static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    tally *sum = ctx;
    qkv_page_applied a;
    const data_spec *s = qkv_trainer_spec(t);
    (void)arena;
    if (!qkv_page_apply(sum->p, sum->changed, &a)) return false;
    bool ok = qkv_probe_replay(w);
    qkv_page_undo(&a);
    for (int n = 0; ok && n < qkv_probe_rows(w); n++)
        for (int k = 0; k < s->n_readouts; k++) {
            if (w->target[k][n] < 0) continue;
            if (w->out.logits[k]) {  // a vector is not right or wrong
                sum->answered++;
                sum->right += qkv_probe_answer(t, w, k, n) == w->target[k][n];
            }
            if (w->source[k][n] < 0 || !qkv_trainer_has_attention(t)) continue;
            sum->sourced++;
            sum->attention += qkv_probe_mean_at(qkv_trainer_weights(w, qkv_probe_last_layer(t)),
                                                qkv_probe_row_example(t, w, n),
                                                qkv_probe_row_position(t, w, n), w->source[k][n]);
        }
    return ok;
}

const char *qkv_page_score(qkv_page *p, bool changed) {
    qkv_page_run *r = p->run;
    if (!r) return NULL;
    tally sum = {.p = p, .changed = changed};
    const int examples =
        data_at_most(qkv_trainer_spec(r->t), "test", qkv_trainer_config(r->t)->eval_examples);
    qkv_trainer_at_step(r->t, r->step);
    tensor_arena_reset(p->scratch);
    if (!qkv_probe_see(r->t, "test", examples, 0, count, &sum, p->error)) return NULL;
    qkv_io_text out = qkv_page_text_new(p);
    qkv_io_text_add(&out, "{\"examples\":%d,\"accuracy\":", examples);
    qkv_page_text_real(&out, (double)sum.right / (double)sum.answered);
    qkv_io_text_add(&out, ",\"attention\":");
    qkv_page_text_real(&out, sum.attention / (double)sum.sourced);
    qkv_io_text_add(&out, "}");
    return qkv_page_text_end(p, &out);
}

const char *qkv_page_test(qkv_page *p, int examples) {
    qkv_page_run *r = p->run;
    if (!r) return NULL;
    qkv_run_moment now = r->now;
    if (!qkv_run_moment_look(r->t, "test", examples, r->step, &now, p->error)) return NULL;
    qkv_io_text out = qkv_page_text_new(p);
    qkv_io_text_add(&out, "{");
    for (const qkv_run_metric *k = qkv_run_metrics; k->of; k++) {
        if (!k->name) continue;
        qkv_io_text_add(&out, "%s\"%s\":", out.n > 1 ? "," : "", k->name);
        qkv_page_text_real(&out, k->of(&now));
    }
    qkv_io_text_add(&out, "}");
    return qkv_page_text_end(p, &out);
}
