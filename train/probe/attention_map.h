/* attention_map.h - what the pictures of attention and circuits show, as CSV: a line a cell, its
 * row, column and number, whether it is the right one (target), the names of both, and perhaps, in
 * the first line, a title. */
#ifndef QKV_PROBE_ATTENTION_MAP_H
#define QKV_PROBE_ATTENTION_MAP_H

#include "train/io/text.h"
#include "train/probe/circuits.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    QKV_PROBE_MAP_PLAIN,
    QKV_PROBE_MAP_KEYS_SWAPPED,
    QKV_PROBE_MAP_VALUES_SWAPPED
} qkv_probe_map_change;

/* One example, asked for each of its entries in turn. Row r asks for entry r's key as it was before
 * the change; its label is "asked > answered"; target is 1 where that key's value now stands. Two
 * entries are swapped. False: there is no such map, or an error. */
bool qkv_probe_attention_map(qkv_trainer *t, qkv_probe_map_change change, qkv_io_text *out);

/* Why there is no such map, as half a sentence; NULL if there is one. */
const char *qkv_probe_attention_missing(qkv_trainer *t);

/* A circuit that has been read; the title says what the model makes of it. */
void qkv_probe_circuit_map(const qkv_probe_circuits *c, qkv_probe_circuit i, qkv_io_text *out);

/* The attention of the example that is loaded first, one CSV for each layer's each head (at most
 * `most`), with the symbols of both sides; target is 1 where the answer to the readout stands, and a
 * column "title" says which head it is and, where there are several, which readout. Returns how
 * many, -1 on a graph's error. */
int qkv_probe_example_maps(qkv_trainer *t, int readout, int most, tensor_arena *arena,
                           qkv_io_text *out);

#ifdef __cplusplus
}
#endif
#endif
