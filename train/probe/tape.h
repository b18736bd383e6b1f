/* tape.h - one example of a training step, seen: the recorded graph forward and backward, with the
 * example's words, and what the next step does to it.
 *
 * The example is alone in its graph (qkv_trainer_tape_worker()): its loss is the mean over its scored
 * positions, and dropout is off. What a number is made of says autograd/why.h, on this graph. */
#pragma once

#include "autograd/why.h"
#include "train/io/text.h"
#include "train/trainer/trainer.h"

/* What the indices along a dimension stand for. */
typedef enum {
    QKV_PROBE_TAPE_NUMBER,    // nothing but numbers
    QKV_PROBE_TAPE_SEQUENCE,  // positions
    QKV_PROBE_TAPE_MEMORY,    // positions of the memory
    QKV_PROBE_TAPE_ASKED,     // positions, those that training computes
    QKV_PROBE_TAPE_SCORED,    // scored positions
    QKV_PROBE_TAPE_HEAD,
    QKV_PROBE_TAPE_SYMBOL,  // of a stream
    QKV_PROBE_TAPE_CLASS    // of a readout
} qkv_probe_tape_kind;

typedef struct {
    qkv_probe_tape_kind kind;
    const data_stream *stream;
    const data_readout *readout;
} qkv_probe_tape_axis;

typedef struct {
    qkv_trainer *t;
    qkv_trainer_worker *w;
    qkv_probe_tape_axis (*axes)[TENSOR_MAXRANK];  // of each node
    int readout, row, question;  // which answer; its scored row; where in the sequence it is asked
} qkv_probe_tape;

/* as_trained: only the rows that training computes. Memory is the arena's. */
bool qkv_probe_tape_new(qkv_trainer *t, bool as_trained, tensor_arena *arena, qkv_probe_tape *out,
                        char *error);

/* Loads example `index` of a split, or a line of one's own: of a run on text a text, of a run on lines
 * words, where one asks (the last, or that marked with ?) and what stands behind => is the answer. */
bool qkv_probe_tape_load(qkv_probe_tape *tape, const char *split, uint64_t index, char *error);
bool qkv_probe_tape_load_line(qkv_probe_tape *tape, const char *line, char *error);

/* Forward; with `back`, the gradients of the loss, too. */
bool qkv_probe_tape_run(qkv_probe_tape *tape, bool back, char *error);

/* The formula of the node's op, "" of a leaf and of an op that is not in the catalogue. */
const char *qkv_probe_tape_formula(const ag_node *node);

/* The root of the mean square of n numbers; 0 of none. */
double qkv_probe_tape_size(const real *x, size_t n);

/* What index i of a dimension stands for ("k6 v12"), "" where it is but a number; returns out. */
char *qkv_probe_tape_label(const qkv_probe_tape *tape, const ag_node *node, int dim, int i,
                           char *out, size_t size);

/* A place as it is written, "layer0.attn.q[8,3]" (the batch of one is left out), and in words, "8 k6 ?";
 * return out. */
char *qkv_probe_tape_place(const ag_node *node, size_t at, char *out, size_t size);
char *qkv_probe_tape_words(const qkv_probe_tape *tape, const ag_node *node, size_t at, char *out,
                           size_t size);

/* The first dimension that is shown: 1 where the first is the batch of one. */
int qkv_probe_tape_first(const ag_node *node);

/* The node "NAME" (the last one of that name) or "#51" (that of this number); with `at` not NULL the
 * number "NAME[i,j]", of which leading indices of a dimension of one may be left out. NULL with a
 * sentence. */
ag_node *qkv_probe_tape_find(const qkv_probe_tape *tape, const char *text, size_t *at, char *error);

/* The graph as a picture's table, after qkv_probe_tape_run() with `back`: maps, labels and lines in pixels
 * (train/plot/tape.gp). */
bool qkv_probe_tape_graph(const qkv_probe_tape *tape, const char *title, qkv_io_text *out,
                          char *error);

/* ---- the next step ---- */

/* What is measured of the example: the score of the right entry, its weight (the last layer's head that
 * looks most at it), the right answer's logit, the loss. NaN: there is none. */
enum {
    QKV_PROBE_TAPE_SCORE,
    QKV_PROBE_TAPE_WEIGHT,
    QKV_PROBE_TAPE_LOGIT,
    QKV_PROBE_TAPE_LOSS,
    QKV_PROBE_TAPE_MEASURES
};
extern const char *const qkv_probe_tape_measures[];  // their names

typedef struct {
    const ag_param_entry *p;
    double weight, grad, step;  // root mean square of the matrix, the batch's gradient, the step
    double
        moment[QKV_OPTIM_MOMENTS];  // of Adam's mean and mean square after it; NaN: there is none
    double part[QKV_PROBE_TAPE_MEASURES];  // what follows where this matrix alone takes its step
} qkv_probe_tape_part;

typedef struct {
    const qkv_optim_method *method;
    double loss, grad_norm, rate, scale;  // of the batch; the learning rate; what clipping leaves
    int head;                             // whose score and weight they are
    int n;
    qkv_probe_tape_part *part;  // one a parameter
    real *grad, *step;          // flat, as ag_param_entry.offset says
    double before[QKV_PROBE_TAPE_MEASURES], after[QKV_PROBE_TAPE_MEASURES];
    double together[QKV_PROBE_TAPE_MEASURES];  // what the parts leave: they meet in the example
} qkv_probe_tape_update;

/* What step `step` (steps done so far) does; afterwards the trainer is as it was. Its moments must be those
 * of that step. Memory is the arena's. */
bool qkv_probe_tape_step(qkv_probe_tape *tape, int step, tensor_arena *arena,
                         qkv_probe_tape_update *out, char *error);

/* "W^Q", "layer1 W^Q" where there are several layers; else the name as it is. Returns out. */
char *qkv_probe_tape_matrix(const qkv_trainer *t, const char *name, char *out, size_t size);

/* "This step raised the score of the right entry by 0.031 (W^Q 0.012, ...)"; returns out. */
char *qkv_probe_tape_taught(const qkv_probe_tape *tape, const qkv_probe_tape_update *u, char *out,
                            size_t size);
