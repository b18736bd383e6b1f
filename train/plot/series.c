/* series.c - the curves of one run, and the levels they, or those of several, are measured against. */
#include <stdlib.h>
#include <string.h>

#include "train/plot/columns.h"

enum { LEVELS = 16 };

typedef struct {
    double loss;
    const char *accuracy, *label, *measure;  // accuracy "": none; measure: what the loss is
} level;

static int by_loss(const void *a, const void *b) {
    const level *x = a, *y = b;
    return x->loss < y->loss ? -1 : x->loss > y->loss;
}

/* A run without levels.csv has none. */
static qkv_io_status read_levels(level out[LEVELS], int *n, tensor_arena *arena, const char *run,
                                 char *why) {
    qkv_io_table t;
    double x;
    qkv_io_status status = qkv_plot_table_read(&t, arena, run, "levels", why);
    *n = 0;
    if (status != QKV_IO_OK) return status == QKV_IO_SKIPPED ? QKV_IO_OK : status;
    int loss = qkv_io_table_column(&t, "loss"), label = qkv_io_table_column(&t, "label"),
        accuracy = qkv_io_table_column(&t, "accuracy"),
        measure = qkv_io_table_column(&t, "measure");
    for (int row = 0; row < t.rows && *n < LEVELS; row++) {
        if (!qkv_io_table_number(&t, row, loss, &out[*n].loss)) continue;
        bool known = qkv_io_table_number(&t, row, accuracy, &x);
        out[*n].accuracy = known ? qkv_io_table_cell(&t, row, accuracy) : "";
        out[*n].measure = measure < 0 ? "loss" : qkv_io_table_cell(&t, row, measure);
        out[(*n)++].label = qkv_io_table_cell(&t, row, label);
    }
    qsort(out, (size_t)*n, sizeof *out, by_loss);
    return QKV_IO_OK;
}

static void write_levels(qkv_io_text *out, const level *l, int n) {
    qkv_io_text_add(out, "loss,accuracy,label,measure\n");
    for (int i = 0; i < n; i++) {
        qkv_io_text_number(out, l[i].loss);
        qkv_io_text_add(out, ",%s,", l[i].accuracy);
        qkv_plot_label(out, l[i].label, 28);
        qkv_io_text_add(out, ",");
        qkv_plot_label(out, l[i].measure, 48);
        qkv_io_text_add(out, "\n");
    }
}

static qkv_io_status no_numbers(const char *run, qkv_io_status status, char *why) {
    char shown[256];
    qkv_io_fail(why, "'%s' has no numbers for it in metrics.csv",
                qkv_io_printable(run, shown, sizeof shown));
    return status;
}

qkv_io_status qkv_plot_series(qkv_io_text *out, const char *run, const char *source, char *why) {
    qkv_plot_columns c;
    level l[LEVELS];
    int levels;
    qkv_io_status status = qkv_plot_columns_read(&c, out->arena, run, source, why);
    if (status != QKV_IO_OK) return status;
    qkv_io_text_add(out, "step");
    for (size_t i = 0; i < c.n; i++) {
        qkv_io_text_add(out, ",");
        qkv_plot_label(out, c.at[i].heading, QKV_PLOT_HEADING);
    }
    qkv_io_text_add(out, "\n");
    if (!qkv_plot_columns_write(out, &c)) return no_numbers(run, QKV_IO_SKIPPED, why);
    if (!strstr(source, "@levels")) return QKV_IO_OK;
    status = read_levels(l, &levels, out->arena, run, why);
    if (status == QKV_IO_OK && levels) {
        qkv_io_text_add(out, "\n\n");
        write_levels(out, l, levels);
    }
    return status;
}

/* ---- several runs ---- */

/* Keeps of the first n levels those which are among the others, too. */
static int common(level *l, int n, const level *other, int others) {
    int kept = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < others; j++)
            if (l[i].loss == other[j].loss && strcmp(l[i].label, other[j].label) == 0 &&
                strcmp(l[i].accuracy, other[j].accuracy) == 0 &&
                strcmp(l[i].measure, other[j].measure) == 0) {
                l[kept++] = l[i];
                break;
            }
    return kept;
}

qkv_io_status qkv_plot_shared_levels(qkv_io_text *out, const char *const *runs, int n, char *why) {
    level kept[LEVELS], other[LEVELS];
    int levels = 0, others;
    for (int i = 0; i < n; i++) {
        qkv_io_status status =
            read_levels(i ? other : kept, i ? &others : &levels, out->arena, runs[i], why);
        if (status != QKV_IO_OK) return status;
        if (i) levels = common(kept, levels, other, others);
    }
    write_levels(out, kept, levels);
    if (!levels) qkv_io_text_add(out, ",,,\n");  // a block needs a row
    return QKV_IO_OK;
}
