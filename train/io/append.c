/* append.c - a file that grows by whole rows. */
#include <errno.h>
#include <fcntl.h>

#include "train/io/given.h"
#include "train/io/io.h"

static bool fail(qkv_io_appender *a, const char *doing, char *error) {
    qkv_io_error(error, doing, a->path, errno);
    a->errors++;
    return false;
}

/* O_NONBLOCK: a pipe that nobody reads is refused, and does not hold up for ever. */
bool qkv_io_append_open(qkv_io_appender *a, const qkv_io *io, const char *path, uint64_t keep,
                        char *error) {
    if (!QKV_IO_GIVEN(error, a, path)) return false;
    io = qkv_io_of(io);
    *a = (qkv_io_appender){.io = io,
                           .path = path,
                           .fd = qkv_io_open(io, path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK)};
    if (a->fd < 0) return fail(a, "open", error);
    const char *failed = io->size(io->ctx, a->fd, &a->size) < 0 ? "append to" : NULL;
    if (!failed && keep < a->size) {
        failed = io->truncate(io->ctx, a->fd, keep) < 0 ? "shorten" : NULL;
        a->size = keep;
    }
    if (!failed) return true;
    fail(a, failed, error);
    qkv_io_close(io, a->fd);
    a->fd = -1;
    return false;
}

bool qkv_io_append(qkv_io_appender *a, const void *row, size_t n, char *error) {
    if (!QKV_IO_GIVEN(error, a)) return false;
    const qkv_io *io = a->io;
    if (a->torn && io->truncate(io->ctx, a->fd, a->size) < 0) return fail(a, "shorten", error);
    a->torn = false;
    if (qkv_io_write_all(io, a->fd, row, n)) return a->size += n, true;
    fail(a, "append to", error);
    a->torn = io->truncate(io->ctx, a->fd, a->size) < 0;
    return false;
}

bool qkv_io_append_sync(qkv_io_appender *a, char *error) {
    if (!QKV_IO_GIVEN(error, a)) return false;
    return qkv_io_sync(a->io, a->fd) == 0 || fail(a, "sync", error);
}

bool qkv_io_append_close(qkv_io_appender *a, char *error) {
    if (!QKV_IO_GIVEN(error, a)) return false;
    if (a->fd < 0) return true;
    bool tidy =
        !a->torn || a->io->truncate(a->io->ctx, a->fd, a->size) == 0 || fail(a, "shorten", error);
    bool synced = qkv_io_append_sync(a, error);
    bool closed = qkv_io_close(a->io, a->fd) == 0 || fail(a, "close", error);
    a->fd = -1;
    return tidy && synced && closed;
}
