/* observe.h - what a model does with the examples loaded in a worker: where it looks and what it
 * says. */
#pragma once

#include "train/trainer/trainer.h"

TENSOR_C_BEGIN

/* One row for each example: its first scored position. */
typedef struct {
    int S;
    real *attention;  // [B,S] the last layer's weights on the store, mean over heads
    int *looks_at;    // [B] where the greatest weight is
    int *answer;      // [B] first readout
} qkv_probe_view;

bool qkv_probe_view_new(tensor_arena *arena, qkv_trainer *t,
                        qkv_probe_view *out);  // false: out of memory

/* Replays the worker and looks. False on a graph's error. */
bool qkv_probe_observe(qkv_trainer *t, qkv_trainer_worker *w, qkv_probe_view *out);

/* The first row of example b in which the first readout is scored, or else another one (an index into
 * w->rows); -1: none. */
int qkv_probe_scored_row(const qkv_trainer *t, const qkv_trainer_worker *w, int b);

/* Exchanges two ids. */
void qkv_probe_swap(int *ids, int i, int j);

/* ---- patching: the value of a node, kept and put back ---- */

typedef struct {
    ag_node *node;
    real *x;  // [node->val.n]
} qkv_probe_patch;

/* A patch of the node of that name in the worker's graph, with the value it has now. */
bool qkv_probe_patch_take(tensor_arena *arena, ag_node *node, qkv_probe_patch *out);

/* While it is on, the node has the kept value at every replay. */
void qkv_probe_patch_on(qkv_probe_patch *p);
void qkv_probe_patch_off(qkv_probe_patch *p);

TENSOR_C_END
