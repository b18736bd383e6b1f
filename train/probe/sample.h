/* sample.h - a model of text goes on with a text, token by token. */
#pragma once

#include "data/text.h"
#include "tensor/rng.h"
#include "train/trainer/trainer.h"

/* Reads tokens and says what comes next. What it sees is a window of at most as many tokens as an example
 * has; keys and values of those it has read are kept. When the window is full it begins anew with its last
 * half. A block of one's own, or a mask that shows what comes later, is run on the whole window each
 * time, with the same result. */
typedef struct qkv_probe_sampler qkv_probe_sampler;

/* For a run of the task `text`, which must outlive it; keep false: never go on from what was kept. NULL
 * with a sentence in error. */
qkv_probe_sampler *qkv_probe_sampler_new(qkv_trainer *t, bool keep, char *error);
void qkv_probe_sampler_free(qkv_probe_sampler *s);

/* Reads n > 0 more tokens, of more than a window the last ones. The logits [V] of the next, valid until
 * then; NULL with a sentence in error. */
const real *qkv_probe_sampler_read(qkv_probe_sampler *s, const int *ids, int n, char *error);

/* Draws a token by the probabilities softmax(logits / temperature), of the top_k largest alone if
 * top_k > 0; temperature 0: the largest. Its own probability, softmax(logits), in *p. -1: memory is
 * out. */
int qkv_probe_draw(const real *logits, int V, double temperature, int top_k, rng *r, double *p);

/* Loads a text as the only example of a worker. False with a sentence: another task,
 * tokens that the run's text does not have, none, or more than an example holds. */
bool qkv_probe_load_prompt(qkv_trainer *t, qkv_trainer_worker *w, const char *prompt, char *error);
