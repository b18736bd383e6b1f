/* columns.h - choosing columns of metrics.csv by name. */
#ifndef QKV_PLOT_COLUMNS_H
#define QKV_PLOT_COLUMNS_H

#include "train/plot/data.h"

enum { QKV_PLOT_HEADING = 64 };

typedef struct {
    char (*heading)[QKV_PLOT_HEADING];
    int *index;   // in the table; -1: an empty column
    bool *helps;  // of no interest alone
    int n;
} qkv_plot_columns;

/* Reads run/metrics.csv and finds its step column. The table is to be freed in any case. */
qkv_plot_status qkv_plot_metrics_read(qkv_plot_table *t, int *step, const char *run, char *why);

/* The columns that a source such as "+accuracy grad.*" (see plots.def) means in this table. False
 * without memory; to be freed in any case. */
bool qkv_plot_columns_find(qkv_plot_columns *c, const qkv_plot_table *t, const char *source);
void qkv_plot_columns_free(qkv_plot_columns *c);

/* Writes the rows that have a step; what is no finite number becomes an empty field. Returns how
 * many numbers there were, without those that only help. */
long qkv_plot_columns_write(FILE *out, const qkv_plot_table *t, int step,
                            const qkv_plot_columns *c);

#endif
