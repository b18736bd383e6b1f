/* run.c - the training loop around a trainer: evaluation, metrics, checkpoints, stopping and going
 * on. */
#include "train/run/run.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "train/run/files.h"
#include "train/trainer/anomaly.h"

enum { TEST_EXAMPLES = 2048 };

typedef struct {
    const qkv_io *io;
    const qkv_run_options *o;
    const qkv_config *c;
    qkv_trainer *t;
    tensor_arena *arena, *row_arena;
    qkv_run_progress progress;
    qkv_run_moment now;
    qkv_trainer_step step;
    qkv_io_appender metrics;
    char metrics_path[QKV_IO_PATH];
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
    qkv_trainer_at_step(l->t, step);
    if (!qkv_trainer_evaluate(l->t, split, 0, count, &l->now.scores, l->error)) return false;
    const double *attention = l->now.scores.head_attention + (l->c->layers - 1) * l->c->heads;
    int head = 0;
    for (int h = 1; h < l->c->heads; h++)
        if (attention[h] > attention[head]) head = h;
    if (l->now.has_circuits)
        qkv_probe_circuits_read(l->t, l->c->layers - 1, head, &l->now.circuits);
    return true;
}

static bool write_row(loop *l, int step) {
    tensor_arena_reset(l->row_arena);
    qkv_io_text row = {.arena = l->row_arena};
    l->now.step = step;
    l->now.loss = l->step.loss;
    l->now.lr = qkv_trainer_rate(l->t, step);
    l->now.seconds = clock_seconds() - l->began;
    if (l->steps99 < 0 && l->now.scores.accuracy >= 0.99) l->steps99 = step;
    qkv_run_metrics_row(l->t, &l->now, &row);
    if (row.failed) return qkv_io_fail(l->error, "out of memory");
    return qkv_io_append(&l->metrics, row.at, row.n, l->error);
}

/* ---- saving ---- */

/* Is the state after `step` steps, just evaluated, worth keeping? Else a sentence, and
 * l->step.diverged. */
static bool sound(loop *l, int step) {
    const ag_param_entry *bad = qkv_trainer_first_bad_parameter(qkv_trainer_params(l->t));
    if (!bad && isfinite(l->now.scores.loss)) return true;
    if (!bad && !qkv_trainer_gradient(l->t, step, &l->step, l->error))
        return false;  // its sentence says more
    l->step.diverged = true;
    if (bad)
        qkv_io_fail(l->error, "step %d: the parameter '%.100s' is not finite; nothing is saved",
                    step, bad->name);
    else
        qkv_io_fail(l->error, "step %d: the held-out loss is not finite; nothing is saved", step);
    return false;
}

/* What a failed save means. */
static qkv_run_status unsaved(const loop *l) {
    return l->step.diverged ? QKV_RUN_DIVERGED : QKV_RUN_FAILED;
}

/* A checkpoint of the state after `step` steps; also as best.safetensors if the held-out loss was
 * never lower. In the order that a crash between two writes can be repaired from: rows, the best,
 * then the checkpoint that speaks of both. */
static bool save(loop *l, int step) {
    char path[QKV_IO_PATH];
    if (!look(l, "valid", l->c->eval_examples, step) || !sound(l, step)) return false;
    bool best = l->now.scores.loss < l->progress.best_loss;  // false for NaN
    l->progress.step = step;
    if (best) {
        l->progress.best_loss = l->now.scores.loss;
        l->progress.best_step = step;
    }
    if (!qkv_io_append_sync(&l->metrics, l->error)) return false;
    if (best && (!qkv_io_path(path, l->o->dir, "best.safetensors", l->error) ||
                 !qkv_run_save(l->io, l->t, &l->progress, path, l->error)))
        return false;
    if (!qkv_run_checkpoint_path(path, l->o->dir, step, l->error) ||
        !qkv_run_save(l->io, l->t, &l->progress, path, l->error))
        return false;
    return qkv_run_prune(l->io, NULL, l->o->dir, l->o->keep, l->error);
}

/* ---- the loop ---- */

/* The last probes, then the last checkpoint: a run that has its last checkpoint has all its files.
 * A probe that cannot be written costs no trained weights. */
static qkv_run_status conclude(loop *l, int step) {
    char why[QKV_IO_ERROR];
    const qkv_probe_circuits *c = l->now.has_circuits ? &l->now.circuits : NULL;
    bool probed = qkv_run_write_probes(l->io, l->t, c, l->o->dir, "after", l->error);
    snprintf(why, sizeof why, "%s", l->error);
    if (!save(l, step)) return unsaved(l);
    if (!probed) qkv_io_fail(l->error, "%s", why);
    return probed ? QKV_RUN_DONE : QKV_RUN_FAILED;
}

