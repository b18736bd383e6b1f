/* write.c - whole files written: a reader finds the old or the new one; and directories. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "train/io/given.h"

enum { TRIES = 1000 };  // names of temporary files

static bool fail(char *error, const char *doing, const char *path) {
    qkv_io_error(error, doing, path, errno);
    return false;
}

/* The length of the directory's part of a path, its slash included; 0: the current directory. */
static size_t directory_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Makes an entry of a directory durable. Some file systems cannot sync a directory and say EINVAL:
 * nothing is lost that could be had. */
static bool sync_directory_of(const qkv_io *io, const char *path, char *error) {
    char dir[QKV_IO_PATH];
    size_t n = directory_length(path);
    snprintf(dir, sizeof dir, "%.*s", n ? (int)n : 1, n ? path : ".");
    int fd = qkv_io_open(io, dir, O_RDONLY | O_DIRECTORY);
    if (fd < 0) return fail(error, "open the directory of", path);
    int why = qkv_io_sync(io, fd) < 0 && errno != EINVAL ? errno : 0;
    if (qkv_io_close(io, fd) < 0 && !why) why = errno;
    errno = why;
    return !why || fail(error, "sync the directory of", path);
}

#define TEMPORARY ".qkv-"  // then the process, a number, ".tmp"

bool qkv_io_is_temporary(const char *name) {
    size_t n = strlen(name);
    return n > 4 && strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0 &&
           strcmp(name + n - 4, ".tmp") == 0;
}

/* A new file beside `path`. O_EXCL and the loop keep apart what the process number cannot: threads,
 * and machines that share a disk. Its lock tells qkv_io_sweep() that the writer lives; a file system
 * without locks: nothing is swept. */
static int create_temporary(const qkv_io *io, const char *path, char name[QKV_IO_PATH]) {
    for (int i = 0; i < TRIES; i++) {
        int n = snprintf(name, QKV_IO_PATH, "%.*s" TEMPORARY "%ld-%d.tmp",
                         (int)directory_length(path), path, (long)getpid(), i);
        if (n >= QKV_IO_PATH) return errno = ENAMETOOLONG, -1;
        int fd = qkv_io_open(io, name, O_WRONLY | O_CREAT | O_EXCL);
        if (fd >= 0) return io->lock(io->ctx, fd), fd;
        if (errno != EEXIST) return fd;
    }
    return -1;
}

/* The bytes into the temporary file, and that in the place of `path`; its lock is held until then. NULL,
 * or what could not be done. */
static const char *fill(const qkv_io *io, int fd, const char *name, const char *path,
                        const void *data, size_t n) {
    const char *failed = !qkv_io_write_all(io, fd, data, n)    ? "write"
                         : qkv_io_sync(io, fd) < 0             ? "sync"
                         : io->rename(io->ctx, name, path) < 0 ? "replace"
                                                               : NULL;
    int why = errno;
    if (qkv_io_close(io, fd) < 0 && !failed) return "close";
    errno = why;
    return failed;
}

/* `path` is how the file is called in a sentence, `to` where it comes to stand. A sweep between creating
 * and locking takes the temporary file away: then once more. */
static bool replace(const qkv_io *io, const char *path, const char *to, const void *data, size_t n,
                    char *error) {
    enum { SWEPT = 3 };
    char name[QKV_IO_PATH];
    for (int tries = 0;;) {
        int fd = create_temporary(io, to, name);
        if (fd < 0) return fail(error, "create a temporary file beside", path);
        const char *failed = fill(io, fd, name, to, data, n);
        if (!failed) return sync_directory_of(io, to, error);
        bool swept = strcmp(failed, "replace") == 0 && errno == ENOENT && ++tries < SWEPT;
        if (!swept) fail(error, failed, path);
        if (strcmp(failed, "close") != 0) io->unlink(io->ctx, name);
        if (!swept) return false;
    }
}

