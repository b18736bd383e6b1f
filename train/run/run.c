/* run.c - a training in a directory of its own: rows, checkpoints, stopping and going on. */
#include "train/run/run.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/run/files.h"
#include "train/run/past.h"
#include "train/run/source.h"
#include "train/trainer/anomaly.h"

enum { TEST_EXAMPLES = 2048 };

typedef struct {
    const qkv_io *io;
    const qkv_run_options *o;
    const qkv_config *c;  // the trainer's
    qkv_trainer *t;
    tensor_arena *arena, *row_arena;
    char dir[QKV_IO_PATH];
    qkv_run_progress progress;
    qkv_run_moment now;
    qkv_trainer_step step;
    qkv_trainer_course course;
    qkv_run_record record;
    bool resumed;
    qkv_run_status left;  // why a call of the loop left it
    qkv_io_watch watch;   // of all the run's legs
    char *error;
} run;

static double seconds(run *l) { return qkv_io_watch_read(&l->watch); }

/* Leaves the loop. */
static bool leave(run *l, qkv_run_status why) { return l->left = why, false; }

static void warn(const run *l, const char *sentence) {
    if (l->o->warn && *sentence) l->o->warn(l->o->ctx, sentence);
}

/* ---- saving ---- */

/* Is the state after `step` steps, just evaluated, worth keeping? Else a sentence, and
 * l->step.diverged. */
