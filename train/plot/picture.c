/* picture.c - is a picture whole? gnuplot's exit code does not tell: with a full disk it is 0. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/plot/gnuplot.h"

enum { TAIL = 64, TEXT_LINES = 20 };

/* The last bytes of the file, without blank ones, into tail. Returns their number, -1 if there is
 * no such file. */
static int last_bytes(int fd, unsigned char *tail) {
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) return -1;
    off_t from = st.st_size > TAIL ? st.st_size - TAIL : 0;
    ssize_t n = pread(fd, tail, TAIL, from);
    while (n > 0 && strchr(" \t\r\n\f", tail[n - 1])) n--;
    return (int)n;
}

static bool ends_with(const unsigned char *tail, int n, const void *end, int length) {
    return n >= length && memcmp(tail + n - length, end, (size_t)length) == 0;
}

static bool has_lines(int fd) {
    char buffer[4096];
    int lines = 0;
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) {
        for (ssize_t i = 0; i < n; i++) lines += buffer[i] == '\n';
    }
    return lines >= TEXT_LINES;
}

bool qkv_plot_picture_whole(int dir, const char *name, qkv_plot_format format) {
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return false;
    unsigned char tail[TAIL] = {0};
    int n = last_bytes(fd, tail);
    bool whole = false;
    switch (format) {
        case QKV_PLOT_PNG: whole = ends_with(tail, n, "\0\0\0\0IEND\xae\x42\x60\x82", 12); break;
        case QKV_PLOT_SVG: whole = ends_with(tail, n, "</svg>", 6); break;
        case QKV_PLOT_PDF: whole = ends_with(tail, n, "%%EOF", 5); break;
        case QKV_PLOT_GIF: whole = ends_with(tail, n, "\0;", 2); break;
        case QKV_PLOT_TXT: whole = n >= 0 && has_lines(fd); break;
    }
    close(fd);
    return whole;
}
