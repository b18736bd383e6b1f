/* store.h - the results of a folder, DIR/results.jsonl, while several processes may add to it.
 *
 * Who trains a cell has claimed it, by a lock that the system frees when the process ends, however it
 * ends; and what is known is read again after the claim. So no cell is trained twice. */
#pragma once

#include "train/study/study.h"

typedef struct {
    const qkv_io *io;
    const qkv_study *s;
    qkv_study_results *known;  // the caller's: what the file says, as far as it was read
    qkv_io_appender file;
    int in;      // the same file, to be read
    char *tail;  // read, without the end of its line
    size_t n_tail, room;
    char path[QKV_IO_PATH];
} qkv_study_store;

/* Opens or makes the file, and reads it. */
bool qkv_study_store_open(qkv_study_store *st, const qkv_io *io, const qkv_study *s,
                          const char *dir, qkv_study_results *known, char *error);

/* Reads what was added since. */
bool qkv_study_store_read(qkv_study_store *st, char *error);

/* Adds a result, which is known from then on as its line says it: with the digits of the file. */
bool qkv_study_store_add(qkv_study_store *st, const qkv_study_result *r, char *error);

/* Claims a cell: false if somebody else has it. What that somebody found is known afterwards. */
bool qkv_study_store_claim(qkv_study_store *st, const qkv_study_cell *cell);
void qkv_study_store_release(qkv_study_store *st, const qkv_study_cell *cell);

bool qkv_study_store_close(qkv_study_store *st, char *error);
