/* explain.h - one example in slow motion: scores, weights, and what each value would have said.
 *
 * Of the last layer's attention to the store, for one head, one readout and one question of the example
 * loaded in row 0 of the worker. */
#pragma once

#include "train/trainer/trainer.h"

TENSOR_C_BEGIN

/* One position of the store, as the question meets it. */
typedef struct {
    bool visible;
    double product;  // q . k
    double score;    // scaled: what the softmax sees
    double weight;
    double length;  // |weight v|
    int says;       // the class that v alone would put first, through W^O and the unembedding
} qkv_probe_step_of;

typedef struct {
    int S, question;         // positions of the store; where the question stands in the sequence
    qkv_probe_step_of *at;   // [S]
    int answer, target;      // classes of the readout
    int source, distractor;  // positions of the store, or -1
    double confidence;       // the answer's probability
} qkv_probe_explanation;

/* The row of the question: example 0's first in which the readout is scored, or where no answer stands
 * anywhere, as in a text, its last, which sees the most. */
int qkv_probe_question_row(const qkv_trainer *t, const qkv_trainer_worker *w, int readout);

/* Replays and explains; the arrays are the arena's. False with a sentence in error when the model
 * has no such attention or no answer in classes. */
bool qkv_probe_explain(qkv_trainer *t, tensor_arena *arena, int head, int readout,
                       qkv_probe_explanation *out, char *error);

TENSOR_C_END
