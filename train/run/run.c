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
    qkv_io_status left;  // why a call of the loop left it
    qkv_io_watch watch;  // of all the run's legs
    char *error;
} run;

static double seconds(run *r) { return qkv_io_watch_read(&r->watch); }

/* Leaves the loop. */
static bool leave(run *r, qkv_io_status why) { return r->left = why, false; }

static void warn(const run *r, const char *sentence) {
    if (r->o->warn && *sentence) r->o->warn(r->o->ctx, sentence);
}

/* ---- saving ---- */

/* Is the state after `step` steps, just evaluated, worth keeping? Else a sentence, and
 * r->step.diverged. */
static bool sound(run *r, int step) {
    const ag_param_entry *bad = qkv_trainer_first_bad_parameter(qkv_trainer_params(r->t));
    if (!bad && isfinite(r->now.scores.loss)) return true;
    if (!bad && !qkv_trainer_gradient(r->t, step, &r->step, r->error))
        return false;  // its sentence says more
    r->step.diverged = true;
    if (bad)
        qkv_io_fail(r->error, "step %d: the parameter '%.100s' is not finite; nothing is saved",
                    step, bad->name);
    else
        qkv_io_fail(r->error, "step %d: the held-out loss is not finite; nothing is saved", step);
    return false;
}

/* What a failed save means. */
static qkv_io_status unsaved(const run *r) {
    return r->step.diverged ? QKV_IO_DIVERGED : QKV_IO_FAILED;
}

static bool save_as(run *r, const char *name) {
    char path[QKV_IO_PATH];
    return qkv_io_path(path, r->dir, name, r->error) &&
           qkv_run_save(r->io, r->t, &r->progress, path, r->error);
}

/* A checkpoint of the state after `step` steps; also as best.safetensors if the held-out loss was
 * never lower. In the order that a crash between two writes can be repaired from: rows, the best,
 * then the checkpoint that speaks of both. */
static bool save(run *r, int step) {
    char path[QKV_IO_PATH];
    if (!qkv_run_moment_look(r->t, "valid", r->c->eval_examples, step, &r->now, r->error) ||
        !sound(r, step))
        return false;
    bool best = r->now.scores.loss < r->progress.best_loss;  // false for NaN
    r->progress.step = step;
    if (best) {
        r->progress.best_loss = r->now.scores.loss;
        r->progress.best_step = step;
    }
    if (!qkv_run_record_sync(&r->record, step, seconds(r), r->error)) return false;
    if (best && !save_as(r, QKV_RUN_BEST)) return false;
    if (!qkv_run_checkpoint_path(path, r->dir, step, r->error) ||
        !qkv_run_save(r->io, r->t, &r->progress, path, r->error))
        return false;
    return qkv_run_prune(r->io, NULL, r->dir, r->o->keep, r->error);
}

/* The last probes, then the last checkpoint: a run that has its last checkpoint has all its files.
 * A probe that cannot be written costs no trained weights. */
static qkv_io_status conclude(run *r, int step) {
    char why[QKV_IO_ERROR];
    const qkv_probe_circuits *c = r->now.has_circuits ? &r->now.circuits : NULL;
    bool probed = qkv_run_write_probes(r->io, r->t, c, r->dir, "after", r->error);
    snprintf(why, sizeof why, "%s", r->error);
    if (!save(r, step)) return unsaved(r);
    if (!probed) qkv_io_fail(r->error, "%s", why);
    return probed ? QKV_IO_OK : QKV_IO_FAILED;
}

/* ---- what is done on the way ---- */

static bool evaluated(void *ctx, int step, const qkv_trainer_scores *s) {
    run *r = ctx;
    r->now.step = step;
    qkv_run_moment_see(r->t, s, &r->now);
    return true;
}

static bool measured(void *ctx, int step, const qkv_trainer_step *s) {
    run *r = ctx;
    tensor_arena_reset(r->row_arena);
    qkv_io_text row = {.arena = r->row_arena};
    r->now.loss = s->loss;
    r->now.lr = qkv_trainer_rate(r->t, step);
    r->now.seconds = seconds(r);
    qkv_run_metrics_row(r->t, &r->now, &row);
    if (row.failed) qkv_io_fail(r->error, "out of memory");
    return (!row.failed && qkv_io_append(&r->record.metrics, row.at, row.n, r->error)) ||
           leave(r, QKV_IO_FAILED);
}

/* Is a checkpoint due after so many steps? */
static bool is_due(const run *r, int done) {
    int every = r->o->save_every;
    if (done >= r->c->steps || every == 0) return false;
    return every == QKV_RUN_SAVE_LOG ? (done & (done - 1)) == 0 : done % every == 0;
}

