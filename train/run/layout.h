/* layout.h - what a checkpoint consists of: the one list that writer, reader and page loop over. */
#pragma once

#include "train/io/safetensors.h"
#include "train/trainer/trainer.h"

enum {
    QKV_RUN_LAYOUT_STATE = 3
};  // tensors that are numbers of the run, before those of the model

#define QKV_RUN_LAYOUT_FORMAT "qkv-checkpoint-1"

/* Where a run stands, as it is in a file. */
typedef struct {
    int64_t step, best_step;
    double best_loss;
} qkv_run_layout_state;

/* A trainer's tensors, by name; data points to where each lives in the trainer and in the state. */
typedef struct {
    qkv_io_stored *tensor;
    int n;
    tensor_arena *arena;
} qkv_run_layout;

/* False when memory is out; to be freed in any case. The state's tensors come first: theirs are 8
 * bytes an element. t and s must outlive it. */
bool qkv_run_layout_init(qkv_run_layout *l, const qkv_trainer *t, const qkv_run_layout_state *s);
void qkv_run_layout_free(qkv_run_layout *l);

/* Is it the name of one of the optimiser's moments; of a number of the run? */
bool qkv_run_layout_is_moment(const char *name);
bool qkv_run_layout_is_state(const char *name);

/* CRC-32 over names and values of the parameters and, if wanted, the moments. */
uint32_t qkv_run_layout_checksum(const qkv_run_layout *l, bool moments);

/* The state's tensors alone. */
void qkv_run_layout_state_tensors(qkv_io_stored at[QKV_RUN_LAYOUT_STATE],
                                  const qkv_run_layout_state *s);
