/* heads.h - what each head of a model does, over many examples.
 *
 *   where it looks     at the position before, at an earlier same token, at what followed one
 *                      (Olsson et al., "In-context Learning and Induction Heads", 2022), at the answer
 *   what it says       its part of the answer's logit (direct logit attribution: nostalgebraist, 2020;
 *                      Elhage et al., "A Mathematical Framework for Transformer Circuits", 2021)
 *   whom it reads      composition with earlier heads (Elhage et al., 2021, section "Three Kinds of
 *                      Composition")
 *   who needs it       what remains right without it (ablation) */
#pragma once

#include "train/io/text.h"
#include "train/probe/sites.h"

TENSOR_C_BEGIN

/* Where attention goes: the mean weight on ... */
typedef enum {
    QKV_PROBE_LOOK_PREVIOUS,   // ... the position before
    QKV_PROBE_LOOK_DUPLICATE,  // ... earlier positions with the same symbol
    QKV_PROBE_LOOK_INDUCTION,  // ... positions after those
    QKV_PROBE_LOOK_ANSWER,     // ... where the answer stands, from scored positions
    QKV_PROBE_LOOK_SELF,       // ... the position itself
    QKV_PROBE_LOOK_FIRST,      // ... the first position, from others
    QKV_PROBE_LOOKS
} qkv_probe_look;
extern const char *const qkv_probe_look_names[QKV_PROBE_LOOKS];

enum {
    QKV_PROBE_ZERO,      // replaced by 0
    QKV_PROBE_MEAN,      // by its mean over examples, position by position
    QKV_PROBE_RESAMPLE,  // by its value in another example
    QKV_PROBE_WAYS
};
extern const char *const qkv_probe_way_names[QKV_PROBE_WAYS];

typedef struct {
    int n_sites, heads, examples;
    qkv_probe_site *site;
    double accuracy, loss;  // of the intact model
    /* [n_sites,heads,LOOKS] and the same of a head that looks evenly at all it sees, [n_sites,LOOKS];
     * NaN: no position of the kind. */
    double *look, *chance;
    real **map;  // [n_sites] [heads,T,S] the mean attention

    /* Of the answer's logit less the mean of all logits; NaN and a reason where not defined. */
    const char *no_attribution;
    double logit, from_embedding, from_rest;
    double *from_head;      // [n_sites,heads]
    double *from_position;  // [n_sites,heads,most columns] its parts by the position looked at
    double *from_mlp;       // [layers]
    int columns;

    /* [n_sites,heads,n_sites,heads]: how much of what head b reads is what head a writes, through its
     * queries, keys, values: |A B| / (|A| |B|). NaN: a does not stand before b. The last three:
     * of random matrices of the same shapes. */
    const char *no_composition;  // of queries and keys
    double *composed[3];
    double random[3];

    double *ablated;  // [n_sites,heads,WAYS] accuracy
    double *
        no_sublayer;  // [n_sites + layers,WAYS] the same without a whole sublayer: attention, then mlp
    double *no_position;  // [n_sites,T,WAYS] without what the sublayer writes at one position
    int rows;             // T of no_position
} qkv_probe_heads;

/* Everything of `count` examples of a split, or all where it has fewer (out->examples). Parts may be left
 * out: without them their fields are NULL. False with a sentence in error. The arena keeps the results. */
typedef struct {
    bool attribution, composition, ablation;
} qkv_probe_heads_parts;
bool qkv_probe_heads_of(qkv_trainer *t, const char *split, int count, qkv_probe_heads_parts parts,
                        tensor_arena *arena, qkv_probe_heads *out, char *error);

/* Is this look a head's job: is its score more than half way from chance to 1? */
bool qkv_probe_head_does(const qkv_probe_heads *h, int site, int head, qkv_probe_look look);

/* The parts, for qkv_probe_heads_of(): in attribution.c, composition.c, ablate.c. */
bool qkv_probe_attribute(qkv_trainer *t, const char *split, int count, tensor_arena *arena,
                         qkv_probe_heads *out, char *error);
bool qkv_probe_compose(qkv_trainer *t, tensor_arena *arena, qkv_probe_heads *out, char *error);
bool qkv_probe_ablate_heads(qkv_trainer *t, const char *split, int count, tensor_arena *arena,
                            qkv_probe_heads *out, char *error);

TENSOR_C_END
