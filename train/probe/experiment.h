/* experiment.h - loaded examples on which one thing after another is changed, seen, and put back. */
#pragma once

#include "train/probe/observe.h"

typedef struct {
    qkv_trainer *t;
    qkv_trainer_worker *w;  // its loaded micro-batch is changed
    const data_spec *spec;
    qkv_probe_view clean, view;  // as it was, and after a change
    int *kept;                   // its ids before: the sequence's streams [B,T], then the memory's
    rng random;
} qkv_probe_experiment;

/* Memory for it in the arena, and a stream of random numbers for that purpose. False: out of memory. */
bool qkv_probe_experiment_new(tensor_arena *arena, qkv_trainer *t, const char *purpose,
                              qkv_probe_experiment *out);

/* The i-th of some changes, of example e (an example that has nothing to be changed is left), and what is
 * counted when the model has seen it. */
typedef struct {
    int changes;
    void (*change)(void *ctx, int i, int e);
    void (*tally)(void *ctx, int i);
} qkv_probe_experiment_plan;

/* Sees the loaded examples as they are, then after each change alone; they are put back. False on a graph's
 * error. */
bool qkv_probe_experiment_run(qkv_probe_experiment *b, const qkv_probe_experiment_plan *plan,
                              void *ctx);
