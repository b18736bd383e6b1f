/* maps.c - attention and circuits, from RUN/probe. */
#include <stdio.h>
#include <string.h>

#include "train/plot/data.h"

enum { LARGEST = 1024 };

static const char *cell(const qkv_plot_map *m, int row, int col, int column) {
    return qkv_io_table_cell(&m->table, m->at[row * m->cols + col], column);
}

bool qkv_plot_map_target(const qkv_plot_map *m, int row, int col) {
    return strcmp(cell(m, row, col, m->target), "1") == 0;
}

const char *qkv_plot_map_row_name(const qkv_plot_map *m, int row) {
    return cell(m, row, 0, m->row_name);
}

const char *qkv_plot_map_col_name(const qkv_plot_map *m, int col) {
    return cell(m, 0, col, m->col_name);
}

const char *qkv_plot_map_title(const qkv_plot_map *m) { return cell(m, 0, 0, m->title); }

/* The whole number of a cell, or -1 if there is none from 0 to LARGEST - 1. */
static int place(const qkv_io_table *t, int row, int col) {
    double x;
    if (!qkv_io_table_number(t, row, col, &x)) return -1;
    return x >= 0 && x < LARGEST && x == (int)x ? (int)x : -1;
}

/* Finds the columns and the size. */
static bool measure(qkv_plot_map *m, int row, int col, char *why) {
    const qkv_io_table *t = &m->table;
    m->value = qkv_io_table_column(t, "value");
    if (m->value < 0) m->value = qkv_io_table_column(t, "weight");
    m->target = qkv_io_table_column(t, "target");
    m->title = qkv_io_table_column(t, "title");
    m->row_name = qkv_io_table_column(t, "row_label");
    m->col_name = qkv_io_table_column(t, "col_label");
    if (row < 0 || col < 0 || m->value < 0)
        return qkv_io_fail(why, "%s.csv lacks a column: row, col, and value or weight", m->file);
    for (int i = 0; i < t->rows; i++) {
        int r = place(t, i, row), c = place(t, i, col);
        double x;
        if (r < 0 || c < 0 || !qkv_io_table_number(t, i, m->value, &x))
            return qkv_io_fail(why, "row %d of %s.csv has no place, or no number", i + 1, m->file);
        if (r >= m->rows) m->rows = r + 1;
        if (c >= m->cols) m->cols = c + 1;
    }
    if (t->rows && t->rows == m->rows * m->cols) return true;
    return qkv_io_fail(why, "%s.csv has %d cells for %d rows and %d columns", m->file, t->rows,
                       m->rows, m->cols);
}

/* Finds the cells: each must be there once. */
static qkv_io_status arrange(qkv_plot_map *m, tensor_arena *arena, char *why) {
    const qkv_io_table *t = &m->table;
    int row = qkv_io_table_column(t, "row"), col = qkv_io_table_column(t, "col");
    if (!measure(m, row, col, why)) return QKV_IO_DAMAGED;
    m->at = tensor_arena_take(arena, (size_t)t->rows, sizeof *m->at);
    m->x = tensor_arena_take(arena, (size_t)t->rows, sizeof *m->x);
    if (!m->at || !m->x) return qkv_io_fail(why, "out of memory"), QKV_IO_FAILED;
    memset(m->at, -1, (size_t)t->rows * sizeof *m->at);
    for (int i = 0; i < t->rows; i++) {
        int k = place(t, i, row) * m->cols + place(t, i, col);
        if (m->at[k] >= 0) {
            qkv_io_fail(why, "row %d of %s.csv fills a cell a second time", i + 1, m->file);
            return QKV_IO_DAMAGED;
        }
        m->at[k] = i;
        qkv_io_table_number(t, i, m->value, &m->x[k]);
    }
    return QKV_IO_OK;
}

