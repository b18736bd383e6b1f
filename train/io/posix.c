/* posix.c - the table of file calls as the system makes them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // F_OFD_SETLK
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/io/io.h"

/* The number of the descriptor that a path names, or -1. Opening the path anew would begin at the start
 * of a file that others write to, and fails for a socket. */
static int descriptor(const char *path) {
    static const char *const places[] = {"/proc/self/fd/", "/dev/fd/"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t n = strlen(places[i]);
        if (strncmp(path, places[i], n) != 0) continue;
        size_t digits = strspn(path + n, "0123456789");
        if (digits && digits < 7 && !path[n + digits]) return atoi(path + n);
    }
    return -1;
}

static int posix_open(void *ctx, const char *path, int flags) {
    (void)ctx;
    int fd = (flags & O_ACCMODE) == O_WRONLY ? descriptor(path) : -1;
    if (fd >= 0) return fcntl(fd, F_DUPFD_CLOEXEC, 0);
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
    return remove(path);
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

/* `to` is a symbolic link: it becomes what stands in it. */
static int follow(char to[QKV_IO_PATH]) {
    char link[QKV_IO_PATH];
    ssize_t n = readlink(to, link, sizeof link);
    if (n < 0) return -1;
    const char *slash = *link == '/' ? NULL : strrchr(to, '/');
    size_t above = slash ? (size_t)(slash - to) + 1 : 0;
    if (above + (size_t)n >= QKV_IO_PATH) return errno = ENAMETOOLONG, -1;
    memcpy(to + above, link, (size_t)n);
    to[above + (size_t)n] = '\0';
    return 0;
}

/* What cannot be looked at is for the calls that come after this to say. */
static int posix_target(void *ctx, const char *path, char to[QKV_IO_PATH]) {
    enum { MOST_LINKS = 40 };
    struct stat s;
    (void)ctx;
    if (strlen(path) >= QKV_IO_PATH) return errno = ENAMETOOLONG, -1;
    strcpy(to, path);
    for (int links = 0;; links++) {
        if (descriptor(to) >= 0) return QKV_IO_DEVICE;
        if (lstat(to, &s) != 0) return QKV_IO_PLAIN;
        if (!S_ISLNK(s.st_mode)) break;
        if (links == MOST_LINKS) return errno = ELOOP, -1;
        if (follow(to) != 0) return -1;
    }
    if (S_ISDIR(s.st_mode)) return errno = EISDIR, -1;
    if (!S_ISREG(s.st_mode)) return QKV_IO_DEVICE;
    if (faccessat(AT_FDCWD, to, W_OK, AT_EACCESS) != 0) return -1;
    return s.st_nlink > 1 ? QKV_IO_LINKED : QKV_IO_PLAIN;
}

/* Locks of the open file, not of the process: another descriptor of the same file that is closed frees
 * nothing. The system frees them when a process ends, however it ends. */
static int posix_claim(void *ctx, int fd, uint64_t byte, int how) {
    struct flock l = {.l_type = how == QKV_IO_RELEASE ? F_UNLCK : F_WRLCK,
                      .l_whence = SEEK_SET,
                      .l_start = (off_t)byte,
                      .l_len = 1};
    int got;
    (void)ctx;
    do got = fcntl(fd, how == QKV_IO_WAIT ? F_OFD_SETLKW : F_OFD_SETLK, &l);
    while (got < 0 && errno == EINTR);
    return got;
}

const qkv_io qkv_io_posix = {posix_open, posix_read,  posix_write,  posix_size,   posix_truncate,
                             posix_sync, posix_close, posix_rename, posix_unlink, posix_mkdir,
                             posix_lock, posix_list,  posix_target, posix_claim,  NULL};
