/* io.h - all file work of the library: one table of calls, and whole-file reading and writing on
 * top of it.
 *
 * Every call that can fail goes through a train_io, so that tests can make each of them fail in
 * turn. Functions that return false or a status other than TRAIN_FILE_OK leave one sentence in
 * `error` (room for TRAIN_ERROR, config.h) which names the path, its control characters made
 * harmless. Nothing here prints. */
#ifndef TRAIN_IO_H
#define TRAIN_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tensor/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Is called with each name in a directory; returning false ends the list. */
typedef bool train_name_fn(void *ctx, const char *name);

/* As the system calls of these names: -1 with errno on failure.
 *   open   flags of open(2); always close-on-exec; a new file gets 0666 & ~umask
 *   size   of a regular file; EISDIR: it is a directory; ESPIPE: something else
 *   lock   the whole file, exclusively, without waiting; EWOULDBLOCK: somebody else has it
 *   list   without "." and ".." */
typedef struct {
    int (*open)(void *ctx, const char *path, int flags);
    ssize_t (*read)(void *ctx, int fd, void *to, size_t n);
    ssize_t (*write)(void *ctx, int fd, const void *from, size_t n);
    int (*size)(void *ctx, int fd, uint64_t *bytes);
    int (*truncate)(void *ctx, int fd, uint64_t bytes);
    int (*sync)(void *ctx, int fd);
    int (*close)(void *ctx, int fd);
    int (*rename)(void *ctx, const char *from, const char *to);
    int (*unlink)(void *ctx, const char *path);
    int (*mkdir)(void *ctx, const char *path);
    int (*lock)(void *ctx, int fd);
    int (*list)(void *ctx, const char *dir, train_name_fn *each, void *each_ctx);
    void *ctx;
} train_io;

extern const train_io train_posix;  // the system itself

/* What became of reading a file. */
typedef enum {
    TRAIN_FILE_OK,
    TRAIN_FILE_ABSENT,      // there is none (exit 1)
    TRAIN_FILE_UNREADABLE,  // the system refused, or memory is out (exit 1)
    TRAIN_FILE_DAMAGED      // its content is not what it should be (exit 3)
} train_file_status;

/* ---- names and messages ---- */

enum { TRAIN_PATH = 4096 };  // room for a path, its end included

/* "dir/name" into out; false with a sentence when it is too long. */
bool train_path(char out[TRAIN_PATH], const char *dir, const char *name, char *error);

/* Text for a message: what is no printable UTF-8 becomes '?', a long text keeps its end after
 * "...". Returns out, of `size` bytes. */
char *train_printable(const char *text, char *out, size_t size);

/* error = "cannot DOING 'PATH': <the system's words for errno_value>". */
void train_io_error(char *error, const char *doing, const char *path, int errno_value);

/* ---- whole files ---- */

/* Replaces the file at `path` by n bytes, or leaves it as it was: a temporary file in the same
 * directory, fsync, rename, fsync of the directory. True means that all of this was done. On false
 * no temporary file is left (unless removing it failed, too), and `path` has its old or, when only
 * the last fsync failed, its new content, each of them whole. */
bool train_write_file(const train_io *io, const char *path, const void *data, size_t n,
                      char *error);

/* Is `name` one that train_write_file() gives to temporary files? A killed process leaves such a
 * file behind. */
bool train_is_temporary(const char *name);

/* Reads a regular file of at most `most` bytes (a longer one is damaged). *data has n bytes and a 0
 * after them, and is released by the caller through mem->release (mem NULL: tensor_malloc). On
 * failure *data is NULL. */
train_file_status train_read_file(const train_io *io, const tensor_allocator *mem, const char *path,
                                  size_t most, void **data, size_t *n, char *error);

/* Makes a directory and the missing ones above it; one that exists is fine. */
bool train_make_directory(const train_io *io, const char *path, char *error);

/* ---- rows appended to a file ---- */

/* A file that grows by whole rows. What a failed write left of a row is cut off again, at once or
 * before the next row. */
typedef struct {
    const train_io *io;
    const char *path;  // the caller's, must stay
    int fd;
    uint64_t size;  // of the whole rows
    bool torn;      // there may be a part of a row after them
    long errors;    // failed calls so far
} train_appender;

/* Opens `path`, creating it, and keeps its first `keep` bytes (UINT64_MAX: all). */
bool train_append_open(train_appender *a, const train_io *io, const char *path, uint64_t keep,
                       char *error);

/* Appends a row, newline included; false: it is not in the file. */
bool train_append(train_appender *a, const void *row, size_t n, char *error);

bool train_append_sync(train_appender *a, char *error);   // what was appended is on the disk
bool train_append_close(train_appender *a, char *error);  // syncs, and closes in any case

/* ---- parts of the above, for other readers and writers ---- */

/* The same with all that may come in between: signals and short counts. -1 or false with errno.
 * What was read is fewer than n bytes only where the file ends. */
int train_open(const train_io *io, const char *path, int flags);
int train_sync(const train_io *io, int fd);
int train_close(const train_io *io, int fd);
bool train_write_all(const train_io *io, int fd, const void *data, size_t n);
ssize_t train_read_up_to(const train_io *io, int fd, void *to, size_t n);

/* Opens a regular file to be read. */
train_file_status train_open_file(const train_io *io, const char *path, int *fd, uint64_t *size,
                                  char *error);

#ifdef __cplusplus
}
#endif
#endif
