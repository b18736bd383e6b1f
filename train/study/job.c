/* job.c - one training of a study: no directory, everything measured in memory. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/probe/circuits.h"
#include "train/study/study.h"

/* Defaults, what the task recommends, the variant's options, the seed. */
static bool configure(const qkv_study_variant *v, int seed, const struct qkv_config_plugin *plugin,
                      qkv_config *c, data_spec *spec, char *error) {
    json_t *root = json_loads(v->json, 0, NULL), *task = json_object_get(root, "task");
    qkv_config_default(c);
    qkv_config_use_plugin(c, plugin);
    bool ok = true;
    if (json_is_string(task))
        ok = qkv_config_set(c, qkv_config_option_find(c, "task"), json_string_value(task), error);
    json_decref(root);
    ok = ok && qkv_config_recommend(c, error) &&
         qkv_config_from_json(c, v->json, strlen(v->json), error);
    c->seed = seed;
    return ok && qkv_config_resolve(c, spec, error);
}

typedef struct {
    qkv_trainer *t;
    qkv_probe_circuits circuits;
    bool has_circuits;
    qkv_probe_measures *out;
    int steps99, qk90, ov90;
} bench;

static void first_time(int *step99, double x, double enough, int step) {
    if (*step99 < 0 && x >= enough) *step99 = step;
}

/* What the model does now, under plain names or, on the way, as NAME@STEP. */
static void add_scores(bench *b, const qkv_trainer_scores *s, int step) {
    const qkv_config *c = qkv_trainer_config(b->t);
    const qkv_probe_circuits *k = &b->circuits;
    if (b->has_circuits) qkv_probe_circuits_read(b->t, c->layers - 1, 0, &b->circuits);
    const struct {
        const char *name;
        double x;
        bool known;
    } all[] = {{"accuracy", s->accuracy, true},
               {"loss", s->loss, true},
               {"answer_attention", s->answer_attention, true},
               {"distractor", s->distractor, true},
               {"in_context", s->in_context, true},
               {"all_right", s->all_right, true},
               {"qk_diag", k->qk_diag, b->has_circuits},
               {"qk_margin", k->qk_margin, b->has_circuits},
               {"qk_ratio", k->qk_ratio, b->has_circuits},
               {"ov_diag", k->ov_diag, b->has_circuits},
               {"ov_margin", k->ov_margin, b->has_circuits},
               {"ov_ratio", k->ov_ratio, b->has_circuits}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].known || isnan(all[i].x)) continue;
        if (step < 0)
            qkv_probe_measure_add(b->out, all[i].x, "%s", all[i].name);
        else
            qkv_probe_measure_add(b->out, all[i].x, "%s@%d", all[i].name, step);
    }
}

static bool run_probes(const qkv_study_variant *v, qkv_probe_time when, bench *b, char *error) {
    for (int i = 0; i < v->n_probes; i++)
        if (v->probe[i]->when == when && !v->probe[i]->run(b->t, b->out, error)) return false;
    return true;
}

/* Numbers that generating the next token would keep of each earlier one. */
static int cached(const qkv_config *c) {
    bool one = c->tie == NN_TIE_KV || c->tie == NN_TIE_QKV || (!c->wk && !c->wv);
    return c->layers * (c->latent ? c->latent : c->kv_heads * (one ? c->d_k : c->d_k + c->d_v));
}

/* The probes that run at every evaluation; their measures get "@STEP". */
static bool look(const qkv_study_variant *v, bench *b, int step, char *error) {
    int before = b->out->n;
    if (!run_probes(v, QKV_PROBE_DURING, b, error)) return false;
    for (int i = before; i < b->out->n; i++) {
        char *name = b->out->at[i].name;
        const size_t n = strlen(name);
        snprintf(name + n, QKV_PROBE_MEASURE - n, "@%d", step);
    }
    return true;
}

static bool train(const qkv_study_variant *v, bench *b, const volatile sig_atomic_t *stop,
                  char *error) {
    const qkv_config *c = qkv_trainer_config(b->t);
    qkv_trainer_scores scores;
    for (int step = 0;; step++) {
        bool last = step >= c->steps;
        qkv_trainer_at_step(b->t, step);
        if (last || step % c->eval_every == 0) {
            if (!qkv_trainer_evaluate(b->t, "valid", 0, c->eval_examples, &scores, error))
                return false;
            first_time(&b->steps99, scores.accuracy, 0.99, step);
            add_scores(b, &scores, step);
            if (b->has_circuits) {
                first_time(&b->qk90, b->circuits.qk_diag, 0.9, step);
                first_time(&b->ov90, b->circuits.ov_diag, 0.9, step);
            }
            if (!look(v, b, step, error)) return false;
        }
        if (last) return true;
        qkv_trainer_step s;
        if (!qkv_trainer_gradient(b->t, step, &s, error)) return false;
        qkv_trainer_update(b->t, step, &s);
        if (stop && *stop) return qkv_io_fail(error, "stopped");
    }
}

static bool measure(const qkv_study_variant *v, bench *b, const volatile sig_atomic_t *stop,
                    char *error) {
    enum { TEST_EXAMPLES = 2048 };
    qkv_trainer_scores scores;
    if (!run_probes(v, QKV_PROBE_BEFORE, b, error) || !train(v, b, stop, error)) return false;
    if (!qkv_trainer_evaluate(b->t, "test", 0, TEST_EXAMPLES, &scores, error)) return false;
    add_scores(b, &scores, -1);
    qkv_probe_measure_add(b->out, cached(qkv_trainer_config(b->t)), "cached");
    if (b->steps99 >= 0) qkv_probe_measure_add(b->out, b->steps99, "steps99");
    if (b->qk90 >= 0) qkv_probe_measure_add(b->out, b->qk90, "qk90");
    if (b->ov90 >= 0) qkv_probe_measure_add(b->out, b->ov90, "ov90");
    return run_probes(v, QKV_PROBE_AFTER, b, error);
}

bool qkv_study_job(const qkv_study *s, int variant, int seed,
                   const struct qkv_config_plugin *plugin, int threads,
                   const volatile sig_atomic_t *stop, qkv_probe_measures *out, char *error) {
    qkv_config c;
    data_spec spec;
    if (!configure(&s->variant[variant], seed, plugin, &c, &spec, error)) return false;
    bench b = {.out = out, .steps99 = -1, .qk90 = -1, .ov90 = -1};
    tensor_arena *arena = tensor_arena_new(NULL);
    b.t = arena ? qkv_trainer_new(NULL, &c, &spec, threads, error) : NULL;
    if (!arena) qkv_io_fail(error, "out of memory");
    data_release(&spec);  // the trainer has its own hold on it
    if (b.t) b.has_circuits = qkv_probe_circuits_new(arena, b.t, &b.circuits);
    bool ok = b.t && measure(&s->variant[variant], &b, stop, error);
    if (ok && out->failed) ok = (qkv_io_fail(error, "out of memory"));
    qkv_trainer_free(b.t);
    tensor_arena_free(arena);
    return ok;
}