static qkv_run_status steps_from(loop *l, int step) {
    for (;; step++) {
        bool last = step >= l->c->steps, evaluate = last || step % l->c->eval_every == 0;
        if (evaluate && !look(l, "valid", l->c->eval_examples, step)) return QKV_RUN_FAILED;
        // at the end one more gradient is computed, for the last row's norms, but not applied
        if (!qkv_trainer_gradient(l->t, step, &l->step, l->error))
            return l->step.diverged ? QKV_RUN_DIVERGED : QKV_RUN_FAILED;
        if (evaluate && !write_row(l, step)) return QKV_RUN_FAILED;
        if (last) return conclude(l, step);
        qkv_trainer_update(l->t, step, &l->step);
        int done = step + 1;
        if (l->o->progress)
            l->o->progress(l->o->ctx, done, l->c->steps, l->step.loss, l->now.scores.accuracy);
        if (l->o->stop && *l->o->stop) {
            if (!save(l, done)) return unsaved(l);
            qkv_io_fail(l->error, "stopped after step %d; the state is saved, --resume goes on",
                        done);
            return QKV_RUN_STOPPED;
        }
        bool due = l->o->save_every && done % l->o->save_every == 0 && done < l->c->steps;
        if (!due || save(l, done)) continue;
        if (l->step.diverged) return QKV_RUN_DIVERGED;
        if (l->o->warn)
            l->o->warn(l->o->ctx, l->error);  // training goes on: the next save may succeed
    }
}

/* Opens metrics.csv: with a header, or with the rows before the step at which the run goes on. */
static bool open_metrics(loop *l, bool resumed) {
    if (!qkv_io_path(l->metrics_path, l->o->dir, "metrics.csv", l->error)) return false;
    void *text = NULL;
    size_t n = 0, keep = 0;
    if (resumed) {
        qkv_io_status s =
            qkv_io_read_file(l->io, NULL, l->metrics_path, (size_t)1 << 30, &text, &n, l->error);
        if (s != QKV_IO_OK && s != QKV_IO_ABSENT) return false;
        if (text) keep = qkv_run_metrics_keep(text, n, l->progress.step, &l->steps99);
        if (text) tensor_malloc.release(NULL, text);
    }
    if (!qkv_io_append_open(&l->metrics, l->io, l->metrics_path, keep, l->error)) return false;
    if (keep) return true;
    qkv_io_text header = {.arena = l->row_arena};
    qkv_run_metrics_header(l->t, &header);
    if (header.failed) return qkv_io_fail(l->error, "out of memory");
    return qkv_io_append(&l->metrics, header.at, header.n, l->error);
}

/* Finds steps99 in the metrics of a run that has all its steps. */
static bool first_steps99(loop *l) {
    void *text;
    size_t n;
    if (!qkv_io_path(l->metrics_path, l->o->dir, "metrics.csv", l->error)) return false;
    qkv_io_status s =
        qkv_io_read_file(l->io, NULL, l->metrics_path, (size_t)1 << 30, &text, &n, l->error);
    if (s != QKV_IO_OK) return s == QKV_IO_ABSENT;
    qkv_run_metrics_keep(text, n, l->progress.step + 1, &l->steps99);
    tensor_malloc.release(NULL, text);
    return true;
}

static qkv_run_status begin(loop *l, bool *resumed) {
    char path[QKV_IO_PATH];
    int skipped = 0;
    *resumed = false;
    l->progress = qkv_run_progress_start();
    if (l->o->resume) {
        qkv_io_status s = qkv_run_latest(l->io, NULL, l->o->dir, path, &skipped, l->error);
        if (s == QKV_IO_OK && skipped && l->o->warn) l->o->warn(l->o->ctx, l->error);
        if (s == QKV_IO_OK) s = qkv_run_restore(l->io, l->t, &l->progress, path, l->error);
        if (s != QKV_IO_OK && s != QKV_IO_ABSENT)
            return s == QKV_IO_DAMAGED ? QKV_RUN_DAMAGED : QKV_RUN_FAILED;
        *resumed = s == QKV_IO_OK;
    }
    return QKV_RUN_DONE;
}

static qkv_run_status train_and_probe(loop *l, bool resumed, qkv_run_summary *out) {
    const qkv_probe_circuits *circuits = l->now.has_circuits ? &l->now.circuits : NULL;
    if (!qkv_run_write_descriptions(l->io, l->t, l->o->dir, l->error) || !open_metrics(l, resumed))
        return QKV_RUN_FAILED;
    if (!resumed) {
        if (!look(l, "valid", l->c->eval_examples, 0)) return QKV_RUN_FAILED;
        if (!qkv_run_write_probes(l->io, l->t, circuits, l->o->dir, "before", l->error))
            return QKV_RUN_FAILED;
    }
    qkv_run_status s = steps_from(l, l->progress.step);
    char ignored[QKV_IO_ERROR];
    bool closed = qkv_io_append_close(&l->metrics, s == QKV_RUN_DONE ? l->error : ignored);
    if (s != QKV_RUN_DONE) return s;
    if (!closed || !look(l, "test", TEST_EXAMPLES, l->c->steps)) return QKV_RUN_FAILED;
    *out = (qkv_run_summary){.last = l->now, .steps = l->c->steps, .steps99 = l->steps99};
    return QKV_RUN_DONE;
}

