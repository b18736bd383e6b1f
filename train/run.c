/* run.c - the training loop around a trainer: evaluation, metrics, checkpoints, stopping and going
 * on. */
#include "train/run.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "train/anomaly.h"
#include "train/run_files.h"
#include "train/schedule.h"

enum { TEST_EXAMPLES = 2048 };

typedef struct {
    const train_io *io;
    const train_run_options *o;
    const train_config *c;
    train_trainer *t;
    tensor_arena *arena, *row_arena;
    train_progress progress;
    train_moment now;
    train_step step;
    train_appender metrics;
    char metrics_path[TRAIN_PATH];
    int steps99;
    double began;
    char *error;
} loop;

static double clock_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- looking ---- */

/* Scores on `count` examples of a split, and the circuits, as the model stands. */
static bool look(loop *l, const char *split, int count, int step) {
    train_at_step(l->t, step);
    if (!train_evaluate(l->t, split, 0, count, &l->now.scores, l->error)) return false;
    const double *mass = l->now.scores.head_mass + (l->c->layers - 1) * l->c->heads;
    int head = 0;
    for (int h = 1; h < l->c->heads; h++)
        if (mass[h] > mass[head]) head = h;
    if (l->now.has_circuits) train_circuits_read(l->t, l->c->layers - 1, head, &l->now.circuits);
    return true;
}

static bool write_row(loop *l, int step) {
    tensor_arena_reset(l->row_arena);
    train_text row = {.arena = l->row_arena};
    l->now.step = step;
    l->now.loss = l->step.loss;
    l->now.lr = train_learning_rate(l->c, step);
    l->now.seconds = clock_seconds() - l->began;
    if (l->steps99 < 0 && l->now.scores.accuracy >= 0.99) l->steps99 = step;
    train_metrics_row(l->t, &l->now, &row);
    if (row.failed) return snprintf(l->error, TRAIN_ERROR, "out of memory"), false;
    return train_append(&l->metrics, row.at, row.n, l->error);
}

/* ---- saving ---- */

/* Is the state after `step` steps, just evaluated, worth keeping? Else a sentence, and
 * l->step.diverged. */
static bool sound(loop *l, int step) {
    const ag_param_entry *bad = train_first_bad_parameter(train_trainer_params(l->t));
    if (!bad && isfinite(l->now.scores.loss)) return true;
    if (!bad && !train_gradient(l->t, step, &l->step, l->error))
        return false;  // its sentence says more
    l->step.diverged = true;
    if (bad)
        snprintf(l->error, TRAIN_ERROR,
                 "step %d: the parameter '%.100s' is not finite; nothing is saved", step,
                 bad->name);
    else
        snprintf(l->error, TRAIN_ERROR,
                 "step %d: the held-out loss is not finite; nothing is saved", step);
    return false;
}

/* What a failed save means. */
static train_status unsaved(const loop *l) {
    return l->step.diverged ? TRAIN_DIVERGED : TRAIN_FAILED;
}

/* A checkpoint of the state after `step` steps; also as best.safetensors if the held-out loss was
 * never lower. In the order that a crash between two writes can be repaired from: rows, the best,
 * then the checkpoint that speaks of both. */
static bool save(loop *l, int step) {
    char path[TRAIN_PATH];
    if (!look(l, "valid", l->c->eval_examples, step) || !sound(l, step)) return false;
    bool best = l->now.scores.loss < l->progress.best_loss;  // false for NaN
    l->progress.step = step;
    if (best) {
        l->progress.best_loss = l->now.scores.loss;
        l->progress.best_step = step;
    }
    if (!train_append_sync(&l->metrics, l->error)) return false;
    if (best && (!train_path(path, l->o->dir, "best.safetensors", l->error) ||
                 !train_save(l->io, l->t, &l->progress, path, l->error)))
        return false;
    if (!train_checkpoint_path(path, l->o->dir, step, l->error) ||
        !train_save(l->io, l->t, &l->progress, path, l->error))
        return false;
    return train_prune(l->io, NULL, l->o->dir, l->o->keep, l->error);
}

/* ---- the loop ---- */

/* The last probes, then the last checkpoint: a run that has its last checkpoint has all its files.
 * A probe that cannot be written costs no trained weights. */
static train_status conclude(loop *l, int step) {
    char why[TRAIN_ERROR];
    const train_circuits *c = l->now.has_circuits ? &l->now.circuits : NULL;
    bool probed = train_write_probes(l->io, l->t, c, l->o->dir, "after", l->error);
    snprintf(why, sizeof why, "%s", l->error);
    if (!save(l, step)) return unsaved(l);
    if (!probed) snprintf(l->error, TRAIN_ERROR, "%s", why);
    return probed ? TRAIN_DONE : TRAIN_FAILED;
}

