/* text.c - a growing text. */
#include "train/io/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/io/number.h"
#include "train/io/words.h"

static bool make_room(qkv_io_text *t, size_t more) {
    char *at = t->failed ? NULL : tensor_arena_grow(t->arena, t->at, t->n, more, &t->room, 1);
    if (!at) return !(t->failed = true);
    t->at = at;
    return true;
}

void qkv_io_text_put(qkv_io_text *t, const char *bytes, size_t n) {
    if (!make_room(t, n + 1)) return;
    memcpy(t->at + t->n, bytes, n);
    t->at[t->n += n] = '\0';
}

void qkv_io_text_add(qkv_io_text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = qkv_io_vwords(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !make_room(t, (size_t)n + 1)) return;
    va_start(args, format);
    qkv_io_vwords(t->at + t->n, (size_t)n + 1, format, args);
    va_end(args);
    t->n += (size_t)n;
}

void qkv_io_text_wrap(qkv_io_text *t, const char *words, int column, int indent, int width) {
    bool first = true;
    for (const char *w = words; *w; first = false) {
        size_t n = strcspn(w, " ");
        while (w[n] == ' ' && w[n + 1] == '%') n += 1 + strcspn(w + n + 1, " ");
        int wide = 0;
        for (size_t i = 0; i < n; i++) wide += ((unsigned char)w[i] & 0xc0) != 0x80;
        bool breaks = !first && column + 1 + wide > width;
        if (breaks)
            qkv_io_text_add(t, "\n%*s", indent, "");
        else if (!first)
            qkv_io_text_put(t, " ", 1);
        qkv_io_text_put(t, w, n);
        column = (breaks ? indent : column + !first) + wide;
        w += n + strspn(w + n, " ");
    }
}

void qkv_io_text_number(qkv_io_text *t, double x) {
    char number[QKV_IO_NUMBER];
    if (!isnan(x)) qkv_io_text_add(t, "%s", qkv_io_format_real(x, 9, number));
}

void qkv_io_text_label(qkv_io_text *t, const char *label) {
    qkv_io_text_put(t, "\"", 1);
    for (; *label; label++) {
        unsigned char c = (unsigned char)*label;
        qkv_io_text_put(t, c < 32 || c == 127 ? " " : label, 1);
        if (c == '"') qkv_io_text_put(t, "\"", 1);
    }
    qkv_io_text_put(t, "\"", 1);
}
