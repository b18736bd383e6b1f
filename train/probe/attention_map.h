/* attention_map.h - a picture's worth of attention: one example's memory, asked for each of its
 * entries in turn. */
#ifndef TRAIN_PROBE_ATTENTION_MAP_H
#define TRAIN_PROBE_ATTENTION_MAP_H

#include "train/text.h"
#include "train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { TRAIN_MAP_PLAIN, TRAIN_MAP_KEYS_SWAPPED, TRAIN_MAP_VALUES_SWAPPED } train_map_change;

/* Adds a CSV: row,col,weight,target,row_label,col_label. Row r asks for entry r's key as it was
 * before the change; its label is "asked > answered"; target is 1 where that key's value now
 * stands. Two entries are swapped. False: the task has no keys and values, or an error. */
bool train_attention_map(train_trainer *t, train_map_change change, train_text *out);

/* The attention of held-out example `example`, one CSV for each layer's each head (at most
 * `most`), with the symbols of both sides; a column "title" says which it is. Returns how many, -1
 * on a graph's error. */
int train_example_maps(train_trainer *t, uint64_t example, int most, tensor_arena *arena,
                       train_text *out);

#ifdef __cplusplus
}
#endif
#endif
