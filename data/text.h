/* text.h - a text as numbered tokens: what the task `text` loads. */
#pragma once

#include "data/data.h"
#include "data/ngram.h"
#include "data/words.h"

typedef enum { DATA_CHARACTERS, DATA_BYTES, DATA_WORDS } data_text_unit;

typedef struct {
    data_own own;
    tensor_arena *arena;                       // holds all of this
    data_words words;                          // the vocabulary, in the order of first appearance
    int *ids;                                  // [n] the tokens
    int unit;                                  // a data_text_unit
    size_t n, bytes, characters;               // tokens; of the file: bytes, characters
    size_t window;                             // tokens of an example and the one after it
    size_t begin[DATA_SPLITS + 1];             // split k is ids[begin[k] .. begin[k+1] - 1]
    double counted[DATA_SPLITS][DATA_NGRAMS];  // the losses of counting, once they are asked for; 0
} data_text;

/* What the task `text` has loaded; NULL: the spec is of another task. */
const data_text *data_text_of(const data_spec *s);

/* Another text in the same tokens: `ids` has room for as many as it has bytes. Their number; -1 with one
 * sentence in error, which names the first that the task's text does not have. */
int data_text_tokens(const data_text *t, const char *text, size_t n, int *ids, char *error,
                     size_t size);

/* Do two tokens in a row stand apart, when written? Words do, and what begins with one. */
bool data_text_apart(const data_text *t, int before, int id);
