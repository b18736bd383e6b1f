/* job.c - one training of a study: no directory, everything measured in memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/probe/account.h"
#include "train/study/study.h"

typedef struct {
    qkv_trainer *t;
    qkv_run_moment now;
    bool ends_only;
    qkv_probe_measures *out;
    const qkv_study_variant *variant;
    const volatile sig_atomic_t *stop;
    int qk90, ov90, steps50, test_examples;
    char *error;
    bool failed;  // a probe on the way did
} job;

static void first_time(int *first, double x, double enough, int step) {
    if (*first < 0 && x >= enough) *first = step;
}

/* What the model does now, under plain names or, on the way, as NAME@STEP. */
static void add_scores(job *j, const char *at) {
    for (const qkv_run_metric *k = qkv_run_metrics; k->of; k++) {
        double x = k->of(&j->now);
        if (k->name && !isnan(x)) qkv_probe_measure_add(j->out, x, "%s%s", k->name, at);
    }
}

static bool run_probes(const qkv_study_variant *v, qkv_study_probe_time when, job *j, char *error) {
    for (int i = 0; i < v->n_probes; i++)
        if (v->probe[i]->when == when && !v->probe[i]->run(j->t, j->out, error)) return false;
    return true;
}

/* The probes that run at every evaluation; their measures get "@STEP". */
static bool look(job *j, const char *at) {
    int before = j->out->n;
    if (!run_probes(j->variant, QKV_STUDY_DURING, j, j->error)) return false;
    for (int i = before; i < j->out->n; i++) {
        char *name = j->out->at[i].name;
        const size_t n = strlen(name);
        snprintf(name + n, QKV_PROBE_MEASURE - n, "%s", at);
    }
    return true;
}

static bool evaluated(void *ctx, int step, const qkv_trainer_scores *s) {
    job *j = ctx;
    char at[24];
    snprintf(at, sizeof at, "@%d", step);
    qkv_run_moment_see(j->t, s, &j->now);
    if (!j->ends_only) add_scores(j, at);
    first_time(&j->steps50, s->accuracy, 0.5, step);
    if (j->now.has_circuits) {
        first_time(&j->qk90, j->now.circuits.qk_diag, 0.9, step);
        first_time(&j->ov90, j->now.circuits.ov_diag, 0.9, step);
    }
    j->failed = !j->ends_only && !look(j, at);
    return !j->failed;
}

static bool updated(void *ctx, int done, const qkv_trainer_step *s) {
    const job *j = ctx;
    (void)done, (void)s;
    return !j->stop || !*j->stop;
}

static bool train(job *j, int *steps99, int *step, char *error) {
    const qkv_trainer_calls calls = {.evaluated = evaluated, .updated = updated, .ctx = j};
    qkv_trainer_course course = qkv_trainer_course_start();
    qkv_trainer_outcome end =
        qkv_trainer_train(j->t, step, qkv_trainer_config(j->t)->steps, &course, &calls, error);
    *steps99 = course.steps99;
    if (j->failed) return false;
    if (end == QKV_TRAINER_LEFT) return qkv_io_fail(error, "stopped");
    return end == QKV_TRAINER_ENDED;
}

static bool measure(job *j, char *error) {
    const qkv_study_variant *v = j->variant;
    int steps99, step = 0;
    qkv_probe_account account;
    if (!run_probes(v, QKV_STUDY_BEFORE, j, error) || !train(j, &steps99, &step, error) ||
        !qkv_run_moment_look(j->t, "test", j->test_examples, step, &j->now, error))
        return false;
    add_scores(j, "");
    qkv_probe_account_of(j->t, &account);
    int cached = account.cache_sequence ? account.cache_sequence : account.cache_memory;
    qkv_probe_measure_add(j->out, (double)account.part[QKV_PROBE_PART_ATTENTION],
                          "attention_parameters");
    if (cached >= 0) qkv_probe_measure_add(j->out, cached, "cached");
    if (steps99 >= 0) qkv_probe_measure_add(j->out, steps99, "steps99");
    if (j->steps50 >= 0) qkv_probe_measure_add(j->out, j->steps50, "steps50");
    if (j->qk90 >= 0) qkv_probe_measure_add(j->out, j->qk90, "qk90");
    if (j->ov90 >= 0) qkv_probe_measure_add(j->out, j->ov90, "ov90");
    return run_probes(v, QKV_STUDY_AFTER, j, error) && run_probes(v, QKV_STUDY_AGAIN, j, error);
}

bool qkv_study_config(const qkv_study *s, int variant, int seed,
                      const struct qkv_config_plugin *plugin, qkv_config *c, data_spec *spec,
                      char *error) {
    if (!QKV_IO_GIVEN(error, s, c, spec)) return false;
    const qkv_study_variant *v = &s->variant[variant];
    char text[16];
    snprintf(text, sizeof text, "%d", seed);
    qkv_config_setting given = {"seed", text};
    qkv_config_parts parts = {
        .plugin = plugin, .json = v->json, .n = strlen(v->json), .given = &given, .n_given = 1};
    return qkv_config_make(&parts, c, spec, error) == QKV_CONFIG_OK;
}

/* Trains as configured and measures; releases the spec. */
static bool do_job(job *j, const qkv_config *c, data_spec *spec, int threads, char *error) {
    tensor_arena *arena = tensor_arena_new(NULL);
    if (arena)
        j->t = qkv_trainer_new(NULL, c, spec, threads, error);
    else
        qkv_io_fail(error, "out of memory");
    data_release(spec);  // the trainer has its own hold on it
    if (j->t) j->now = qkv_run_moment_new(arena, j->t);
    bool ok = j->t && measure(j, error);
    if (ok && j->out->failed) ok = qkv_io_fail(error, "out of memory");
    qkv_trainer_free(j->t);
    tensor_arena_free(arena);
    return ok;
}

bool qkv_study_job(const qkv_study *s, int variant, int seed,
                   const struct qkv_config_plugin *plugin, int threads,
                   const volatile sig_atomic_t *stop, qkv_probe_measures *out, char *error) {
    qkv_config c;
    data_spec spec;
    if (!QKV_IO_GIVEN(error, s, out)) return false;
    if (!qkv_study_config(s, variant, seed, plugin, &c, &spec, error)) return false;
    job j = {.variant = &s->variant[variant],
             .ends_only = s->ends_only,
             .out = out,
             .stop = stop,
             .steps50 = -1,
             .qk90 = -1,
             .ov90 = -1,
             .test_examples = 2048,
             .error = error};
    return do_job(&j, &c, &spec, threads, error);
}

bool qkv_study_rehearse(const qkv_study *s, int variant, const qkv_study_options *o,
                        qkv_probe_measures *out, char *error) {
    enum { FEW = 16 };
    qkv_config c;
    data_spec spec;
    if (!QKV_IO_GIVEN(error, s, o, out)) return false;
    if (!qkv_study_config(s, variant, s->first_seed, o->plugin, &c, &spec, error)) return false;
    c.steps = 0;
    out->names_only = true;
    if (c.eval_examples > FEW) c.eval_examples = FEW;
    job j = {.variant = &s->variant[variant],
             .out = out,
             .stop = o->stop,
             .steps50 = -1,
             .qk90 = -1,
             .ov90 = -1,
             .test_examples = FEW,
             .error = error};
    return do_job(&j, &c, &spec, o->threads, error);
}