static train_status steps_from(loop *l, int step) {
    for (;; step++) {
        bool last = step >= l->c->steps, evaluate = last || step % l->c->eval_every == 0;
        if (evaluate && !look(l, "valid", l->c->eval_examples, step)) return TRAIN_FAILED;
        // at the end one more gradient is computed, for the last row's norms, but not applied
        if (!train_gradient(l->t, step, &l->step, l->error))
            return l->step.diverged ? TRAIN_DIVERGED : TRAIN_FAILED;
        if (evaluate && !write_row(l, step)) return TRAIN_FAILED;
        if (last) return conclude(l, step);
        train_update(l->t, step, &l->step);
        int done = step + 1;
        if (l->o->progress)
            l->o->progress(l->o->ctx, done, l->c->steps, l->step.loss, l->now.scores.accuracy);
        if (l->o->stop && *l->o->stop) {
            if (!save(l, done)) return unsaved(l);
            snprintf(l->error, TRAIN_ERROR,
                     "stopped after step %d; the state is saved, --resume goes on", done);
            return TRAIN_STOPPED;
        }
        bool due = l->o->save_every && done % l->o->save_every == 0 && done < l->c->steps;
        if (!due || save(l, done)) continue;
        if (l->step.diverged) return TRAIN_DIVERGED;
        if (l->o->warn)
            l->o->warn(l->o->ctx, l->error);  // training goes on: the next save may succeed
    }
}

/* Opens metrics.csv: with a header, or with the rows before the step at which the run goes on. */
static bool open_metrics(loop *l, bool resumed) {
    if (!train_path(l->metrics_path, l->o->dir, "metrics.csv", l->error)) return false;
    void *text = NULL;
    size_t n = 0, keep = 0;
    if (resumed) {
        train_file_status s =
            train_read_file(l->io, NULL, l->metrics_path, (size_t)1 << 30, &text, &n, l->error);
        if (s != TRAIN_FILE_OK && s != TRAIN_FILE_ABSENT) return false;
        if (text) keep = train_metrics_keep(text, n, l->progress.step, &l->steps99);
        if (text) tensor_malloc.release(NULL, text);
    }
    if (!train_append_open(&l->metrics, l->io, l->metrics_path, keep, l->error)) return false;
    if (keep) return true;
    train_text header = {.arena = l->row_arena};
    train_metrics_header(l->t, &header);
    if (header.failed) return snprintf(l->error, TRAIN_ERROR, "out of memory"), false;
    return train_append(&l->metrics, header.at, header.n, l->error);
}

/* Finds steps99 in the metrics of a run that has all its steps. */
static bool first_steps99(loop *l) {
    void *text;
    size_t n;
    if (!train_path(l->metrics_path, l->o->dir, "metrics.csv", l->error)) return false;
    train_file_status s =
        train_read_file(l->io, NULL, l->metrics_path, (size_t)1 << 30, &text, &n, l->error);
    if (s != TRAIN_FILE_OK) return s == TRAIN_FILE_ABSENT;
    train_metrics_keep(text, n, l->progress.step + 1, &l->steps99);
    tensor_malloc.release(NULL, text);
    return true;
}

static train_status begin(loop *l, bool *resumed) {
    char path[TRAIN_PATH];
    int skipped = 0;
    *resumed = false;
    l->progress = train_progress_start();
    if (l->o->resume) {
        train_file_status s = train_latest(l->io, NULL, l->o->dir, path, &skipped, l->error);
        if (s == TRAIN_FILE_OK && skipped && l->o->warn) l->o->warn(l->o->ctx, l->error);
        if (s == TRAIN_FILE_OK) s = train_restore(l->io, l->t, &l->progress, path, l->error);
        if (s != TRAIN_FILE_OK && s != TRAIN_FILE_ABSENT)
            return s == TRAIN_FILE_DAMAGED ? TRAIN_DAMAGED : TRAIN_FAILED;
        *resumed = s == TRAIN_FILE_OK;
    }
    return TRAIN_DONE;
}

static train_status train_and_probe(loop *l, bool resumed, train_summary *out) {
    const train_circuits *circuits = l->now.has_circuits ? &l->now.circuits : NULL;
    if (!train_write_descriptions(l->io, l->t, l->o->dir, l->error) || !open_metrics(l, resumed))
        return TRAIN_FAILED;
    if (!resumed) {
        if (!look(l, "valid", l->c->eval_examples, 0)) return TRAIN_FAILED;
        if (!train_write_probes(l->io, l->t, circuits, l->o->dir, "before", l->error))
            return TRAIN_FAILED;
    }
    train_status s = steps_from(l, l->progress.step);
    char ignored[TRAIN_ERROR];
    bool closed = train_append_close(&l->metrics, s == TRAIN_DONE ? l->error : ignored);
    if (s != TRAIN_DONE) return s;
    if (!closed || !look(l, "test", TEST_EXAMPLES, l->c->steps)) return TRAIN_FAILED;
    *out = (train_summary){.last = l->now, .steps = l->c->steps, .steps99 = l->steps99};
    return TRAIN_DONE;
}

