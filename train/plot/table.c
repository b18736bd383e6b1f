/* table.c - a table that is drawn as it is. */
#include <stdlib.h>

#include "train/plot/data.h"

static void write_row(FILE *out, const train_plot_table *t, int row) {
    double x;
    for (int col = 0; col < t->cols; col++) {
        const char *cell = train_plot_table_cell(t, row, col);
        if (col) putc(',', out);
        if (train_plot_number(cell, &x))
            fputs(cell, out);
        else if (*cell)
            train_plot_label(out, cell, 80);
    }
    putc('\n', out);
}

train_plot_status train_plot_copy(FILE *out, const char *dir, const char *source, char *why) {
    train_plot_table t = {0};
    char *path = train_plot_path(dir, source, ".csv");
    train_plot_status status =
        path ? train_plot_table_read(&t, path, why) : train_plot_say(why, "out of memory");
    free(path);
    for (int row = -1; status == TRAIN_PLOT_OK && row < t.rows; row++) write_row(out, &t, row);
    train_plot_table_free(&t);
    return status;
}
