/* visible.h - text as people read it: nothing hidden, and no two words alike because of what does
 * not show. */
#pragma once

#include <stddef.h>

/* A word of n bytes into out, of `size` bytes (8 or more), which is returned:
 *
 *     a blank                                      ␣
 *     the end of a line, a tab, a return           \n  \t  \r
 *     what else shows nothing, or moves what       \u{a0}
 *     stands beside it (other blanks, controls,
 *     joiners, marks of direction, private use)
 *     a combining mark with nothing before it      it on a dotted circle
 *     a byte that is no UTF-8                      \xff
 *
 * A backslash, ␣ or circle of the word's own that could be taken for one of these is written as
 * \\, or by its number. What does not fit ends in "...", between two of these. */
char *data_visible(const char *word, size_t n, char *out, size_t size);

/* The same for a name or a sentence, in which a blank is a blank. */
char *data_visible_text(const char *text, char *out, size_t size);

/* Bytes of the UTF-8 character at s, of which n bytes can be read, if it may stand in running text; 0: it
 * is none, a control, a line separator, or moves what stands beside it. */
size_t data_visible_length(const char *s, size_t n);

/* The columns that a UTF-8 text takes in a terminal: none for a combining mark, two for a wide
 * character of East Asia or an emoji. */
int data_visible_width(const char *text);
