/* look.h - what the probes share: running examples shard by shard, and reading what a replay left
 * in a worker. */
#ifndef TRAIN_PROBE_LOOK_H
#define TRAIN_PROBE_LOOK_H

#include "train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes one sentence into error (TRAIN_ERROR) and returns false. */
bool train_refuse(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The worker's graph as it is evaluated: without dropout. False on a graph's error. */
bool train_replay(train_worker *w);

/* Loads about `count` examples of a split, replays them shard by shard, and calls see() on each.
 * The arena is emptied between shards. Every scored row has the weight of `total` examples, as in
 * train_load(). False with a sentence in error when memory is out, or see() says so. */
typedef bool train_see_fn(train_trainer *t, train_worker *w, tensor_arena *arena, void *ctx);
bool train_see(train_trainer *t, const char *split, int count, double total, train_see_fn *see,
               void *ctx, char *error);

/* The scored rows loaded: n counts up to this. */
int train_rows(const train_worker *w);

/* Example and position of scored row n. */
int train_row_example(const train_trainer *t, const train_worker *w, int n);
int train_row_position(const train_trainer *t, const train_worker *w, int n);

/* What readout r says at scored row n. */
int train_answer(const train_trainer *t, const train_worker *w, int r, int n);

/* The ids of one stream in one example. */
int *train_ids(const train_trainer *t, train_worker *w, data_side_name side, int stream,
               int example);

/* The row of a layer's node [B,H,T,S] ("scores", "weights") for example b, head h, position at. */
real *train_row_of(const ag_node *node, int b, int h, int at);

/* Its entry s, mean over heads. */
double train_mean_at(const ag_node *node, int b, int at, int s);

/* The position s for which that mean is greatest. */
int train_looks_at(const ag_node *node, int b, int at);

/* May position t of the sequence see position s of the store? */
bool train_sees(const train_trainer *t, int at, int s);

/* The node "layerL.attn.NAME" of a worker ("cross" where attention reads a memory), and the
 * parameter of that name; NULL if there is none. */
ag_node *train_node(train_trainer *t, train_worker *w, int layer, const char *name);
ag_param_entry *train_matrix(train_trainer *t, int layer, const char *name);

/* The last layer's scores, [B,H,T,S] as its weights; NULL if the model has no such node. */
ag_node *train_scores_node(train_trainer *t, train_worker *w);

/* Is the gate of the scores open (always, without --scores-from)? And opens or closes it. */
bool train_gate_is_open(train_trainer *t);
void train_set_gate(train_trainer *t, bool open);

/* The number of the last layer. */
int train_last(const train_trainer *t);

#ifdef __cplusplus
}
#endif
#endif
