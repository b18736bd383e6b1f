/* io.h - all file work of the library: one table of calls, and whole-file reading and writing on
 * top of it.
 *
 * Every call that can fail goes through a qkv_io, so that tests can make each of them fail in
 * turn. Functions that return false or a status other than QKV_IO_OK leave one sentence in
 * `error` (room for QKV_IO_ERROR) which names the path, its control characters made
 * harmless. Nothing here prints.
 *
 * NULL, here and in all of train/: a call that leaves a sentence refuses it with one, and does nothing
 * (error NULL: just that), unless a comment says what it means, as "NULL: malloc". A call that cannot
 * say what is wrong must be given what it works on, as strlen() must, unless its header says more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "data/data.h"
#include "tensor/arena.h"

TENSOR_C_BEGIN

enum { QKV_IO_ERROR = 512 };  // room for a sentence that says what went wrong

/* Writes the sentence into error, of QKV_IO_ERROR bytes, and returns false. */
bool qkv_io_fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Is called with each name in a directory; returning false ends the list. */
typedef bool qkv_io_name_fn(void *ctx, const char *name);

enum { QKV_IO_PATH = 4096 };  // room for a path, its end included

/* What a file that is written to a path meets there. */
enum {
    QKV_IO_PLAIN,   // a regular file, or nothing yet
    QKV_IO_LINKED,  // a regular file with other names, too
    QKV_IO_DEVICE   // a pipe, a device, an open descriptor: its bytes go somewhere else
};

/* How a byte is claimed. */
enum { QKV_IO_TRY, QKV_IO_WAIT, QKV_IO_RELEASE };

/* As the system calls of these names: -1 with errno on failure.
 *   open   flags of open(2); always close-on-exec; a new file gets 0666 & ~umask; /dev/fd/N and the
 *          like, to be written, are the descriptor N itself
 *   size   of a regular file; EISDIR: it is a directory; ESPIPE: something else
 *   lock   the whole file, exclusively, without waiting; EWOULDBLOCK: somebody else has it
 *   claim  one byte of a file that is open for writing (it need not be there): exclusively, among all who
 *          opened the file; what a dead process had claimed is free. QKV_IO_TRY: EAGAIN or EACCES if
 *          somebody else has it. NULL in a table: there is nobody else
 *   unlink a directory, too, if it is empty
 *   list   without "." and ".."
 *   target one of the above; `to`: the path behind all symbolic links. -1: nobody may write there. NULL
 *          in a table: all is plain */
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
    int (*list)(void *ctx, const char *dir, qkv_io_name_fn *each, void *each_ctx);
    int (*target)(void *ctx, const char *path, char to[QKV_IO_PATH]);
    int (*claim)(void *ctx, int fd, uint64_t byte, int how);
    void *ctx;
} qkv_io;

extern const qkv_io qkv_io_posix;  // the system itself; a NULL qkv_io means this one, everywhere

static inline const qkv_io *qkv_io_of(const qkv_io *io) { return io ? io : &qkv_io_posix; }

/* How tasks read files: whole, up to 4 GiB. */
extern const data_files qkv_io_data;

/* What became of something that leaves a sentence if it fails. */
typedef enum {
    QKV_IO_OK,
    QKV_IO_FAILED,      // the system refused, or memory is out (exit 1)
    QKV_IO_ABSENT,      // there is no such file (exit 1)
    QKV_IO_USAGE,       // what was asked for does not go together (exit 2)
    QKV_IO_DAMAGED,     // a file's content is not what it should be (exit 3)
    QKV_IO_DIVERGED,    // a number is not finite; the last checkpoint is good (exit 4)
    QKV_IO_NO_GNUPLOT,  // script and data are written, to be drawn elsewhere (exit 6)
    QKV_IO_SKIPPED,     // the run has not what the picture shows
    QKV_IO_STOPPED      // asked to stop; the state is saved
} qkv_io_status;

/* ---- the clock ---- */

double qkv_io_clock(clockid_t clock);  // a clock's reading in seconds
double qkv_io_seconds(void);           // of the one that nobody sets

/* Seconds since it was started; a clock that jumps back, as in a machine that is moved, adds none. */
typedef struct {
    double last, sum;
} qkv_io_watch;
qkv_io_watch qkv_io_watch_start(void);
double qkv_io_watch_read(qkv_io_watch *w);

/* ---- names and messages ---- */

/* "dir/name" into out; false with a sentence when it is too long. */
bool qkv_io_path(char out[QKV_IO_PATH], const char *dir, const char *name, char *error);

/* Text for a message: what is no printable UTF-8 becomes '?', a long text keeps its end after
 * "...". Returns out, of `size` bytes. */
