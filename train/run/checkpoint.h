/* checkpoint.h - everything that a run needs to go on, as one safetensors file.
 *
 *   NAME                                            a weight: F32, or F64 in the double build
 *   optimizer.mean.NAME, optimizer.square.NAME      its moments; sgd has no squares
 *   state.step, state.best_step, state.best_loss    I64, I64, F64 scalars
 *   __metadata__    format "qkv-checkpoint-1", version (of qkv), config (config.json's text), crc32
 *
 * A run directory holds step-00000600.safetensors, ... and best.safetensors. There is no pointer
 * file: the latest is the newest one that validates. */
#pragma once

#include "train/io/io.h"
#include "train/trainer/trainer.h"

TENSOR_C_BEGIN

/* Where a run stands, beside its weights and moments. */
typedef struct {
    int step;       // steps done: the next one has this number
    int best_step;  // -1: there is no best yet
    double best_loss;
} qkv_run_progress;

qkv_run_progress qkv_run_progress_start(void);  // {0, -1, infinity}

/* A checkpoint's bytes, to be released through the trainer's allocator. `path`: what the sentence of a
 * failure names. */
bool qkv_run_compose(const qkv_trainer *t, const qkv_run_progress *p, const char *path, void **file,
                     size_t *size, char *error);

/* The same as a file. True only when it is on the disk (qkv_io_write_file). */
bool qkv_run_save(const qkv_io *io, const qkv_trainer *t, const qkv_run_progress *p,
                  const char *path, char *error);

/* Loads what was saved by a run whose model and optimiser have the same parameters; options that
 * change neither may differ. QKV_IO_DAMAGED also when it is another model's. Unless
 * QKV_IO_OK, trainer and *p are as they were. With QKV_IO_OK, error is empty or a sentence worth
 * saying: another program wrote the file, and it carries no checksum. */
qkv_io_status qkv_run_restore(const qkv_io *io, qkv_trainer *t, qkv_run_progress *p,
                              const char *path, char *error);

/* The same; any_real: of a build of the other precision, too, its numbers converted. */
qkv_io_status qkv_run_restore_as(const qkv_io *io, qkv_trainer *t, qkv_run_progress *p,
                                 const char *path, bool any_real, char *error);

/* The configuration stored in a checkpoint, into *c (on top of the defaults). Only the header is
 * read. */
qkv_io_status qkv_run_checkpoint_config(const qkv_io *io, const tensor_allocator *mem,
                                        const char *path, const struct qkv_config_plugin *plugin,
                                        qkv_config *c, char *error);

/* Where the run stood in a whole, undamaged checkpoint, of whatever model. */
qkv_io_status qkv_run_checkpoint_read(const qkv_io *io, const tensor_allocator *mem,
                                      const char *path, qkv_run_progress *p, char *error);

/* Is it one? */
qkv_io_status qkv_run_checkpoint_check(const qkv_io *io, const tensor_allocator *mem,
                                       const char *path, char *error);

/* ---- the checkpoints of a run directory ---- */

/* "DIR/step-00000600.safetensors" */
bool qkv_run_checkpoint_path(char out[QKV_IO_PATH], const char *dir, int step, char *error);

/* The step in "step-00000600.safetensors"; -1 for any other name, "step-600.safetensors" too. */
long qkv_run_checkpoint_step(const char *name);

/* "best.safetensors", and what a run that began --from another began with. */
#define QKV_RUN_BEST  "best.safetensors"
#define QKV_RUN_START "start.safetensors"

/* The newest checkpoint that validates, into `path`; *skipped newer ones are damaged (the first's
 * sentence is in `error`, or ""). QKV_IO_ABSENT: there is none at all. QKV_IO_DAMAGED: all
 * are damaged. One that cannot be read ends the search (QKV_IO_FAILED): to go back further
 * might be to lose steps for a passing reason. */
qkv_io_status qkv_run_latest(const qkv_io *io, const tensor_allocator *mem, const char *dir,
                             char path[QKV_IO_PATH], int *skipped, char *error);

/* The same of those of step `most` or earlier. */
qkv_io_status qkv_run_latest_until(const qkv_io *io, const tensor_allocator *mem, const char *dir,
                                   int most, char path[QKV_IO_PATH], int *skipped, char *error);

/* Removes the checkpoints older than the newest `keep` >= 1 that validate, and temporary files of
 * killed processes. The caller holds the run's lock. Removes nothing when one of these cannot be
 * read. */
bool qkv_run_prune(const qkv_io *io, const tensor_allocator *mem, const char *dir, int keep,
                   char *error);

TENSOR_C_END