static bool updated(void *ctx, int done, const qkv_trainer_step *s) {
    run *r = ctx;
    r->step = *s;
    if (r->o->progress)
        r->o->progress(r->o->ctx, done, r->c->steps, s->loss, r->now.scores.accuracy);
    if (r->o->stop && *r->o->stop) {
        if (!save(r, done)) return leave(r, unsaved(r));
        qkv_io_fail(r->error, "stopped after step %d; the state is saved, --resume goes on", done);
        return leave(r, QKV_IO_STOPPED);
    }
    if (!is_due(r, done) || save(r, done)) return true;
    if (r->step.diverged) return leave(r, QKV_IO_DIVERGED);
    warn(r, r->error);  // training goes on: the next save may succeed
    return true;
}

static qkv_io_status train(run *r) {
    const qkv_trainer_calls calls = {evaluated, measured, updated, r};
    int step = r->progress.step;
    qkv_trainer_outcome end =
        qkv_trainer_train(r->t, &step, r->c->steps, &r->course, &calls, r->error);
    switch (end) {
        case QKV_TRAINER_ENDED: return conclude(r, step);
        case QKV_TRAINER_LEFT: return r->left;
        case QKV_TRAINER_DIVERGED: return QKV_IO_DIVERGED;
        case QKV_TRAINER_FAILED: break;
    }
    return QKV_IO_FAILED;
}

/* ---- beginning, or going on ---- */

/* Loads the state at which a resumed run stands, and looks whether all that it left is whole. */
static qkv_io_status go_on(run *r, qkv_run_past *past) {
    char path[QKV_IO_PATH];
    int skipped = 0;
    qkv_io_status s = qkv_run_latest(r->io, NULL, r->dir, path, &skipped, r->error);
    if (s == QKV_IO_OK && skipped) warn(r, r->error);
    bool none = s == QKV_IO_ABSENT;
    if (none && !*r->c->from) return QKV_IO_OK;  // it was stopped before its first checkpoint
    if (none && !qkv_io_path(path, r->dir, QKV_RUN_START, r->error)) return QKV_IO_FAILED;
    if (none || s == QKV_IO_OK) s = qkv_run_restore(r->io, r->t, &r->progress, path, r->error);
    if (s == QKV_IO_OK) warn(r, r->error);
    if (s != QKV_IO_OK) return s;
    r->resumed = !none;
    if (none) return QKV_IO_OK;
    const ag_param_entry *bad = qkv_trainer_first_bad_parameter(qkv_trainer_params(r->t));
    if (bad)
        return qkv_io_fail(r->error, "step %d: the parameter '%.100s' is not finite",
                           r->progress.step, bad->name),
               QKV_IO_DIVERGED;
    return qkv_run_past_read(r->io, r->t, r->dir, path, &r->progress, past, r->error);
}

/* Would the run replace the one that it begins from? Its config.json could not be repeated. */
static bool replaces_its_source(const run *r) {
    size_t length;
    qkv_config_from_step(r->c->from, &length);
    return r->o->dir && strlen(r->o->dir) == length && strncmp(r->o->dir, r->c->from, length) == 0;
}

/* Before anything is written. */
static qkv_io_status begin(run *r) {
    r->progress = qkv_run_progress_start();
    r->course = qkv_trainer_course_start();
    if (r->o->resume || !*r->c->from) return QKV_IO_OK;
    if (replaces_its_source(r))
        return qkv_io_fail(r->error, "--from: a run cannot replace the one that it begins from"),
               QKV_IO_USAGE;
    qkv_io_status s = qkv_run_begin_from(r->io, r->t, r->o->threads, &r->progress, r->error);
    if (s == QKV_IO_OK) warn(r, r->error);
    return s;
}

/* What a run has in its directory before its first step. */
static bool write_beginning(run *r) {
    const qkv_probe_circuits *circuits = r->now.has_circuits ? &r->now.circuits : NULL;
    return qkv_run_moment_look(r->t, "valid", r->c->eval_examples, r->progress.step, &r->now,
                               r->error) &&
           qkv_run_write_probes(r->io, r->t, circuits, r->dir, "before", r->error);
}

/* How well is known what was trained on, where that has an end: lines, or a text? */
static bool look_back(run *r, qkv_trainer_scores *trained) {
    const data_spec *s = qkv_trainer_spec(r->t);
    *trained = (qkv_trainer_scores){.loss = (double)NAN, .accuracy = (double)NAN};
    if (!s->examples[DATA_TRAIN] && !(s->characters > 0)) return true;
    return qkv_trainer_evaluate(r->t, "train", 0, data_at_most(s, "train", TEST_EXAMPLES), trained,
                                r->error);
}

