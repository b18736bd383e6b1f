/* ngram.h - how well a text is predicted by counting: what a model of text is to be compared with.
 *
 * A token is predicted from the 0, 1 or 2 before it by its share in what followed there in training,
 * mixed with the prediction from one token less: the more different tokens have followed, the more of
 * that. Source: Witten and Bell, "The Zero-Frequency Problem", 1991, method C, interpolated. */
#pragma once

#include <stdbool.h>

#include "tensor/arena.h"

enum { DATA_NGRAMS = 4, DATA_NGRAM_VOCAB = 1500000 };  // uniform, unigram, bigram, trigram

/* The mean -log p of held[2..m-1] (so that all have two before them) by counts over train[0..n-1],
 * of 0..vocab-1 each. NaN where m < 3. False: memory is out, or vocab is above DATA_NGRAM_VOCAB. */
bool data_ngram_losses(const int *train, size_t n, const int *held, size_t m, int vocab,
                       double loss[DATA_NGRAMS]);
