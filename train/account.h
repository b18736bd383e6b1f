/* account.h - where a model's numbers are, what a token costs, and what has to be kept of it.
 *
 * A Transformer layer of width d has 4 d^2 parameters in its attention (W^Q, W^K, W^V, W^O) and 8
 * d^2 in its feed-forward (d -> 4 d -> d). Heads change neither; other widths, fewer key/value
 * heads, a latent, ties and plain projections do, and here is by how much. */
#ifndef TRAIN_ACCOUNT_H
#define TRAIN_ACCOUNT_H

#include "train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One matrix (with its bias) of a sublayer: n parameters. */
typedef struct {
    const char *name;     // "W^Q"
    const char *formula;  // "d x H d_k"; or why it has no parameters: "is W^Q"
    int rows, cols;       // of the matrix; 0 where there is none
    size_t n;
} train_account_row;

enum { TRAIN_ACCOUNT_ROWS = 6 };
typedef struct {
    train_account_row row[TRAIN_ACCOUNT_ROWS];
    int n_rows;
    size_t n;    // parameters of one such sublayer
    int copies;  // how many of them the model has
} train_account_sublayer;

typedef enum {
    TRAIN_PART_ATTENTION,
    TRAIN_PART_FEED_FORWARD,
    TRAIN_PART_EMBEDDING,
    TRAIN_PART_UNEMBEDDING,
    TRAIN_PART_NORM,
    TRAIN_PART_OTHER,  // a plugin's
    TRAIN_PARTS
} train_part;
extern const char *const train_part_names[TRAIN_PARTS];

/* The part that a parameter or a node belongs to, by its name: "layer0.attn.wq" is attention. */
train_part train_part_of(const char *name);

/* FLOPs: matrix products only, a multiplication and an addition are two. */
typedef enum {
    TRAIN_WORK_PROJECT,  // to queries, keys, values, and back
    TRAIN_WORK_SCORES,   // queries times keys: 2 H d_k for each position that is seen
    TRAIN_WORK_MIX,      // weights times values: 2 H d_v for each position that is seen
    TRAIN_WORK_FEED_FORWARD,
    TRAIN_WORK_UNEMBED,
    TRAIN_WORK_OTHER,
    TRAIN_WORKS
} train_work;
extern const char *const train_work_names[TRAIN_WORKS];

typedef struct {
    train_account_sublayer attention, feed_forward;  // no rows where the block is a plugin's
    size_t part[TRAIN_PARTS], total, learned;        // parameters of the whole model
    double work[TRAIN_WORKS],
        flops;  // of one token of the sequence, forward; a training step: three times
    /* Numbers that are kept of one token, in all layers, so that others can attend to it without
     * computing its keys and values again. -1: unknown (a plugin's block). */
    const char *cache_formula;  // of one layer: "G (d_k + d_v)"
    int cache_layer, cache_sequence, cache_memory;
} train_account;

void train_account_of(train_trainer *t, train_account *out);

#ifdef __cplusplus
}
#endif
#endif