static bool look_at_the_end(run *r, int step, qkv_run_summary *out) {
    qkv_trainer_scores trained;
    if (!look_back(r, &trained) ||
        !qkv_run_moment_look(r->t, "test", TEST_EXAMPLES, step, &r->now, r->error))
        return false;
    *out = (qkv_run_summary){.last = r->now,
                             .trained = trained,
                             .steps = step,
                             .steps99 = r->course.steps99,
                             .ended_early = r->course.enough && step < r->c->steps};
    return true;
}

static qkv_io_status train_and_probe(run *r, const qkv_run_past *past, qkv_run_summary *out) {
    bool starts_anew = !r->resumed && *r->c->from && !r->o->resume;
    const qkv_config_saving saving = {r->o->save_every, r->o->keep < 1 ? 1 : r->o->keep};
    if ((starts_anew && !save_as(r, QKV_RUN_START)) ||
        !qkv_run_write_descriptions(r->io, r->t, &saving, r->dir, r->error) ||
        !qkv_run_record_open(&r->record, r->io, r->t, r->dir, past, r->error))
        return QKV_IO_FAILED;
    if (!r->resumed && !write_beginning(r)) return QKV_IO_FAILED;
    if (r->o->begun) r->o->begun(r->o->ctx);
    qkv_io_status s = train(r);
    char ignored[QKV_IO_ERROR];
    bool closed = qkv_run_record_close(&r->record, s == QKV_IO_OK ? r->error : ignored);
    if (s != QKV_IO_OK) return s;
    return closed && look_at_the_end(r, r->progress.step, out) ? QKV_IO_OK : QKV_IO_FAILED;
}

static qkv_io_status run_in(run *r, qkv_run_summary *out) {
    qkv_run_past past = {.before = qkv_trainer_course_start()};
    qkv_io_status s = r->o->resume ? go_on(r, &past) : QKV_IO_OK;
    if (s != QKV_IO_OK) return s;
    r->watch.sum += past.seconds;
    r->course = past.before;
    bool ended = r->resumed && (r->progress.step >= r->c->steps || past.with.enough);
    if (!ended) return train_and_probe(r, &past, out);
    r->course = past.with;
    if (!look_at_the_end(r, r->progress.step, out)) return QKV_IO_FAILED;
    out->nothing_to_do = true;
    out->seconds = past.seconds;
    return QKV_IO_OK;
}

/* Makes what the run needs in memory, before anything is written. */
static qkv_io_status prepare(run *r, const qkv_config *c, const data_spec *spec) {
    r->arena = tensor_arena_new(NULL);
    r->row_arena = tensor_arena_new(NULL);
    if (!r->arena || !r->row_arena) return qkv_io_fail(r->error, "out of memory"), QKV_IO_FAILED;
    r->t = qkv_trainer_new(NULL, c, spec, r->o->threads, r->error);
    if (!r->t) return strstr(r->error, "out of memory") ? QKV_IO_FAILED : QKV_IO_USAGE;
    r->c = qkv_trainer_config(r->t);
    qkv_trainer_detect_anomaly(r->t, r->o->detect_anomaly);
    r->now = qkv_run_moment_new(r->arena, r->t);
    return begin(r);
}

qkv_io_status qkv_run_train(const qkv_io *io, const qkv_config *c, const data_spec *spec,
                            const qkv_run_options *o, qkv_run_summary *out, char *error) {
    if (!QKV_IO_GIVEN(error, c, spec, o, out)) return QKV_IO_FAILED;
    io = qkv_io_of(io);
    run r = {.io = io, .o = o, .watch = qkv_io_watch_start(), .error = error};
    int lock = -1;
    qkv_io_status s = prepare(&r, c, spec);
    if (s == QKV_IO_OK) s = qkv_run_open_directory(io, o, r.dir, &lock, error);
    if (s == QKV_IO_OK) s = run_in(&r, out);
    if (s == QKV_IO_OK && !qkv_trainer_loss_levels(r.t, "test", TEST_EXAMPLES, &out->levels))
        s = (qkv_trainer_fail(r.t, error), QKV_IO_FAILED);
    qkv_trainer_free(r.t);
    tensor_arena_free(r.row_arena);
    tensor_arena_free(r.arena);
    qkv_run_close_directory(io, lock);
    if (!out->nothing_to_do) out->seconds = seconds(&r);
    out->last.scores.head_attention = out->trained.head_attention = NULL;  // the trainer's
    snprintf(out->dir, sizeof out->dir, "%s", r.dir);
    return s;
}
