/* csv.c - reading tables. */
#include "train/io/csv.h"

#include <string.h>

#include "train/io/number.h"

enum { LARGEST = 1 << 28, MOST_COLUMNS = 1 << 12 };

static void *arena_alloc(void *arena, size_t size) { return tensor_arena_take(arena, size, 1); }
static void arena_release(void *arena, void *block) { (void)arena, (void)block; }

/* The field that starts at *p, unquoted in place; *p moves behind it and *end is the character that
 * ended it; at the end of the file '"' within quotes, else 0. */
static const char *field(char **p, char *end) {
    char *start = *p, *from = *p, *to = *p;
    bool quoted = *from == '"';
    if (quoted) from++;
    for (; *from; from++) {
        if (quoted && *from == '"') {
            quoted = from[1] == '"';
            if (!quoted) continue;
            from++;
        } else if (!quoted && (*from == ',' || *from == '\n')) {
            break;
        }
        *to++ = *from;
    }
    *end = *from ? *from : quoted ? '"' : '\0';
    *p = *from ? from + 1 : from;
    if (*end != ',' && to > start && to[-1] == '\r') to--;
    *to = '\0';
    return start;
}

/* One line into cells[most]. Returns the number of fields; *end is '\n', or what ended a torn line. */
static int line(char **p, const char **cells, int most, char *end) {
    int n = 0;
    *end = ',';
    while (*end == ',') {
        const char *text = field(p, end);
        if (n < most) cells[n] = text;
        n++;
    }
    return n;
}

static qkv_io_status damaged(const char *path, const char *what, char *error) {
    char shown[256];
    qkv_io_fail(error, "'%s' %s", qkv_io_printable(path, shown, sizeof shown), what);
    return QKV_IO_DAMAGED;
}

static qkv_io_status read_rows(qkv_io_table *t, char *p, const char *path, char *error) {
    char end, shown[256];
    int fields = line(&p, t->cell, t->cols, &end);
    if (fields > t->cols) return damaged(path, "has a heading with a line break", error);
    if (end != '\n') return damaged(path, "ends within its header", error);
    t->cols = fields;
    while (*p) {
        const char **row = t->cell + (size_t)(t->rows + 1) * (size_t)t->cols;
        fields = line(&p, row, t->cols, &end);
        t->torn = end != '\n';
        t->last_row = !end && fields == t->cols;
        if (t->torn || (fields == 1 && !*row[0])) continue;
        if (fields == t->cols)
            t->rows++;
        else
            return qkv_io_fail(error, "row %d of '%s' has %d fields, its header %d", t->rows + 1,
                               qkv_io_printable(path, shown, sizeof shown), fields, t->cols),
                   QKV_IO_DAMAGED;
    }
    return QKV_IO_OK;
}

qkv_io_status qkv_io_table_read(qkv_io_table *t, const qkv_io *io, tensor_arena *arena,
                                const char *path, char *error) {
    tensor_allocator in_arena = {arena_alloc, arena_release, arena};
    void *text;
    size_t n, lines = 1;
    *t = (qkv_io_table){.cols = 1};
    qkv_io_status status = qkv_io_read_file(io, &in_arena, path, LARGEST, &text, &n, error);
    if (status != QKV_IO_OK) return status;
    const char *begin = text, *wrong = qkv_io_begin_text(&begin, &n);
    if (!wrong && strlen(begin) != n) wrong = "is not text";
    if (wrong) return damaged(path, wrong, error);
    for (const char *p = begin; (p = strchr(p, '\n')); p++) lines++;
    for (const char *p = begin; *p && *p != '\n'; p++) t->cols += *p == ',';
    if (t->cols > MOST_COLUMNS) return damaged(path, "has more than 4096 columns", error);
    t->cell = tensor_arena_take(arena, lines * (size_t)t->cols, sizeof *t->cell);
    if (!t->cell) return qkv_io_fail(error, "out of memory"), QKV_IO_FAILED;
    return read_rows(t, (char *)text + (begin - (const char *)text), path, error);
}

const char *qkv_io_table_cell(const qkv_io_table *t, int row, int col) {
    return col < 0 ? "" : t->cell[(size_t)(row + 1) * (size_t)t->cols + (size_t)col];
}

bool qkv_io_table_number(const qkv_io_table *t, int row, int col, double *x) {
    return qkv_io_parse_real(qkv_io_table_cell(t, row, col), x);
}

int qkv_io_table_column(const qkv_io_table *t, const char *heading) {
    for (int i = 0; i < t->cols; i++)
        if (strcmp(qkv_io_table_cell(t, -1, i), heading) == 0) return i;
    return -1;
}
