/* measure.c - the catalogue of probes, and the list of what they find. */
#include "train/probe/measure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/probe/interventions.h"

const qkv_probe qkv_probe_table[] = {
#define QKV_PROBE(name, when, finds) {#name, finds, QKV_PROBE_##when, qkv_probe_run_##name},
#include "train/probe/probes.def"
#undef QKV_PROBE
    {NULL, NULL, QKV_PROBE_BEFORE, NULL}};

const qkv_probe *qkv_probe_find(const char *name) {
    for (const qkv_probe *p = qkv_probe_table; name && p->name; p++)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}

void qkv_probe_measure_add(qkv_probe_measures *m, double x, const char *format, ...) {
    if (!isfinite(x) && !m->names) return;
    qkv_probe_measure *at =
        tensor_arena_grow(m->arena, m->at, (size_t)m->n, 1, &m->room, sizeof *at);
    if (!at) {
        m->failed = true;
        return;
    }
    m->at = at;
    va_list args;
    va_start(args, format);
    vsnprintf(m->at[m->n].name, QKV_PROBE_MEASURE, format, args);
    va_end(args);
    m->at[m->n++].x = x;
}

double qkv_probe_measure_get(const qkv_probe_measures *m, const char *name) {
    for (int i = m->n - 1; i >= 0; i--)
        if (strcmp(m->at[i].name, name) == 0) return m->at[i].x;
    return (double)NAN;
}

/* ---- probes on what interventions.c and evaluate.c find ---- */

enum { EXAMPLES = 2000 };

bool qkv_probe_run_interventions(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    qkv_probe_interventions v;
    if (!qkv_probe_intervene(t, "test", EXAMPLES, &v, error)) return false;
    for (int i = 0; i < QKV_PROBE_INTERVENTIONS; i++) {
        const qkv_probe_intervention *c = &v.changed[i];
        const char *n = c->key;
        qkv_probe_measure_add(out, c->looks_at_t, "interventions.%s.looks_at_t", n);
        qkv_probe_measure_add(out, c->looks_at_j, "interventions.%s.looks_at_j", n);
        qkv_probe_measure_add(out, c->attention_t, "interventions.%s.attention_t", n);
        qkv_probe_measure_add(out, c->attention_j, "interventions.%s.attention_j", n);
        qkv_probe_measure_add(out, c->moved, "interventions.%s.moved", n);
        qkv_probe_measure_add(out, c->says_t, "interventions.%s.says_t", n);
        qkv_probe_measure_add(out, c->says_j, "interventions.%s.says_j", n);
    }
    qkv_probe_measure_add(out, v.cross.says_y_at_t, "interventions.cross.says_y_at_t");
    qkv_probe_measure_add(out, v.cross.says_x, "interventions.cross.says_x");
    qkv_probe_measure_add(out, v.cross.says_y, "interventions.cross.says_y");
    return true;
}

/* "ablations.key_value.accuracy": what K sees, then what V sees. */
bool qkv_probe_run_ablations(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    qkv_probe_interventions v;
    if (!qkv_probe_intervene(t, "test", EXAMPLES, &v, error)) return false;
    for (int i = 0; i < QKV_PROBE_ABLATIONS; i++) {
        const qkv_probe_ablation *k = &v.ablated[i];
        char sees[2][8];
        const char *const whole[] = {k->k_sees, k->v_sees};
        for (int side = 0; side < 2; side++)
            snprintf(sees[side], 8, "%s",
                     strchr(whole[side], '+')              ? "both"
                     : strncmp(whole[side], "key", 3) == 0 ? "key"
                                                           : "value");
        qkv_probe_measure_add(out, k->accuracy, "ablations.%s_%s.accuracy", sees[0], sees[1]);
        qkv_probe_measure_add(out, k->in_context, "ablations.%s_%s.in_context", sees[0], sees[1]);
        qkv_probe_measure_add(out, k->answer_attention, "ablations.%s_%s.answer_attention", sees[0],
                              sees[1]);
    }
    return true;
}

bool qkv_probe_run_heldout(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    qkv_trainer_scores s;
    if (!qkv_trainer_spec(t)->has_held_out)
        return qkv_io_fail(error, "the task '%s' holds nothing out",
                           qkv_trainer_spec(t)->task->name);
    if (!qkv_trainer_evaluate(t, "heldout", 0, EXAMPLES, &s, error)) return false;
    qkv_probe_measure_add(out, s.accuracy, "heldout.accuracy");
    qkv_probe_measure_add(out, s.answer_attention, "heldout.answer_attention");
    return true;
}
