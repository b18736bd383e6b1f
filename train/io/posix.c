/* posix.c - the table of file calls as the system makes them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/io/io.h"

static int posix_open(void *ctx, const char *path, int flags) {
    (void)ctx;
    return open(path, flags | O_CLOEXEC, 0666);
}

static ssize_t posix_read(void *ctx, int fd, void *to, size_t n) {
    (void)ctx;
    return read(fd, to, n);
}

static ssize_t posix_write(void *ctx, int fd, const void *from, size_t n) {
    (void)ctx;
    return write(fd, from, n);
}

static int posix_size(void *ctx, int fd, uint64_t *bytes) {
    struct stat s;
    (void)ctx;
    if (fstat(fd, &s)) return -1;
    if (!S_ISREG(s.st_mode)) return errno = S_ISDIR(s.st_mode) ? EISDIR : ESPIPE, -1;
    *bytes = (uint64_t)s.st_size;
    return 0;
}

static int posix_truncate(void *ctx, int fd, uint64_t bytes) {
    (void)ctx;
    return ftruncate(fd, (off_t)bytes);
}

static int posix_sync(void *ctx, int fd) {
    (void)ctx;
    return fsync(fd);
}

static int posix_close(void *ctx, int fd) {
    (void)ctx;
    return close(fd);
}

static int posix_rename(void *ctx, const char *from, const char *to) {
    (void)ctx;
    return rename(from, to);
}

static int posix_unlink(void *ctx, const char *path) {
    (void)ctx;
    return unlink(path);
}

static int posix_mkdir(void *ctx, const char *path) {
    (void)ctx;
    return mkdir(path, 0777);
}

static int posix_lock(void *ctx, int fd) {
    (void)ctx;
    return flock(fd, LOCK_EX | LOCK_NB);
}

static int posix_list(void *ctx, const char *path, qkv_io_name_fn *each, void *each_ctx) {
    (void)ctx;
    DIR *dir = opendir(path);  // close-on-exec by itself
    if (!dir) return -1;
    bool more = true;
    for (struct dirent *e; errno = 0, more && (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) more = each(each_ctx, e->d_name);
    int why = errno;  // 0 at the end of the directory
    closedir(dir);
    return errno = why, why ? -1 : 0;
}

const qkv_io qkv_io_posix = {posix_open, posix_read,  posix_write,  posix_size,   posix_truncate,
                             posix_sync, posix_close, posix_rename, posix_unlink, posix_mkdir,
                             posix_lock, posix_list,  NULL};