/* Into what stands there. A pipe has nothing to be synced. */
static bool write_through(const qkv_io *io, const char *path, const char *to, bool sync,
                          const void *data, size_t n, char *error) {
    int fd = qkv_io_open(io, to, O_WRONLY | O_TRUNC | O_NOCTTY);
    if (fd < 0) return fail(error, "open", path);
    bool ok = qkv_io_write_all(io, fd, data, n) && (!sync || qkv_io_sync(io, fd) == 0);
    int why = errno;
    if (qkv_io_close(io, fd) < 0 && ok) ok = false, why = errno;
    errno = why;
    return ok || fail(error, "write", path);
}

static bool write_to(const qkv_io *io, const char *path, bool output, const void *data, size_t n,
                     bool *device, char *error) {
    io = qkv_io_of(io);
    char to[QKV_IO_PATH];
    if (strlen(path) >= QKV_IO_PATH) return errno = ENAMETOOLONG, fail(error, "write", path);
    if (!*path) return errno = ENOENT, fail(error, "write", path);
    int target = io->target ? io->target(io->ctx, path, to) : (strcpy(to, path), QKV_IO_PLAIN);
    if (target < 0) return fail(error, "write", path);
    if (device) *device = target == QKV_IO_DEVICE;
    if (target == QKV_IO_DEVICE || (output && target == QKV_IO_LINKED))
        return write_through(io, path, to, target != QKV_IO_DEVICE, data, n, error);
    if (output) {
        char dir[QKV_IO_PATH];
        size_t length = directory_length(to);
        snprintf(dir, sizeof dir, "%.*s", length ? (int)length : 1, length ? to : ".");
        qkv_io_sweep(io, dir);
    }
    return replace(io, path, to, data, n, error);
}

bool qkv_io_write_file(const qkv_io *io, const char *path, const void *data, size_t n,
                       char *error) {
    if (!QKV_IO_GIVEN(error, path)) return false;
    return write_to(io, path, false, data, n, NULL, error);
}

bool qkv_io_write_output(const qkv_io *io, const char *path, const void *data, size_t n,
                         bool *device, char *error) {
    if (!QKV_IO_GIVEN(error, path)) return false;
    return write_to(io, path, true, data, n, device, error);
}

/* ---- directories ---- */

typedef struct {
    const qkv_io *io;
    const char *dir;
    int failed;  // errno of the first file that could not be removed
} sweep;

static bool sweep_one(void *ctx, const char *name) {
    sweep *s = ctx;
    const qkv_io *io = s->io;
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    if (!qkv_io_is_temporary(name) || !qkv_io_path(path, s->dir, name, error)) return true;
    int fd = qkv_io_open(io, path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) return true;
    if (io->lock(io->ctx, fd) == 0 && io->unlink(io->ctx, path) < 0 && errno != ENOENT &&
        !s->failed)
        s->failed = errno;
    qkv_io_close(io, fd);
    return true;
}

int qkv_io_sweep(const qkv_io *io, const char *dir) {
    io = qkv_io_of(io);
    sweep s = {io, dir, 0};
    if (io->list(io->ctx, dir, sweep_one, &s) < 0 && !s.failed) s.failed = errno;
    return s.failed;
}

bool qkv_io_make_directory(const qkv_io *io, const char *path, char *error) {
    if (!QKV_IO_GIVEN(error, path)) return false;
    io = qkv_io_of(io);
    char part[QKV_IO_PATH];
    size_t n = strlen(path);
    if (n >= QKV_IO_PATH) return errno = ENAMETOOLONG, fail(error, "make the directory", path);
    memcpy(part, path, n + 1);
    for (bool down = false;;) {
        bool made = io->mkdir(io->ctx, part) == 0, there = made || errno == EEXIST;
        if (made && !sync_directory_of(io, part, error)) return false;
        size_t length = strlen(part), above = directory_length(part);
        if (there && length == n) return made || (qkv_io_sweep(io, path), true);
        if (there)
            part[length] = '/', down = true;  // one step down again
        else if (errno == ENOENT && above > 1 && length > 0 && !down)
            part[above - 1] = '\0';  // the one above is missing, too
        else
            return fail(error, "make the directory", path);
    }
}
