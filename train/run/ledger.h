/* ledger.h - a run's ledger: its steps trained for once more, and who took the held-out loss down in each
 * (train/probe/ledger.h). */
#pragma once

#include "train/probe/ledger.h"
#include "train/run/run.h"

typedef struct {
    int from, to;  // steps; `to` QKV_RUN_NEWEST: the newest
    int every;     // steps of a row
    qkv_probe_ledger_options books;
    void (*progress)(void *ctx, int done, int total);  // may be NULL
    void *ctx;
} qkv_run_ledger_options;

/* A row is the straight line from the parameters after `first` steps to those after `next`. */
typedef struct {
    int first, next;
    double before, after, left, allowed;
    double *part;  // [columns]
} qkv_run_ledger_row;

typedef struct {
    int columns, parameters;  // the first so many columns are parameters
    qkv_probe_ledger_column *column;
    int examples, rows;
    qkv_run_ledger_row *row;
} qkv_run_ledger;

/* Of the run that o names, in the arena; o->at and o->weights have no say. QKV_IO_USAGE: the run has no
 * such steps, attention or table, which is found before anything is trained. On success error is empty, or
 * says that these may not be the bits of then. */
qkv_io_status qkv_run_ledger_of(const qkv_io *io, const qkv_run_opening *o,
                                const qkv_run_ledger_options *options, tensor_arena *arena,
                                qkv_run_ledger *out, char *error);

/* As CSV: step, next, loss (before), change, every parameter's part, left, then ways and symbols. */
bool qkv_run_ledger_write(const qkv_io *io, const qkv_run_ledger *l, const char *path, char *error);
