/* table.c - reading a table of a run, making its texts harmless, and drawing one as it is, or in blocks. */
#include <stdio.h>
#include <string.h>

#include "train/io/number.h"
#include "train/plot/data.h"

qkv_io_status qkv_plot_table_read(qkv_io_table *t, tensor_arena *arena, const char *dir,
                                  const char *name, char *why) {
    char stem[QKV_IO_PATH], path[QKV_IO_PATH], shown[256];
    *t = (qkv_io_table){.rows = 0};
    if (!qkv_io_path(stem, dir, name, why) ||
        snprintf(path, sizeof path, "%s.csv", stem) >= (int)sizeof path)
        return QKV_IO_FAILED;
    qkv_io_status status = qkv_io_table_read(t, &qkv_io_posix, arena, path, why);
    if (status == QKV_IO_ABSENT) return QKV_IO_SKIPPED;
    if (status != QKV_IO_OK || !t->torn || strcmp(name, "metrics") == 0) return status;
    if (t->last_row) return t->rows++, QKV_IO_OK;  // written whole, or not at all
    return qkv_io_fail(why, "'%s' ends within a row", qkv_io_printable(path, shown, sizeof shown)),
           QKV_IO_DAMAGED;
}

/* gnuplot 5.4 ends a text at a comma even within quotes: U+201A looks the same. */
void qkv_plot_label(qkv_io_text *out, const char *text, int most) {
    qkv_io_text_put(out, "\"", 1);
    for (int shown = 0; *text; shown++) {
        size_t n = qkv_io_character(text), step = n ? n : 1;
        const char *as = *text == ','                 ? "\xe2\x80\x9a"
                         : *text == '"'               ? "\xca\xba"
                         : *text == '\\'              ? "\xe2\x88\x96"
                         : n                          ? NULL
                         : (unsigned char)*text < ' ' ? " "
                                                      : "?";
        if (shown == most - 1 && text[step]) as = "\xe2\x80\xa6";
        qkv_io_text_put(out, as ? as : text, as ? strlen(as) : n);
        if (shown == most - 1) break;
        text += step;
    }
    qkv_io_text_put(out, "\"", 1);
}

/* gnuplot 5.4 takes an empty last field for any text of the line, so it is a quoted one. */
static void write_row(qkv_io_text *out, const qkv_io_table *t, int row) {
    double x;
    for (int col = 0; col < t->cols; col++) {
        const char *cell = qkv_io_table_cell(t, row, col);
        if (col) qkv_io_text_add(out, ",");
        if (qkv_io_parse_real(cell, &x))
            qkv_io_text_add(out, "%s", cell);
        else if (*cell || col == t->cols - 1)
            qkv_plot_label(out, cell, 80);
    }
    qkv_io_text_add(out, "\n");
}

/* A row with the same step and panel as the one before belongs to its block. */
static bool begins_block(const qkv_io_table *t, int row, int step, int panel) {
    return row > 0 &&
           (strcmp(qkv_io_table_cell(t, row, step), qkv_io_table_cell(t, row - 1, step)) ||
            strcmp(qkv_io_table_cell(t, row, panel), qkv_io_table_cell(t, row - 1, panel)));
}

qkv_io_status qkv_plot_copy(qkv_io_text *out, const char *dir, const char *source, char *why) {
    qkv_io_table t;
    qkv_io_status status = qkv_plot_table_read(&t, out->arena, dir, source, why);
    if (status != QKV_IO_OK) return status;
    const bool blocks =
        strcmp(qkv_io_table_cell(&t, -1, 0), "block") == 0;  // two empty lines apart
    if (blocks) qkv_io_text_add(out, "# ");
    for (int row = -1; row < t.rows; row++) {
        if (blocks && begins_block(&t, row, 0, 0)) qkv_io_text_add(out, "\n\n");
        write_row(out, &t, row);
    }
    return status;
}

qkv_io_status qkv_plot_frames(qkv_io_text *out, const char *run, const char *source, char *why) {
    char probe[QKV_IO_PATH];
    qkv_io_table t;
    if (!qkv_io_path(probe, run, "probe", why)) return QKV_IO_FAILED;
    qkv_io_status status = qkv_plot_table_read(&t, out->arena, probe, source, why);
    if (status != QKV_IO_OK) return status;
    int step = qkv_io_table_column(&t, "step"), panel = qkv_io_table_column(&t, "panel");
    if (step < 0 || panel < 0)
        return qkv_io_fail(why, "%s.csv lacks a column: step, or panel", source), QKV_IO_DAMAGED;
    qkv_io_text_add(out, "# ");  // the names of the columns
    for (int row = -1; row < t.rows; row++) {
        if (begins_block(&t, row, step, panel)) qkv_io_text_add(out, "\n\n");
        write_row(out, &t, row);
    }
    return QKV_IO_OK;
}
