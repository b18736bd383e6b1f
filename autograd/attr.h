/* attr.h - the constants of those ops that have a fast form, too: both read them. */
#pragma once

#include "autograd/ag.h"
#include "tensor/rng.h"

typedef struct {
    int heads;
    double factor;
    ag_mask mask;
} ag_scores_attr;

typedef struct {
    int kv_heads;
    ag_mask mask;
} ag_mix_attr;

typedef struct {
    double p;
    const char *name;
    ag_places places;
} ag_dropout_attr;

/* Where a dropout's mask is drawn from, a number an element. */
rng ag_dropout_stream(const ag_node *node);

typedef struct {
    tensor_shape s;
    bool listed;                   // ids are given
    const int *ids[AG_EMBED_MAX];  // the caller's, read again at every replay
} ag_embedding_attr;

typedef struct {
    const int *targets;  // the caller's, [rows]
    const real *weight;
    double p;  // of label smoothing
} ag_targets_attr;

/* How many rows are scored; -1 if a target is out of range: then the node has failed. */
int ag_count_scored(ag_node *node);
