/* series.c - the curves of one run, and the levels they are measured against. */
#include <stdlib.h>
#include <string.h>

#include "train/plot/columns.h"

enum { LEVELS = 16 };

typedef struct {
    double loss;
    int row;
} level;

static int by_loss(const void *a, const void *b) {
    const level *x = a, *y = b;
    return x->loss < y->loss ? -1 : x->loss > y->loss;
}

/* The levels, lowest first, as a second block. A run without levels.csv has none. */
static qkv_plot_status write_levels(FILE *out, const char *run, char *why) {
    qkv_plot_table t = {0};
    char *path = qkv_plot_path(run, "levels", ".csv");
    qkv_plot_status status =
        path ? qkv_plot_table_read(&t, path, why) : qkv_plot_say(why, "out of memory");
    free(path);
    level sorted[LEVELS];
    int n = 0;
    if (status == QKV_PLOT_OK) {
        int loss = qkv_plot_table_column(&t, "loss"), label = qkv_plot_table_column(&t, "label");
        int accuracy = qkv_plot_table_column(&t, "accuracy");
        double x;
        for (int row = 0; row < t.rows && n < LEVELS; row++) {
            if (qkv_plot_number(qkv_plot_table_cell(&t, row, loss), &x))
                sorted[n++] = (level){x, row};
        }
        qsort(sorted, (size_t)n, sizeof *sorted, by_loss);
        if (n) fputs("\n\nloss,accuracy,label\n", out);
        for (int i = 0; i < n; i++) {
            const char *a = qkv_plot_table_cell(&t, sorted[i].row, accuracy);
            fprintf(out, "%s,%s,", qkv_plot_table_cell(&t, sorted[i].row, loss),
                    qkv_plot_number(a, &x) ? a : "");
            qkv_plot_label(out, qkv_plot_table_cell(&t, sorted[i].row, label), 28);
            putc('\n', out);
        }
    }
    qkv_plot_table_free(&t);
    return status == QKV_PLOT_SKIPPED ? QKV_PLOT_OK : status;
}

qkv_plot_status qkv_plot_series(FILE *out, const char *run, const char *source, char *why) {
    qkv_plot_table t;
    int step = -1;
    qkv_plot_columns c = {0};
    qkv_plot_status status = qkv_plot_metrics_read(&t, &step, run, why);
    if (status == QKV_PLOT_OK && !qkv_plot_columns_find(&c, &t, source))
        status = qkv_plot_say(why, "out of memory");
    if (status == QKV_PLOT_OK) {
        fputs("step", out);
        for (int i = 0; i < c.n; i++) {
            putc(',', out);
            qkv_plot_label(out, c.heading[i], QKV_PLOT_HEADING);
        }
        putc('\n', out);
        if (!qkv_plot_columns_write(out, &t, step, &c)) {
            qkv_plot_say(why, "%s/metrics.csv has no numbers for it", run);
            status = QKV_PLOT_SKIPPED;
        } else if (strstr(source, "@levels")) {
            status = write_levels(out, run, why);
        }
    }
    qkv_plot_columns_free(&c);
    qkv_plot_table_free(&t);
    return status;
}
