/* files.c - file calls that remember what is only there for a moment, so that a signal can remove it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "train/cli/cli.h"

enum { MOST = 64, FREE = 0, WRITING, NOTED };

/* Written by several threads, and read by a handler of signals: a path is whole while it is NOTED. A file
 * for which there is no room is left to the next sweep. */
static struct {
    atomic_int state;
    char path[QKV_IO_PATH];
} slot[MOST];

void cli_temporary(const char *path) {
    if (strlen(path) >= QKV_IO_PATH) return;
    for (int i = 0; i < MOST; i++) {
        int state = FREE;
        if (!atomic_compare_exchange_strong(&slot[i].state, &state, WRITING)) continue;
        strcpy(slot[i].path, path);
        atomic_store(&slot[i].state, NOTED);
        return;
    }
}

void cli_not_temporary(const char *path) {
    for (int i = 0; i < MOST; i++)
        if (atomic_load(&slot[i].state) == NOTED && strcmp(slot[i].path, path) == 0)
            atomic_store(&slot[i].state, FREE);
}

void cli_remove_temporaries(void) {
    for (int i = 0; i < MOST; i++)
        if (atomic_load(&slot[i].state) == NOTED && unlink(slot[i].path) != 0) rmdir(slot[i].path);
}

/* ---- the calls ---- */

/* A temporary file is noted before a signal can find it there. */
static int file_open(void *ctx, const char *path, int flags) {
    const char *slash = strrchr(path, '/');
    if (!(flags & O_EXCL) || !qkv_io_is_temporary(slash ? slash + 1 : path))
        return qkv_io_posix.open(ctx, path, flags);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int fd = qkv_io_posix.open(ctx, path, flags), error = errno;
    if (fd >= 0) cli_temporary(path);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return fd;
}

static int file_rename(void *ctx, const char *from, const char *to) {
    int r = qkv_io_posix.rename(ctx, from, to);
    if (r == 0) cli_not_temporary(from);
    return r;
}

static int file_unlink(void *ctx, const char *path) {
    int r = qkv_io_posix.unlink(ctx, path);
    cli_not_temporary(path);
    return r;
}

qkv_io cli_files;

void cli_begin_files(void) {
    cli_files = qkv_io_posix;
    cli_files.open = file_open;
    cli_files.rename = file_rename;
    cli_files.unlink = file_unlink;
}
