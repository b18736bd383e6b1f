/* patching.h - which number carries the difference between two examples?
 *
 * Two examples with different answers, `clean` and `other`. The model runs on `other`, but one part of
 * it gets the value that it has on `clean`: how far does the answer come back?
 *
 *     recovered = (d - d_other) / (d_clean - d_other),   d = logit(clean's answer) - logit(other's)
 *
 * 0: the part carries nothing of the difference; 1: all of it.
 *   activation patching   the stream after each layer at each position; each head's queries, keys,
 *                         values and result, at each position and at all. Source: Meng et al.,
 *                         "Locating and Editing Factual Associations in GPT", 2022 (causal tracing)
 *   attribution patching  the same to first order: the gradient of d on `other` times (the value on
 *                         clean - that on other), one backward pass for all parts. It is wrong where
 *                         d bends in between, as a saturated softmax does. Source: Nanda, "Attribution
 *                         Patching", 2023; Kramar et al., "AtP*", 2024
 *   path patching         what one head writes, as one later head alone reads it, through its Q, K or
 *                         V. Source: Wang et al., "Interpretability in the Wild", 2023 */
#pragma once

#include "train/probe/sites.h"

TENSOR_C_BEGIN

/* What of a head is patched, an index of the effects: q, k and v are the nodes of that name, as they are
 * projected (before a norm of theirs and rotary positions); the result is "mix", what the head fetches. */
enum {
    QKV_PROBE_PATCH_Q,
    QKV_PROBE_PATCH_K,
    QKV_PROBE_PATCH_V,
    QKV_PROBE_PATCH_RESULT,
    QKV_PROBE_PATCHES
};

/* How far the answer comes back. NaN: it has no such node, or, by position, it stands at the memory's.
 * Heads that share keys and values have the same numbers there. */
typedef struct {
    double *stream;   // [layers + 1,T]; row 0: the embedding
    double *head;     // [QKV_PROBE_PATCHES,n_sites,heads] at all positions
    double *head_at;  // [QKV_PROBE_PATCHES,n_sites,heads,T] at one
} qkv_probe_effects;

typedef struct {
    int n_sites, heads, layers, T, position;  // T: of the sequence; position: the scored one
    qkv_probe_site *site;
    int clean_answer, other_answer;   // classes of the first readout
    double clean, other;              // d of both
    qkv_probe_effects exact, linear;  // by patched runs, and by the gradient
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

/* How `linear` agrees with `exact` over a part's positions (all heads, all layers; n: those that have
 * numbers). NaN where it is 0/0. */
typedef struct {
    int n, wrong;  // wrong: qkv_probe_wrong_sign()
    double r;      // correlation
    double
        seen;  // sum of exact * linear / sum of exact^2: 1 where all of the effect is seen, 0 none
} qkv_probe_agreement;

/* Of n pairs of numbers. */
qkv_probe_agreement qkv_probe_agree(const double *exact, const double *linear, int n);

/* Does an effect of more than 1 % of the way have the other sign to first order? */
bool qkv_probe_wrong_sign(double exact, double linear);

TENSOR_C_END