/* Why there are no maps: what the run has noted, or that it has none. */
static qkv_io_status missing(tensor_arena *arena, const char *probe, const char *first, char *why) {
    qkv_io_table t;
    size_t stem = strcspn(first, "-");
    qkv_io_status status = qkv_plot_table_read(&t, arena, probe, "missing", why);
    if (status != QKV_IO_OK && status != QKV_IO_SKIPPED) return status;
    qkv_io_fail(why, "the run has written no such maps");
    for (int i = 0; i < t.rows; i++) {
        const char *maps = qkv_io_table_cell(&t, i, qkv_io_table_column(&t, "maps"));
        if (strncmp(maps, first, stem) == 0 && !maps[stem])
            qkv_io_fail(why, "%s", qkv_io_table_cell(&t, i, qkv_io_table_column(&t, "why")));
    }
    return QKV_IO_SKIPPED;
}

qkv_io_status qkv_plot_maps_read(qkv_plot_maps *m, tensor_arena *arena, const char *run,
                                 const char *source, char *why) {
    char probe[QKV_IO_PATH], *save = NULL;
    char *words = tensor_arena_take(arena, strlen(source) + 1, 1);
    *m = (qkv_plot_maps){.n = 0};
    if (!words) return qkv_io_fail(why, "out of memory"), QKV_IO_FAILED;
    if (!qkv_io_path(probe, run, "probe", why)) return QKV_IO_FAILED;
    int panel = 0;
    for (char *w = strtok_r(strcpy(words, source), " ", &save); w && m->n < QKV_PLOT_MAPS;
         w = strtok_r(NULL, " ", &save)) {
        qkv_plot_map *map = &m->map[m->n];
        *map = (qkv_plot_map){.file = w, .panel = panel};
        panel++;
        qkv_io_status status = qkv_plot_table_read(&map->table, arena, probe, w, why);
        if (status == QKV_IO_SKIPPED) continue;
        if (status == QKV_IO_OK) status = arrange(map, arena, why);
        if (status != QKV_IO_OK) return status;
        m->n++;
    }
    return m->n ? QKV_IO_OK : missing(arena, probe, source, why);
}

/* For a map named ...-swapped: the one named ...-after, of the same size, with which to compare
 * names; else NULL. */
static const qkv_plot_map *unswapped(const qkv_plot_maps *all, const qkv_plot_map *m) {
    const char *swapped = strstr(m->file, "-swapped"), *dash = strchr(m->file, '-');
    for (int i = 0; swapped && i < all->n; i++) {
        const qkv_plot_map *o = &all->map[i];
        size_t stem = (size_t)(dash - m->file);
        bool same = strncmp(o->file, m->file, stem) == 0 && strcmp(o->file + stem, "-after") == 0;
        if (same && o->rows == m->rows && o->cols == m->cols) return o;
    }
    return NULL;
}

static void write_map(qkv_io_text *out, const qkv_plot_map *m, const qkv_plot_map *was) {
    enum { NAME = 28, TITLE = 80 };
    qkv_io_text_add(out,
                    "# panel,row,col,value,target,swapped,changed,row_label,col_label,title\n");
    for (int r = 0; r < m->rows; r++) {
        const char *row = qkv_plot_map_row_name(m, r);
        bool changed = was && strcmp(row, qkv_plot_map_row_name(was, r)) != 0;
        for (int c = 0; c < m->cols; c++) {
            const char *col = qkv_plot_map_col_name(m, c);
            bool swapped = was && strcmp(col, qkv_plot_map_col_name(was, c)) != 0;
            qkv_io_text_add(out, "%d,%d,%d,%s,%d,%d,%d,", m->panel, r, c, cell(m, r, c, m->value),
                            qkv_plot_map_target(m, r, c), swapped, changed);
            qkv_plot_label(out, row, NAME);
            qkv_io_text_put(out, ",", 1);
            qkv_plot_label(out, col, NAME);
            qkv_io_text_put(out, ",", 1);
            qkv_plot_label(out, r == 0 && c == 0 ? qkv_plot_map_title(m) : "", TITLE);
            qkv_io_text_put(out, "\n", 1);
        }
    }
}

void qkv_plot_maps_write(qkv_io_text *out, const qkv_plot_maps *maps) {
    for (int i = 0; i < maps->n; i++) {
        if (i) qkv_io_text_add(out, "\n\n");
        write_map(out, &maps->map[i], unswapped(maps, &maps->map[i]));
    }
}
