/* observe.h - what a model does with the examples loaded in a worker: where it looks and what it
 * says. */
#ifndef TRAIN_PROBE_OBSERVE_H
#define TRAIN_PROBE_OBSERVE_H

#include "train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One row for each example: its first scored position. */
typedef struct {
    int S;
    real *attention;  // [B,S] the last layer's weights on the store, mean over heads
    int *looks_at;    // [B] where the greatest weight is
    int *answer;      // [B] first readout
} train_view;

bool train_view_new(tensor_arena *arena, train_trainer *t,
                    train_view *out);  // false: out of memory

/* Replays the worker and looks. False on a graph's error. */
bool train_observe(train_trainer *t, train_worker *w, train_view *out);

/* The first scored row of example b (an index into w->rows), or -1. */
int train_scored_row(const train_trainer *t, const train_worker *w, int b);

/* Exchanges two ids. */
void train_swap(int *ids, int i, int j);

/* ---- patching: the value of a node, kept and put back ---- */

typedef struct {
    ag_node *node;
    real *x;  // [node->val.n]
} train_patch;

/* A patch of the node of that name in the worker's graph, with the value it has now. */
bool train_patch_take(tensor_arena *arena, train_worker *w, const char *name, train_patch *out);

/* While it is on, the node has the kept value at every replay. */
void train_patch_on(train_patch *p);
void train_patch_off(train_patch *p);

#ifdef __cplusplus
}
#endif
#endif
