#include "train/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/number.h"

static bool make_room(train_text *t, size_t more) {
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

void train_text_add(train_text *t, const char *format, ...) {
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

void train_text_number(train_text *t, double x) {
    char number[TRAIN_NUMBER];
    if (!isnan(x)) train_text_add(t, "%s", train_format_real(x, 9, number));
}

void train_text_label(train_text *t, const char *label) {
    train_text_add(t, "\"");
    for (; *label; label++) {
        unsigned char c = (unsigned char)*label;
        train_text_add(t, c == '"' ? "\"\"" : "%c", c < 32 || c == 127 ? ' ' : c);
    }
    train_text_add(t, "\"");
}
