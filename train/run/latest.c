/* latest.c - the checkpoints of a run directory: which is the newest, which may go. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/run/checkpoint.h"

#define PREFIX "step-"
#define SUFFIX ".safetensors"

enum { DIGITS = 8 };

long qkv_run_checkpoint_step(const char *name) {
    long step = 0;
    char again[64];
    size_t n = strlen(PREFIX);
    if (strncmp(name, PREFIX, n) != 0) return -1;
    for (; name[n] >= '0' && name[n] <= '9'; n++) {
        step = 10 * step + (name[n] - '0');
        if (step > INT_MAX) return -1;
    }
    snprintf(again, sizeof again, PREFIX "%0*ld" SUFFIX, DIGITS, step);
    return strcmp(name, again) == 0 ? step : -1;
}

bool qkv_run_checkpoint_path(char out[QKV_IO_PATH], const char *dir, int step, char *error) {
    if (!QKV_IO_GIVEN(error, out, dir)) return false;
    char name[64];
    snprintf(name, sizeof name, PREFIX "%0*d" SUFFIX, DIGITS, step);
    return qkv_io_path(out, dir, name, error);
}

typedef struct {
    long below, newest;
} search;

static bool look_at(void *ctx, const char *name) {
    search *s = ctx;
    long step = qkv_run_checkpoint_step(name);
    if (step < s->below && step > s->newest) s->newest = step;
    return true;
}

/* The path of the newest checkpoint older than *step, which becomes its step; -1: there is none. A
 * directory is listed again for each: it holds a few, and nothing need be remembered. False: it
 * cannot be listed. */
static bool next_older(const qkv_io *io, const char *dir, long *step, char path[QKV_IO_PATH],
                       char *error) {
    io = qkv_io_of(io);
    search s = {*step, -1};
    if (io->list(io->ctx, dir, look_at, &s) < 0) {
        qkv_io_error(error, "list", dir, errno);
        return false;
    }
    *step = s.newest;
    return *step < 0 || qkv_run_checkpoint_path(path, dir, (int)*step, error);
}

qkv_io_status qkv_run_latest_until(const qkv_io *io, const tensor_allocator *mem, const char *dir,
                                   int most, char path[QKV_IO_PATH], int *skipped, char *error) {
    if (!QKV_IO_GIVEN(error, dir, path, skipped)) return QKV_IO_FAILED;
    char first[QKV_IO_ERROR] = "", why[QKV_IO_ERROR];
    *skipped = 0;
    for (long step = (long)most + 1;;) {
        if (!next_older(io, dir, &step, path, error)) return QKV_IO_FAILED;
        if (step < 0) break;
        qkv_io_status status = qkv_run_checkpoint_check(io, mem, path, why);
        if (status == QKV_IO_OK) return strcpy(error, first), QKV_IO_OK;
        if (status != QKV_IO_DAMAGED) return strcpy(error, why), QKV_IO_FAILED;
        if (!(*skipped)++) strcpy(first, why);
    }
    char shown[200];
    if (*skipped) return strcpy(error, first), QKV_IO_DAMAGED;
    qkv_io_fail(error, "there is no checkpoint in '%s'",
                qkv_io_printable(dir, shown, sizeof shown));
    return QKV_IO_ABSENT;
}

qkv_io_status qkv_run_latest(const qkv_io *io, const tensor_allocator *mem, const char *dir,
                             char path[QKV_IO_PATH], int *skipped, char *error) {
    return qkv_run_latest_until(io, mem, dir, INT_MAX, path, skipped, error);
}

/* ---- pruning ---- */

bool qkv_run_prune(const qkv_io *io, const tensor_allocator *mem, const char *dir, int keep,
                   char *error) {
    if (!QKV_IO_GIVEN(error, dir)) return false;
    io = qkv_io_of(io);
    char path[QKV_IO_PATH];
    long step = LONG_MAX;
    for (int valid = 0; valid < (keep < 1 ? 1 : keep);) {
        if (!next_older(io, dir, &step, path, error)) return false;
        if (step < 0) break;
        qkv_io_status status = qkv_run_checkpoint_check(io, mem, path, error);
        if (status == QKV_IO_FAILED || status == QKV_IO_ABSENT) return false;
        valid += status == QKV_IO_OK;
    }
    while (step >= 0) {
        if (!next_older(io, dir, &step, path, error)) return false;
        if (step < 0 || io->unlink(io->ctx, path) == 0 || errno == ENOENT) continue;
        qkv_io_error(error, "remove", path, errno);
        return false;
    }
    int failed = qkv_io_sweep(io, dir);
    if (failed) qkv_io_error(error, "remove a temporary file from", dir, failed);
    return !failed;
}
