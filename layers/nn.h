/* nn.h - layers: functions that compose ops and ask for their parameters by name.
 *
 * There are no layer objects. A layer is called while a graph is recorded; its parameters are
 * found, or made, under `name`: nn_linear(x, "mlp.up", ...) owns "mlp.up.w" and "mlp.up.b". Two
 * layers of one name share their weights. Errors (shapes, memory) go to the graph: ag_error(). So do a
 * name, a configuration or a sequence that is NULL; of an input that is NULL, or where there is no graph,
 * layers return NULL as ops do (ag.h).
 * Letters: B batch, T queries, S keys, D width, H heads, G key/value heads, E head width, F
 * hidden, I/O in and out. */
#pragma once

#include "autograd/ag.h"
#include "tensor/choice.h"

TENSOR_C_BEGIN

/* How weight matrices begin: deviation gain/sqrt(I), drawn from a normal or a uniform
 * distribution. */
typedef struct {
    bool uniform;
    double gain;
    bool bias;  // do linear maps have one (starting at 0)?
} nn_init;

/* What can be chosen by name: each list is the enum and the words of an option. */
#define NN_NORM_KINDS(X) X(NN_NORM_NONE, "none") X(NN_NORM_LAYER, "layer") X(NN_NORM_RMS, "rms")
typedef enum { NN_NORM_KINDS(TENSOR_CONSTANT) } nn_norm_kind;

#define NN_ACTIVATIONS(X)            \
    X(NN_ACT_RELU, "relu")           \
    X(NN_ACT_GELU, "gelu")           \
    X(NN_ACT_GELU_TANH, "gelu-tanh") \
    X(NN_ACT_SILU_GATED, "silu-gated")
typedef enum { NN_ACTIVATIONS(TENSOR_CONSTANT) } nn_activation;

#define NN_POSITIONS_KINDS(X)                \
    X(NN_POSITIONS_NONE, "none")             \
    X(NN_POSITIONS_LEARNED, "learned")       \
    X(NN_POSITIONS_SINUSOIDAL, "sinusoidal") \
    X(NN_POSITIONS_ROTARY, "rotary")         \
    X(NN_POSITIONS_ALIBI, "alibi")
typedef enum { NN_POSITIONS_KINDS(TENSOR_CONSTANT) } nn_positions;

/* Which projections are one and the same matrix. */
#define NN_TIES(X)         \
    X(NN_TIE_NONE, "none") \
    X(NN_TIE_QK, "qk")     \
    X(NN_TIE_KV, "kv")     \
    X(NN_TIE_QV, "qv")     \
    X(NN_TIE_QKV, "qkv")
typedef enum { NN_TIES(TENSOR_CONSTANT) } nn_tie;

/* What the scores q k^T are multiplied by: 1/sqrt(d_k); 1; 1, and instead the values by
 * 1/sqrt(d_k); 0: attention is uniform; 1/sqrt(d_k) times a learned temperature
 * "NAME.temperature", 1 at first; the same times e^"NAME.temperature", 0 at first; 1/sqrt(d_k) times
 * ln n, n the number of places that the query sees. */
#define NN_SCALES(X)               \
    X(NN_SCALE_SQRT, "sqrt")       \
    X(NN_SCALE_NONE, "none")       \
    X(NN_SCALE_VALUE, "value")     \
    X(NN_SCALE_ZERO, "zero")       \
    X(NN_SCALE_LEARNED, "learned") \
    X(NN_SCALE_EXP, "exp")         \
    X(NN_SCALE_LOG, "log")
typedef enum { NN_SCALES(TENSOR_CONSTANT) } nn_scale;

/* Keys and values of positions that were read before. A sequence under a causal mask can be read piece
 * by piece, each piece recorded anew: nn_model() with an nn_sequence that says at which position it
 * begins gives the numbers that one pass over all pieces would give. `positions` is how many there is
 * room for; to read another sequence begin at 0 again. Its memory is its own. NULL: memory is out. */
typedef struct nn_past nn_past;
nn_past *nn_past_new(const tensor_allocator *mem, int positions);
void nn_past_free(nn_past *p);

