/* head_circuits.h - each head's own circuits, for each question that a task asks: which head's matrices match
 * the question with its key (QK), and which say what was fetched (OV)? See circuits.h. */
#pragma once

#include "train/probe/circuits.h"

/* Of one head and one question: as in qkv_probe_circuits. NaN: see missing. */
typedef struct {
    double qk_diag, qk_margin, ov_diag, ov_margin;
} qkv_probe_head_circuit;

typedef struct {
    int heads, questions;  // questions: the task's readouts
    const char *missing
        [DATA_MAXREADOUTS];      // why a question has no circuits, as half a sentence; NULL: it has
    qkv_probe_head_circuit *of;  // [heads,questions]
} qkv_probe_head_circuits;

/* As the parameters stand; false when memory is out. The arena keeps the results. */
bool qkv_probe_head_circuits_of(qkv_trainer *t, tensor_arena *arena, qkv_probe_head_circuits *out);

/* Has any question circuits? */
bool qkv_probe_head_circuits_any(const qkv_probe_head_circuits *c);

/* The head with the greatest margin of QK, or of OV, for a question. */
int qkv_probe_finder(const qkv_probe_head_circuits *c, int question);
int qkv_probe_sayer(const qkv_probe_head_circuits *c, int question);
