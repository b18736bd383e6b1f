/* loop.h - the training loop: steps, evaluations, and when a training ends. What is done at an
 * evaluated step, and after each step, is the caller's. */
#pragma once

#include "train/trainer/trainer.h"

TENSOR_C_BEGIN

/* What the evaluations so far have shown. */
typedef struct {
    int steps99;       // the first evaluated step with an accuracy of 0.99 or more; -1: none
    double lowest;     // held-out loss
    int without_gain;  // evaluations since it was reached
    bool enough;       // --until-accuracy or --patience ends the training here
} qkv_trainer_course;

qkv_trainer_course qkv_trainer_course_start(void);

/* Notes an evaluation. Numbers count with the 9 digits that metrics.csv has of them, so that a
 * training which goes on from its rows judges as one that was never interrupted. */
void qkv_trainer_course_note(qkv_trainer_course *course, const qkv_config *c, int step,
                             double accuracy, double loss);

/* What is done on the way; each may be NULL. False leaves the loop. */
typedef struct {
    /* At each multiple of --eval-every and at the end: the scores of the model before the update of
     * this step. NULL: nothing is evaluated, and nothing ends the training early. */
    bool (*evaluated)(void *ctx, int step, const qkv_trainer_scores *s);
    /* Then, with this step's gradient, which is not applied yet (at the end: never). */
    bool (*measured)(void *ctx, int step, const qkv_trainer_step *s);
    /* After each update; `done` steps are done. */
    bool (*updated)(void *ctx, int done, const qkv_trainer_step *s);
    void *ctx;
} qkv_trainer_calls;

typedef enum {
    QKV_TRAINER_ENDED,     // all steps are done, or the course says that it is enough
    QKV_TRAINER_LEFT,      // a call said so
    QKV_TRAINER_DIVERGED,  // a number is not finite
    QKV_TRAINER_FAILED
} qkv_trainer_outcome;

/* Trains from *step, the number of steps done, up to `end`; *step is where it got to. DIVERGED and
 * FAILED leave a sentence in error (QKV_IO_ERROR). course may be NULL where nothing is evaluated. */
qkv_trainer_outcome qkv_trainer_train(qkv_trainer *t, int *step, int end,
                                      qkv_trainer_course *course, const qkv_trainer_calls *calls,
                                      char *error);

TENSOR_C_END
