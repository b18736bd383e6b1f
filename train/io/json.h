/* json.h - JSON read strictly, into an arena: the one reader of checkpoint headers and of config.json, in
 * the program and in the page. Source: RFC 8259.
 *
 * Refused beside what is no JSON: duplicate keys, invalid UTF-8, halves of surrogate pairs, \u0000, numbers
 * beyond 64 bits or beyond a double, more than QKV_IO_JSON_DEPTH levels, anything behind the value. */
#pragma once

#include <stdint.h>

#include "train/io/io.h"
#include "train/io/text.h"

enum { QKV_IO_JSON_DEPTH = 64 };

typedef enum {
    QKV_IO_JSON_NULL,
    QKV_IO_JSON_FALSE,
    QKV_IO_JSON_TRUE,
    QKV_IO_JSON_WHOLE,  // a number without point and exponent
    QKV_IO_JSON_REAL,
    QKV_IO_JSON_STRING,
    QKV_IO_JSON_ARRAY,
    QKV_IO_JSON_OBJECT
} qkv_io_json_kind;

/* A value. Elements and members are a list, in the order of the text. */
typedef struct qkv_io_json {
    qkv_io_json_kind kind;
    int n;            // how many elements or members
    const char *key;  // a member's; NULL
    union {
        int64_t whole;
        double real;
        const char *string;  // UTF-8, without the byte 0
        struct qkv_io_json *first;
    } is;
    struct qkv_io_json *next;
} qkv_io_json;

/* The value that n bytes of text are. All of it lives in the arena. QKV_IO_DAMAGED: the sentence names
 * line and column; QKV_IO_FAILED: out of memory. */
qkv_io_status qkv_io_json_read(tensor_arena *arena, const char *text, size_t n,
                               const qkv_io_json **root, char *error);

/* An object's member, or NULL; a value's string, or NULL. Both take NULL, and values of other kinds. */
const qkv_io_json *qkv_io_json_get(const qkv_io_json *object, const char *key);
const char *qkv_io_json_string(const qkv_io_json *value);

/* Appends a string in quotes. It must be UTF-8: a byte that is not would make the text no JSON. */
void qkv_io_json_put(qkv_io_text *out, const char *string);
bool qkv_io_json_can_put(const char *string);
