/* open.c - a run's configuration, and its state at any step it has behind it. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/number.h"
#include "train/run/files.h"
#include "train/run/weights.h"

/* ---- the configuration ---- */

/* Says why DIR has no config.json: there is no such directory, or it holds no run. */
static void no_run(const qkv_io *io, const char *dir, char *error) {
    char shown[256];
    int fd = qkv_io_open(io, dir, O_RDONLY | O_DIRECTORY), why = errno;
    if (fd >= 0) qkv_io_close(io, fd);
    qkv_io_printable(dir, shown, sizeof shown);
    if (fd >= 0)
        qkv_io_fail(error, "'%s' holds no run: config.json is missing", shown);
    else if (why == ENOTDIR)
        qkv_io_fail(error, "'%s' is a file; a run is a directory", shown);
    else if (why == ENOENT)
        qkv_io_fail(error, "there is no directory '%s'", shown);
}

qkv_io_status qkv_run_config_text(const qkv_io *io, const char *dir, char **text, size_t *n,
                                  char *error) {
    if (!QKV_IO_GIVEN(error, dir, text, n)) return QKV_IO_FAILED;
    char path[QKV_IO_PATH];
    void *data = NULL;
    *text = NULL;
    if (!qkv_io_path(path, dir, "config.json", error)) return QKV_IO_FAILED;
    qkv_io_status s = qkv_io_read_file(io, NULL, path, 1 << 20, &data, n, error);
    if (s == QKV_IO_ABSENT || (s == QKV_IO_FAILED && errno == ENOTDIR)) no_run(io, dir, error);
    *text = data;
    return s;
}

enum { MOST_FILES = 4 };  // of a task

typedef struct {
    qkv_config_setting set[MOST_FILES];
    char place[MOST_FILES][QKV_IO_PATH];
    int n;
} moved;

/* Settings for the files that the task reads, as they are called now. */
static bool find_moved(const qkv_io *io, const qkv_run_opening *o, const char *text, size_t n,
                       moved *m, char *error) {
    char was[QKV_CONFIG_TEXT_SIZE];
    qkv_config c;
    const data_option *option;
    qkv_config_default(&c);
    qkv_config_use_plugin(&c, o->plugin);
    if (!qkv_config_from_json(&c, text, n, error)) return true;  // qkv_config_make() says more
    int fd = qkv_io_open(io, o->data, O_RDONLY | O_DIRECTORY);
    if (fd >= 0) qkv_io_close(io, fd);
    for (int i = 0; (option = qkv_config_option_at(&c, i)) && m->n < MOST_FILES; i++) {
        if (option->kind != DATA_KIND_FILE || !*qkv_config_get(&c, option, was, sizeof was))
            continue;
        const char *slash = strrchr(was, '/'), *name = slash ? slash + 1 : was;
        char *place = m->place[m->n];
        if (fd < 0 && m->n) break;  // one file is the first one
        if (fd < 0) snprintf(place, QKV_IO_PATH, "%s", o->data);
        if (fd >= 0 && !qkv_io_path(place, o->data, name, error)) return false;
        m->set[m->n++] = (qkv_config_setting){option->option, place};
    }
    return m->n || qkv_io_fail(error, "--data: the task %s of this run reads no file", c.task);
}

