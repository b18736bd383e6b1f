/* csv.h - reading the tables of a run directory, and writing what came from outside so that it is
 * only data. */
#ifndef QKV_PLOT_CSV_H
#define QKV_PLOT_CSV_H

#include <stdbool.h>
#include <stdio.h>

#include "train/plot/plot.h"

/* Room for the one sentence that says what went wrong. */
#define QKV_PLOT_TEXT 1024

/* Writes the sentence into why[QKV_PLOT_TEXT] and returns FAILED. */
qkv_plot_status qkv_plot_say(char *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A table: one header line, then rows, as strings. Fields may be quoted, with "" for a quote. */
typedef struct {
    char *text;         // the file; the cells point into it
    const char **cell;  // header and rows, row-major
    int rows, cols;     // rows after the header
} qkv_plot_table;

/* Reads the file. SKIPPED: there is none. FAILED: unreadable, not text, longer than 256 MiB, or a
 * row with more fields than the header; a shorter row (the last one may be torn) is filled up with
 * empty fields. The table is to be freed in any case. */
qkv_plot_status qkv_plot_table_read(qkv_plot_table *t, const char *path, char *why);
void qkv_plot_table_free(qkv_plot_table *t);

/* The column with that heading, or -1. */
int qkv_plot_table_column(const qkv_plot_table *t, const char *heading);

/* The cell; row -1 is the header; "" where col is -1. */
const char *qkv_plot_table_cell(const qkv_plot_table *t, int row, int col);

/* The whole text as a finite decimal number into *x. The process's locale has no say. */
bool qkv_plot_number(const char *text, double *x);

/* Writes text as one quoted field: control characters become spaces, quotes and backslashes lose
 * their meaning, broken UTF-8 becomes '?', and after `most` characters it ends in an ellipsis. */
void qkv_plot_label(FILE *f, const char *text, int most);

#endif
