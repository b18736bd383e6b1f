/* source.h - the state with which a run begins that is started --from another; internal to
 * train/run. */
#pragma once

#include "train/run/run.h"

/* Puts the state that the trainer's configuration names (`from`) into the trainer, and into its
 * configuration what was found: the step, and a checksum, which must be the one that stands there
 * already, if one does. *progress begins anew at that step. On success error is empty, or a
 * sentence worth saying. */
qkv_io_status qkv_run_begin_from(const qkv_io *io, qkv_trainer *t, int threads,
                                 qkv_run_progress *progress, char *error);
