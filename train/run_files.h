/* run_files.h - the files of a run directory beside metrics and checkpoints; internal to train/. */
#ifndef TRAIN_RUN_FILES_H
#define TRAIN_RUN_FILES_H

#include "train/run.h"

/* Makes and locks dir. A directory with a run in it is refused unless force (its files are
 * removed) or resume. The lock is *lock's descriptor until train_close_directory(). */
train_status train_open_directory(const train_io *io, const train_run_options *o, int *lock,
                                  char *error);
void train_close_directory(const train_io *io, int lock);

/* config.json and levels.csv. */
bool train_write_descriptions(const train_io *io, const train_trainer *t, const char *dir,
                              char *error);

/* The files of probe/ ending in -WHEN.csv, WHEN being "before" or "after": attention and circuits;
 * after training also attention with keys and with values swapped. circuits may be NULL. Tasks
 * without keys and values, and models without attention, have none. */
bool train_write_probes(const train_io *io, train_trainer *t, const train_circuits *circuits,
                        const char *dir, const char *when, char *error);

/* probe/example-K.csv of a held-out example, K being its attention maps in order; earlier ones are
 * removed. */
bool train_write_example(const train_io *io, train_trainer *t, const char *dir, uint64_t example,
                         char *error);

#endif
