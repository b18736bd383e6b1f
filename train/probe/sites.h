/* sites.h - where a model attends: one site for each attention sublayer of nn_block(), in the order
 * in which they run. */
#pragma once

#include "train/trainer/trainer.h"

TENSOR_C_BEGIN

typedef enum { QKV_PROBE_ENCODER, QKV_PROBE_SELF, QKV_PROBE_CROSS } qkv_probe_site_kind;

typedef struct {
    char name[32];  // "layer1.attn"
    qkv_probe_site_kind kind;
    int layer;
    data_side_name rows, cols;  // where queries stand, and keys
    ag_node *weights;           // [B,H,T,S]
    ag_node *mix, *v;           // [B,T,H*E] what the heads fetch; [B,S,G*E] as it is weighted
    ag_node *o;                 // [B,T,D] what the sublayer writes
} qkv_probe_site;

/* All sites of a worker's graph, in the arena; *n 0 where the block is a plugin's. NULL: memory is
 * out. */
qkv_probe_site *qkv_probe_sites(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, int *n);

/* The sentence for a model without a site. Returns false. */
bool qkv_probe_no_sites(const qkv_trainer *t, char *error);

/* A parameter of the site, or of its layer: "wq", "wo"; NULL if there is none. */
ag_param_entry *qkv_probe_site_param(qkv_trainer *t, const qkv_probe_site *site, const char *name);

/* One head's projection to queries ('q'), keys ('k') or values ('v') as it acts on the stream: a
 * latent multiplied in, a norm before it folded in, but for the positive factor 1/deviation which
 * differs from position to position. out [D,E]; identity columns where there is no matrix. False:
 * memory is out. */
bool qkv_probe_site_reads(qkv_trainer *t, const qkv_probe_site *site, int head, char role,
                          tensor_arena *arena, real *out);

/* One head's part of W^O, [E,D]; identity rows where there is none. */
void qkv_probe_site_writes(qkv_trainer *t, const qkv_probe_site *site, int head, real *out);

TENSOR_C_END
