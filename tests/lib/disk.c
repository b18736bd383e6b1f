/* disk.c - files, names, a log of what was done to them, and what a power loss leaves of it. */
#include "tests/lib/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FD = 64, ABSENT = -1, DIRECTORY = -2 };

typedef struct {
    unsigned char *bytes;
    size_t n, room;
} content;

typedef struct {
    char *path;
    int file;  // index, ABSENT or DIRECTORY
} name;

typedef enum { NAME, WRITE, LENGTH, SYNC_FILE, SYNC_NAMES, SYNC_FAILED, PROMISE } event;

/* What happened. NAME: name `what` is now file `to`. WRITE: n bytes at `at` of file `what`. LENGTH:
 * it has n bytes. SYNC_NAMES: of the directory with name `what`. SYNC_FAILED: of file `what`. */
typedef struct {
    event kind;
    int what, to;
    size_t at, n;
    unsigned char *bytes;
    long durable;  // from this entry of the log on it cannot be lost
} entry;

struct disk {
    content *file;
    int n_files;
    name *name;
    int n_names;
    entry *log;
    long n_log;
    struct {
        bool open, append;
        int file, dir;  // dir: index of a name, or -1
        size_t at;
    } fd[MAX_FD];
    int fail_sync;
};

static void *more(void *p, size_t n, size_t size) {
    p = realloc(p, n * size);
    if (!p) abort();
    return p;
}

/* ---- names ---- */

static const char *plain(const char *path) {
    while (strncmp(path, "./", 2) == 0) path += 2;
    return path;
}

/* The index of a name, new ones ABSENT. A slash at the end goes; the current directory is "". */
static int name_of(disk *d, const char *path) {
    path = plain(path);
    size_t n = strlen(path);
    while (n && path[n - 1] == '/') n--;
    if (n == 1 && path[0] == '.') n = 0;
    for (int i = 0; i < d->n_names; i++)
        if (strlen(d->name[i].path) == n && memcmp(d->name[i].path, path, n) == 0) return i;
    d->name = more(d->name, (size_t)d->n_names + 1, sizeof *d->name);
    char *copy = more(NULL, n + 1, 1);
    memcpy(copy, path, n);
    copy[n] = '\0';
    d->name[d->n_names] = (name){copy, ABSENT};
    return d->n_names++;
}

static int parent_of(disk *d, int i) {
    char dir[QKV_IO_PATH];
    const char *slash = strrchr(d->name[i].path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - d->name[i].path) : 0, d->name[i].path);
    return name_of(d, dir);
}

/* ---- the log ---- */

static entry *add(disk *d, event kind, int what) {
    d->log = more(d->log, (size_t)d->n_log + 1, sizeof *d->log);
    entry *e = &d->log[d->n_log++];
    *e = (entry){.kind = kind, .what = what, .durable = LONG_MAX};
    return e;
}

/* What is durable by the sync that was logged last: back to a failed one of the same file. */
static void make_durable(disk *d) {
    const entry sync = d->log[d->n_log - 1];
    for (long i = d->n_log - 2; i >= 0; i--) {
        entry *e = &d->log[i];
        bool data = sync.kind == SYNC_FILE && e->what == sync.what;
        if (data && e->kind == SYNC_FAILED) return;
        bool covered =
            data ? e->kind == WRITE || e->kind == LENGTH
                 : sync.kind == SYNC_NAMES && e->kind == NAME && parent_of(d, e->what) == sync.what;
        if (covered && e->durable == LONG_MAX) e->durable = d->n_log;
    }
}

static void set_name(disk *d, int i, int file) {
    d->name[i].file = file;
    add(d, NAME, i)->to = file;
}

static void resize(content *c, size_t n) {
    if (n > c->room) c->bytes = more(c->bytes, c->room = 2 * n, 1);
    if (n > c->n) memset(c->bytes + c->n, 0, n - c->n);
    c->n = n;
}

static void set_length(disk *d, int file, size_t n) {
    resize(&d->file[file], n);
    add(d, LENGTH, file)->n = n;
}

/* ---- the calls ---- */

static int new_file(disk *d) {
    d->file = more(d->file, (size_t)d->n_files + 1, sizeof *d->file);
    d->file[d->n_files] = (content){NULL, 0, 0};
    return d->n_files++;
}

static int say(int why) { return errno = why, -1; }

static int disk_open(void *ctx, const char *path, int flags) {
    disk *d = ctx;
    int fd = 0, i = name_of(d, path), dir = parent_of(d, i);
    while (fd < MAX_FD && d->fd[fd].open) fd++;
    if (fd == MAX_FD) return say(EMFILE);
    if (d->name[dir].file != DIRECTORY) return say(ENOENT);
    int file = d->name[i].file;
    if (file == ABSENT && !(flags & O_CREAT)) return say(ENOENT);
    if (file != ABSENT && (flags & O_CREAT) && (flags & O_EXCL)) return say(EEXIST);
    if (file != DIRECTORY && (flags & O_DIRECTORY)) return say(ENOTDIR);
    if (file == ABSENT) set_name(d, i, file = new_file(d));
    if ((flags & O_TRUNC) && file >= 0 && d->file[file].n) set_length(d, file, 0);
    d->fd[fd].open = true;
    d->fd[fd].append = flags & O_APPEND;
    d->fd[fd].file = file;
    d->fd[fd].dir = file == DIRECTORY ? i : -1;
    d->fd[fd].at = 0;
    return fd;
}

