/* data.h - from a run's tables to the numbers of one picture. */
#ifndef TRAIN_PLOT_DATA_H
#define TRAIN_PLOT_DATA_H

#include "train/plot/csv.h"

/* dir/name.csv for the caller to free; NULL without memory. */
char *train_plot_path(const char *dir, const char *name, const char *extension);

/* The rows of run/metrics.csv that have a step, with the columns that `source` (see plots.def)
 * names. SKIPPED if not one of the columns has a number. */
train_plot_status train_plot_series(FILE *out, const char *run, const char *source, char *why);

/* dir/source.csv as it is, its labels made harmless. SKIPPED if there is none. */
train_plot_status train_plot_copy(FILE *out, const char *dir, const char *source, char *why);

/* One block a run: a line with its name and the columns, then its rows. */
train_plot_status train_plot_several(FILE *out, const char *const *runs, int n, const char *source,
                                     char *why);

/* A map from run/probe: values with names for rows and columns. */
typedef struct {
    train_plot_table table;
    const char *file;  // its name in source
    int panel;         // its place in source
    int rows, cols;
    int *at;                                       // [rows,cols] the table's row of each cell
    int value, target, row_name, col_name, title;  // the table's columns; -1: none
} train_plot_map;

enum { TRAIN_PLOT_MAPS = 16 };

typedef struct {
    train_plot_map map[TRAIN_PLOT_MAPS];
    int n;
    char *names;  // source, cut into words
} train_plot_maps;

/* Reads the maps that source names; those that do not exist are left out, SKIPPED if that is all of
 * them. FAILED if one is damaged: a cell missing or twice, no number, more than 1024 rows or
 * columns. To be freed in any case. */
train_plot_status train_plot_maps_read(train_plot_maps *m, const char *run, const char *source,
                                       char *why);
void train_plot_maps_free(train_plot_maps *m);

double train_plot_map_value(const train_plot_map *m, int row, int col);
bool train_plot_map_target(const train_plot_map *m, int row, int col);
const char *train_plot_map_row_name(const train_plot_map *m, int row);
const char *train_plot_map_col_name(const train_plot_map *m, int col);

/* The maps as gnuplot reads them, one block a panel. */
void train_plot_maps_write(FILE *out, const train_plot_maps *m);

/* The maps as characters, 80 columns wide where they fit. SKIPPED if one is too wide for that. */
train_plot_status train_plot_maps_text(FILE *out, const train_plot_maps *m, char *why);

#endif
