/* sweep.h - all combinations of options, a row each: a study without a claim.
 *
 * DIR/sweep.json says which there are, DIR/results.jsonl is the store, as of a study, DIR/cells.csv and
 * DIR/times.csv are tables made from it. A cell is known by its options: those that differ from what the task
 * has by itself. So a longer list, or an option more, keeps what is there. */
#pragma once

#include "train/study/grid.h"

typedef struct {
    tensor_arena *arena;
    qkv_study *study;    // a variant for each combination of all but the seed
    json_t *definition;  // what sweep.json says: {"base": options, "grid": lists, "probes": names}
    qkv_study_cell *cell;  // each once, in order
    int n, repeated;       // cells; combinations that are the same cell as another
    int *slot;             // of each variant's name, then of each cell, by its hash
    size_t slots;
} qkv_study_sweep;

/* From its definition, to which it keeps a reference. NULL with a sentence. */
qkv_study_sweep *qkv_study_sweep_new(json_t *definition, const struct qkv_config_plugin *plugin,
                                     char *error);
void qkv_study_sweep_free(qkv_study_sweep *w);

/* That of a folder. ABSENT: it has no sweep.json. */
qkv_io_status qkv_study_sweep_read(const qkv_io *io, const char *dir,
                                   const struct qkv_config_plugin *plugin, qkv_study_sweep **out,
                                   char *error);

/* Are its values in range, do they fit together in at least one cell, and has each option an effect in
 * some? *unfit: variants that do not fit, which will be rows that failed; `why` (QKV_IO_ERROR) says of the
 * first what is wrong. */
bool qkv_study_sweep_check(const qkv_study_sweep *w, const struct qkv_config_plugin *plugin,
                           int *unfit, char *why, char *error);

/* Is the folder free, or are all the cells that have a result there also cells of this sweep? */
bool qkv_study_sweep_belongs(const qkv_io *io, const qkv_study_sweep *w, const char *dir,
                             char *error);

/* DIR/sweep.json, before anything is trained. */
bool qkv_study_sweep_begin(const qkv_io *io, const qkv_study_sweep *w, const char *dir,
                           char *error);

/* DIR/cells.csv and DIR/times.csv of the cells that have a result; not if somebody has made the sweep a
 * larger one meanwhile. */
bool qkv_study_sweep_write(const qkv_io *io, const qkv_study_sweep *w, const qkv_study_results *r,
                           const struct qkv_config_plugin *plugin, const char *dir, char *error);

/* The cell whose number begins so; -1: none; -2: several. */
int qkv_study_sweep_find(const qkv_study_sweep *w, const char *number);

/* A cell's number: c and 11 digits that depend on its options alone; no spreadsheet takes it for a number. */
enum { QKV_STUDY_NUMBER = 16 };
const char *qkv_study_cell_number(const qkv_study *s, const qkv_study_cell *cell,
                                  char out[QKV_STUDY_NUMBER]);

/* The rows of cells that have a result as CSV: number, options, what was measured in the end, why it failed;
 * `named`: group and variant, too. And number and seconds. */
bool qkv_study_cells_csv(const qkv_study *s, const qkv_study_cell *cells, int n,
                         const qkv_study_results *r, const struct qkv_config_plugin *plugin,
                         bool named, qkv_io_text *out, char *error);
void qkv_study_times_csv(const qkv_study *s, const qkv_study_cell *cells, int n,
                         const qkv_study_results *r, qkv_io_text *out);