static ssize_t disk_read(void *ctx, int fd, void *to, size_t n) {
    disk *d = ctx;
    const content *c = &d->file[d->fd[fd].file];
    size_t at = d->fd[fd].at, left = at < c->n ? c->n - at : 0;
    if (n > left) n = left;
    if (n) memcpy(to, c->bytes + at, n);
    d->fd[fd].at += n;
    return (ssize_t)n;
}

static ssize_t disk_write(void *ctx, int fd, const void *from, size_t n) {
    disk *d = ctx;
    int file = d->fd[fd].file;
    content *c = &d->file[file];
    size_t at = d->fd[fd].append ? c->n : d->fd[fd].at;
    if (at + n > c->n) resize(c, at + n);
    memcpy(c->bytes + at, from, n);
    d->fd[fd].at = at + n;
    entry *e = add(d, WRITE, file);
    e->at = at;
    e->n = n;
    e->bytes = more(NULL, n + 1, 1);
    memcpy(e->bytes, from, n);
    return (ssize_t)n;
}

static int disk_size(void *ctx, int fd, uint64_t *bytes) {
    const disk *d = ctx;
    if (d->fd[fd].file == DIRECTORY) return say(EISDIR);
    *bytes = d->file[d->fd[fd].file].n;
    return 0;
}

static int disk_truncate(void *ctx, int fd, uint64_t bytes) {
    disk *d = ctx;
    return set_length(d, d->fd[fd].file, (size_t)bytes), 0;
}

static int disk_sync(void *ctx, int fd) {
    disk *d = ctx;
    bool names = d->fd[fd].dir >= 0;
    if (d->fail_sync && --d->fail_sync == 0) {
        if (!names) add(d, SYNC_FAILED, d->fd[fd].file);
        return say(EIO);
    }
    add(d, names ? SYNC_NAMES : SYNC_FILE, names ? d->fd[fd].dir : d->fd[fd].file);
    make_durable(d);
    return 0;
}

static int disk_close(void *ctx, int fd) { return ((disk *)ctx)->fd[fd].open = false, 0; }

static int disk_rename(void *ctx, const char *from, const char *to) {
    disk *d = ctx;
    int i = name_of(d, from), k = name_of(d, to);
    if (d->name[i].file == ABSENT) return say(ENOENT);
    set_name(d, k, d->name[i].file);
    set_name(d, i, ABSENT);
    return 0;
}

static int disk_unlink(void *ctx, const char *path) {
    disk *d = ctx;
    int i = name_of(d, path);
    if (d->name[i].file < 0) return say(d->name[i].file == ABSENT ? ENOENT : EISDIR);
    return set_name(d, i, ABSENT), 0;
}

static int disk_mkdir(void *ctx, const char *path) {
    disk *d = ctx;
    int i = name_of(d, path), dir = parent_of(d, i);
    if (d->name[dir].file != DIRECTORY) return say(ENOENT);
    if (d->name[i].file != ABSENT) return say(EEXIST);
    return set_name(d, i, DIRECTORY), 0;
}

static int disk_lock(void *ctx, int fd) { return (void)ctx, (void)fd, 0; }

static int disk_list(void *ctx, const char *path, qkv_io_name_fn *each, void *each_ctx) {
    disk *d = ctx;
    int dir = name_of(d, path);
    if (d->name[dir].file == ABSENT) return say(ENOENT);
    if (d->name[dir].file != DIRECTORY) return say(ENOTDIR);
    for (int i = 0; i < d->n_names; i++) {
        if (d->name[i].file == ABSENT || i == dir || parent_of(d, i) != dir) continue;
        const char *slash = strrchr(d->name[i].path, '/');
        if (!each(each_ctx, slash ? slash + 1 : d->name[i].path)) break;
    }
    return 0;
}

qkv_io disk_io(disk *d) {
    return (qkv_io){
        disk_open,   disk_read,   disk_write, disk_size, disk_truncate, disk_sync, disk_close,
        disk_rename, disk_unlink, disk_mkdir, disk_lock, disk_list,     NULL,      d};
}

/* ---- the rest ---- */

disk *disk_new(void) {
    disk *d = more(NULL, 1, sizeof *d);
    *d = (disk){0};
    int here = name_of(d, "");  // moves the names
    d->name[here].file = DIRECTORY;
    return d;
}

