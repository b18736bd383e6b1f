/* trainer.h - a model in training: parameters, and workers that run micro-batches of a batch.
 *
 * A batch is cut into micro-batches of 128 to 512 tokens, dealt to a fixed number of lanes (in the
 * configuration). A lane runs its micro-batches in order and adds gradients into its own flat
 * buffer; the lanes are summed in a fixed tree. Threads take lanes, so any number of threads gives
 * the same bits. A worker records the graph once and replays it for every micro-batch.
 *
 * Of a trainer or a worker that is NULL (there was no memory for it) calls return NULL, 0 or false, with a
 * sentence where they leave one, or do nothing. */
#pragma once

#include "train/config/config.h"
#include "train/optim/optimizer.h"

TENSOR_C_BEGIN

/* One thread's graph, and the micro-batch that is loaded in it. */
typedef struct {
    ag_graph *graph;
    data_batch data;  // `B` examples, [B,T] each
    nn_outputs out;
    int B, n_rows;  // examples of a micro-batch; rows that can be scored
    int count;      // examples loaded; the other rows are not scored
    int *rows;      // [n_rows] b*T + t, or -1
    nn_asked
        asked;  // the rows of an example that can be scored, where the others are not computed in
                // the last layer: asked.n; 0: all are
    int *asked_row, *asked_place, *picked;  // what these arrays are

    /* [n_rows] of each readout: the class; the position where the answer stands, and that at which a
     * confused model would look, or -1. */
    int *target[DATA_MAXREADOUTS], *source[DATA_MAXREADOUTS], *distractor[DATA_MAXREADOUTS];
    int *source_rows;               // [n_rows] b*T + the first readout's source, or -1
    real weight[DATA_MAXREADOUTS];  // of a scored row in the loss
    ag_node *gate;                  // NULL, or what switches scores on
    ag_node **weights;  // [layers] of [B,H,T,S]: what reads the store; NULL: a block without. To be
                        // looked at by qkv_trainer_weights(): those of long sequences are streamed
    real *read;         // [H,rows,S] for evaluation to read streamed weights into; NULL: none are
} qkv_trainer_worker;

typedef struct qkv_trainer qkv_trainer;

/* A trainer for a resolved configuration, its parameters at their initial values. `threads` is the
 * most that may run. NULL with a sentence in error (QKV_IO_ERROR). `c` and `spec` are copied; mem
 * NULL: malloc. */
qkv_trainer *qkv_trainer_new(const tensor_allocator *mem, const qkv_config *c,
                             const data_spec *spec, int threads, char *error);
void qkv_trainer_free(qkv_trainer *t);

/* Records the model anew, to be run by the plain loops of all ops (ag_plain): slower, and the same but
 * for rounding. To be called before the first step. */
bool qkv_trainer_plain(qkv_trainer *t, char *error);

const qkv_config *qkv_trainer_config(const qkv_trainer *t);
const data_spec *qkv_trainer_spec(const qkv_trainer *t);
const tensor_allocator *qkv_trainer_allocator(const qkv_trainer *t);
const qkv_optim *qkv_trainer_optim(const qkv_trainer *t);  // its moments are a checkpoint's, too
ag_params *qkv_trainer_params(qkv_trainer *t);
const real *qkv_trainer_grads(const qkv_trainer *t);  // flat, as ag_param_entry.offset says
/* A worker for probes, idle between steps: it computes all rows of all layers, by the same bits as training
 * does those that it asks for. */
qkv_trainer_worker *qkv_trainer_any_worker(qkv_trainer *t);

/* A worker for one example, recorded when first asked for: every value and every gradient is kept, and
 * every leaf wants one, frozen parameters too (ag_want_all). It computes all rows; as_trained: those that
 * training computes. NULL with a sentence in error. */
qkv_trainer_worker *qkv_trainer_tape_worker(qkv_trainer *t, bool as_trained, char *error);

/* One of those that train and that qkv_trainer_evaluate() runs: their last layer computes only the rows that
 * are scored, where these are at most half of all. A hook that is to change a loss goes here. */
qkv_trainer_worker *qkv_trainer_training_worker(qkv_trainer *t);

/* Has the last layer attention weights that can be looked at? Else answer_attention is NaN and the probes
 * refuse. */
