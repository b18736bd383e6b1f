#include "train/io/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/io/number.h"

static bool make_room(qkv_io_text *t, size_t more) {
    if (t->failed) return false;
    if (t->n + more < t->room) return true;
    size_t room = 2 * (t->n + more) + 256;
    char *at = tensor_arena_take(t->arena, room, 1);
    if (!at) return !(t->failed = true);
    if (t->n) memcpy(at, t->at, t->n);
    t->at = at;
    t->room = room;
    return true;
}

void qkv_io_text_add(qkv_io_text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !make_room(t, (size_t)n + 1)) return;
    va_start(args, format);
    vsnprintf(t->at + t->n, (size_t)n + 1, format, args);
    va_end(args);
    t->n += (size_t)n;
}

void qkv_io_text_number(qkv_io_text *t, double x) {
    char number[QKV_IO_NUMBER];
    if (!isnan(x)) qkv_io_text_add(t, "%s", qkv_io_format_real(x, 9, number));
}

void qkv_io_text_label(qkv_io_text *t, const char *label) {
    qkv_io_text_add(t, "\"");
    for (; *label; label++) {
        unsigned char c = (unsigned char)*label;
        qkv_io_text_add(t, c == '"' ? "\"\"" : "%c", c < 32 || c == 127 ? ' ' : c);
    }
    qkv_io_text_add(t, "\"");
}