static bool sound(run *l, int step) {
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
static qkv_run_status unsaved(const run *l) {
    return l->step.diverged ? QKV_RUN_DIVERGED : QKV_RUN_FAILED;
}

static bool save_as(run *l, const char *name) {
    char path[QKV_IO_PATH];
    return qkv_io_path(path, l->dir, name, l->error) &&
           qkv_run_save(l->io, l->t, &l->progress, path, l->error);
}

/* A checkpoint of the state after `step` steps; also as best.safetensors if the held-out loss was
 * never lower. In the order that a crash between two writes can be repaired from: rows, the best,
 * then the checkpoint that speaks of both. */
static bool save(run *l, int step) {
    char path[QKV_IO_PATH];
    if (!qkv_run_moment_look(l->t, "valid", l->c->eval_examples, step, &l->now, l->error) ||
        !sound(l, step))
        return false;
    bool best = l->now.scores.loss < l->progress.best_loss;  // false for NaN
    l->progress.step = step;
    if (best) {
        l->progress.best_loss = l->now.scores.loss;
        l->progress.best_step = step;
    }
    if (!qkv_run_record_sync(&l->record, step, seconds(l), l->error)) return false;
    if (best && !save_as(l, QKV_RUN_BEST)) return false;
    if (!qkv_run_checkpoint_path(path, l->dir, step, l->error) ||
        !qkv_run_save(l->io, l->t, &l->progress, path, l->error))
        return false;
    return qkv_run_prune(l->io, NULL, l->dir, l->o->keep, l->error);
}

/* The last probes, then the last checkpoint: a run that has its last checkpoint has all its files.
 * A probe that cannot be written costs no trained weights. */
static qkv_run_status conclude(run *l, int step) {
    char why[QKV_IO_ERROR];
    const qkv_probe_circuits *c = l->now.has_circuits ? &l->now.circuits : NULL;
    bool probed = qkv_run_write_probes(l->io, l->t, c, l->dir, "after", l->error);
    snprintf(why, sizeof why, "%s", l->error);
    if (!save(l, step)) return unsaved(l);
    if (!probed) qkv_io_fail(l->error, "%s", why);
    return probed ? QKV_RUN_DONE : QKV_RUN_FAILED;
}

/* ---- what is done on the way ---- */

static bool evaluated(void *ctx, int step, const qkv_trainer_scores *s) {
    run *l = ctx;
    l->now.step = step;
    qkv_run_moment_see(l->t, s, &l->now);
    return true;
}

static bool measured(void *ctx, int step, const qkv_trainer_step *s) {
    run *l = ctx;
    tensor_arena_reset(l->row_arena);
    qkv_io_text row = {.arena = l->row_arena};
    l->now.loss = s->loss;
    l->now.lr = qkv_trainer_rate(l->t, step);
    l->now.seconds = seconds(l);
    qkv_run_metrics_row(l->t, &l->now, &row);
    if (row.failed) qkv_io_fail(l->error, "out of memory");
    return (!row.failed && qkv_io_append(&l->record.metrics, row.at, row.n, l->error)) ||
           leave(l, QKV_RUN_FAILED);
}

/* Is a checkpoint due after so many steps? */
static bool is_due(const run *l, int done) {
    int every = l->o->save_every;
    if (done >= l->c->steps || every == 0) return false;
    return every == QKV_RUN_SAVE_LOG ? (done & (done - 1)) == 0 : done % every == 0;
}

static bool updated(void *ctx, int done, const qkv_trainer_step *s) {
    run *l = ctx;
    l->step = *s;
    if (l->o->progress)
        l->o->progress(l->o->ctx, done, l->c->steps, s->loss, l->now.scores.accuracy);
    if (l->o->stop && *l->o->stop) {
        if (!save(l, done)) return leave(l, unsaved(l));
        qkv_io_fail(l->error, "stopped after step %d; the state is saved, --resume goes on", done);
        return leave(l, QKV_RUN_STOPPED);
    }
    if (!is_due(l, done) || save(l, done)) return true;
    if (l->step.diverged) return leave(l, QKV_RUN_DIVERGED);
    warn(l, l->error);  // training goes on: the next save may succeed
    return true;
}

static qkv_run_status train(run *l) {
    const qkv_trainer_calls calls = {evaluated, measured, updated, l};
    int step = l->progress.step;
    qkv_trainer_outcome end =
        qkv_trainer_train(l->t, &step, l->c->steps, &l->course, &calls, l->error);
    switch (end) {
        case QKV_TRAINER_ENDED: return conclude(l, step);
        case QKV_TRAINER_LEFT: return l->left;
        case QKV_TRAINER_DIVERGED: return QKV_RUN_DIVERGED;
        case QKV_TRAINER_FAILED: break;
    }
    return QKV_RUN_FAILED;
}

/* ---- beginning, or going on ---- */

/* Loads the state at which a resumed run stands, and looks whether all that it left is whole. */
static qkv_run_status go_on(run *l, qkv_run_past *past) {
    char path[QKV_IO_PATH];
    int skipped = 0;
    qkv_io_status s = qkv_run_latest(l->io, NULL, l->dir, path, &skipped, l->error);
    if (s == QKV_IO_OK && skipped) warn(l, l->error);
    bool none = s == QKV_IO_ABSENT;
    if (none && !*l->c->from) return QKV_RUN_DONE;  // it was stopped before its first checkpoint
    if (none && !qkv_io_path(path, l->dir, QKV_RUN_START, l->error)) return QKV_RUN_FAILED;
    if (none || s == QKV_IO_OK) s = qkv_run_restore(l->io, l->t, &l->progress, path, l->error);
    if (s == QKV_IO_OK) warn(l, l->error);
    if (s != QKV_IO_OK) return qkv_run_status_of(s);
    l->resumed = !none;
    if (none) return QKV_RUN_DONE;
    const ag_param_entry *bad = qkv_trainer_first_bad_parameter(qkv_trainer_params(l->t));
    if (bad)
        return qkv_io_fail(l->error, "step %d: the parameter '%.100s' is not finite",
                           l->progress.step, bad->name),
               QKV_RUN_DIVERGED;
    return qkv_run_past_read(l->io, l->t, l->dir, path, &l->progress, past, l->error);
}

/* Would the run replace the one that it begins from? Its config.json could not be repeated. */
static bool replaces_its_source(const run *l) {
    size_t length;
    qkv_config_from_step(l->c->from, &length);
    return l->o->dir && strlen(l->o->dir) == length && strncmp(l->o->dir, l->c->from, length) == 0;
}

/* Before anything is written. */
static qkv_run_status begin(run *l) {
    l->progress = qkv_run_progress_start();
    l->course = qkv_trainer_course_start();
    if (l->o->resume || !*l->c->from) return QKV_RUN_DONE;
    if (replaces_its_source(l))
        return qkv_io_fail(l->error, "--from: a run cannot replace the one that it begins from"),
               QKV_RUN_USAGE;
    qkv_run_status s = qkv_run_begin_from(l->io, l->t, l->o->threads, &l->progress, l->error);
    if (s == QKV_RUN_DONE) warn(l, l->error);
    return s;
}

/* What a run has in its directory before its first step. */
static bool write_beginning(run *l) {
    const qkv_probe_circuits *circuits = l->now.has_circuits ? &l->now.circuits : NULL;
    return qkv_run_moment_look(l->t, "valid", l->c->eval_examples, l->progress.step, &l->now,
                               l->error) &&
           qkv_run_write_probes(l->io, l->t, circuits, l->dir, "before", l->error);
}

/* How well is known what was trained on, where that has an end: lines, or a text? */
static bool look_back(run *l, qkv_trainer_scores *trained) {
    const data_spec *s = qkv_trainer_spec(l->t);
    *trained = (qkv_trainer_scores){.loss = (double)NAN, .accuracy = (double)NAN};
    if (!s->examples[DATA_TRAIN] && !(s->characters > 0)) return true;
    return qkv_trainer_evaluate(l->t, "train", 0, data_at_most(s, "train", TEST_EXAMPLES), trained,
                                l->error);
}

static bool look_at_the_end(run *l, int step, qkv_run_summary *out) {
    qkv_trainer_scores trained;
    if (!look_back(l, &trained) ||
        !qkv_run_moment_look(l->t, "test", TEST_EXAMPLES, step, &l->now, l->error))
        return false;
    *out = (qkv_run_summary){.last = l->now,
                             .trained = trained,
                             .steps = step,
                             .steps99 = l->course.steps99,
                             .ended_early = l->course.enough && step < l->c->steps};
    return true;
}

static qkv_run_status train_and_probe(run *l, const qkv_run_past *past, qkv_run_summary *out) {
    bool starts_anew = !l->resumed && *l->c->from && !l->o->resume;
    const qkv_config_saving saving = {l->o->save_every, l->o->keep < 1 ? 1 : l->o->keep};
    if ((starts_anew && !save_as(l, QKV_RUN_START)) ||
        !qkv_run_write_descriptions(l->io, l->t, &saving, l->dir, l->error) ||
        !qkv_run_record_open(&l->record, l->io, l->t, l->dir, past, l->error))
        return QKV_RUN_FAILED;
    if (!l->resumed && !write_beginning(l)) return QKV_RUN_FAILED;
    if (l->o->begun) l->o->begun(l->o->ctx);
    qkv_run_status s = train(l);
    char ignored[QKV_IO_ERROR];
    bool closed = qkv_run_record_close(&l->record, s == QKV_RUN_DONE ? l->error : ignored);
    if (s != QKV_RUN_DONE) return s;
    return closed && look_at_the_end(l, l->progress.step, out) ? QKV_RUN_DONE : QKV_RUN_FAILED;
}

static qkv_run_status run_in(run *l, qkv_run_summary *out) {
    qkv_run_past past = {.before = qkv_trainer_course_start()};
    qkv_run_status s = l->o->resume ? go_on(l, &past) : QKV_RUN_DONE;
    if (s != QKV_RUN_DONE) return s;
    l->watch.sum += past.seconds;
    l->course = past.before;
    bool ended = l->resumed && (l->progress.step >= l->c->steps || past.with.enough);
    if (!ended) return train_and_probe(l, &past, out);
    l->course = past.with;
    if (!look_at_the_end(l, l->progress.step, out)) return QKV_RUN_FAILED;
    out->nothing_to_do = true;
    out->seconds = past.seconds;
    return QKV_RUN_DONE;
}

/* Makes what the run needs in memory, before anything is written. */
static qkv_run_status prepare(run *l, const qkv_config *c, const data_spec *spec) {
    l->arena = tensor_arena_new(NULL);
    l->row_arena = tensor_arena_new(NULL);
    if (!l->arena || !l->row_arena) return qkv_io_fail(l->error, "out of memory"), QKV_RUN_FAILED;
    l->t = qkv_trainer_new(NULL, c, spec, l->o->threads, l->error);
    if (!l->t) return strstr(l->error, "out of memory") ? QKV_RUN_FAILED : QKV_RUN_USAGE;
    l->c = qkv_trainer_config(l->t);
    qkv_trainer_detect_anomaly(l->t, l->o->detect_anomaly);
    l->now = qkv_run_moment_new(l->arena, l->t);
    return begin(l);
}

qkv_run_status qkv_run_train(const qkv_io *io, const qkv_config *c, const data_spec *spec,
                             const qkv_run_options *o, qkv_run_summary *out, char *error) {
    if (!QKV_IO_GIVEN(error, c, spec, o, out)) return QKV_RUN_FAILED;
    io = qkv_io_of(io);
    run l = {.io = io, .o = o, .watch = qkv_io_watch_start(), .error = error};
    int lock = -1;
    qkv_run_status s = prepare(&l, c, spec);
    if (s == QKV_RUN_DONE) s = qkv_run_open_directory(io, o, l.dir, &lock, error);
    if (s == QKV_RUN_DONE) s = run_in(&l, out);
    if (s == QKV_RUN_DONE && !qkv_trainer_loss_levels(l.t, "test", TEST_EXAMPLES, &out->levels))
        s = (qkv_trainer_fail(l.t, error), QKV_RUN_FAILED);
    qkv_trainer_free(l.t);
    tensor_arena_free(l.row_arena);
    tensor_arena_free(l.arena);
    qkv_run_close_directory(io, lock);
    if (!out->nothing_to_do) out->seconds = seconds(&l);
    out->last.scores.head_attention = out->trained.head_attention = NULL;  // the trainer's
    snprintf(out->dir, sizeof out->dir, "%s", l.dir);
    return s;
}