bool qkv_trainer_has_attention(const qkv_trainer *t);

/* A layer's attention weights, stored from now on (ag_store). NULL: a block without, or memory is out,
 * as the graph's error then says. */
ag_node *qkv_trainer_weights(const qkv_trainer_worker *w, int layer);

/* The sublayer whose attention reads the store: "attn" (self-attention) or "cross". */
const char *qkv_trainer_attention_name(const data_spec *s);

/* The node, and the prefix of the tables, that embeds the store: "embed" or "memory". */
const char *qkv_trainer_store_name(const data_spec *s);

/* Makes the model what it is at this step (0 is before the first update): the scores' gate of
 * --scores-from opens, lists with steps say what they do then. To be called after a restore; training does
 * it by itself. */
void qkv_trainer_at_step(qkv_trainer *t, int step);

/* Writes into the trainer's configuration where its state came from (`from` and `from_checksum`). */
void qkv_trainer_note_source(qkv_trainer *t, const char *from, const char *checksum);

/* Loads examples first.. of a split into a worker, count <= B. Each scored row weighs 1 / (total *
 * scored positions). */
void qkv_trainer_load(qkv_trainer *t, qkv_trainer_worker *w, const char *split, uint64_t first,
                      int count, double total);

/* Puts w->data, after it was changed by hand, into the arrays that the graph reads. */
void qkv_trainer_reload(qkv_trainer *t, qkv_trainer_worker *w);

/* The gradient of training batch `step`, and its loss. False with a sentence in error: a graph's
 * error, or a number that is not finite (then *diverged, and the sentence names the parameter, and
 * the node where the number first appeared). */
typedef struct {
    double loss, grad_norm;
    bool diverged;
} qkv_trainer_step;
bool qkv_trainer_gradient(qkv_trainer *t, int step, qkv_trainer_step *out, char *error);

/* From now on qkv_trainer_gradient() looks at every value and gradient of every node, and refuses what
 * is not finite even where it does not reach the loss or a parameter. Slower; changes no bit of
 * what is computed. */
void qkv_trainer_detect_anomaly(qkv_trainer *t, bool on);

/* The index of the greatest of n numbers, the first if there are several. */
int qkv_trainer_argmax(const real *x, int n);

/* Is the value stored in a memory entry of the worker's example? The task must have values. */
bool qkv_trainer_is_stored(const data_spec *s, const qkv_trainer_worker *w, int example, int value);

/* The learning rate of a step. */
double qkv_trainer_rate(const qkv_trainer *t, int step);

/* Applies the gradient last computed. */
void qkv_trainer_update(qkv_trainer *t, int step, const qkv_trainer_step *s);

/* What to compare with: what the task knows; for NN_READOUT_VECTOR the squared errors of one who says
 * the mean of all answers ("blind") or of what is stored ("unmatched"), of `count` examples and
 * today's embeddings. False: a graph's error, or memory. */
typedef struct {
    int n;
    data_level at[DATA_MAXLEVELS];
} qkv_trainer_levels;
bool qkv_trainer_loss_levels(qkv_trainer *t, const char *split, int count, qkv_trainer_levels *out);

/* Why something that records, replays or allocates came to nothing: the first error of the workers'
 * graphs; without one, memory. Returns false. */
bool qkv_trainer_fail(const qkv_trainer *t, char *error);

/* What the model does on held-out examples. */
enum { QKV_TRAINER_MAXHEADS = 4096 };  // layers * heads
typedef struct {
    double loss, accuracy;
    double all_right;   // examples with every scored position right
    double in_context;  // answer is a value stored in the example; NaN if the task stores none
    double
        answer_attention;  // weight on the answer's position: last layer, mean over heads; NaN: none
    double bits;           // of a text: bits a character; NaN: it is none
    double distractor;     // the same to the distractor's position; NaN if the task has none
    double *head_attention;  // [layers * heads]
} qkv_trainer_scores;

/* Evaluates `count` examples of a split. head_attention is the trainer's, valid until the next call. */
bool qkv_trainer_evaluate(qkv_trainer *t, const char *split, uint64_t first, int count,
                          qkv_trainer_scores *out, char *error);

TENSOR_C_END
