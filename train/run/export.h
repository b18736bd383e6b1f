/* export.h - a model's matrices and maps as files that other programs read.
 *
 *   DIR/weights/NAME           every parameter
 *   DIR/attention/NODE.headH   the weights of each attention head in one example, [T,S]
 *   DIR/logits/READOUT         what the model says in that example, a row for each scored position
 *   DIR/circuits/NAME.headH    the four circuits of each head, where a model has them
 *
 * Each ends in .npy (numpy's format 1.0) or .csv (a row of labels, then rows that begin with one).
 * Bytes of a name that do not belong into a file's become %XX, so that no name leaves DIR. */
#pragma once

#include "train/io/io.h"
#include "train/trainer/trainer.h"

TENSOR_C_BEGIN

typedef struct {
    const char *npy, *csv;  // directories; NULL: not in this format
    int example;            // of the split "test"
    const char *change;     // of that example, see qkv_probe_change(); NULL: none
    bool force;             // write into a directory that is not empty
} qkv_run_export_options;

typedef struct {
    int weights, attention, logits, circuits;  // how many there are
} qkv_run_exported;

/* False with a sentence in error. A directory that is not empty is refused before anything is
 * written. */
bool qkv_run_export(const qkv_io *io, qkv_trainer *t, const qkv_run_export_options *o,
                    qkv_run_exported *out, char *error);

/* A name as a file's: letters, digits, '-', '_' and, not at the beginning, '.' stay. */
char *qkv_run_export_name(const char *name, char *out, size_t size);

TENSOR_C_END
