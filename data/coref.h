/* coref.h - the words of the task coref, and where they stand in its sentences. */
#pragma once

#include "data/data.h"

/* Word ids: single words, and the first of each kind. */
enum {
    DATA_COREF_THE,
    DATA_COREF_DID,
    DATA_COREF_NOT,
    DATA_COREF_BECAUSE,
    DATA_COREF_IT,
    DATA_COREF_WAS,
    DATA_COREF_VERBS,  // 4: cross ...
    DATA_COREF_PREDICATES =
        DATA_COREF_VERBS + 4,  // 4 of animates: tired ...; 4 of the others: wide ...
    DATA_COREF_COLOURS = DATA_COREF_PREDICATES + 8,  // 8: red, blue ...
    DATA_COREF_NOUNS = DATA_COREF_COLOURS + 8,       // 8 animates: animal ...
    DATA_COREF_INANIMATE = DATA_COREF_NOUNS + 8,     // 8: street ...
    DATA_COREF_WORDS = DATA_COREF_INANIMATE + 8
};

/* Positions in a sentence of 9, 11 or 13; the stream of colours and of the predicate (0 or 1). */
typedef struct {
    int noun[2], colour[2], verb, predicate, read;
    int colour_stream, predicate_stream;
} data_coref_places;

static inline data_coref_places data_coref_places_of(int form) {
    data_coref_places p;
    bool apart = form == 13;  // colours stand before their nouns, not beside them
    p.noun[0] = apart ? 2 : 1;
    p.noun[1] = apart ? 8 : 6;
    p.colour[0] = p.noun[0] - apart;
    p.colour[1] = p.noun[1] - apart;
    p.verb = apart ? 5 : 4;
    p.predicate = form - 1;
    p.read = apart ? 12 : 8;
    p.colour_stream = !apart;
    p.predicate_stream = form == 9;  // beside "it"
    return p;
}

/* May a predicate be said of a noun? */
static inline bool data_coref_fits(int noun, int predicate) {
    return (noun < DATA_COREF_INANIMATE) == (predicate < DATA_COREF_PREDICATES + 4);
}

/* Is that combination of referent and predicate one that training never shows? */
static inline bool data_coref_held_out(int noun, int predicate) {
    return (noun * 7 + predicate * 3) % 4 == 0;
}
