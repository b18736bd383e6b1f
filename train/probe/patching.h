/* patching.h - which number carries the difference between two examples?
 *
 * Two examples with different answers, `clean` and `other`. The model runs on `other`, but one part of
 * it gets the value that it has on `clean`: how far does the answer come back?
 *
 *     recovered = (d - d_other) / (d_clean - d_other),   d = logit(clean's answer) - logit(other's)
 *
 * 0: the part carries nothing of the difference; 1: all of it.
 *   activation patching   the stream after each layer at each position; each head's result, at each
 *                         position and at all. Source: Meng et al., "Locating and Editing Factual
 *                         Associations in GPT", 2022 (causal tracing)
 *   path patching         what one head writes, as one later head alone reads it, through its Q, K or
 *                         V. Source: Wang et al., "Interpretability in the Wild", 2023 */
#pragma once

#include "train/probe/sites.h"

TENSOR_C_BEGIN

typedef struct {
    int n_sites, heads, layers, T, position;  // T: of the sequence; position: the scored one
    qkv_probe_site *site;
    int clean_answer, other_answer;  // classes of the first readout
    double clean, other;             // d of both
    double *stream;                  // [layers + 1,T] recovered; row 0: the embedding
    double *head;                    // [n_sites,heads] at all positions
    double *head_at;                 // [n_sites,heads,T] at one; NaN for the memory's
    /* [3,n_sites,heads,n_sites,heads]: a's result as b's queries, keys, values read it. NaN: a does
     * not stand before b, or a norm stands between (then a reason). */
    double *path;
    const char *no_path;
} qkv_probe_patching;

/* Examples `clean` and `other` of a split, at their last scored position at which both have an answer
 * and differ: there the model has seen most. False with a sentence in error: there is none, or the model
 * gives no classes or
 * has no attention to look at. The arena keeps the results. */
bool qkv_probe_patching_of(qkv_trainer *t, const char *split, uint64_t clean, uint64_t other,
                           tensor_arena *arena, qkv_probe_patching *out, char *error);

/* The first of a split's first hundred examples that has such a position together with `clean`; false:
 * there is none. */
bool qkv_probe_patching_other(qkv_trainer *t, const char *split, uint64_t clean, uint64_t *other);

TENSOR_C_END