/* Of each example the rows that somebody reads, the same number of all: what the others would be need
 * not be computed. Where an example has fewer, the rest is -1. */
typedef struct {
    int n;              // rows of an example; 0: all are read
    const int *row;     // [B*n] b*T + t, or -1
    ag_places places;   // their t; of -1 any that is not before the last one's
    const int *picked;  // [n_rows] of nn_batch.rows: which of these it is, b*n + i, or -1
} nn_asked;

/* The rows of x [B,T,D] that are asked for, [B,n,D]; a row of -1 is zero. */
ag_node *nn_rows(ag_node *x, const nn_asked *asked);

typedef struct {
    int heads;     // of queries
    int kv_heads;  // of keys and values; divides heads: fewer is GQA, 1 is MQA
    int d_k, d_v;  // width of one head's queries and keys, and of its values
    int latent;    // > 0: keys and values are made from this many numbers of a position (MLA)
    nn_tie tie;
    bool plain_q, plain_k, plain_v;  // no projection: the input itself
    bool plain_o;                    // no W^O: the heads' results side by side
    nn_scale scale;
    bool rotary;       // queries and keys are turned by their position
    bool alibi;        // scores fall with the distance (ag_alibi)
    bool qk_norm;      // each head's queries and keys are brought to one size, with learned gains
    bool softmax_one;  // one more place that holds nothing: weights may add up to less than 1
    double soft_cap;   // > 0: scores stay between -soft_cap and soft_cap
    bool gated;  // scores are multiplied by the input "gate" (1 at first): 0 switches matching off
    double dropout;  // of the weights
    ag_mask mask;
    const nn_asked
        *asked;     // these rows of x are the queries, and mask.places theirs; NULL: all are
    nn_past *past;  // of the positions before mask.first, and where these are kept; NULL: none
    nn_init init;
} nn_attention_config;

/* The name of the parameter that projects to queries ('q'), keys ('k') or values ('v') under a
 * configuration's ties: "wq", "wk" or "wv"; NULL: the input itself. */
const char *nn_attention_matrix(const nn_attention_config *c, char role);

/* ---- the model ---- */

enum { NN_MAXREADOUTS = 8 };

/* One sequence: streams of ids [B,T] (-1: absent), whose embeddings are summed at each position. */
typedef struct {
    int T, n_streams;
    const int *length;  // [B] positions that hold something, the others are never seen; NULL: all
    const char *stream[AG_EMBED_MAX];  // "key" makes the table "embed.key"
    int vocab[AG_EMBED_MAX];
    const int *ids[AG_EMBED_MAX];  // with `first`: may be read at -1, too
    int first;                     // the position at which it begins, others being in the past
    int positions;                 // rows of the table of learned positions; 0: T
    int scaled;  // the embeddings of the first so many positions are multiplied by `scale`
    double scale;
} nn_sequence;

/* What the model is asked: classes at the scored rows. */
typedef struct {
    const char *name;  // "value" makes the unembedding "unembed.value"
    int classes;
    const int *targets;  // [n_rows], -1: not scored
    const real *weight;  // of each scored row in the loss: 1 / scored rows of the whole batch
} nn_readout;

typedef struct {
    int B;
    nn_sequence sequence, memory;  // memory.T 0: there is none
    nn_asked asked;                // for the last layer
    int n_rows;
    const int *rows;     // [n_rows] scored positions as b*T + t; -1: none
    const int *sources;  // [n_rows] where the first answer stands, as b*S + s; NN_READOUT_VECTOR's
    bool in_memory;      // sources are positions of the memory, not of the sequence
    int n_readouts;
    nn_readout readout[NN_MAXREADOUTS];
} nn_batch;

/* What the readouts see of a scored position: all of it; readout r of R the r-th of R equal parts
 * of the channels; no classes, the position's vector should equal the answer's embedding. */
#define NN_READOUT_KINDS(X)      \
    X(NN_READOUT_FULL, "full")   \
    X(NN_READOUT_LOCAL, "local") \
    X(NN_READOUT_VECTOR, "vector")
