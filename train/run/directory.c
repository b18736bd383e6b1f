/* directory.c - a run's directory: made, locked, and cleared of an earlier run. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/run/files.h"

/* ---- what is there ---- */

static bool is_one_of(const char *name, const char *const *list) {
    for (; *list; list++)
        if (strcmp(name, *list) == 0) return true;
    return false;
}

/* Is it a file that a run writes? */
static bool is_run_file(const qkv_run_options *o, const char *name) {
    static const char *const names[] = {"config.json", "metrics.csv", "levels.csv", "ledger.csv",
                                        "data.csv",    "clock.csv",   "view.html",  QKV_RUN_BEST,
                                        QKV_RUN_START, NULL};
    (void)o;
    return is_one_of(name, names) || qkv_run_checkpoint_step(name) >= 0;
}

static bool is_probe_file(const qkv_run_options *o, const char *name) {
    (void)o;
    return qkv_run_is_probe(name);
}

/* PICTURE.gp, one that was edited, .csv, and the picture itself. */
static bool is_picture(const qkv_run_options *o, const char *name) {
    static const char *const endings[] = {"gp",  "gp~", "csv", "png", "svg",
                                          "pdf", "txt", "gif", NULL};
    for (const char *const *p = o->pictures; p && *p; p++) {
        size_t n = strlen(*p);
        if (strncmp(name, *p, n) == 0 && name[n] == '.' && is_one_of(name + n + 1, endings))
            return true;
    }
    return false;
}

typedef bool is_fn(const qkv_run_options *o, const char *name);

typedef struct {
    const qkv_io *io;
    const qkv_run_options *o;
    const char *dir;
    is_fn *ours;    // NULL: only look
    bool occupied;  // there is something beside a lock
    bool failed;
    char *error;
} survey;

static bool remove_one(void *ctx, const char *name) {
    const survey *s = ctx;
    char path[QKV_IO_PATH];
    if (qkv_io_path(path, s->dir, name, s->error)) s->io->unlink(s->io->ctx, path);
    return true;
}

/* In plots/ a killed process left the directory of a picture half drawn; a living one holds its lock. */
static bool is_draft(const survey *s, const char *name) {
    return s->ours == is_picture && strncmp(name, ".drawing-", 9) == 0;
}

static void remove_draft(const survey *s, const char *path) {
    const qkv_io *io = s->io;
    survey draft = {.io = io, .dir = path, .error = s->error};
    int fd = qkv_io_open(io, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0) return;
    if (io->lock(io->ctx, fd) == 0 && io->list(io->ctx, path, remove_one, &draft) == 0)
        io->unlink(io->ctx, path);
    qkv_io_close(io, fd);
}

static bool visit(void *ctx, const char *name) {
    survey *s = ctx;
    char path[QKV_IO_PATH];
    if (strcmp(name, ".lock") == 0) return true;
    s->occupied = true;
    if (!s->ours || (!is_draft(s, name) && !s->ours(s->o, name))) return true;
    if (is_draft(s, name))
        return !qkv_io_path(path, s->dir, name, s->error) || (remove_draft(s, path), true);
    s->failed = !qkv_io_path(path, s->dir, name, s->error);
    if (!s->failed && s->io->unlink(s->io->ctx, path) != 0) {
        qkv_io_error(s->error, "remove", path, errno);
        s->failed = true;
    }
    return !s->failed;
}

/* All that is made of a run, and where; what is below another place stands before it. */
static const struct {
    const char *below;
    is_fn *ours;
} places[] = {{"plots", is_picture},          {"probe", is_probe_file}, {"heads/plots", is_picture},
              {"heads/probe", is_probe_file}, {"heads", NULL},          {"patch/plots", is_picture},
              {"patch/probe", is_probe_file}, {"patch", NULL},          {"", is_run_file}};

/* What an earlier run left in a directory goes, directories that are empty then, too; what somebody else
 * put there stays. */
