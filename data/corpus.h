/* corpus.h - examples that somebody wrote down, one a line.
 *
 *     # lines like this one, and empty ones, are skipped
 *     the animal did not cross the street because it was too tired => animal
 *     Anna met Ben yesterday because? => rain          the word marked ? asks; else the last one
 *     cats|noun|pl run|verb|pl => animal               features of a word, divided by |
 *     who|q saw|v whom? when? => Ben yesterday         several that ask, an answer each
 *     Ben left early when? => Ben early                one that asks, several answers
 *
 * Text is UTF-8; a mark of byte order at its beginning is taken away. Lines end in a line feed, a
 * carriage return or both. Words are divided by blanks and tabs, and differ when their bytes do: a
 * blank that does not break (U+00A0) is part of its word, and an accent of its own makes another
 * word. A word and each of its features are streams with vocabularies of their own, numbered as they
 * first appear; each answer of a line is a class of the readout of that number (where several words
 * ask: of the first).
 *
 * A corpus owns its memory and does not keep the text. */
#pragma once

#include "data/data.h"
#include "data/words.h"

enum {
    DATA_CORPUS_STREAMS = 8,     // a word and seven features
    DATA_CORPUS_LONGEST = 4096,  // words of a line
    DATA_CORPUS_WORD = 255,      // bytes of a word, a feature or an answer
};

/* Streams that play a role, by number: what a word that asks is looked up by, what the others are
 * found by, and what the answer is. All -1: none. */
typedef struct {
    int query, key, value;
} data_corpus_roles;

typedef struct data_corpus {
    tensor_arena *arena;
    data_corpus_roles roles;
    int longest;     // words of the longest line
    int asking;      // words that ask, in every line
    bool last_asks;  // in every line it is the last word that asks
    int n_streams;   // the words, then features
    int n_readouts;  // answers at a position that asks
    data_words stream[DATA_CORPUS_STREAMS];
    data_words answer[DATA_MAXREADOUTS];
    int n;          // examples
    int lines;      // of the first source, with those that are no examples
    int *line;      // [n] the line there, from 1; 0: of another source
    size_t *begin;  // [n+1] example e has the words begin[e] .. begin[e+1] - 1 of `ids`
    int *ids;       // [words, n_streams] -1: no such feature
    int *ask;       // [n, asking] positions
    int *target;    // [n, asking, n_readouts] classes
    int *source;    // [n, asking, n_readouts] where the answer stands, if it does so once; -1
                    // (with roles: where the key that is asked for stands with it)
    int *order[DATA_SPLITS], count[DATA_SPLITS];  // examples of each split, in the order of lines
    int duplicates;  // examples that an earlier one of the same split equals
    int shared;      // of another split: only where splits have files of their own
    int moved;       // held-out lines that went to training, for a word only they have
} data_corpus;

/* A text, and the split it is for: DATA_SPLITS: its lines are shared out. */
typedef struct {
    const char *name;  // of its file, for messages
    const char *text;
    size_t n;
    data_split split;
} data_source;

/* Reads sources into *out. Where lines are shared out, a hash of the line decides, so equal lines
 * are never in two splits: of 1, `held_out` goes to each of valid and test. A held-out line with a
 * word, feature or answer that no training line has goes to training (in a source of its own split
 * it is refused).
 *
 * With roles, key and query share a vocabulary, and value and answer do.
 *
 * False with one sentence in error (of `size` bytes), which names file, line and column (in
 * characters, from 1): bad UTF-8, a NUL, a control or a separator of lines, no answer, another number
 * of answers or of words that ask than in the first line, too long a line or word, too many features,
 * a split without examples, roles that the words do not have; or memory is out. Nothing is left then. */
bool data_corpus_read(const tensor_allocator *mem, const data_source *sources, int n_sources,
                      double held_out, data_corpus_roles roles, data_corpus *out, char *error,
                      size_t size);
void data_corpus_free(data_corpus *c);

/* What can be had on a split without learning to look: the share of right answers and the mean
 * -log p, for readout r. */
typedef struct {
    double any_class, any_class_loss;      // one class of all
    double most_frequent, frequency_loss;  // training's most frequent; by training's frequencies
    double any_word, any_word_loss;        // one word of the line, where each answer is one; NaN
} data_corpus_levels;
data_corpus_levels data_corpus_levels_of(const data_corpus *c, data_split split, int readout);

/* Training's example i: epoch after epoch, each in an order of its own, a pure function of (seed,
 * i). Other splits: the i-th, from the beginning again after the last. */
int data_corpus_pick(const data_corpus *c, data_split split, uint64_t seed, uint64_t i);
