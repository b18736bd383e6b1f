/* columns.h - choosing columns of metrics.csv by name. */
#ifndef TRAIN_PLOT_COLUMNS_H
#define TRAIN_PLOT_COLUMNS_H

#include "train/plot/data.h"

enum { TRAIN_PLOT_HEADING = 64 };

typedef struct {
    char (*heading)[TRAIN_PLOT_HEADING];
    int *index;   // in the table; -1: an empty column
    bool *helps;  // of no interest alone
    int n;
} train_plot_columns;

/* Reads run/metrics.csv and finds its step column. The table is to be freed in any case. */
train_plot_status train_plot_metrics_read(train_plot_table *t, int *step, const char *run,
                                          char *why);

/* The columns that a source such as "+accuracy grad.*" (see plots.def) means in this table. False
 * without memory; to be freed in any case. */
bool train_plot_columns_find(train_plot_columns *c, const train_plot_table *t, const char *source);
void train_plot_columns_free(train_plot_columns *c);

/* Writes the rows that have a step; what is no finite number becomes an empty field. Returns how
 * many numbers there were, without those that only help. */
long train_plot_columns_write(FILE *out, const train_plot_table *t, int step,
                              const train_plot_columns *c);

#endif