/* Makes what the run needs in memory, before anything is written. */
static qkv_run_status prepare(loop *l, const data_spec *spec) {
    l->arena = tensor_arena_new(NULL);
    l->row_arena = tensor_arena_new(NULL);
    if (!l->arena || !l->row_arena) return qkv_io_fail(l->error, "out of memory"), QKV_RUN_FAILED;
    l->t = qkv_trainer_new(NULL, l->c, spec, l->o->threads, l->error);
    if (!l->t) return strstr(l->error, "out of memory") ? QKV_RUN_FAILED : QKV_RUN_USAGE;
    qkv_trainer_detect_anomaly(l->t, l->o->detect_anomaly);
    l->now.has_circuits = qkv_probe_circuits_new(l->arena, l->t, &l->now.circuits);
    return QKV_RUN_DONE;
}

static qkv_run_status run_in(loop *l, qkv_run_summary *out) {
    bool resumed;
    qkv_run_status s = begin(l, &resumed);
    if (s != QKV_RUN_DONE) return s;
    if (resumed && l->progress.step >= l->c->steps) {
        if (!first_steps99(l)) return QKV_RUN_FAILED;
        *out = (qkv_run_summary){
            .steps = l->progress.step, .steps99 = l->steps99, .nothing_to_do = true};
        return look(l, "test", TEST_EXAMPLES, l->progress.step) ? (out->last = l->now, QKV_RUN_DONE)
                                                                : QKV_RUN_FAILED;
    }
    return train_and_probe(l, resumed, out);
}

qkv_run_status qkv_run_train(const qkv_io *io, const qkv_config *c, const data_spec *spec,
                             const qkv_run_options *o, qkv_run_summary *out, char *error) {
    loop l = {.io = io, .o = o, .c = c, .steps99 = -1, .began = clock_seconds(), .error = error};
    int lock = -1;
    qkv_run_status s = prepare(&l, spec);
    if (s == QKV_RUN_DONE) s = qkv_run_open_directory(io, o, &lock, error);
    if (s == QKV_RUN_DONE) s = run_in(&l, out);
    if (s == QKV_RUN_DONE && !qkv_trainer_loss_levels(l.t, "test", TEST_EXAMPLES, &out->levels))
        s = (qkv_io_fail(error, "out of memory"), QKV_RUN_FAILED);
    qkv_trainer_free(l.t);
    tensor_arena_free(l.row_arena);
    tensor_arena_free(l.arena);
    qkv_run_close_directory(io, lock);
    out->seconds = clock_seconds() - l.began;
    out->last.scores.head_attention = NULL;  // it was the trainer's
    return s;
}

/* ---- opening a run ---- */

qkv_run_status qkv_run_open_config(const qkv_io *io, const char *dir,
                                   const struct qkv_config_plugin *plugin, qkv_config *c,
                                   data_spec *spec, char *error) {
    char path[QKV_IO_PATH], why[QKV_IO_ERROR], shown[200];
    void *text;
    size_t n;
    if (!qkv_io_path(path, dir, "config.json", error)) return QKV_RUN_FAILED;
    qkv_io_status f = qkv_io_read_file(io, NULL, path, 1 << 20, &text, &n, error);
    if (f != QKV_IO_OK) return f == QKV_IO_DAMAGED ? QKV_RUN_DAMAGED : QKV_RUN_FAILED;
    qkv_config_default(c);
    qkv_config_use_plugin(c, plugin);
    bool read = qkv_config_from_json(c, text, n, why),
         ok = read && qkv_config_resolve(c, spec, why);
    bool unknown =
        !qkv_config_task(c) || (read && !qkv_config_block(c));  // a plugin's, most likely
    tensor_malloc.release(NULL, text);
    if (ok) return QKV_RUN_DONE;
    qkv_io_fail(error, "'%s': %.280s", qkv_io_printable(path, shown, sizeof shown), why);
    return unknown ? QKV_RUN_USAGE : QKV_RUN_DAMAGED;
}

qkv_trainer *qkv_run_open(const qkv_io *io, const char *dir, const struct qkv_config_plugin *plugin,
                          int threads, qkv_run_progress *progress, qkv_run_status *status,
                          char *error) {
    char path[QKV_IO_PATH];
    qkv_config c;
    data_spec spec;
    int skipped;
    *status = qkv_run_open_config(io, dir, plugin, &c, &spec, error);
    if (*status != QKV_RUN_DONE) return NULL;
    qkv_io_status f = qkv_run_latest(io, NULL, dir, path, &skipped, error);
    if (f != QKV_IO_OK) {
        *status = f == QKV_IO_DAMAGED ? QKV_RUN_DAMAGED : QKV_RUN_FAILED;
        data_release(&spec);
        return NULL;
    }
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, threads, error);
    data_release(&spec);  // the trainer has its own hold on it
    if (!t) {
        *status = QKV_RUN_FAILED;
        return NULL;
    }
    f = qkv_run_restore(io, t, progress, path, error);
    if (f == QKV_IO_OK) {
        qkv_trainer_at_step(t, progress->step);
        return t;
    }
    *status = f == QKV_IO_DAMAGED ? QKV_RUN_DAMAGED : QKV_RUN_FAILED;
    qkv_trainer_free(t);
    return NULL;
}
