/* attention_map.h - a picture's worth of attention: one example's memory, asked for each of its
 * entries in turn. */
#ifndef QKV_PROBE_ATTENTION_MAP_H
#define QKV_PROBE_ATTENTION_MAP_H

#include "train/io/text.h"
#include "train/trainer/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    QKV_PROBE_MAP_PLAIN,
    QKV_PROBE_MAP_KEYS_SWAPPED,
    QKV_PROBE_MAP_VALUES_SWAPPED
} qkv_probe_map_change;

/* Adds a CSV: row,col,weight,target,row_label,col_label. Row r asks for entry r's key as it was
 * before the change; its label is "asked > answered"; target is 1 where that key's value now
 * stands. Two entries are swapped. False: the task has no keys and values, or an error. */
bool qkv_probe_attention_map(qkv_trainer *t, qkv_probe_map_change change, qkv_io_text *out);

/* The attention of held-out example `example`, one CSV for each layer's each head (at most
 * `most`), with the symbols of both sides; a column "title" says which it is. Returns how many, -1
 * on a graph's error. */
int qkv_probe_example_maps(qkv_trainer *t, uint64_t example, int most, tensor_arena *arena,
                           qkv_io_text *out);

#ifdef __cplusplus
}
#endif
#endif