void disk_free(disk *d) {
    for (int i = 0; i < d->n_files; i++) free(d->file[i].bytes);
    for (int i = 0; i < d->n_names; i++) free(d->name[i].path);
    for (long i = 0; i < d->n_log; i++) free(d->log[i].bytes);
    free(d->file);
    free(d->name);
    free(d->log);
    free(d);
}

void disk_fail_sync(disk *d, int n) { d->fail_sync = n; }
bool disk_is_directory(const disk *d, int fd) { return d->fd[fd].dir >= 0; }
void disk_promise(disk *d, int value) { add(d, PROMISE, value); }
long disk_log(const disk *d) { return d->n_log; }

int disk_promised(const disk *d, long at) {
    while (at-- > 0)
        if (d->log[at].kind == PROMISE) return d->log[at].what;
    return 0;
}

const unsigned char *disk_content(const disk *d, const char *path, size_t *n) {
    path = plain(path);
    for (int i = 0; i < d->n_names; i++) {
        if (d->name[i].file < 0 || strcmp(d->name[i].path, path) != 0) continue;
        const content *c = &d->file[d->name[i].file];
        return *n = c->n, c->n ? c->bytes : (const unsigned char *)"";
    }
    return NULL;
}

static uint64_t sum_of(uint64_t sum, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) sum = (sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return (sum ^ n) * 1099511628211u;
}

/* Independent of the order of the names. */
uint64_t disk_sum(const disk *d) {
    uint64_t all = 0;
    for (int i = 0; i < d->n_names; i++) {
        if (d->name[i].file == ABSENT) continue;
        uint64_t sum = sum_of(14695981039346656037u, d->name[i].path, strlen(d->name[i].path));
        if (d->name[i].file >= 0)
            sum = sum_of(sum, d->file[d->name[i].file].bytes, d->file[d->name[i].file].n);
        all += sum ^ sum >> 29;
    }
    return all;
}

/* ---- power loss ---- */

/* splitmix64 */
static uint64_t next(uint64_t *random) {
    uint64_t x = *random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

double disk_uniform(uint64_t *random) { return (double)(next(random) >> 11) * 0x1p-53; }
uint32_t disk_below(uint64_t *random, uint32_t n) {
    return (uint32_t)((next(random) >> 32) * n >> 32);
}

/* A write of which each block that cannot be lost, or is lucky, arrives. */
static void arrive(content *c, const entry *e, bool durable, double chance, uint64_t *random) {
    for (size_t from = e->at, end = e->at + e->n; from < end;) {
        size_t to = (from / DISK_BLOCK + 1) * DISK_BLOCK;
        if (to > end) to = end;
        if (durable || disk_uniform(random) < chance)
            memcpy(c->bytes + from, e->bytes + (from - e->at), to - from);
        from = to;
    }
}

static void lose_from_file(disk *to, const disk *d, int file, long at, disk_luck luck,
                           uint64_t *random) {
    content *c = &to->file[file];
    size_t most = 0, length = 0;
    for (long i = 0; i < at; i++)
        if (d->log[i].kind == WRITE && d->log[i].what == file && d->log[i].at + d->log[i].n > most)
            most = d->log[i].at + d->log[i].n;
    resize(c, most);
    if (most) memset(c->bytes, luck.rubbish ? 0xa5 : 0, most);
    for (long i = 0; i < at; i++) {
        const entry *e = &d->log[i];
        if ((e->kind != WRITE && e->kind != LENGTH) || e->what != file) continue;
        bool durable = e->durable <= at, longer = e->kind == WRITE && e->at + e->n > length;
        if (e->kind == WRITE) arrive(c, e, durable, luck.data, random);
        if ((e->kind == LENGTH || longer) && (durable || disk_uniform(random) < luck.size))
            length = e->kind == LENGTH ? e->n : e->at + e->n;
        if (e->kind == LENGTH && length == e->n && most > e->n)
            memset(c->bytes + e->n, luck.rubbish ? 0xa5 : 0, most - e->n);
    }
    resize(c, length);
}

disk *disk_after_power_loss(const disk *d, long at, disk_luck luck, uint64_t *random) {
    disk *to = disk_new();
    for (int i = 0; i < d->n_files; i++) new_file(to);
    for (int i = 0; i < d->n_files; i++) lose_from_file(to, d, i, at, luck, random);
    for (int i = 0; i < d->n_names; i++) name_of(to, d->name[i].path);  // the same indices
    for (long i = 0; i < at; i++) {
        const entry *e = &d->log[i];
        if (e->kind == NAME && (e->durable <= at || disk_uniform(random) < luck.names))
            to->name[e->what].file = e->to;
    }
    for (int i = 0; i < to->n_names; i++) {  // what stands in a lost directory is lost
        int dir = parent_of(to, i);
        if (to->name[i].file != ABSENT && to->name[dir].file != DIRECTORY)
            to->name[i].file = ABSENT;
    }
    return to;
}
