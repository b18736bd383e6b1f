#include "train/probe/measure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/probe/interventions.h"

const train_probe train_probes[] = {
#define TRAIN_PROBE(name, when, finds) {#name, finds, TRAIN_PROBE_##when, train_probe_##name},
#include "train/probe/probes.def"
#undef TRAIN_PROBE
    {NULL, NULL, TRAIN_PROBE_BEFORE, NULL}};

const train_probe *train_probe_find(const char *name) {
    for (const train_probe *p = train_probes; p->name; p++)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}

void train_measure_add(train_measures *m, double x, const char *format, ...) {
    if (m->n == m->room) {
        int room = m->room ? 2 * m->room : 64;
        train_measure *at = tensor_arena_take(m->arena, (size_t)room, sizeof *at);
        if (!at) {
            m->failed = true;
            return;
        }
        if (m->n) memcpy(at, m->at, (size_t)m->n * sizeof *at);
        m->at = at;
        m->room = room;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(m->at[m->n].name, TRAIN_MEASURE, format, args);
    va_end(args);
    m->at[m->n++].x = x;
}

double train_measure_get(const train_measures *m, const char *name) {
    for (int i = m->n - 1; i >= 0; i--)
        if (strcmp(m->at[i].name, name) == 0) return m->at[i].x;
    return (double)NAN;
}

/* ---- probes on what interventions.c and evaluate.c find ---- */

enum { EXAMPLES = 2000 };

bool train_probe_interventions(train_trainer *t, train_measures *out, char *error) {
    static const char *const names[TRAIN_INTERVENTIONS] = {"clean", "swap_keys", "swap_values",
                                                           "other_query", "random_values"};
    train_interventions v;
    if (!train_intervene(t, "test", EXAMPLES, &v, error)) return false;
    for (int i = 0; i < TRAIN_INTERVENTIONS; i++) {
        const train_intervention *c = &v.changed[i];
        const char *n = names[i];
        train_measure_add(out, c->looks_at_t, "interventions.%s.looks_at_t", n);
        train_measure_add(out, c->looks_at_j, "interventions.%s.looks_at_j", n);
        train_measure_add(out, c->mass_t, "interventions.%s.mass_t", n);
        train_measure_add(out, c->mass_j, "interventions.%s.mass_j", n);
        train_measure_add(out, c->moved, "interventions.%s.moved", n);
        train_measure_add(out, c->says_t, "interventions.%s.says_t", n);
        train_measure_add(out, c->says_j, "interventions.%s.says_j", n);
    }
    train_measure_add(out, v.cross.says_y_at_t, "interventions.cross.says_y_at_t");
    train_measure_add(out, v.cross.says_x, "interventions.cross.says_x");
    train_measure_add(out, v.cross.says_y, "interventions.cross.says_y");
    return true;
}

/* "knockouts.key_value.accuracy": what K sees, then what V sees. */
bool train_probe_knockouts(train_trainer *t, train_measures *out, char *error) {
    train_interventions v;
    if (!train_intervene(t, "test", EXAMPLES, &v, error)) return false;
    for (int i = 0; i < TRAIN_KNOCKOUTS; i++) {
        const train_knockout *k = &v.knocked[i];
        char sees[2][8];
        const char *const whole[] = {k->k_sees, k->v_sees};
        for (int side = 0; side < 2; side++)
            snprintf(sees[side], 8, "%s",
                     strchr(whole[side], '+')              ? "both"
                     : strncmp(whole[side], "key", 3) == 0 ? "key"
                                                           : "value");
        train_measure_add(out, k->accuracy, "knockouts.%s_%s.accuracy", sees[0], sees[1]);
        train_measure_add(out, k->in_bag, "knockouts.%s_%s.in_bag", sees[0], sees[1]);
        train_measure_add(out, k->mass, "knockouts.%s_%s.mass", sees[0], sees[1]);
    }
    return true;
}

bool train_probe_heldout(train_trainer *t, train_measures *out, char *error) {
    train_scores s;
    if (!train_trainer_spec(t)->has_held_out)
        return snprintf(error, TRAIN_ERROR, "the task '%s' holds nothing out",
                        train_trainer_spec(t)->task->name),
               false;
    if (!train_evaluate(t, "heldout", 0, EXAMPLES, &s, error)) return false;
    train_measure_add(out, s.accuracy, "heldout.accuracy");
    train_measure_add(out, s.mass, "heldout.mass");
    return true;
}
