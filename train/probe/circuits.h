/* circuits.h - what the learned matrices do to symbols, without any example.
 *
 *   QK over keys    [N_k,N_k]  (E_k + E_v["?"]) Wq Wk^T E_k^T / sqrt(d_k): which keys does the
 *   question for a key match?
 *   QK over values  [N_k,N_v]  the same with E_v on the right: do values steer attention?
 *   OV over values  [N_v,N_v]  E_v Wv Wo U: what does a fetched value make the model say?
 *   OV over keys    [N_k,N_v]  E_k Wv Wo U: do keys leak into the answer?
 *
 * The matrices of one head of one layer. A question stands at the last position, and has what all
 * questions have, its position's vector and the bias of W^Q; of several that are asked at once
 * ("first" and "second" of the task two) each has its own maps, and an equal part of that. So the
 * scores are the sum of the maps' entries, up to what does not depend on the entry's symbols: where
 * it stands (positions, ALiBi), and what a softmax ignores (the bias of W^K). (With --token-shift,
 * or where an entry has several keys, the sum has more parts than are drawn.) Attention is taken as
 * it is when scores are allowed (--scores-from). Where no such sum exists, or the logits are none,
 * there are no circuits, and qkv_probe_circuits_missing() says why. With a feed-forward beside the
 * residual stream OV is what reaches the logits directly.
 * Source: Elhage et al., "A Mathematical Framework for Transformer Circuits", 2021. */
#pragma once

#include "train/trainer/trainer.h"

TENSOR_C_BEGIN

typedef enum {
    QKV_PROBE_QK_KEY,
    QKV_PROBE_QK_VALUE,
    QKV_PROBE_OV_VALUE,
    QKV_PROBE_OV_KEY,
    QKV_PROBE_CIRCUITS
} qkv_probe_circuit;

typedef struct {
    int question;  // the readout whose question and answer this is
    int rows[QKV_PROBE_CIRCUITS], cols[QKV_PROBE_CIRCUITS];
    const data_stream *row[QKV_PROBE_CIRCUITS], *col[QKV_PROBE_CIRCUITS];  // their symbols
    real *map[QKV_PROBE_CIRCUITS];                                         // [rows, cols]
    /* diag: rows whose greatest entry is the right one; margin: mean right - mean other entry;
     * ratio: variance within rows of the map that should be flat, over that of the one which
     * should not. */
    double qk_diag, qk_margin, qk_ratio, ov_diag, ov_margin, ov_ratio;
    int asked,
        *right;  // [N_k] the key that a query symbol asks for, -1: it never does; how many do
    real *matrix[2], *wide[2], *narrow[2];  // scratch: [D,E], [N,D], [N,E]
} qkv_probe_circuits;

/* "qk_key", "qk_value", "ov_value", "ov_key" */
extern const char *const qkv_probe_circuit_names[QKV_PROBE_CIRCUITS];

/* Memory for the circuits of a trainer's task. False when memory is out, or there is nothing to
 * read: the task has no keys and values, or the model is not one layer made of these matrices
 * (with more layers a token's meaning is no longer its embedding's). */
bool qkv_probe_circuits_new(tensor_arena *arena, qkv_trainer *t, qkv_probe_circuits *out);

/* Why a trainer's model has no circuits to be read, as half a sentence; NULL if it has. */
const char *qkv_probe_circuits_missing(qkv_trainer *t);

/* The same for one of several questions that are asked at once, by its readout. */
bool qkv_probe_circuits_new_of(tensor_arena *arena, qkv_trainer *t, int question,
                               qkv_probe_circuits *out);
const char *qkv_probe_circuits_missing_of(qkv_trainer *t, int question);

/* Reads the circuits of one head as the parameters stand now. No allocation. */
void qkv_probe_circuits_read(qkv_trainer *t, int layer, int head, qkv_probe_circuits *out);

/* What makes scores, or logits, something else than sums of the symbols' parts, as half a sentence; NULL:
 * nothing does. */
const char *qkv_probe_no_sums(const qkv_config *c);

/* What the scores are q k^T times, at the last position; `temperature` is the learned one, or NULL. */
double qkv_probe_score_factor(qkv_trainer *t, const ag_param_entry *temperature);

TENSOR_C_END
