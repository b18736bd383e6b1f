/* look.h - what the probes share: running examples micro-batch by micro-batch, and reading what a replay left
 * in a worker. */
#pragma once

#include "train/trainer/trainer.h"

/* The worker's graph as it is evaluated: without dropout. False on a graph's error. */
bool qkv_probe_replay(qkv_trainer_worker *w);

/* Loads `count` examples of a split, or all where it has fewer, replays them micro-batch by micro-batch,
 * and calls see() on each. The arena is emptied between micro-batches. Every scored row has the weight of
 * `total` examples, as in qkv_trainer_load(); 0: of all that are loaded. False with a sentence in error
 * when memory is out, or see() says so. */
typedef bool qkv_probe_see_fn(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena,
                              void *ctx);
bool qkv_probe_see(qkv_trainer *t, const char *split, int count, double total,
                   qkv_probe_see_fn *see, void *ctx, char *error);

/* The scored rows loaded: n counts up to this. */
int qkv_probe_rows(const qkv_trainer_worker *w);

/* Example and position of scored row n. */
int qkv_probe_row_example(const qkv_trainer *t, const qkv_trainer_worker *w, int n);
int qkv_probe_row_position(const qkv_trainer *t, const qkv_trainer_worker *w, int n);

/* What readout r says at scored row n. */
int qkv_probe_answer(const qkv_trainer *t, const qkv_trainer_worker *w, int r, int n);

/* The ids of one stream in one example. */
int *qkv_probe_ids(const qkv_trainer *t, qkv_trainer_worker *w, data_side_name side, int stream,
                   int example);

/* The row of a layer's node [B,H,T,S] ("scores", "weights") for example b, head h, position at. */
real *qkv_probe_row_of(const ag_node *node, int b, int h, int at);

/* Its entry s, mean over heads. */
double qkv_probe_mean_at(const ag_node *node, int b, int at, int s);

/* The position s for which that mean is greatest. */
int qkv_probe_looks_at(const ag_node *node, int b, int at);

/* May position `at` of one side see position s of a side, in example b (w NULL: in one without
 * padding)? Padding neither sees nor is seen. And: may position `at` of the sequence see position s
 * of the store? */
bool qkv_probe_side_sees(const qkv_trainer *t, const qkv_trainer_worker *w, data_side_name rows,
                         data_side_name cols, int b, int at, int s);
bool qkv_probe_sees(const qkv_trainer *t, const qkv_trainer_worker *w, int b, int at, int s);

/* The node of a worker, and the parameter, whose name is formatted: "layer%d.out"; NULL if there is none. */
ag_node *qkv_probe_find(const qkv_trainer_worker *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
ag_param_entry *qkv_probe_param(qkv_trainer *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The dot product of a and b [n], and the length of x [n], in double. */
double qkv_probe_dot(const real *a, const real *b, int n);
double qkv_probe_norm(const real *x, size_t n);

/* Copies all parameters into a vector [ag_params_size()], each at its offset, or (back) from it; flat NULL:
 * nothing. */
void qkv_probe_params_copy(ag_params *p, real *flat, bool back);

/* The node "layerL.attn.NAME" of a worker ("cross" where attention reads a memory), and the
 * parameter of that name; NULL if there is none. */
ag_node *qkv_probe_node(qkv_trainer *t, qkv_trainer_worker *w, int layer, const char *name);
ag_param_entry *qkv_probe_matrix(qkv_trainer *t, int layer, const char *name);

/* The nodes of an attention that are read by their names, "layerL.attn.NAME". A block of one's own
 * gives them to what stands for the same; what reads one that is missing says so. */
typedef struct {
    const char *name, *shape, *what;
} qkv_probe_node_name;
extern const qkv_probe_node_name qkv_probe_node_names[];  // a NULL name ends it

/* Has the last layer the nodes that are named in `needs` ("q k v scores weights mix"), those of
 * attention in its shape, and "logits" (the answers are classes)? If not, error names the first that
 * is missing. */
bool qkv_probe_has_nodes(qkv_trainer *t, const char *needs, char *error);

/* The last layer's scores, [B,H,T,S] as its weights; NULL if the model has no such node. */
ag_node *qkv_probe_scores_node(qkv_trainer *t, qkv_trainer_worker *w);

/* Is the gate of the scores open (always, without --scores-from)? And opens or closes it. */
bool qkv_probe_gate_is_open(qkv_trainer *t);
void qkv_probe_set_gate(qkv_trainer *t, bool open);

/* The number of the last layer. */
int qkv_probe_last_layer(const qkv_trainer *t);
