/* faults.c - file calls which fail on demand. */
#define _XOPEN_SOURCE 700  // nftw

#include "tests/lib/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Counts a call; true when it is to fail. */
static bool fails(void *ctx, char letter) {
    faults *f = ctx;
    size_t n = strlen(f->trace);
    if (n + 1 < sizeof f->trace) f->trace[n] = letter;
    f->calls++;
    if (!f->fail_at || (f->from_then_on ? f->calls < f->fail_at : f->calls != f->fail_at))
        return false;
    bool moves = letter == 'R' || letter == 'W';
    if (f->how < 0 && (!moves || (f->how == FAULT_FULL && letter == 'R'))) return false;
    if (!f->failed++) f->failed_call = letter;
    if (f->how > 0) errno = f->how;
    return true;
}

/* The bytes which a failing read or write moves; -1: none, and the call fails. */
static ssize_t moved(faults *f, size_t n) {
    if (f->how == FAULT_ZERO) return 0;
    if (f->how == FAULT_SHORT || (f->how == FAULT_FULL && f->failed == 1)) return n > 0;
    if (f->how == FAULT_FULL) errno = ENOSPC;
    return -1;
}

static int open_or_fail(void *ctx, const char *path, int flags) {
    return fails(ctx, 'O') ? -1 : qkv_io_posix.open(NULL, path, flags);
}

static ssize_t read_or_fail(void *ctx, int fd, void *to, size_t n) {
    if (!fails(ctx, 'R')) return qkv_io_posix.read(NULL, fd, to, n);
    ssize_t k = moved(ctx, n);
    return k > 0 ? qkv_io_posix.read(NULL, fd, to, (size_t)k) : k;
}

static ssize_t write_or_fail(void *ctx, int fd, const void *from, size_t n) {
    if (!fails(ctx, 'W')) return qkv_io_posix.write(NULL, fd, from, n);
    ssize_t k = moved(ctx, n);
    return k > 0 ? qkv_io_posix.write(NULL, fd, from, (size_t)k) : k;
}

static int size_or_fail(void *ctx, int fd, uint64_t *bytes) {
    return fails(ctx, 'Z') ? -1 : qkv_io_posix.size(NULL, fd, bytes);
}

static int truncate_or_fail(void *ctx, int fd, uint64_t bytes) {
    return fails(ctx, 'T') ? -1 : qkv_io_posix.truncate(NULL, fd, bytes);
}

static int sync_or_fail(void *ctx, int fd) {
    (void)fd;
    return fails(ctx, 'S') ? -1 : 0;
}

/* A failing close has closed, as on Linux. */
static int close_or_fail(void *ctx, int fd) {
    int r = qkv_io_posix.close(NULL, fd);
    return fails(ctx, 'C') ? -1 : r;
}

static int rename_or_fail(void *ctx, const char *from, const char *to) {
    faults *f = ctx;
    if (fails(ctx, 'N')) return -1;
    f->renamed = true;
    return qkv_io_posix.rename(NULL, from, to);
}

static int unlink_or_fail(void *ctx, const char *path) {
    faults *f = ctx;
    if (fails(ctx, 'U')) return f->unlink_failed = true, -1;
    return qkv_io_posix.unlink(NULL, path);
}

static int mkdir_or_fail(void *ctx, const char *path) {
    return fails(ctx, 'M') ? -1 : qkv_io_posix.mkdir(NULL, path);
}
static int lock_or_fail(void *ctx, int fd) {
    return fails(ctx, 'K') ? -1 : qkv_io_posix.lock(NULL, fd);
}

/* A failing list has come to its end before it fails. */
static int list_or_fail(void *ctx, const char *dir, qkv_io_name_fn *each, void *each_ctx) {
    int r = qkv_io_posix.list(NULL, dir, each, each_ctx);
    return fails(ctx, 'L') ? -1 : r;
}

void faults_init(faults *f, int how, long fail_at, bool from_then_on) {
    *f = (faults){.io = {open_or_fail, read_or_fail, write_or_fail, size_or_fail, truncate_or_fail,
                         sync_or_fail, close_or_fail, rename_or_fail, unlink_or_fail, mkdir_or_fail,
                         lock_or_fail, list_or_fail, qkv_io_posix.target, f},
                  .how = how,
                  .fail_at = fail_at,
                  .from_then_on = from_then_on};
}

static bool remove_temporary(void *ctx, const char *name) {
    (void)ctx;
    return !qkv_io_is_temporary(name) || unlink(name) == 0;
}

void faults_each(void (*scenario)(faults *f, void *ctx), void (*reset)(void *ctx), void *ctx) {
    static const int ways[] = {EIO, ENOSPC, EINTR, FAULT_SHORT, FAULT_ZERO, FAULT_FULL};
    int before = faults_descriptors();
    faults f;
    faults_init(&f, 0, 0, false);
    if (reset) reset(ctx);
    scenario(&f, ctx);
    long calls = f.calls;
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (long n = 1; n <= calls; n++)
            for (int from_then_on = 0; from_then_on <= 1; from_then_on++) {
                faults_init(&f, ways[way], n, from_then_on);
                qkv_io_posix.list(NULL, ".", remove_temporary,
                                  NULL);  // left where removing was made to fail
                if (reset) reset(ctx);
                scenario(&f, ctx);
                int left = faults_count(".", true);
                if (faults_descriptors() != before || (left && !f.unlink_failed))
                    fail_msg("way %d, call %ld (%s): %d descriptors, %d temporary files left",
                             ways[way], n, f.trace, faults_descriptors() - before, left);
            }
}

/* ---- directories and files ---- */

int faults_enter(void **state) {
    const char *base = getenv("TMPDIR");
    char *dir = malloc(4096);
    if (!dir) return -1;
    snprintf(dir, 4096, "%s/qkv-test-XXXXXX", base && *base ? base : "/tmp");
    *state = dir;
    return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *where) {
    (void)s, (void)kind, (void)where;
    return remove(path);
}

int faults_leave(void **state) {
    int r = chdir("/") == 0 ? nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS) : -1;
    free(*state);
    return r;
}

void faults_put(const char *path, const void *data, size_t n) {
    unlink(path);  // some file systems write at once what was cut to nothing and written again
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

void faults_expect(const char *path, const void *data, size_t n) {
    void *is;
    size_t size;
    char error[1024];
    if (qkv_io_read_file(&qkv_io_posix, NULL, path, SIZE_MAX, &is, &size, error) != QKV_IO_OK)
        fail_msg("%s", error);
    if (size != n || memcmp(is, data, n) != 0)
        fail_msg("'%s' has %zu bytes, not those expected", path, size);
    tensor_malloc.release(NULL, is);
}

typedef struct {
    bool only_temporary;
    int n;
} counter;

static bool count_one(void *ctx, const char *name) {
    counter *c = ctx;
    c->n += !c->only_temporary || qkv_io_is_temporary(name);
    return true;
}

int faults_count(const char *dir, bool only_temporary) {
    counter c = {only_temporary, 0};
    assert_int_equal(qkv_io_posix.list(NULL, dir, count_one, &c), 0);
    return c.n;
}

int faults_descriptors(void) { return faults_count("/proc/self/fd", false); }
