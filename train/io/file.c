/* file.c - the calls made safely, and whole files read: nothing is taken on trust. */
#include "train/io/given.h"
#include "train/io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* A call that is interrupted is made again, but not for ever. */
enum { TRIES = 1000, CHUNK = 1 << 30 };

static bool again(int *tries) { return errno == EINTR && ++*tries < TRIES; }

int qkv_io_open(const qkv_io *io, const char *path, int flags) {
    io = qkv_io_of(io);
    int tries = 0, fd;
    do fd = io->open(io->ctx, path, flags);
    while (fd < 0 && again(&tries));
    return fd;
}

/* Only an interruption is tried again. After any other error the kernel may have dropped the pages
 * and forgotten it: a second fsync would succeed and mean nothing. */
int qkv_io_sync(const qkv_io *io, int fd) {
    io = qkv_io_of(io);
    int tries = 0, r;
    do r = io->sync(io->ctx, fd);
    while (r < 0 && again(&tries));
    return r;
}

/* Once, whatever it says: an interrupted close has closed (Linux), and the number may be another
 * thread's by now. */
int qkv_io_close(const qkv_io *io, int fd) {
    io = qkv_io_of(io);
    int r = io->close(io->ctx, fd);
    return r < 0 && errno == EINTR ? 0 : r;
}

bool qkv_io_write_all(const qkv_io *io, int fd, const void *data, size_t n) {
    io = qkv_io_of(io);
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
    io = qkv_io_of(io);
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

/* ---- reading ---- */

static bool fail(char *error, const char *doing, const char *path) {
    qkv_io_error(error, doing, path, errno);
    return false;
}

/* O_NONBLOCK: opening a pipe that nobody writes would wait for ever, before its size is asked. */
qkv_io_status qkv_io_open_file(const qkv_io *io, const char *path, int *fd, uint64_t *size,
                               char *error) {
    if (!QKV_IO_GIVEN(error, path, fd, size)) return QKV_IO_FAILED;
    io = qkv_io_of(io);
    *fd = qkv_io_open(io, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0) {
        qkv_io_status status = errno == ENOENT ? QKV_IO_ABSENT : QKV_IO_FAILED;
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
    return QKV_IO_FAILED;
}

/* Reads the n bytes that the file has, into room for one more, to see that these are all. */
static qkv_io_status read_content(const qkv_io *io, int fd, const char *path, char *to, size_t n,
                                  char *error) {
    char shown[256];
    ssize_t got = qkv_io_read_up_to(io, fd, to, n + 1);
    if (got < 0) return fail(error, "read", path), QKV_IO_FAILED;
    to[n] = '\0';
    if ((size_t)got == n) return QKV_IO_OK;
    qkv_io_fail(error, "'%s' changed while it was read",
                qkv_io_printable(path, shown, sizeof shown));
    return QKV_IO_FAILED;
}

qkv_io_status qkv_io_read_file(const qkv_io *io, const tensor_allocator *mem, const char *path,
                               size_t most, void **data, size_t *n, char *error) {
    if (!QKV_IO_GIVEN(error, path, data, n)) return QKV_IO_FAILED;
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
        status = QKV_IO_FAILED;
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
