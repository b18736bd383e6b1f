/* choice.h - named choices, listed once: a macro LIST(X) with a line X(CONSTANT, "word") for each
 * gives an enum and the words.
 *
 *     #define COLOURS(X) X(RED, "red") X(BLUE, "blue")
 *     enum { COLOURS(TENSOR_CONSTANT) };           RED, BLUE
 *     const char *words = TENSOR_WORDS(COLOURS);   "red|blue" */
#pragma once

#define TENSOR_CONSTANT(constant, ...)   constant,
#define TENSOR_WORD(constant, word, ...) "|" word
#define TENSOR_WORDS(list)               (&(list(TENSOR_WORD))[1])
