/* data.h - from a run's tables to the numbers of one picture, as CSV for gnuplot.
 *
 * What is read lives in the arena of the text that is written. Each function leaves a sentence in
 * why (QKV_IO_ERROR) when it does not return OK. */
#pragma once

#include "train/io/csv.h"
#include "train/io/text.h"
#include "train/plot/plot.h"

/* Reads DIR/NAME.csv. SKIPPED: there is none. Only metrics.csv may end within a row, which is left
 * out: it grows while a run trains; all others are written whole. */
qkv_io_status qkv_plot_table_read(qkv_io_table *t, tensor_arena *arena, const char *dir,
                                  const char *name, char *why);

/* Adds a text from outside as one quoted field that gnuplot takes for nothing but text: quotes,
 * backslashes and commas become their like, what does not show '?', and after `most` characters it
 * ends in an ellipsis. */
void qkv_plot_label(qkv_io_text *out, const char *text, int most);

/* The rows of run/metrics.csv that have a step, with the columns that `source` (see plots.def)
 * names. SKIPPED if not one of the columns has a number. */
qkv_io_status qkv_plot_series(qkv_io_text *out, const char *run, const char *source, char *why);

/* dir/source.csv as it is, its labels made harmless. SKIPPED if there is none. */
qkv_io_status qkv_plot_copy(qkv_io_text *out, const char *dir, const char *source, char *why);

/* run/probe/source.csv, a block for each panel of each step. SKIPPED if there is none. */
qkv_io_status qkv_plot_frames(qkv_io_text *out, const char *run, const char *source, char *why);

/* run/ledger.csv added up by kinds of parameters: the change a step of each, then the sums. SKIPPED if there
 * is none. */
qkv_io_status qkv_plot_ledger_data(qkv_io_text *out, const char *run, char *why);

/* The levels that all of the runs share. */
qkv_io_status qkv_plot_shared_levels(qkv_io_text *out, const char *const *runs, int n, char *why);

/* First the levels that all runs share; then a block for each group of runs that differ in nothing but
 * their seed, with a line of its name, "mean" and its number from 0, and the mean at each step that all of
 * them have; then a block a run, with a line of its path, "run" and its group, and its rows. */
qkv_io_status qkv_plot_several(qkv_io_text *out, const char *const *runs, int n, const char *source,
                               char *why);

/* A map from run/probe: values with names for rows and columns. */
typedef struct {
    qkv_io_table table;
    const char *file;  // its name in source
    int panel;         // its place in source
    int rows, cols;
    int *at;                                       // [rows,cols] the table's row of each cell
    double *x;                                     // [rows,cols] the values
    int value, target, row_name, col_name, title;  // the table's columns; -1: none
} qkv_plot_map;

enum { QKV_PLOT_MAPS = 16 };

typedef struct {
    qkv_plot_map map[QKV_PLOT_MAPS];
    int n;
} qkv_plot_maps;

/* Reads the maps that source names; those that do not exist are left out, SKIPPED if that is all of
 * them. DAMAGED: a cell missing or twice, no number, more than 1024 rows or columns. */
qkv_io_status qkv_plot_maps_read(qkv_plot_maps *m, tensor_arena *arena, const char *run,
                                 const char *source, char *why);

bool qkv_plot_map_target(const qkv_plot_map *m, int row, int col);
const char *qkv_plot_map_row_name(const qkv_plot_map *m, int row);
const char *qkv_plot_map_col_name(const qkv_plot_map *m, int col);
const char *qkv_plot_map_title(const qkv_plot_map *m);

/* The maps as gnuplot reads them, one block a panel. */
void qkv_plot_maps_write(qkv_io_text *out, const qkv_plot_maps *m);

/* The maps as characters, at most 80 columns wide. Of a map larger than a screen each character
 * stands for several cells, and of one from before training, where there is a trained one, only the
 * title. */
void qkv_plot_maps_text(qkv_io_text *out, const qkv_plot_maps *m);
