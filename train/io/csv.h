/* csv.h - tables as CSV: one header line, then rows of as many fields. Read whole here; written
 * field by field with text.h. */
#pragma once

#include "train/io/io.h"

typedef struct {
    const char **cell;  // header and rows, row-major, unquoted
    int rows, cols;     // rows after the header
    bool torn;          // the last line had no end and was left out: a writer was killed, or
    bool last_row;      // an editor left its end away: row `rows` is there, with all its fields
} qkv_io_table;

/* Reads the file into the arena. Damaged: no text, longer than 256 MiB, more than 4096 columns, or
 * a row with another number of fields than the header. */
qkv_io_status qkv_io_table_read(qkv_io_table *t, const qkv_io *io, tensor_arena *arena,
                                const char *path, char *error);

/* The column with that heading, or -1. */
int qkv_io_table_column(const qkv_io_table *t, const char *heading);

/* The cell; row -1 is the header; "" where col is -1. And its number, false if it is none. */
const char *qkv_io_table_cell(const qkv_io_table *t, int row, int col);
bool qkv_io_table_number(const qkv_io_table *t, int row, int col, double *x);
