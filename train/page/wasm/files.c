/* files.c - train/io/posix.c and data.c where there are no files: names stand for bytes that the page has
 * lent. They can be read; nothing is written. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/io.h"
#include "train/page/lend.h"

enum { MOST = 8 };
static struct {
    char *name, *bytes;
    size_t n, at;  // at: how far it has been read
} lent[MOST];

static int find(const char *name) {
    for (int i = 0; i < MOST; i++)
        if (lent[i].name && strcmp(lent[i].name, name) == 0) return i;
    return -1;
}

bool qkv_page_lend(const char *name, char *bytes, size_t n) {
    static int oldest;
    int i = find(name);
    if (i < 0 && !bytes) return true;
    if (i < 0) i = oldest++ % MOST;
    free(lent[i].name);
    free(lent[i].bytes);
    lent[i].name = bytes ? strdup(name) : NULL;
    lent[i].bytes = bytes;
    lent[i].n = n;
    return !bytes || lent[i].name;
}

/* ---- as a system ---- */

static int open_lent(void *ctx, const char *path, int flags) {
    const int i = find(path);
    (void)ctx, (void)flags;
    if (i < 0) return errno = ENOENT, -1;
    lent[i].at = 0;
    return i;
}

static int size_of(void *ctx, int fd, uint64_t *bytes) {
    (void)ctx;
    *bytes = lent[fd].n;
    return 0;
}

static ssize_t read_lent(void *ctx, int fd, void *to, size_t n) {
    const size_t left = lent[fd].n - lent[fd].at;
    (void)ctx;
    if (n > left) n = left;
    if (n) memcpy(to, lent[fd].bytes + lent[fd].at, n);
    lent[fd].at += n;
    return (ssize_t)n;
}

static int close_lent(void *ctx, int fd) {
    (void)ctx, (void)fd;
    return 0;
}

const qkv_io qkv_io_posix = {
    .open = open_lent, .size = size_of, .read = read_lent, .close = close_lent};

/* ---- as the files of tasks ---- */

static bool read_bytes(void *ctx, const char *path, char **bytes, size_t *n, char *error,
                       size_t size) {
    const int i = find(path);
    (void)ctx;
    *bytes = i < 0 ? NULL : malloc(lent[i].n + 1);
    *n = *bytes ? lent[i].n : 0;
    if (i < 0)
        snprintf(error, size, "the page has no file '%.100s': put its text into the box", path);
    else if (!*bytes)
        snprintf(error, size, "out of memory");
    else
        memcpy(*bytes, lent[i].bytes, *n), (*bytes)[*n] = '\0';
    return *bytes != NULL;
}

static void release_bytes(void *ctx, char *bytes) {
    (void)ctx;
    free(bytes);
}

const data_files qkv_io_data = {read_bytes, release_bytes, NULL};
