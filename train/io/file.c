/* file.c - whole files: a reader finds the old or the new one, and takes nothing on trust. */
#include "train/io/given.h"
#include "train/io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A call that is interrupted is made again, but not for ever. */
enum { TRIES = 1000, CHUNK = 1 << 30 };

static bool again(int *tries) { return errno == EINTR && ++*tries < TRIES; }

int qkv_io_open(const qkv_io *io, const char *path, int flags) {
    int tries = 0, fd;
    do fd = io->open(io->ctx, path, flags);
    while (fd < 0 && again(&tries));
    return fd;
}

/* Only an interruption is tried again. After any other error the kernel may have dropped the pages
 * and forgotten it: a second fsync would succeed and mean nothing. */
int qkv_io_sync(const qkv_io *io, int fd) {
    int tries = 0, r;
    do r = io->sync(io->ctx, fd);
    while (r < 0 && again(&tries));
    return r;
}

/* Once, whatever it says: an interrupted close has closed (Linux), and the number may be another
 * thread's by now. */
int qkv_io_close(const qkv_io *io, int fd) {
    int r = io->close(io->ctx, fd);
    return r < 0 && errno == EINTR ? 0 : r;
}

bool qkv_io_write_all(const qkv_io *io, int fd, const void *data, size_t n) {
    const char *at = data;
    for (int tries = 0; n > 0;) {
        ssize_t wrote = io->write(io->ctx, fd, at, n < CHUNK ? n : CHUNK);
        if (wrote < 0 && again(&tries)) continue;
        if (wrote == 0) errno = EIO;  // would go on for ever
        if (wrote <= 0) return false;
        at += wrote;
        n -= (size_t)wrote;
        tries = 0;
    }
    return true;
}

ssize_t qkv_io_read_up_to(const qkv_io *io, int fd, void *to, size_t n) {
    size_t got = 0;
    for (int tries = 0; got < n;) {
        ssize_t r = io->read(io->ctx, fd, (char *)to + got, n - got < CHUNK ? n - got : CHUNK);
        if (r < 0 && again(&tries)) continue;
        if (r < 0) return -1;
        if (r == 0) break;
        got += (size_t)r;
        tries = 0;
    }
    return (ssize_t)got;
}

/* ---- writing ---- */

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
 * and machines that share a disk. */
