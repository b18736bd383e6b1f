/* words.c - printf for people: a number that is not finite becomes a word. */
#include "train/io/words.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A text that is cut off at `size` but counted whole. */
typedef struct {
    char *out;
    size_t size, n;
} sink;

/* One conversion of a format: "%" flags, width, precision, length, letter. */
typedef struct {
    char text[32];  // with its stars, as snprintf() wants it
    int stars, star[2];
    bool has_width, width_is_star;
    int width;
    char length[3], letter;
} conversion;

static void put(sink *s, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++, s->n++)
        if (s->n + 1 < s->size) s->out[s->n] = text[i];
}

/* Reads the conversion behind a '%'; returns what follows it. */
static const char *parse(const char *at, conversion *c) {
    const char *begin = at;
    bool precision = false;
    *c = (conversion){.text = "%"};
    for (at += strspn(at, "-+ #0"); strchr("0123456789.*", *at) && *at; at++) {
        precision = precision || *at == '.';
        c->stars += *at == '*';
        if (precision) continue;
        c->has_width = true;
        if (*at == '*') c->width_is_star = true;
        if (*at != '*') c->width = 10 * c->width + (*at - '0');
    }
    for (int i = 0; strchr("hlzjt", *at) && *at; at++)
        if (i < 2) c->length[i++] = *at;
    if (*at) c->letter = *at++;
    const size_t n = (size_t)(at - begin), room = sizeof c->text - 2;
    memcpy(c->text + 1, begin, n < room ? n : room);
    return at;
}

/* A number that is not finite, without the percent sign behind it; returns what follows. */
static const char *put_none(sink *s, const conversion *c, double x, const char *rest) {
    const size_t blanks = strspn(rest, " ");
    const bool percent = rest[blanks] == '%' && rest[blanks + 1] == '%';
    const char *word = c->has_width ? "-" : isnan(x) ? "none" : "infinite";
    const int width = c->width_is_star ? c->star[0] : c->width;
    for (int i = 1; i < width; i++) put(s, " ", 1);
    put(s, word, strlen(word));
    if (!percent) return rest;
    if (c->has_width) put(s, "          ", blanks + 1 < 10 ? blanks + 1 : 10);
    return rest + blanks + 2;
}

/* Puts what snprintf() makes of one conversion and its value. */
#define PUT(value)                                                                      \
    do {                                                                                \
        char *to = s->n < s->size ? s->out + s->n : NULL;                               \
        const size_t room = to ? s->size - s->n : 0;                                    \
        const int k = c->stars == 0 ? snprintf(to, room, c->text, value)                \
                      : c->stars == 1                                                   \
                          ? snprintf(to, room, c->text, c->star[0], value)              \
                          : snprintf(to, room, c->text, c->star[0], c->star[1], value); \
        s->n += k > 0 ? (size_t)k : 0;                                                  \
    } while (0)

/* NOLINTBEGIN(clang-analyzer-valist.Uninitialized): it does not know a copied list by its address */
static void put_whole(sink *s, const conversion *c, va_list *a) {
    switch (*c->length) {
        case 'z': PUT(va_arg(*a, size_t)); break;
        case 'j': PUT(va_arg(*a, intmax_t)); break;
        case 't': PUT(va_arg(*a, ptrdiff_t)); break;
        case 'l':
            if (c->length[1])
                PUT(va_arg(*a, long long));
            else
                PUT(va_arg(*a, long));
            break;
        default: PUT(va_arg(*a, int)); break;
    }
}

/* Puts the conversion's argument; returns what follows of the format. */
static const char *convert(sink *s, conversion *c, va_list *a, const char *rest) {
    for (int i = 0; i < c->stars && i < 2; i++) c->star[i] = va_arg(*a, int);
    switch (c->letter) {
        case '%': put(s, "%", 1); break;
        case 's': PUT(va_arg(*a, const char *)); break;
        case 'p': PUT(va_arg(*a, void *)); break;
        case 'e':
        case 'f':
        case 'g': {
            const double x = va_arg(*a, double);
            if (!isfinite(x)) return put_none(s, c, x, rest);
            PUT(x);
            break;
        }
        default: put_whole(s, c, a); break;
    }
    return rest;
}
/* NOLINTEND(clang-analyzer-valist.Uninitialized) */

int qkv_io_vwords(char *out, size_t size, const char *format, va_list args) {
    sink s = {out, size, 0};
    va_list a;
    va_copy(a, args);
    for (const char *at = format; *at;) {
        const size_t plain = strcspn(at, "%");
        put(&s, at, plain);
        at += plain;
        conversion c;
        if (*at) at = parse(at + 1, &c), at = convert(&s, &c, &a, at);
    }
    va_end(a);
    if (size) out[s.n < size ? s.n : size - 1] = '\0';
    return (int)s.n;
}

int qkv_io_words(char *out, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int n = qkv_io_vwords(out, size, format, args);
    va_end(args);
    return n;
}
