/* words.h - texts by number, as they first appear. */
#pragma once

#include <stdint.h>

#include "tensor/arena.h"

typedef struct {
    uint32_t hash;
    int word;  // the number + 1 of the text that is here; 0: none
} data_words_slot;

typedef struct {
    const char **text;  // [n]
    int n;
    size_t *length;         // [n] bytes of each
    int room;               // of text and length;
    data_words_slot *slot;  // a table of 2 room slots that finds a text
    char *piece;            // copies stand one after the other in larger pieces of the arena
    size_t left;
} data_words;

/* The number of a text of so many bytes; -1: it is not there. */
int data_words_find(const data_words *w, const char *text, size_t length);

/* The same, and a new number, with a copy of the text in the arena, if need be. -1: memory is out.
 * A vocabulary begins as {0}; what it outgrows stays in the arena, at most as much again. */
int data_words_number(data_words *w, tensor_arena *arena, const char *text, size_t length);

/* A hash of n bytes that come after what `h` stands for; all its bits are good. Begin with 0. */
uint64_t data_hash(uint64_t h, const char *bytes, size_t n);
