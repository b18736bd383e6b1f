/* attention_map.h - what the pictures of attention and circuits show, as CSV: a line a cell, its
 * row, column and number, whether it is the right one (target), the names of both, and perhaps, in
 * the first line, a title. */
#pragma once

#include "train/io/text.h"
#include "train/probe/circuits.h"

TENSOR_C_BEGIN

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

/* Which maps of an example: at most so many, the heads of all layers, or of those from `first_layer` on. */
typedef struct {
    int readout;  // whose answer is framed; -1: none is
    int first_layer, most;
    const char *remark;  // stands in the titles behind the head; "" or NULL: nothing
    int at, other;  // positions of the store that were exchanged: frames go with them; both 0: none
} qkv_probe_maps_of;

/* The attention of the example that is loaded first, one CSV for each layer's each head, with the
 * symbols of both sides; target is 1 where the answer to the readout stands, and a column "title" says
 * which head it is and, where there are several, which readout. Returns how many, -1 on a graph's
 * error. */
int qkv_probe_example_maps(qkv_trainer *t, const qkv_probe_maps_of *of, tensor_arena *arena,
                           qkv_io_text *out);

/* The last layer's, each head before and after a change (see qkv_probe_change()), with what is
 * answered. Returns how many; -1 with a sentence in error. */
int qkv_probe_changed_maps(qkv_trainer *t, int readout, const char *change, int most,
                           tensor_arena *arena, qkv_io_text *out, char *error);

TENSOR_C_END