/* A configuration from the text of DIR/config.json. */
static qkv_io_status config_of(const qkv_io *io, const qkv_run_opening *o, const char *text,
                               size_t n, qkv_config *c, data_spec *spec, char *error) {
    char path[QKV_IO_PATH], why[QKV_IO_ERROR], shown[200];
    moved m = {.n = 0};
    if (o->data && !find_moved(io, o, text, n, &m, error)) return QKV_IO_USAGE;
    qkv_config_parts parts = {
        .plugin = o->plugin, .json = text, .n = n, .whole = true, .given = m.set, .n_given = m.n};
    qkv_config_status s = qkv_config_make(&parts, c, spec, why);
    if (s == QKV_CONFIG_OK) return QKV_IO_OK;
    if (!qkv_io_path(path, o->dir, "config.json", error)) return QKV_IO_FAILED;
    if (m.n && (s == QKV_CONFIG_UNFIT || s == QKV_CONFIG_BAD_OPTION))
        return qkv_io_fail(error, "%s%.400s", s == QKV_CONFIG_UNFIT ? "--data: " : "", why),
               QKV_IO_USAGE;
    qkv_io_fail(error, "'%s': %.320s", qkv_io_printable(path, shown, sizeof shown), why);
    bool unknown = s == QKV_CONFIG_NO_TASK || s == QKV_CONFIG_NO_BLOCK;
    return unknown ? QKV_IO_USAGE : QKV_IO_DAMAGED;  // a plugin's, most likely
}

qkv_io_status qkv_run_open_config(const qkv_io *io, const qkv_run_opening *o, qkv_config *c,
                                  data_spec *spec, char *error) {
    if (!QKV_IO_GIVEN(error, o, c, spec)) return QKV_IO_FAILED;
    char *text;
    size_t n;
    qkv_io_status s = qkv_run_config_text(io, o->dir, &text, &n, error);
    if (s == QKV_IO_OK) s = config_of(io, o, text, n, c, spec, error);
    if (text) tensor_malloc.release(NULL, text);
    return s;
}

/* ---- the state ---- */

/* A run being opened. */
typedef struct {
    const qkv_io *io;
    const qkv_run_opening *o;
    qkv_trainer *t;
    qkv_run_progress *progress;
    bool same_build, same_numbers;
    char *error;
} opening;

/* Restores the checkpoint of that name in the run's directory. */
static qkv_io_status restore(opening *p, const char *name) {
    char path[QKV_IO_PATH];
    if (!qkv_io_path(path, p->o->dir, name, p->error)) return QKV_IO_FAILED;
    return qkv_run_restore_as(p->io, p->t, p->progress, path, p->o->any_real, p->error);
}

/* The state from which the wanted one can be had: the newest checkpoint that is not later. */
static qkv_io_status nearest(opening *p) {
    char path[QKV_IO_PATH], best[QKV_IO_PATH], why[QKV_IO_ERROR];
    int skipped;
    qkv_run_progress of_best = {-1, -1, 0}, found = {-1, -1, 0};
    qkv_io_status s =
        qkv_run_latest_until(p->io, NULL, p->o->dir, p->o->at, path, &skipped, p->error);
    if (s == QKV_IO_OK) s = qkv_run_checkpoint_read(p->io, NULL, path, &found, p->error);
    if (s == QKV_IO_FAILED || !qkv_io_path(best, p->o->dir, QKV_RUN_BEST, p->error))
        return QKV_IO_FAILED;
    bool better = qkv_run_checkpoint_read(p->io, NULL, best, &of_best, why) == QKV_IO_OK &&
                  of_best.step <= p->o->at && of_best.step > found.step;
    if (better) return restore(p, QKV_RUN_BEST);
    if (s == QKV_IO_OK)
        return qkv_run_restore_as(p->io, p->t, p->progress, path, p->o->any_real, p->error);
    *p->progress = qkv_run_progress_start();  // none: from its beginning
    *p->error = '\0';
    return *qkv_trainer_config(p->t)->from ? restore(p, QKV_RUN_START) : QKV_IO_OK;
}

/* The rows of then, to compare with. */
typedef struct {
    char *text;
    size_t n;
    bool other;  // a loss was another one then
} rows;

static bool compare(void *ctx, int done, const qkv_trainer_step *s) {
    rows *r = ctx;
    char now[QKV_IO_NUMBER];
    double then, x;
    if (r->text && qkv_run_metrics_loss(r->text, r->n, done - 1, &then) &&
        qkv_io_parse_real(qkv_io_format_real(s->loss, 9, now), &x) && (x < then || x > then))
        r->other = true;
    return true;
}

