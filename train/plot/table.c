/* table.c - a table that is drawn as it is. */
#include <stdlib.h>

#include "train/plot/data.h"

static void write_row(FILE *out, const qkv_plot_table *t, int row) {
    double x;
    for (int col = 0; col < t->cols; col++) {
        const char *cell = qkv_plot_table_cell(t, row, col);
        if (col) putc(',', out);
        if (qkv_plot_number(cell, &x))
            fputs(cell, out);
        else if (*cell)
            qkv_plot_label(out, cell, 80);
    }
    putc('\n', out);
}

qkv_plot_status qkv_plot_copy(FILE *out, const char *dir, const char *source, char *why) {
    qkv_plot_table t = {0};
    char *path = qkv_plot_path(dir, source, ".csv");
    qkv_plot_status status =
        path ? qkv_plot_table_read(&t, path, why) : qkv_plot_say(why, "out of memory");
    free(path);
    for (int row = -1; status == QKV_PLOT_OK && row < t.rows; row++) write_row(out, &t, row);
    qkv_plot_table_free(&t);
    return status;
}
