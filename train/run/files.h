/* files.h - the files of a run directory beside metrics and checkpoints; internal to train/. */
#pragma once

#include "train/probe/tape.h"
#include "train/run/run.h"

/* Makes the directory of the options, which is copied to `dir`, and locks it. One with a run in it is
 * refused unless force (what qkv wrote is removed) or resume. The lock is *lock's descriptor until
 * qkv_run_close_directory(). */
qkv_io_status qkv_run_open_directory(const qkv_io *io, const qkv_run_options *o,
                                     char dir[QKV_IO_PATH], int *lock, char *error);
void qkv_run_close_directory(const qkv_io *io, int lock);

/* Locks a directory that is there; `who` ("run", "study") is what else may be writing to it. */
bool qkv_run_lock(const qkv_io *io, const char *dir, const char *who, int *lock, char *error);

/* Is it a name that the two functions below give to files? */
bool qkv_run_is_probe(const char *name);

/* config.json, which says how the run saves, levels.csv and data.csv. */
bool qkv_run_write_descriptions(const qkv_io *io, qkv_trainer *t, const qkv_config_saving *saving,
                                const char *dir, char *error);

/* The files of probe/ ending in -WHEN.csv, WHEN being "before" or "after": attention and circuits;
 * after training also attention with keys and with values swapped. circuits may be NULL. Tasks
 * without keys and values, and models without attention, have none. */
bool qkv_run_write_probes(const qkv_io *io, qkv_trainer *t, const qkv_probe_circuits *circuits,
                          const char *dir, const char *when, char *error);

/* probe/example-K.csv of the example that is loaded, K being its attention maps in order, with a change
 * before and after it (see qkv_probe_changed_maps(); NULL: none); earlier ones are removed. */
bool qkv_run_write_example(const qkv_io *io, qkv_trainer *t, const char *dir, int readout,
                           const char *change, char *error);

/* probe/tape.csv of the example that is loaded in the tape: its graph as a picture. */
bool qkv_run_write_tape(const qkv_io *io, const qkv_probe_tape *tape, const char *title,
                        const char *dir, char *error);

/* probe/frames.csv of the directory `to`: what can be seen of a run at `frames` steps (at least 2) from
 * its first to o->at, evenly apart, trained for once more: attention (of one example asked for each entry,
 * or where a task has no keys and values every head of a held-out example, the first 3) and one head's
 * circuits over keys and over values. A row a cell, with step, last, the held-out accuracy then, kind
 * ("attention", "qk", "ov") and panel. On success error is empty, or says that these may not be the bits
 * of then. progress may be NULL. */
qkv_io_status qkv_run_write_frames(const qkv_io *io, const qkv_run_opening *o, int frames,
                                   const char *to, void (*progress)(void *ctx, int done, int total),
                                   void *ctx, char *error);
