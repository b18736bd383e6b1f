/* run_files.h - the files of a run directory beside metrics and checkpoints; internal to train/. */
#ifndef QKV_RUN_FILES_H
#define QKV_RUN_FILES_H

#include "train/run/run.h"

/* Makes and locks dir. A directory with a run in it is refused unless force (its files are
 * removed) or resume. The lock is *lock's descriptor until qkv_run_close_directory(). */
qkv_run_status qkv_run_open_directory(const qkv_io *io, const qkv_run_options *o, int *lock,
                                      char *error);
void qkv_run_close_directory(const qkv_io *io, int lock);

/* config.json and levels.csv. */
bool qkv_run_write_descriptions(const qkv_io *io, qkv_trainer *t, const char *dir, char *error);

/* The files of probe/ ending in -WHEN.csv, WHEN being "before" or "after": attention and circuits;
 * after training also attention with keys and with values swapped. circuits may be NULL. Tasks
 * without keys and values, and models without attention, have none. */
bool qkv_run_write_probes(const qkv_io *io, qkv_trainer *t, const qkv_probe_circuits *circuits,
                          const char *dir, const char *when, char *error);

/* probe/example-K.csv of a held-out example, K being its attention maps in order; earlier ones are
 * removed. */
bool qkv_run_write_example(const qkv_io *io, qkv_trainer *t, const char *dir, uint64_t example,
                           int readout, char *error);

#endif