/* Makes what the run needs in memory, before anything is written. */
static train_status prepare(loop *l, const data_spec *spec) {
    l->arena = tensor_arena_new(NULL);
    l->row_arena = tensor_arena_new(NULL);
    if (!l->arena || !l->row_arena)
        return snprintf(l->error, TRAIN_ERROR, "out of memory"), TRAIN_FAILED;
    l->t = train_trainer_new(NULL, l->c, spec, l->o->threads, l->error);
    if (!l->t) return strstr(l->error, "out of memory") ? TRAIN_FAILED : TRAIN_USAGE;
    train_detect_anomaly(l->t, l->o->detect_anomaly);
    l->now.has_circuits = train_circuits_new(l->arena, l->t, &l->now.circuits);
    return TRAIN_DONE;
}

static train_status run_in(loop *l, train_summary *out) {
    bool resumed;
    train_status s = begin(l, &resumed);
    if (s != TRAIN_DONE) return s;
    if (resumed && l->progress.step >= l->c->steps) {
        if (!first_steps99(l)) return TRAIN_FAILED;
        *out = (train_summary){
            .steps = l->progress.step, .steps99 = l->steps99, .nothing_to_do = true};
        return look(l, "test", TEST_EXAMPLES, l->progress.step) ? (out->last = l->now, TRAIN_DONE)
                                                                : TRAIN_FAILED;
    }
    return train_and_probe(l, resumed, out);
}

train_status train_run(const train_io *io, const train_config *c, const data_spec *spec,
                       const train_run_options *o, train_summary *out, char *error) {
    loop l = {.io = io, .o = o, .c = c, .steps99 = -1, .began = clock_seconds(), .error = error};
    int lock = -1;
    train_status s = prepare(&l, spec);
    if (s == TRAIN_DONE) s = train_open_directory(io, o, &lock, error);
    if (s == TRAIN_DONE) s = run_in(&l, out);
    train_trainer_free(l.t);
    tensor_arena_free(l.row_arena);
    tensor_arena_free(l.arena);
    train_close_directory(io, lock);
    out->seconds = clock_seconds() - l.began;
    out->last.scores.head_mass = NULL;  // it was the trainer's
    return s;
}

/* ---- opening a run ---- */

train_status train_open_config(const train_io *io, const char *dir,
                               const struct train_plugin *plugin, train_config *c, data_spec *spec,
                               char *error) {
    char path[TRAIN_PATH], why[TRAIN_ERROR], shown[200];
    void *text;
    size_t n;
    if (!train_path(path, dir, "config.json", error)) return TRAIN_FAILED;
    train_file_status f = train_read_file(io, NULL, path, 1 << 20, &text, &n, error);
    if (f != TRAIN_FILE_OK) return f == TRAIN_FILE_DAMAGED ? TRAIN_DAMAGED : TRAIN_FAILED;
    train_config_default(c);
    c->plugin = plugin;
    bool read = train_config_from_json(c, text, n, why),
         ok = read && train_config_resolve(c, spec, why);
    bool unknown =
        read && (!train_find_task(c) || !train_find_block(c));  // a plugin's, most likely
    tensor_malloc.release(NULL, text);
    if (ok) return TRAIN_DONE;
    snprintf(error, TRAIN_ERROR, "'%s': %.280s", train_printable(path, shown, sizeof shown), why);
    return unknown ? TRAIN_USAGE : TRAIN_DAMAGED;
}

train_trainer *train_open_run(const train_io *io, const char *dir,
                              const struct train_plugin *plugin, int threads,
                              train_progress *progress, train_status *status, char *error) {
    char path[TRAIN_PATH];
    train_config c;
    data_spec spec;
    int skipped;
    *status = train_open_config(io, dir, plugin, &c, &spec, error);
    if (*status != TRAIN_DONE) return NULL;
    train_file_status f = train_latest(io, NULL, dir, path, &skipped, error);
    if (f != TRAIN_FILE_OK) {
        *status = f == TRAIN_FILE_DAMAGED ? TRAIN_DAMAGED : TRAIN_FAILED;
        return NULL;
    }
    train_trainer *t = train_trainer_new(NULL, &c, &spec, threads, error);
    if (!t) {
        *status = TRAIN_FAILED;
        return NULL;
    }
    f = train_restore(io, t, progress, path, error);
    if (f == TRAIN_FILE_OK) {
        train_at_step(t, progress->step);
        return t;
    }
    *status = f == TRAIN_FILE_DAMAGED ? TRAIN_DAMAGED : TRAIN_FAILED;
    train_trainer_free(t);
    return NULL;
}
