/* data.h - from a run's tables to the numbers of one picture. */
#ifndef QKV_PLOT_DATA_H
#define QKV_PLOT_DATA_H

#include "train/plot/csv.h"

/* dir/name.csv for the caller to free; NULL without memory. */
char *qkv_plot_path(const char *dir, const char *name, const char *extension);

/* The rows of run/metrics.csv that have a step, with the columns that `source` (see plots.def)
 * names. SKIPPED if not one of the columns has a number. */
qkv_plot_status qkv_plot_series(FILE *out, const char *run, const char *source, char *why);

/* dir/source.csv as it is, its labels made harmless. SKIPPED if there is none. */
qkv_plot_status qkv_plot_copy(FILE *out, const char *dir, const char *source, char *why);

/* One block a run: a line with its name and the columns, then its rows. */
qkv_plot_status qkv_plot_several(FILE *out, const char *const *runs, int n, const char *source,
                                 char *why);

/* A map from run/probe: values with names for rows and columns. */
typedef struct {
    qkv_plot_table table;
    const char *file;  // its name in source
    int panel;         // its place in source
    int rows, cols;
    int *at;                                       // [rows,cols] the table's row of each cell
    int value, target, row_name, col_name, title;  // the table's columns; -1: none
} qkv_plot_map;

enum { QKV_PLOT_MAPS = 16 };

typedef struct {
    qkv_plot_map map[QKV_PLOT_MAPS];
    int n;
    char *names;  // source, cut into words
} qkv_plot_maps;

/* Reads the maps that source names; those that do not exist are left out, SKIPPED if that is all of
 * them. FAILED if one is damaged: a cell missing or twice, no number, more than 1024 rows or
 * columns. To be freed in any case. */
qkv_plot_status qkv_plot_maps_read(qkv_plot_maps *m, const char *run, const char *source,
                                   char *why);
void qkv_plot_maps_free(qkv_plot_maps *m);

double qkv_plot_map_value(const qkv_plot_map *m, int row, int col);
bool qkv_plot_map_target(const qkv_plot_map *m, int row, int col);
const char *qkv_plot_map_row_name(const qkv_plot_map *m, int row);
const char *qkv_plot_map_col_name(const qkv_plot_map *m, int col);

/* The maps as gnuplot reads them, one block a panel. */
void qkv_plot_maps_write(FILE *out, const qkv_plot_maps *m);

/* The maps as characters, 80 columns wide where they fit. SKIPPED if one is too wide for that. */
qkv_plot_status qkv_plot_maps_text(FILE *out, const qkv_plot_maps *m, char *why);

#endif
