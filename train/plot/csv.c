#include "train/plot/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 1 << 28 };

/* All of the file, with a NUL after it. O_NONBLOCK: a pipe in the file's place must not make us
 * wait. */
static qkv_plot_status slurp(const char *path, char **text, size_t *n, char *why) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        qkv_plot_say(why, "%s does not exist", path);
        return QKV_PLOT_SKIPPED;
    }
    if (fd < 0) return qkv_plot_say(why, "cannot open %s: %s", path, strerror(errno));
    qkv_plot_status status = QKV_PLOT_OK;
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > LARGEST) {
        status = qkv_plot_say(why, "%s is not a file of at most 256 MiB", path);
    } else if (!(*text = malloc((size_t)st.st_size + 1))) {
        status = qkv_plot_say(why, "out of memory for %s", path);
    }
    *n = 0;
    while (status == QKV_PLOT_OK && *n < (size_t)st.st_size) {
        ssize_t got = read(fd, *text + *n, (size_t)st.st_size - *n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) status = qkv_plot_say(why, "cannot read %s: %s", path, strerror(errno));
        if (got <= 0) break;
        *n += (size_t)got;
    }
    if (*text) (*text)[*n] = '\0';
    close(fd);
    return status;
}

/* The field that starts at *p, unquoted in place; *p moves behind it and *end is the character that
 * ended it. */
static const char *field(char **p, char *end) {
    char *start = *p, *from = *p, *to = *p;
    bool quoted = *from == '"';
    if (quoted) from++;
    for (; *from; from++) {
        if (quoted && *from == '"') {
            if (from[1] != '"') {
                quoted = false;
                continue;
            }
            from++;
        } else if (!quoted && (*from == ',' || *from == '\n')) {
            break;
        }
        *to++ = *from;
    }
    *end = *from;
    *p = *from ? from + 1 : from;
    if (*end != ',' && to > start && to[-1] == '\r') to--;
    *to = '\0';
    return start;
}

/* One line into cells[cols], filled up with "". Returns the number of fields. */
static int line(char **p, const char **cells, int cols) {
    int n = 0;
    char end = ',';
    while (end == ',') {
        const char *text = field(p, &end);
        if (n < cols) cells[n] = text;
        n++;
    }
    for (int i = n; i < cols; i++) cells[i] = "";
    return n;
}

qkv_plot_status qkv_plot_table_read(qkv_plot_table *t, const char *path, char *why) {
    *t = (qkv_plot_table){0};
    size_t n = 0, lines = 1;
    qkv_plot_status status = slurp(path, &t->text, &n, why);
    if (status != QKV_PLOT_OK) return status;
    if (!n || strlen(t->text) != n)
        return qkv_plot_say(why, "%s is %s", path, n ? "not text" : "empty");
    for (const char *p = t->text; (p = strchr(p, '\n')); p++) lines++;
    t->cols = 1;
    for (const char *p = t->text; *p && *p != '\n'; p++) t->cols += *p == ',';
    if (t->cols > 1 << 12) return qkv_plot_say(why, "%s has more than 4096 columns", path);
    if (lines <= SIZE_MAX / sizeof *t->cell / (size_t)t->cols) {
        t->cell = malloc(lines * (size_t)t->cols * sizeof *t->cell);
    }
    if (!t->cell) return qkv_plot_say(why, "out of memory for %s", path);
    char *p = t->text;
    int headings = line(&p, t->cell, t->cols);
    if (headings > t->cols) return qkv_plot_say(why, "a heading of %s has a line break", path);
    t->cols = headings;
    while (*p) {
        const char **row = t->cell + (size_t)(t->rows + 1) * (size_t)t->cols;
        int fields = line(&p, row, t->cols);
        if (fields > t->cols) {
            return qkv_plot_say(why, "row %d of %s has %d fields, its header %d", t->rows + 1, path,
                                fields, t->cols);
        }
        if (fields > 1 || *row[0]) t->rows++;
    }
    return QKV_PLOT_OK;
}

void qkv_plot_table_free(qkv_plot_table *t) {
    free(t->text);
    free(t->cell);
    *t = (qkv_plot_table){0};
}

const char *qkv_plot_table_cell(const qkv_plot_table *t, int row, int col) {
    return col < 0 ? "" : t->cell[(size_t)(row + 1) * (size_t)t->cols + (size_t)col];
}

int qkv_plot_table_column(const qkv_plot_table *t, const char *heading) {
    for (int i = 0; i < t->cols; i++) {
        if (strcmp(qkv_plot_table_cell(t, -1, i), heading) == 0) return i;
    }
    return -1;
}
