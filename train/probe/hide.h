/* hide.h - hides one part of what the store's tokens are made of: in the embedding of every entry,
 * the row of one stream (its keys, or its values) is replaced by that table's mean. */
#pragma once

#include "train/trainer/trainer.h"

typedef struct {
    const data_spec *spec;
    const qkv_trainer_worker *w;
    int stream;
    const ag_param_entry
        *table[2];  // of a position's own symbol, and of the one before it (NULL: unseen)
    real *mean[2];  // [D] of each
} qkv_probe_hidden;

/* Prepares to hide a stream of the store; the mean is the table's as it is now. False: memory is
 * out, or the stream has no table. */
bool qkv_probe_hide_new(tensor_arena *arena, qkv_trainer *t, qkv_trainer_worker *w, int stream,
                        qkv_probe_hidden *out);

/* The hook for the node qkv_trainer_store_name(), with a qkv_probe_hidden. */
void qkv_probe_hide(ag_node *node, void *hidden);
