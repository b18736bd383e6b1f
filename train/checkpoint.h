/* checkpoint.h - everything that a run needs to go on, as one safetensors file.
 *
 *   NAME                                            a weight: F32, or F64 in the double build
 *   optimizer.mean.NAME, optimizer.square.NAME      its moments; sgd has no squares
 *   state.step, state.best_step, state.best_loss    I64, I64, F64 scalars
 *   __metadata__    format "qkv-checkpoint-1", version (of qkv), config (config.json's text), crc32
 *
 * A run directory holds step-00000600.safetensors, ... and best.safetensors. There is no pointer
 * file: the latest is the newest one that validates. */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "train/io.h"
#include "train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a run stands, beside its weights and moments. */
typedef struct {
    int step;       // steps done: the next one has this number
    int best_step;  // -1: there is no best yet
    double best_loss;
} train_progress;

train_progress train_progress_start(void);  // {0, -1, infinity}

/* True only when the file is on the disk (train_write_file). */
bool train_save(const train_io *io, const train_trainer *t, const train_progress *p,
                const char *path, char *error);

/* Loads what was saved by a run whose model and optimiser have the same parameters; options that
 * change neither may differ. TRAIN_FILE_DAMAGED also when it is another model's. Unless
 * TRAIN_FILE_OK, trainer and *p are as they were. */
train_file_status train_restore(const train_io *io, train_trainer *t, train_progress *p,
                                const char *path, char *error);

/* The configuration stored in a checkpoint, into *c (on top of the defaults). Only the header is
 * read. */
train_file_status train_checkpoint_config(const train_io *io, const tensor_allocator *mem,
                                          const char *path, train_config *c, char *error);

/* Is it a whole, undamaged checkpoint, of whatever model? */
train_file_status train_checkpoint_check(const train_io *io, const tensor_allocator *mem,
                                         const char *path, char *error);

/* ---- the checkpoints of a run directory ---- */

/* "DIR/step-00000600.safetensors" */
bool train_checkpoint_path(char out[TRAIN_PATH], const char *dir, int step, char *error);

/* The newest checkpoint that validates, into `path`; *skipped newer ones are damaged (the first's
 * sentence is in `error`, or ""). TRAIN_FILE_ABSENT: there is none at all. TRAIN_FILE_DAMAGED: all
 * are damaged. One that cannot be read ends the search (TRAIN_FILE_UNREADABLE): to go back further
 * might be to lose steps for a passing reason. */
train_file_status train_latest(const train_io *io, const tensor_allocator *mem, const char *dir,
                               char path[TRAIN_PATH], int *skipped, char *error);

/* Removes the checkpoints older than the newest `keep` >= 1 that validate, and temporary files of
 * killed processes. The caller holds the run's lock. Removes nothing when one of these cannot be
 * read. */
bool train_prune(const train_io *io, const tensor_allocator *mem, const char *dir, int keep,
                 char *error);

#ifdef __cplusplus
}
#endif
#endif