static int create_temporary(const qkv_io *io, const char *path, char name[QKV_IO_PATH]) {
    for (int i = 0; i < TRIES; i++) {
        int n = snprintf(name, QKV_IO_PATH, "%.*s" TEMPORARY "%ld-%d.tmp",
                         (int)directory_length(path), path, (long)getpid(), i);
        if (n >= QKV_IO_PATH) return errno = ENAMETOOLONG, -1;
        int fd = qkv_io_open(io, name, O_WRONLY | O_CREAT | O_EXCL);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* Data to disk, and the descriptor closed in any case. NULL, or what could not be done. */
static const char *fill(const qkv_io *io, int fd, const void *data, size_t n) {
    const char *failed = !qkv_io_write_all(io, fd, data, n) ? "write"
                         : qkv_io_sync(io, fd) < 0          ? "sync"
                                                            : NULL;
    int why = errno;
    if (qkv_io_close(io, fd) < 0 && !failed) return "close";
    errno = why;
    return failed;
}

bool qkv_io_write_file(const qkv_io *io, const char *path, const void *data, size_t n,
                       char *error) {
    if (!QKV_IO_GIVEN(error, io, path)) return false;
    char name[QKV_IO_PATH];
    if (strlen(path) >= QKV_IO_PATH) return errno = ENAMETOOLONG, fail(error, "write", path);
    int fd = create_temporary(io, path, name);
    if (fd < 0) return fail(error, "create a temporary file beside", path);
    const char *failed = fill(io, fd, data, n);
    if (!failed && io->rename(io->ctx, name, path) < 0) failed = "replace";
    if (!failed) return sync_directory_of(io, path, error);
    fail(error, failed, path);
    io->unlink(io->ctx, name);
    return false;
}

bool qkv_io_make_directory(const qkv_io *io, const char *path, char *error) {
    if (!QKV_IO_GIVEN(error, io, path)) return false;
    char part[QKV_IO_PATH];
    size_t n = strlen(path);
    if (n >= QKV_IO_PATH) return errno = ENAMETOOLONG, fail(error, "make the directory", path);
    memcpy(part, path, n + 1);
    for (bool down = false;;) {
        bool made = io->mkdir(io->ctx, part) == 0, there = made || errno == EEXIST;
        if (made && !sync_directory_of(io, part, error)) return false;
        size_t length = strlen(part), above = directory_length(part);
        if (there && length == n) return true;
        if (there)
            part[length] = '/', down = true;  // one step down again
        else if (errno == ENOENT && above > 1 && length > 0 && !down)
            part[above - 1] = '\0';  // the one above is missing, too
        else
            return fail(error, "make the directory", path);
    }
}

/* ---- reading ---- */

/* O_NONBLOCK: opening a pipe that nobody writes would wait for ever, before its size is asked. */
qkv_io_status qkv_io_open_file(const qkv_io *io, const char *path, int *fd, uint64_t *size,
                               char *error) {
    if (!QKV_IO_GIVEN(error, io, path, fd, size)) return QKV_IO_UNREADABLE;
    *fd = qkv_io_open(io, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0) {
        qkv_io_status status = errno == ENOENT ? QKV_IO_ABSENT : QKV_IO_UNREADABLE;
        return fail(error, "open", path), status;
    }
    if (io->size(io->ctx, *fd, size) == 0) return QKV_IO_OK;
    char shown[256];
    if (errno == ESPIPE)
        qkv_io_fail(error, "'%s' is not a regular file",
                    qkv_io_printable(path, shown, sizeof shown));
    else
        fail(error, "read", path);
    qkv_io_close(io, *fd);
    *fd = -1;
    return QKV_IO_UNREADABLE;
}

/* Reads the n bytes that the file has, into room for one more, to see that these are all. */
static qkv_io_status read_content(const qkv_io *io, int fd, const char *path, char *to, size_t n,
                                  char *error) {
    char shown[256];
    ssize_t got = qkv_io_read_up_to(io, fd, to, n + 1);
    if (got < 0) return fail(error, "read", path), QKV_IO_UNREADABLE;
    to[n] = '\0';
    if ((size_t)got == n) return QKV_IO_OK;
    qkv_io_fail(error, "'%s' changed while it was read",
                qkv_io_printable(path, shown, sizeof shown));
    return QKV_IO_UNREADABLE;
}

qkv_io_status qkv_io_read_file(const qkv_io *io, const tensor_allocator *mem, const char *path,
                               size_t most, void **data, size_t *n, char *error) {
    if (!QKV_IO_GIVEN(error, io, path, data, n)) return QKV_IO_UNREADABLE;
    int fd;
    uint64_t size;
    char shown[256];
    if (!mem) mem = &tensor_malloc;
    *data = NULL;
    *n = 0;
    qkv_io_status status = qkv_io_open_file(io, path, &fd, &size, error);
    if (status != QKV_IO_OK) return status;
    char *text = NULL;
    if (size > most || size > SIZE_MAX / 2) {
        qkv_io_fail(error, "'%s' is longer than %zu bytes",
                    qkv_io_printable(path, shown, sizeof shown), most);
        status = QKV_IO_DAMAGED;
    } else if (!(text = mem->alloc(mem->ctx, (size_t)size + 1))) {
        qkv_io_error(error, "read", path, ENOMEM);
        status = QKV_IO_UNREADABLE;
    } else {
        status = read_content(io, fd, path, text, (size_t)size, error);
    }
    qkv_io_close(io, fd);
    if (status == QKV_IO_OK)
        *data = text, *n = (size_t)size;
    else if (text)
        mem->release(mem->ctx, text);
    return status;
}
