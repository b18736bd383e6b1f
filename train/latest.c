/* latest.c - the checkpoints of a run directory: which is the newest, which may go. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "train/checkpoint.h"

#define PREFIX "step-"
#define SUFFIX ".safetensors"

enum { DIGITS = 8 };

/* The step in "step-00000600.safetensors"; -1 for any other name, "step-600.safetensors" too. */
static long step_of(const char *name) {
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

bool train_checkpoint_path(char out[TRAIN_PATH], const char *dir, int step, char *error) {
    char name[64];
    snprintf(name, sizeof name, PREFIX "%0*d" SUFFIX, DIGITS, step);
    return train_path(out, dir, name, error);
}

typedef struct {
    long below, newest;
} search;

static bool look_at(void *ctx, const char *name) {
    search *s = ctx;
    long step = step_of(name);
    if (step < s->below && step > s->newest) s->newest = step;
    return true;
}

/* The path of the newest checkpoint older than *step, which becomes its step; -1: there is none. A
 * directory is listed again for each: it holds a few, and nothing need be remembered. False: it
 * cannot be listed. */
static bool next_older(const train_io *io, const char *dir, long *step, char path[TRAIN_PATH],
                       char *error) {
    search s = {*step, -1};
    if (io->list(io->ctx, dir, look_at, &s) < 0) {
        train_io_error(error, "list", dir, errno);
        return false;
    }
    *step = s.newest;
    return *step < 0 || train_checkpoint_path(path, dir, (int)*step, error);
}

train_file_status train_latest(const train_io *io, const tensor_allocator *mem, const char *dir,
                               char path[TRAIN_PATH], int *skipped, char *error) {
    char first[TRAIN_ERROR] = "", why[TRAIN_ERROR];
    *skipped = 0;
    for (long step = LONG_MAX;;) {
        if (!next_older(io, dir, &step, path, error)) return TRAIN_FILE_UNREADABLE;
        if (step < 0) break;
        train_file_status status = train_checkpoint_check(io, mem, path, why);
        if (status == TRAIN_FILE_OK) return strcpy(error, first), TRAIN_FILE_OK;
        if (status != TRAIN_FILE_DAMAGED) return strcpy(error, why), TRAIN_FILE_UNREADABLE;
        if (!(*skipped)++) strcpy(first, why);
    }
    char shown[200];
    if (*skipped) return strcpy(error, first), TRAIN_FILE_DAMAGED;
    snprintf(error, TRAIN_ERROR, "there is no checkpoint in '%s'",
             train_printable(dir, shown, sizeof shown));
    return TRAIN_FILE_ABSENT;
}

/* ---- pruning ---- */

typedef struct {
    const train_io *io;
    const char *dir;
    int failed;  // errno of the first file that could not be removed
} sweep;

static bool sweep_temporary(void *ctx, const char *name) {
    sweep *s = ctx;
    char path[TRAIN_PATH], error[TRAIN_ERROR];
    if (!train_is_temporary(name) || !train_path(path, s->dir, name, error)) return true;
    if (s->io->unlink(s->io->ctx, path) < 0 && errno != ENOENT && !s->failed) s->failed = errno;
    return true;
}

bool train_prune(const train_io *io, const tensor_allocator *mem, const char *dir, int keep,
                 char *error) {
    char path[TRAIN_PATH];
    long step = LONG_MAX;
    for (int valid = 0; valid < (keep < 1 ? 1 : keep);) {
        if (!next_older(io, dir, &step, path, error)) return false;
        if (step < 0) break;
        train_file_status status = train_checkpoint_check(io, mem, path, error);
        if (status == TRAIN_FILE_UNREADABLE || status == TRAIN_FILE_ABSENT) return false;
        valid += status == TRAIN_FILE_OK;
    }
    while (step >= 0) {
        if (!next_older(io, dir, &step, path, error)) return false;
        if (step < 0 || io->unlink(io->ctx, path) == 0 || errno == ENOENT) continue;
        train_io_error(error, "remove", path, errno);
        return false;
    }
    sweep s = {io, dir, 0};
    if (io->list(io->ctx, dir, sweep_temporary, &s) < 0) s.failed = errno;
    if (s.failed) train_io_error(error, "remove a temporary file from", dir, s.failed);
    return !s.failed;
}
