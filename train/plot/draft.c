/* draft.c - the private directory in which a picture is made. */
#include "train/plot/draft.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRAFT ".drawing-"
enum { DIRECTORY = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW };

static qkv_io_status failed(char *why, const char *doing, const char *path) {
    qkv_io_error(why, doing, path, errno);
    return QKV_IO_FAILED;
}

/* A second reader of a directory that is open already; NULL if it cannot be read. */
static DIR *entries(int fd) {
    int again = openat(fd, ".", DIRECTORY);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    if (!dir && again >= 0) close(again);
    return dir;
}

/* A draft holds files only. */
static void empty(int fd) {
    DIR *dir = entries(fd);
    for (struct dirent *e; dir && (e = readdir(dir));) unlinkat(fd, e->d_name, 0);
    if (dir) closedir(dir);
}

/* Removes the drafts of processes that were killed: a living one holds the lock on its own. */
static void remove_stale(int plots) {
    DIR *dir = entries(plots);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (strncmp(e->d_name, DRAFT, strlen(DRAFT)) != 0) continue;
        int fd = openat(plots, e->d_name, DIRECTORY);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            empty(fd);
            unlinkat(plots, e->d_name, AT_REMOVEDIR);
        }
        if (fd >= 0) close(fd);
    }
    if (dir) closedir(dir);
}

/* While a draft is made, and not yet locked, the lock of the pictures' directory keeps others from
 * removing it. A file system without locks: nothing is removed. */
qkv_io_status qkv_plot_draft_open(qkv_plot_draft *d, const char *dir, char *why) {
    *d = (qkv_plot_draft){.plots = -1, .fd = -1};
    if (mkdir(dir, 0777) && errno != EEXIST) return failed(why, "make the directory", dir);
    d->plots = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->plots < 0) return failed(why, "open the directory", dir);
    if (!qkv_io_path(d->path, dir, DRAFT "XXXXXX", why)) return *d->path = '\0', QKV_IO_FAILED;
    if (flock(d->plots, LOCK_EX) == 0) remove_stale(d->plots);
    if (mkdtemp(d->path))
        d->fd = open(d->path, DIRECTORY);
    else
        *d->path = '\0';
    int reason = errno;
    if (d->fd >= 0) flock(d->fd, LOCK_EX | LOCK_NB);
    flock(d->plots, LOCK_UN);
    errno = reason;
    return d->fd < 0 ? failed(why, "write in the directory", dir) : QKV_IO_OK;
}

void qkv_plot_draft_close(qkv_plot_draft *d) {
    if (d->fd >= 0) empty(d->fd);
    if (*d->path) rmdir(d->path);
    if (d->fd >= 0) close(d->fd);
    if (d->plots >= 0) close(d->plots);
    *d = (qkv_plot_draft){.plots = -1, .fd = -1};
}

static qkv_io_status append(const qkv_plot_draft *d, const char *name, int flags, const char *text,
                            size_t n, char *why) {
    const qkv_io *io = &qkv_io_posix;
    char path[QKV_IO_PATH];
    if (!qkv_io_path(path, d->path, name, why)) return QKV_IO_FAILED;
    int fd = qkv_io_open(io, path, O_WRONLY | flags);
    bool ok = fd >= 0 && qkv_io_write_all(io, fd, text, n);
    int reason = errno;
    if (fd >= 0 && qkv_io_close(io, fd) && ok) ok = false, reason = errno;
    errno = reason;
    return ok ? QKV_IO_OK : failed(why, "write", path);
}

qkv_io_status qkv_plot_draft_write(qkv_plot_draft *d, const char *name, const qkv_io_text *text,
                                   char *why) {
    if (text->failed) return qkv_io_fail(why, "out of memory"), QKV_IO_FAILED;
    return append(d, name, O_CREAT | O_EXCL, text->at, text->n, why);
}

qkv_io_status qkv_plot_draft_end_line(qkv_plot_draft *d, const char *name, char *why) {
    return append(d, name, O_APPEND, "\n", 1, why);
}

bool qkv_plot_draft_has(const qkv_plot_draft *d, const char *name) {
    return faccessat(d->fd, name, F_OK, 0) == 0;
}

/* Is there an older file of this name, with other bytes in it? */
static bool differs(const qkv_plot_draft *d, const char *name) {
    char old_path[QKV_IO_PATH], new_path[QKV_IO_PATH], ignored[QKV_IO_ERROR];
    void *old = NULL, *new = NULL;
    size_t old_size, new_size;
    enum { MOST = 1 << 24 };
    snprintf(old_path, sizeof old_path, "%.*s/%s", (int)(strrchr(d->path, '/') - d->path), d->path,
             name);
    bool both = qkv_io_path(new_path, d->path, name, ignored) &&
                qkv_io_read_file(&qkv_io_posix, NULL, old_path, MOST, &old, &old_size, ignored) ==
                    QKV_IO_OK &&
                qkv_io_read_file(&qkv_io_posix, NULL, new_path, MOST, &new, &new_size, ignored) ==
                    QKV_IO_OK;
    bool different = both && (old_size != new_size || memcmp(old, new, old_size) != 0);
    if (old) tensor_malloc.release(NULL, old);
    if (new) tensor_malloc.release(NULL, new);
    return different;
}

/* A file of the draft into a place that is not a plain file's: through a link, or into a device. */
static qkv_io_status copy(const qkv_plot_draft *d, const char *name, const char *place, char *why) {
    char path[QKV_IO_PATH];
    void *bytes;
    size_t n;
    if (!qkv_io_path(path, d->path, name, why) ||
        qkv_io_read_file(&qkv_io_posix, NULL, path, SIZE_MAX / 4, &bytes, &n, why) != QKV_IO_OK)
        return QKV_IO_FAILED;
    bool ok = qkv_io_write_file(&qkv_io_posix, place, bytes, n, why);
    tensor_malloc.release(NULL, bytes);
    return ok ? QKV_IO_OK : QKV_IO_FAILED;
}

qkv_io_status qkv_plot_draft_keep(qkv_plot_draft *d, const char *name, bool backup, char *why) {
    char kept[64], place[QKV_IO_PATH], to[QKV_IO_PATH];
    snprintf(kept, sizeof kept, "%s~", name);
    snprintf(place, sizeof place, "%.*s/%s", (int)(strrchr(d->path, '/') - d->path), d->path, name);
    const int target = qkv_io_posix.target(qkv_io_posix.ctx, place, to);
    if (target < 0) return failed(why, "replace", place);
    if (target == QKV_IO_DEVICE || strcmp(place, to) != 0) return copy(d, name, place, why);
    if (backup && differs(d, name) && renameat(d->plots, name, d->plots, kept))
        return failed(why, "keep an edited", name);
    if (renameat(d->fd, name, d->plots, name)) return failed(why, "replace", name);
    return QKV_IO_OK;
}
