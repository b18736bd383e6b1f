/* past.h - the files that grow with a run, metrics.csv and clock.csv: opened, and what they and the
 * rest of its directory tell a run that goes on; internal to train/run. */
#pragma once

#include "train/run/checkpoint.h"
#include "train/run/metrics.h"
#include "train/run/run.h"

typedef struct {
    qkv_io_appender metrics, clock;
    char metrics_path[QKV_IO_PATH], clock_path[QKV_IO_PATH];
} qkv_run_record;

/* Opens both with what stays of them, or with their headers. */
bool qkv_run_record_open(qkv_run_record *r, const qkv_io *io, qkv_trainer *t, const char *dir,
                         const qkv_run_past *past, char *error);

/* Before a checkpoint of `step`: its time is noted, and the rows before it are on the disk. */
bool qkv_run_record_sync(qkv_run_record *r, int step, double seconds, char *error);
bool qkv_run_record_close(qkv_run_record *r, char *error);

/* Reads the past of a run that goes on from the checkpoint at `checkpoint`, and refuses what is
 * missing or damaged, or belongs to another configuration than the trainer's (--steps apart).
 * Nothing is written. */
qkv_io_status qkv_run_past_read(const qkv_io *io, qkv_trainer *t, const char *dir,
                                const char *checkpoint, const qkv_run_progress *p,
                                qkv_run_past *past, char *error);
