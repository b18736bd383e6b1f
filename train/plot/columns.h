/* columns.h - choosing columns of metrics.csv by name. */
#pragma once

#include "train/plot/data.h"

enum { QKV_PLOT_HEADING = 64 };

typedef struct {
    char heading[QKV_PLOT_HEADING];
    int index;   // in the table; -1: an empty column
    bool helps;  // of no interest alone
} qkv_plot_column;

typedef struct {
    qkv_io_table table;  // RUN/metrics.csv
    int step;            // its column
    qkv_plot_column *at;
    size_t n, room;
} qkv_plot_columns;

/* Reads run/metrics.csv, and finds the columns that a source such as "+accuracy val_loss|loss
 * grad.*" (see plots.def) means in it. */
qkv_io_status qkv_plot_columns_read(qkv_plot_columns *c, tensor_arena *arena, const char *run,
                                    const char *source, char *why);

/* Adds the rows that have a step; what is neither a finite number nor "nan" becomes an empty field.
 * Returns how many numbers there were, without those that only help. */
long qkv_plot_columns_write(qkv_io_text *out, const qkv_plot_columns *c);
