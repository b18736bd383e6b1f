/* probe.h - the probes: each finds named numbers about a model. Studies name them, and `qkv probe` runs them
 * on any run. A probe that serves one study stands in the file called after it. */
#pragma once

#include "train/probe/measure.h"

TENSOR_C_BEGIN

/* A probe: names begin with the probe's own and a point. False with a sentence in error
 * (QKV_IO_ERROR) when it does not fit the task or model, or memory is out. None of the three may be
 * NULL. It leaves parameters,
 * hooks and the trainer's behaviour as they were. */
typedef bool qkv_study_probe_fn(qkv_trainer *t, qkv_probe_measures *out, char *error);

/* Of training; DURING: at every evaluation; AGAIN: after it, by the same training once more. */
typedef enum {
    QKV_STUDY_BEFORE,
    QKV_STUDY_DURING,
    QKV_STUDY_AFTER,
    QKV_STUDY_AGAIN
} qkv_study_probe_time;

typedef struct {
    const char *name, *finds;
    qkv_study_probe_time when;
    qkv_study_probe_fn *run;
} qkv_study_probe;

/* The catalogue, one line each in probes.def; a NULL name ends it. */
#define QKV_STUDY_PROBE(name, when, finds) qkv_study_probe_fn qkv_study_probe_run_##name;
#include "train/study/probes.def"
#undef QKV_STUDY_PROBE
extern const qkv_study_probe qkv_study_probe_table[];
const qkv_study_probe *qkv_study_probe_find(const char *name);

TENSOR_C_END
