/* nn.h - layers: functions that compose ops and ask for their parameters by name.
 *
 * There are no layer objects. A layer is called while a graph is recorded; its parameters are found, or made, under
 * `name`: nn_linear(x, "mlp.up", ...) owns "mlp.up.w" and "mlp.up.b". Two layers of one name share their weights.
 * Errors (shapes, memory) go to the graph: ag_error().
 * Letters: B batch, T queries, S keys, D width, H heads, G key/value heads, E head width, F hidden, I/O in and out. */
#ifndef LAYERS_NN_H
#define LAYERS_NN_H

#include "autograd/ag.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How weight matrices begin: deviation gain/sqrt(I), drawn from a normal or a uniform distribution. */
typedef struct {
    bool uniform;
    double gain;
    bool bias;  // do linear maps have one (starting at 0)?
} nn_init;

typedef enum { NN_NORM_NONE, NN_NORM_LAYER } nn_norm_kind;
typedef enum { NN_ACT_RELU, NN_ACT_GELU, NN_ACT_GELU_TANH } nn_activation;
typedef enum { NN_POSITIONS_NONE, NN_POSITIONS_LEARNED } nn_positions;

typedef struct {
    int heads, kv_heads;  // kv_heads divides heads
    int d_k, d_v;         // width of one head's keys and queries, and of its values
    ag_mask mask;
    nn_init init;
} nn_attention_config;

/* ---- the model ---------------------------------------------------------------------------------------------- */

enum { NN_MAXREADOUTS = 8 };

/* One sequence: streams of ids [B,T] (-1: absent), whose embeddings are summed at each position. */
typedef struct {
    int T, n_streams;
    const char *stream[AG_EMBED_MAX];  // "key" makes the table "embed.key"
    int vocab[AG_EMBED_MAX];
    const int *ids[AG_EMBED_MAX];
} nn_sequence;

/* What the model is asked: classes at the scored rows. */
typedef struct {
    const char *name;    // "value" makes the unembedding "unembed.value"
    int classes;
    const int *targets;  // [n_rows], -1: not scored
    const real *weight;  // of each scored row in the loss: 1 / scored rows of the whole batch
} nn_readout;

typedef struct {
    int B;
    nn_sequence sequence;
    int n_rows;
    const int *rows;  // [n_rows] scored positions as b*T + t; -1: none
    int n_readouts;
    nn_readout readout[NN_MAXREADOUTS];
} nn_batch;

typedef struct {
    int layers, d_model, d_ff;  // d_ff 0: no feed-forward
    nn_attention_config attention;
    nn_norm_kind norm;          // before each sublayer and before the unembedding
    nn_activation activation;
    nn_positions positions;
    bool residual;
    double embed_std;
    nn_init init;
} nn_model_config;

typedef struct {
    ag_node *loss;                     // scalar: the readouts' weighted cross-entropies, summed
    ag_node *logits[NN_MAXREADOUTS];   // [n_rows, classes]
} nn_outputs;

/* Records the model that the configuration describes:
 *   embed -> layers x (attention, feed-forward) -> the scored rows -> unembed -> loss.
 * Nodes: "embed", "layerL.attn.{q,k,v,scores,weights,mix,o}", "layerL.out", "final", "logits.NAME", "loss". */
nn_outputs nn_model(ag_graph *g, const nn_model_config *c, const nn_batch *batch);

/* The i-th small model, for the automatic tests: returns its loss. */
ag_node *nn_sample_model(ag_graph *g, int i);

/* ---- the catalogue ------------------------------------------------------------------------------------------ */

/* For each line of layers.def the layer, and the i-th example for its automatic tests (NULL ends the list). */
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

#ifdef __cplusplus
}
#endif
#endif