typedef enum { NN_READOUT_KINDS(TENSOR_CONSTANT) } nn_readout_kind;

/* How embedding tables begin: with deviation embed_std; rows of length 1; with deviation embed_std,
 * each stream in its own part of the channels, 0 elsewhere. */
#define NN_EMBED_INITS(X)        \
    X(NN_EMBED_NORMAL, "normal") \
    X(NN_EMBED_UNIT, "unit")     \
    X(NN_EMBED_SPLIT, "split")
typedef enum { NN_EMBED_INITS(TENSOR_CONSTANT) } nn_embed_init;

typedef struct nn_model_config nn_model_config;

/* What stands between embedding and unembedding, `layers` times: nn_block(), or a block of your
 * own. */
typedef ag_node *nn_block_fn(ag_node *x, ag_node *memory, const char *name,
                             const nn_model_config *c);

struct nn_model_config {
    nn_block_fn *block;         // NULL: nn_block
    int layers, d_model, d_ff;  // d_ff 0: no feed-forward
    const nn_asked *asked;      // a block returns these rows alone; NULL: all. nn_block knows it
    int encoder_layers;         // blocks over the memory, each position seeing all of it
    bool self_attention;        // attention within the sequence (beside that to a memory)
    nn_attention_config attention;
    ag_mask across;  // of attention to a memory
    nn_norm_kind norm;
    bool post_norm;  // after each residual sum (as in 2017) instead of before each sublayer
    nn_activation activation;
    nn_positions positions;
    bool token_shift;  // each position also gets an embedding of the one before it
    bool residual;
    bool tied_unembedding;  // logits by the embedding table of the readout's own name
    nn_readout_kind readout;
    nn_embed_init embed_init;
    double embed_std, dropout;
    double label_smoothing;  // in training, so much of each target is shared out over all classes
    nn_init init;
};

typedef struct {
    ag_node *loss;  // scalar: the readouts' weighted cross-entropies, summed; or the squared error
    ag_node *logits[NN_MAXREADOUTS];  // [n_rows, classes]; NULL with NN_READOUT_VECTOR
} nn_outputs;

/* Records the model that the configuration describes:
 *   embed -> layers x (attention, cross-attention, feed-forward) -> the scored rows -> unembed ->
 *   loss. Nodes: "embed", "layerL.attn.{q,k,v,scores,weights,mix,o}", the same with "cross" for
 *   attention to the memory, "layerL.out", "memory", "encoderL...", "final", "logits.NAME",
 *   "loss". The lengths of the batch's sides become part of the masks. */
nn_outputs nn_model(ag_graph *g, const nn_model_config *c, const nn_batch *batch);

/* The i-th small model, for the automatic tests: returns its loss. */
ag_node *nn_sample_model(ag_graph *g, int i);

/* nn_linear_block() without the division, and without e^x, too (linear_block.c). */
ag_node *nn_positive_sum(ag_node *x, ag_node *memory, const char *name, const nn_model_config *c);
ag_node *nn_signed_sum(ag_node *x, ag_node *memory, const char *name, const nn_model_config *c);

/* The blocks that can be chosen by name, and how many numbers one keeps of T tokens, so as to go on
 * with the next. A NULL name ends the list. */
typedef struct {
    const char *name;
    nn_block_fn *block;
    double (*state)(const nn_attention_config *c, int T);
} nn_block_kind;
extern const nn_block_kind nn_block_kinds[];

/* ---- the catalogue ---- */

/* For each line of layers.def the layer, and the i-th example for its automatic tests (NULL ends
 * the list). */
#define NN_LAYER(name, arguments, shapes, formula) \
    ag_node *nn_##name arguments;                  \
    ag_node *nn_sample_##name(ag_graph *g, int i);
#include "layers/layers.def"
#undef NN_LAYER

/* The same as a table; a NULL name ends it. */
typedef struct {
    const char *name, *shapes, *formula;
    ag_node *(*sample)(ag_graph *g, int i);
} nn_layer;
extern const nn_layer nn_layers[];

TENSOR_C_END