static bool clear(const qkv_io *io, const qkv_run_options *o, const char *dir, char *error) {
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[QKV_IO_PATH];
        if (!qkv_io_path(path, dir, places[i].below, error)) return false;
        survey s = {.io = io, .o = o, .dir = path, .ours = places[i].ours, .error = error};
        if (io->list(io->ctx, path, visit, &s) != 0) {
            if (errno == ENOENT || errno == ENOTDIR) continue;
            qkv_io_error(error, "read", path, errno);
            return false;
        }
        if (s.failed) return false;
        qkv_io_sweep(io, path);
        char itself[QKV_IO_PATH];  // with a slash: a link to a directory is not ours to remove
        if (*places[i].below && qkv_io_path(itself, path, "", error)) io->unlink(io->ctx, itself);
    }
    return true;
}

/* Refuses a directory that is in use by an earlier run, or by somebody else. */
static bool is_free(const qkv_io *io, const qkv_run_options *o, const char *dir, char *error) {
    char shown[256];
    survey s = {.io = io, .o = o, .dir = dir, .error = error};
    if (io->list(io->ctx, dir, visit, &s) != 0) {
        qkv_io_error(error, "read", dir, errno);
        return false;
    }
    if (!s.occupied || o->force || o->resume) return true;
    return qkv_io_fail(
        error, "'%s' is not empty; --force replaces the run in it, --resume goes on with it",
        qkv_io_printable(dir, shown, sizeof shown));
}

/* ---- making and locking ---- */

bool qkv_run_lock(const qkv_io *io, const char *dir, const char *who, int *lock, char *error) {
    io = qkv_io_of(io);
    char path[QKV_IO_PATH], shown[256];
    if (!qkv_io_path(path, dir, ".lock", error)) return false;
    *lock = qkv_io_open(io, path, O_RDWR | O_CREAT);
    if (*lock >= 0 && io->lock(io->ctx, *lock) == 0) return true;
    if (*lock >= 0 && errno == EWOULDBLOCK)
        qkv_io_fail(error, "another %s is writing to '%s'", who,
                    qkv_io_printable(dir, shown, sizeof shown));
    else
        qkv_io_error(error, "lock", path, errno);
    qkv_run_close_directory(io, *lock);
    *lock = -1;
    return false;
}

/* "PREFIX-N" with the first N for which it can be made: who makes it has it. */
static bool make_numbered(const qkv_io *io, const char *prefix, char dir[QKV_IO_PATH],
                          char *error) {
    const char *slash = strrchr(prefix, '/');
    snprintf(dir, QKV_IO_PATH, "%.*s", slash ? (int)(slash - prefix) : 0, prefix);
    if (*dir && !qkv_io_make_directory(io, dir, error)) return false;
    for (int n = 1; n < 1000000; n++) {
        if (snprintf(dir, QKV_IO_PATH, "%s-%d", prefix, n) >= QKV_IO_PATH)
            errno = ENAMETOOLONG;
        else if (io->mkdir(io->ctx, dir) == 0)
            return qkv_io_make_directory(io, dir, error);
        if (errno != EEXIST) break;
    }
    qkv_io_error(error, "make the directory", dir, errno);
    return false;
}

qkv_io_status qkv_run_open_directory(const qkv_io *io, const qkv_run_options *o,
                                     char dir[QKV_IO_PATH], int *lock, char *error) {
    io = qkv_io_of(io);
    *lock = -1;
    if (!o->dir && !QKV_IO_GIVEN(error, o->prefix)) return QKV_IO_FAILED;
    if (!o->dir && !make_numbered(io, o->prefix, dir, error)) return QKV_IO_FAILED;
    if (o->dir &&
        (!qkv_io_path(dir, o->dir, "", error) || !qkv_io_make_directory(io, o->dir, error)))
        return QKV_IO_FAILED;
    if (o->dir) snprintf(dir, QKV_IO_PATH, "%s", o->dir);
    // once more under the lock: somebody may have begun and ended in between
    bool ok = is_free(io, o, dir, error) && qkv_run_lock(io, dir, "run", lock, error) &&
              is_free(io, o, dir, error) && (!o->force || o->resume || clear(io, o, dir, error));
    if (ok) return QKV_IO_OK;
    qkv_run_close_directory(io, *lock);
    *lock = -1;
    return QKV_IO_FAILED;
}

void qkv_run_close_directory(const qkv_io *io, int lock) {
    io = qkv_io_of(io);
    if (lock >= 0) io->close(io->ctx, lock);
}
