/* rows.h - trainings as rows: those of a sweep or a study (its cells.csv), or of the directories of runs. */
#pragma once

#include "train/io/csv.h"
#include "train/study/statistics.h"

/* A column is an option up to "seed", the last of them; then come what was measured, and "failed". */
typedef struct {
    tensor_arena *arena;
    qkv_io_table table;
    int n, options;  // rows that are kept; columns that are options
    int *row;        // which
} qkv_study_rows;

/* A sweep's or a study's folder, runs, or folders with runs in them. */
qkv_io_status qkv_study_rows_read(qkv_study_rows *r, const qkv_io *io, tensor_arena *arena,
                                  const char *const *dirs, int n, char *error);

/* Keeps the rows for which all of "optimizer=adam lr<=0.01" is true: = != < <= > >=, of numbers or, with =
 * and !=, of words. False with a sentence. */
bool qkv_study_rows_filter(qkv_study_rows *r, const char *conditions, char *error);

/* The column of that name, an option as "d-k", too; -1 with a sentence. */
int qkv_study_rows_column(const qkv_study_rows *r, const char *name, char *error);

/* The text of a column in the i-th row that is kept; its number, or NaN; is it a row that failed? */
const char *qkv_study_rows_text(const qkv_study_rows *r, int i, int column);
double qkv_study_rows_number(const qkv_study_rows *r, int i, int column);
bool qkv_study_rows_failed(const qkv_study_rows *r, int i);

/* Has the column more than one value? */
bool qkv_study_rows_vary(const qkv_study_rows *r, int column);

/* Rows that are equal in some columns, in the order of their first. */
typedef struct {
    int n;
    int *of;     // of each row its group
    int *first;  // of each group its first row
} qkv_study_groups;
bool qkv_study_rows_group(const qkv_study_rows *r, const int *columns, int n, qkv_study_groups *out,
                          char *error);

/* The numbers of a column in the rows of a group, into x (room for all rows); how many. */
int qkv_study_rows_numbers(const qkv_study_rows *r, const qkv_study_groups *g, int group,
                           int column, double *x);