char *qkv_io_printable(const char *text, char *out, size_t size);

/* Bytes of the UTF-8 character at s (which ends in 0) if it is well-formed and shows as a
 * character; else 0. Not shown: controls, line separators,
 * and what reverses the direction of writing. */
size_t qkv_io_character(const char *s);

/* Moves *text behind a byte order mark, which some editors write at the beginning of a file. NULL, or
 * what is wrong with the whole text: it is empty, or encoded as UTF-16. */
const char *qkv_io_begin_text(const char **text, size_t *n);

/* A text in so many columns of a terminal, filled up with blanks at its right (columns < 0: at its left);
 * what is longer ends in an ellipsis. `size` should be 4 bytes a column. Returns out. */
char *qkv_io_fit(const char *text, int columns, char *out, size_t size);

/* error = "cannot DOING 'PATH': <the system's words for errno_value>". */
void qkv_io_error(char *error, const char *doing, const char *path, int errno_value);

/* ---- whole files ---- */

/* Replaces the file at `path` by n bytes, or leaves it as it was: a temporary file in the same
 * directory, fsync, rename, fsync of the directory. True means that all of this was done. On false
 * no temporary file is left (unless removing it failed, too), and `path` has its old or, when only
 * the last close or fsync failed, its new content, each of them whole.
 *
 * Symbolic links are followed: they stay, and the file behind them is replaced. A pipe, a device or an
 * open descriptor (/dev/stdout) is written to as it is. A directory, and a file that is read-only, are
 * refused. Every file that the library writes as a whole is written by this function. */
bool qkv_io_write_file(const qkv_io *io, const char *path, const void *data, size_t n, char *error);

/* The same for a file that a user names: one with other names (hard links) is written in its place, so
 * that they show the new content, too; and what killed processes left beside it is removed. *device (may
 * be NULL): the bytes went into a pipe or a device, standard output perhaps. */
bool qkv_io_write_output(const qkv_io *io, const char *path, const void *data, size_t n,
                         bool *device, char *error);

/* Is `name` one that qkv_io_write_file() gives to temporary files? A killed process leaves such a
 * file behind. Its writer holds a lock on it while it lives, so qkv_io_sweep() removes from a directory
 * those that nobody holds; the errno of the first that cannot be removed, else 0. */
bool qkv_io_is_temporary(const char *name);
int qkv_io_sweep(const qkv_io *io, const char *dir);

/* Reads a regular file of at most `most` bytes (a longer one is damaged). *data has n bytes and a 0
 * after them, and is released by the caller through mem->release (mem NULL: tensor_malloc). On
 * failure *data is NULL. */
qkv_io_status qkv_io_read_file(const qkv_io *io, const tensor_allocator *mem, const char *path,
                               size_t most, void **data, size_t *n, char *error);

/* Makes a directory and the missing ones above it; one that exists is fine, and is swept. */
bool qkv_io_make_directory(const qkv_io *io, const char *path, char *error);

/* ---- rows appended to a file ---- */

/* A file that grows by whole rows. What a failed write left of a row is cut off again, at once or
 * before the next row. */
typedef struct {
    const qkv_io *io;
    const char *path;  // the caller's, must stay
    int fd;
    uint64_t size;  // of the whole rows
    bool torn;      // there may be a part of a row after them
    long errors;    // failed calls so far
} qkv_io_appender;

/* Opens `path`, creating it, and keeps its first `keep` bytes (UINT64_MAX: all). */
bool qkv_io_append_open(qkv_io_appender *a, const qkv_io *io, const char *path, uint64_t keep,
                        char *error);

/* Appends a row, newline included; false: it is not in the file. */
bool qkv_io_append(qkv_io_appender *a, const void *row, size_t n, char *error);

bool qkv_io_append_sync(qkv_io_appender *a, char *error);   // what was appended is on the disk
bool qkv_io_append_close(qkv_io_appender *a, char *error);  // syncs, and closes in any case

/* ---- parts of the above, for other readers and writers ---- */

/* The same with all that may come in between: signals and short counts. -1 or false with errno.
 * What was read is fewer than n bytes only where the file ends. */
int qkv_io_open(const qkv_io *io, const char *path, int flags);
int qkv_io_sync(const qkv_io *io, int fd);
int qkv_io_close(const qkv_io *io, int fd);
bool qkv_io_write_all(const qkv_io *io, int fd, const void *data, size_t n);
ssize_t qkv_io_read_up_to(const qkv_io *io, int fd, void *to, size_t n);

/* Opens a regular file to be read. */
qkv_io_status qkv_io_open_file(const qkv_io *io, const char *path, int *fd, uint64_t *size,
                               char *error);

TENSOR_C_END