/* Trains on to the wanted step. */
static qkv_io_status replay(opening *p) {
    char path[QKV_IO_PATH];
    rows r = {NULL, 0, false};
    void *text = NULL;
    int from = p->progress->step;
    if (from == p->o->at) return QKV_IO_OK;
    if (qkv_io_path(path, p->o->dir, "metrics.csv", p->error))
        qkv_io_read_file(p->io, NULL, path, (size_t)1 << 30, &text, &r.n, p->error);
    r.text = text;
    qkv_trainer_calls calls = {.updated = compare, .ctx = &r};
    qkv_trainer_outcome end =
        qkv_trainer_train(p->t, &p->progress->step, p->o->at, NULL, &calls, p->error);
    if (text) tensor_malloc.release(NULL, text);
    if (end != QKV_TRAINER_ENDED)
        return end == QKV_TRAINER_DIVERGED ? QKV_IO_DIVERGED : QKV_IO_FAILED;
    *p->error = '\0';
    if (!p->same_build || r.other)
        qkv_io_fail(p->error, "steps %d to %d were done again, %s: not the same bits as then", from,
                    p->o->at,
                    !p->same_numbers ? "by a version whose gradients differ in the last bit"
                    : p->same_build  ? "with other numbers (another processor?)"
                                     : "by another build");
    return QKV_IO_OK;
}

static qkv_io_status find_state(opening *p) {
    char path[QKV_IO_PATH], shown[200];
    int skipped;
    qkv_io_status s = qkv_run_latest(p->io, NULL, p->o->dir, path, &skipped, p->error);
    if (s != QKV_IO_OK) return s;
    if (p->o->at == QKV_RUN_NEWEST)
        return qkv_run_restore_as(p->io, p->t, p->progress, path, p->o->any_real, p->error);
    s = qkv_run_checkpoint_read(p->io, NULL, path, p->progress, p->error);
    if (s != QKV_IO_OK) return s;
    size_t length;
    const char *from = qkv_trainer_config(p->t)->from;
    int first = *from ? qkv_config_from_step(from, &length) : 0;
    if (p->o->at < first || p->o->at > p->progress->step)
        return qkv_io_fail(p->error, "'%s' has steps %d to %d; there is no state at step %d",
                           qkv_io_printable(p->o->dir, shown, sizeof shown), first,
                           p->progress->step, p->o->at),
               QKV_IO_USAGE;
    qkv_io_status found = nearest(p);
    return found == QKV_IO_OK ? replay(p) : found;
}

qkv_trainer *qkv_run_open_at(const qkv_io *io, const qkv_run_opening *o, qkv_run_progress *progress,
                             qkv_io_status *status, char *error) {
    if (!QKV_IO_GIVEN(error, o, progress, status)) {
        if (status) *status = QKV_IO_FAILED;
        return NULL;
    }
    char *text;
    size_t n;
    qkv_config c;
    data_spec spec;
    opening p = {.io = io, .o = o, .progress = progress, .error = error};
    *status = qkv_run_config_text(io, o->dir, &text, &n, error);
    if (*status == QKV_IO_OK) *status = config_of(io, o, text, n, &c, &spec, error);
    if (*status == QKV_IO_OK) {
        if (!(p.t = qkv_trainer_new(NULL, &c, &spec, o->threads, error))) *status = QKV_IO_FAILED;
        data_release(&spec);  // the trainer has its own hold on it
    }
    p.same_build = text && qkv_config_same_build(text, n);
    p.same_numbers = text && qkv_config_same_numbers(text, n);
    if (text) tensor_malloc.release(NULL, text);
    if (*status == QKV_IO_OK) *status = find_state(&p);
    if (*status == QKV_IO_OK && o->weights)
        *status = qkv_run_load_weights(io, p.t, o->weights, error);
    if (*status == QKV_IO_OK) {
        qkv_trainer_at_step(p.t, progress->step);
        return p.t;
    }
    qkv_trainer_free(p.t);
    return NULL;
}
