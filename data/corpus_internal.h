/* corpus_internal.h - what the files corpus*.c share: walking through a text line by line. */
#pragma once

#include "data/corpus.h"

typedef struct {
    const char *at;
    size_t n;
} data_span;

/* Where a walk is, and how it fails. */
typedef struct {
    const data_source *source;
    const char *rest, *end;  // what follows the line
    const char *feed;        // the next line feed there, `end`: there is none; NULL: not yet known
    data_span line;          // without what ends it
    long number;             // of the line, from 1
    char *error;
    size_t size;
} data_walk;

data_walk data_walk_of(const data_source *s, char *error, size_t size);

/* The next line that holds an example; false: there is none. */
bool data_walk_line(data_walk *w);

/* The next word of a line between blanks; false: there is none. */
bool data_next_word(data_span *rest, data_span *word);

bool data_is_arrow(data_span word);

/* Cuts the mark of a word that asks off its end. "?" alone is a word, and asks. */
bool data_takes_mark(data_span *word);

/* The next feature of a word, the word itself first. */
bool data_next_feature(data_span *word, data_span *feature);

/* Where a word of the line stands, from 0, or one of its features; => and answers count as words. */
const char *data_walk_place(const data_walk *w, int word, int feature);

/* False, with a sentence that begins with file, line and column. */
bool data_walk_fail(const data_walk *w, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Checks all lines and counts: c's sizes, and the words of all. False with a sentence. */
bool data_corpus_survey(data_corpus *c, const data_source *sources, int n, size_t *words,
                        char *error, size_t size);

/* What is known of an example while the splits are made. */
typedef struct {
    unsigned char split;  // a data_split
    int source;           // which of the texts it is from
    long number;          // its line there
    uint64_t hash;        // of what it says, however it is set
} data_line;

/* Shares the examples out: c's order, count, duplicates, shared and moved. `spare` may be freed
 * afterwards. */
bool data_corpus_share(data_corpus *c, data_line *line, const data_source *sources, double held_out,
                       tensor_arena *spare, char *error, size_t size);
