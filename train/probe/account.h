/* account.h - where a model's numbers are, what a token costs, and what has to be kept of it.
 *
 * A Transformer layer of width d has 4 d^2 parameters in its attention (W^Q, W^K, W^V, W^O) and 8
 * d^2 in its feed-forward (d -> 4 d -> d). Heads change neither; other widths, fewer key/value
 * heads, a latent, ties and plain projections do, and here is by how much. */
#pragma once

#include "train/trainer/trainer.h"

TENSOR_C_BEGIN

/* One matrix (with its bias) of a sublayer: n parameters. */
typedef struct {
    const char *name;     // "W^Q"
    const char *formula;  // "d x H d_k"; or why it has no parameters: "is W^Q"
    int rows, cols;       // of the matrix; 0 where there is none
    size_t n;
} qkv_probe_account_row;

enum { QKV_PROBE_ACCOUNT_ROWS = 8 };
typedef struct {
    qkv_probe_account_row row[QKV_PROBE_ACCOUNT_ROWS];
    int n_rows;
    size_t n;    // parameters of one such sublayer
    int copies;  // how many of them the model has
} qkv_probe_account_sublayer;

typedef enum {
    QKV_PROBE_PART_ATTENTION,
    QKV_PROBE_PART_FEED_FORWARD,
    QKV_PROBE_PART_EMBEDDING,
    QKV_PROBE_PART_UNEMBEDDING,
    QKV_PROBE_PART_NORM,
    QKV_PROBE_PART_OTHER,  // a plugin's
    QKV_PROBE_PARTS
} qkv_probe_part;
extern const char *const qkv_probe_part_names[QKV_PROBE_PARTS];

/* The part that a parameter or a node belongs to, by its name: "layer0.attn.wq" is attention. */
qkv_probe_part qkv_probe_part_of(const char *name);

/* FLOPs: matrix products only, a multiplication and an addition are two. */
typedef enum {
    QKV_PROBE_WORK_PROJECT,  // to queries, keys, values, and back
    QKV_PROBE_WORK_SCORES,   // queries times keys: 2 H d_k for each position that is seen
    QKV_PROBE_WORK_MIX,      // weights times values: 2 H d_v for each position that is seen
    QKV_PROBE_WORK_FEED_FORWARD,
    QKV_PROBE_WORK_UNEMBED,
    QKV_PROBE_WORK_OTHER,
    QKV_PROBE_WORKS
} qkv_probe_work;
extern const char *const qkv_probe_work_names[QKV_PROBE_WORKS];

typedef struct {
    qkv_probe_account_sublayer attention, feed_forward;  // no rows where the block is a plugin's
    size_t part[QKV_PROBE_PARTS], total, learned;        // parameters of the whole model
    // Of one token of the sequence, forward; a training step: three times.
    double work[QKV_PROBE_WORKS], flops;
    /* Numbers that are kept of one token, in all layers, so that others can attend to it without
     * computing its keys and values again. -1: unknown (a plugin's block). */
    const char *cache_formula;  // of one layer: "G (d_k + d_v)"
    int cache_layer, cache_sequence, cache_memory;
} qkv_probe_account;

void qkv_probe_account_of(qkv_trainer *t, qkv_probe_account *out);

TENSOR_C_END
