/* text.h - a growing text in an arena, for CSV files. */
#ifndef QKV_IO_TEXT_H
#define QKV_IO_TEXT_H

#include <stdbool.h>

#include "tensor/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    tensor_arena *arena;
    char *at;  // terminated by '\0'; NULL while empty
    size_t n, room;
    bool failed;  // memory ran out; what is there is incomplete
} qkv_io_text;

void qkv_io_text_put(qkv_io_text *t, const char *bytes, size_t n);

/* As qkv_io_words(). */
void qkv_io_text_add(qkv_io_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Words, where each blank may become the end of a line of at most `width` characters, the next of
 * which begins with `indent` blanks; a number stays with its "%". `column` characters stand on the
 * line already. */
void qkv_io_text_wrap(qkv_io_text *t, const char *words, int column, int indent, int width);

/* A number with 9 digits and a decimal point whatever the locale; nothing if it is NaN. */
void qkv_io_text_number(qkv_io_text *t, double x);

/* A CSV field: in quotes, quotes doubled, control bytes as blanks. */
void qkv_io_text_label(qkv_io_text *t, const char *label);

#ifdef __cplusplus
}
#endif
#endif
