/* past.c - the files that grow with a run, and what a directory tells a run that goes on. */
#include "train/run/past.h"

#include <stdio.h>
#include <string.h>

#include "train/run/files.h"

enum { LONGEST = 1 << 30 };

/* ---- growing ---- */

bool qkv_run_record_open(qkv_run_record *r, const qkv_io *io, qkv_trainer *t, const char *dir,
                         const qkv_run_past *past, char *error) {
    *r = (qkv_run_record){.metrics = {.fd = -1}, .clock = {.fd = -1}};
    if (!qkv_io_path(r->metrics_path, dir, "metrics.csv", error) ||
        !qkv_io_path(r->clock_path, dir, "clock.csv", error) ||
        !qkv_io_append_open(&r->metrics, io, r->metrics_path, past->keep, error) ||
        !qkv_io_append_open(&r->clock, io, r->clock_path, past->keep_clock, error))
        return false;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text header = {.arena = arena, .failed = !arena};
    if (arena) qkv_run_metrics_header(t, &header);
    bool ok = !header.failed || qkv_io_fail(error, "out of memory");
    ok = ok && (past->keep || qkv_io_append(&r->metrics, header.at, header.n, error));
    ok = ok && (past->keep_clock || qkv_io_append(&r->clock, QKV_RUN_CLOCK_HEADER,
                                                  strlen(QKV_RUN_CLOCK_HEADER), error));
    tensor_arena_free(arena);
    return ok;
}

bool qkv_run_record_sync(qkv_run_record *r, int step, double seconds, char *error) {
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text text = {.arena = arena, .failed = !arena};
    qkv_io_text_add(&text, "%d,", step);
    qkv_io_text_number(&text, seconds);
    qkv_io_text_add(&text, "\n");
    bool ok = !text.failed || qkv_io_fail(error, "out of memory");
    ok = ok && qkv_io_append(&r->clock, text.at, text.n, error);
    tensor_arena_free(arena);
    return ok && qkv_io_append_sync(&r->metrics, error);
}

bool qkv_run_record_close(qkv_run_record *r, char *error) {
    char why[QKV_IO_ERROR];
    bool clock = qkv_io_append_close(&r->clock, error);
    if (qkv_io_append_close(&r->metrics, why)) return clock;
    return qkv_io_fail(error, "%s", why);
}

/* ---- going on ---- */

/* A run of no steps has a schedule of no length; the length is set when steps are added. */
static bool not_yet_set(const data_option *o, int step, const char *there) {
    return step == 0 && strcmp(there, "0") == 0 &&
           (strcmp(o->field, "schedule_steps") == 0 || strcmp(o->field, "decay") == 0);
}

/* Is the checkpoint of this configuration? A config.json that was changed by hand is another run's. */
static qkv_io_status same_config(const qkv_io *io, const qkv_config *c, const char *checkpoint,
                                 const qkv_run_progress *p, char *error) {
    qkv_config of;
    char here[QKV_CONFIG_TEXT_SIZE], there[QKV_CONFIG_TEXT_SIZE], shown[160];
    qkv_io_status s = qkv_run_checkpoint_config(io, NULL, checkpoint, c->plugin, &of, error);
    if (s != QKV_IO_OK) return s;
    const data_option *o;
    if (strcmp(c->task, of.task) != 0)
        return qkv_io_fail(error, "'%s' is of the task %.60s, and config.json of %.60s",
                           qkv_io_printable(checkpoint, shown, sizeof shown), of.task, c->task),
               QKV_IO_DAMAGED;
    for (int i = 0; (o = qkv_config_option_at(c, i)); i++) {
        if (o->kind == DATA_KIND_SECTION || strcmp(o->field, "steps") == 0) continue;
        if (o->kind == DATA_KIND_FILE)
            continue;  // it may have been moved; what is in it the checksum tells
        qkv_config_get(c, o, here, sizeof here);
        qkv_config_get(&of, o, there, sizeof there);
        if (strcmp(here, there) == 0 || not_yet_set(o, p->step, there)) continue;
        qkv_io_fail(error,
                    "'%s' was trained with --%s %.60s, and the run's options now say %.60s; a run "
                    "with other "
                    "options is a new one, --from this",
                    qkv_io_printable(checkpoint, shown, sizeof shown), o->option, there, here);
        return QKV_IO_DAMAGED;
    }
    return QKV_IO_OK;
}

/* A file of the directory as text; what is not there is empty. */
static qkv_io_status text_of(const qkv_io *io, const char *dir, const char *name,
                             char path[QKV_IO_PATH], char **text, size_t *n, char *error) {
    void *data = NULL;
    *n = 0;
    if (!qkv_io_path(path, dir, name, error)) return QKV_IO_FAILED;
    qkv_io_status s = qkv_io_read_file(io, NULL, path, LONGEST, &data, n, error);
    *text = data;
    return s == QKV_IO_ABSENT ? QKV_IO_OK : s;
}

static qkv_io_status read_metrics(const qkv_io *io, qkv_trainer *t, const char *dir, int step,
                                  qkv_run_past *past, char *error) {
    char path[QKV_IO_PATH], why[QKV_IO_ERROR], shown[200], *text;
    size_t n, length;
    const char *from = qkv_trainer_config(t)->from;
    int first = *from ? qkv_config_from_step(from, &length) : 0;
    qkv_io_status s = text_of(io, dir, "metrics.csv", path, &text, &n, error);
    if (s != QKV_IO_OK) return s;
    bool ok = qkv_run_metrics_read(t, text ? text : "", n, first, step, past, why);
    qkv_io_printable(path, shown, sizeof shown);
    if (!ok && !text)
        qkv_io_fail(error,
                    "'%s' is missing, and a run goes on only with it; --from begins a new run with "
                    "this one's state",
                    shown);
    else if (!ok)
        qkv_io_fail(error, "'%s' is damaged: %.280s", shown, why);
    if (text) tensor_malloc.release(NULL, text);
    return ok ? QKV_IO_OK : QKV_IO_DAMAGED;
}

static qkv_io_status read_clock(const qkv_io *io, const char *dir, int step, qkv_run_past *past,
                                char *error) {
    char path[QKV_IO_PATH], why[QKV_IO_ERROR], shown[200], *text;
    size_t n;
    qkv_io_status s = text_of(io, dir, "clock.csv", path, &text, &n, error);
    if (s != QKV_IO_OK || !text) return s;
    if (!qkv_run_clock_read(text, n, step, past, why)) {
        qkv_io_fail(error, "'%s' is damaged: %.280s", qkv_io_printable(path, shown, sizeof shown),
                    why);
        s = QKV_IO_DAMAGED;
    }
    tensor_malloc.release(NULL, text);
    return s;
}

qkv_io_status qkv_run_past_read(const qkv_io *io, qkv_trainer *t, const char *dir,
                                const char *checkpoint, const qkv_run_progress *p,
                                qkv_run_past *past, char *error) {
    char best[QKV_IO_PATH];
    qkv_io_status s = same_config(io, qkv_trainer_config(t), checkpoint, p, error);
    if (s == QKV_IO_OK) s = read_metrics(io, t, dir, p->step, past, error);
    if (s == QKV_IO_OK) s = read_clock(io, dir, p->step, past, error);
    if (s != QKV_IO_OK || p->best_step < 0) return s;
    if (!qkv_io_path(best, dir, QKV_RUN_BEST, error)) return QKV_IO_FAILED;
    qkv_io_status f = qkv_run_checkpoint_check(io, NULL, best, error);
    return f == QKV_IO_ABSENT ? QKV_IO_DAMAGED : f;
}
