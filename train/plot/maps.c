/* maps.c - attention and circuits, from RUN/probe. */
#include <stdlib.h>
#include <string.h>

#include "train/plot/data.h"

enum { LARGEST = 1024 };

double qkv_plot_map_value(const qkv_plot_map *m, int row, int col) {
    double x = 0;
    qkv_plot_number(qkv_plot_table_cell(&m->table, m->at[row * m->cols + col], m->value), &x);
    return x;
}

bool qkv_plot_map_target(const qkv_plot_map *m, int row, int col) {
    int at = m->at[row * m->cols + col];
    return strcmp(qkv_plot_table_cell(&m->table, at, m->target), "1") == 0;
}

const char *qkv_plot_map_row_name(const qkv_plot_map *m, int row) {
    return qkv_plot_table_cell(&m->table, m->at[row * m->cols], m->row_name);
}

const char *qkv_plot_map_col_name(const qkv_plot_map *m, int col) {
    return qkv_plot_table_cell(&m->table, m->at[col], m->col_name);
}

/* The whole number of a cell, or -1 if there is none from 0 to LARGEST - 1. */
static int place(const qkv_plot_table *t, int row, int col) {
    double x;
    if (!qkv_plot_number(qkv_plot_table_cell(t, row, col), &x)) return -1;
    return x >= 0 && x < LARGEST && x == (int)x ? (int)x : -1;
}

/* Finds the columns and the size. */
static qkv_plot_status measure(qkv_plot_map *m, int row, int col, const char *path, char *why) {
    const qkv_plot_table *t = &m->table;
    m->value = qkv_plot_table_column(t, "value");
    if (m->value < 0) m->value = qkv_plot_table_column(t, "weight");
    m->target = qkv_plot_table_column(t, "target");
    m->title = qkv_plot_table_column(t, "title");
    m->row_name = qkv_plot_table_column(t, "row_label");
    m->col_name = qkv_plot_table_column(t, "col_label");
    if (row < 0 || col < 0 || m->value < 0) {
        return qkv_plot_say(why, "%s lacks a column: row, col, and value or weight", path);
    }
    for (int i = 0; i < t->rows; i++) {
        int r = place(t, i, row), c = place(t, i, col);
        double x;
        if (r < 0 || c < 0 || !qkv_plot_number(qkv_plot_table_cell(t, i, m->value), &x)) {
            return qkv_plot_say(why, "row %d of %s has no place, or no number", i + 1, path);
        }
        if (r >= m->rows) m->rows = r + 1;
        if (c >= m->cols) m->cols = c + 1;
    }
    if (t->rows && t->rows == m->rows * m->cols) return QKV_PLOT_OK;
    return qkv_plot_say(why, "%s has %d cells for %d rows and %d columns", path, t->rows, m->rows,
                        m->cols);
}

/* Finds the cells: each must be there once. */
static qkv_plot_status arrange(qkv_plot_map *m, const char *path, char *why) {
    const qkv_plot_table *t = &m->table;
    int row = qkv_plot_table_column(t, "row"), col = qkv_plot_table_column(t, "col");
    qkv_plot_status status = measure(m, row, col, path, why);
    if (status != QKV_PLOT_OK) return status;
    size_t bytes = (size_t)t->rows * sizeof *m->at;
    m->at = malloc(bytes);
    if (!m->at) return qkv_plot_say(why, "out of memory");
    memset(m->at, -1, bytes);
    for (int i = 0; i < t->rows; i++) {
        int *cell = &m->at[place(t, i, row) * m->cols + place(t, i, col)];
        if (*cell >= 0) {
            return qkv_plot_say(why, "row %d of %s fills a cell a second time", i + 1, path);
        }
        *cell = i;
    }
    return QKV_PLOT_OK;
}

static qkv_plot_status read_map(qkv_plot_map *m, const char *run, const char *file, int panel,
                                char *why) {
    *m = (qkv_plot_map){.file = file, .panel = panel};
    char *probe = qkv_plot_path(run, "probe", "");
    char *path = probe ? qkv_plot_path(probe, file, ".csv") : NULL;
    qkv_plot_status status =
        path ? qkv_plot_table_read(&m->table, path, why) : qkv_plot_say(why, "out of memory");
    if (status == QKV_PLOT_OK) status = arrange(m, path, why);
    free(path);
    free(probe);
    return status;
}

qkv_plot_status qkv_plot_maps_read(qkv_plot_maps *m, const char *run, const char *source,
                                   char *why) {
    *m = (qkv_plot_maps){.names = strdup(source)};
    if (!m->names) return qkv_plot_say(why, "out of memory");
    int panel = 0;
    char *save = NULL;
    for (char *w = strtok_r(m->names, " ", &save); w && m->n < QKV_PLOT_MAPS;
         w = strtok_r(NULL, " ", &save)) {
        qkv_plot_map *map = &m->map[m->n++];
        qkv_plot_status status = read_map(map, run, w, panel++, why);
        if (status == QKV_PLOT_FAILED) return status;
        if (status == QKV_PLOT_SKIPPED) m->n--;
    }
    if (!m->n) qkv_plot_say(why, "%s/probe has none of its maps", run);
    return m->n ? QKV_PLOT_OK : QKV_PLOT_SKIPPED;
}

void qkv_plot_maps_free(qkv_plot_maps *m) {
    for (int i = 0; i < m->n; i++) {
        free(m->map[i].at);
        qkv_plot_table_free(&m->map[i].table);
    }
    free(m->names);
    *m = (qkv_plot_maps){0};
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

void qkv_plot_maps_write(FILE *out, const qkv_plot_maps *maps) {
    for (int i = 0; i < maps->n; i++) {
        const qkv_plot_map *m = &maps->map[i], *was = unswapped(maps, m);
        fprintf(out, "%s# panel,row,col,value,target,swapped,changed,row_label,col_label,title\n",
                i ? "\n\n" : "");
        for (int r = 0; r < m->rows; r++) {
            const char *row = qkv_plot_map_row_name(m, r);
            bool changed = was && strcmp(row, qkv_plot_map_row_name(was, r)) != 0;
            for (int c = 0; c < m->cols; c++) {
                const char *col = qkv_plot_map_col_name(m, c);
                bool swapped = was && strcmp(col, qkv_plot_map_col_name(was, c)) != 0;
                fprintf(out, "%d,%d,%d,%s,%d,%d,%d,", m->panel, r, c,
                        qkv_plot_table_cell(&m->table, m->at[r * m->cols + c], m->value),
                        qkv_plot_map_target(m, r, c), swapped, changed);
                qkv_plot_label(out, row, 12);
                putc(',', out);
                qkv_plot_label(out, col, 12);
                putc(',', out);
                qkv_plot_label(
                    out, qkv_plot_table_cell(&m->table, m->at[r * m->cols + c], m->title), 40);
                putc('\n', out);
            }
        }
    }
}
