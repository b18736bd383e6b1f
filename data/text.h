/* text.h - a text as numbered tokens: what the task `text` loads. */
#ifndef DATA_TEXT_H
#define DATA_TEXT_H

#include "data/data.h"
#include "data/words.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    data_own own;
    tensor_arena *arena;            // holds all of this
    data_words words;               // the vocabulary, in the order of first appearance
    int *ids;                       // [n] the tokens
    size_t n, bytes;                // tokens; bytes of the file
    size_t window;                  // tokens of an example and the one after it
    size_t begin[DATA_SPLITS + 1];  // split k is ids[begin[k] .. begin[k+1] - 1]
} data_text;

#ifdef __cplusplus
}
#endif
#endif
