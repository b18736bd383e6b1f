/* utf8.h - where one character of UTF-8 text ends, and which it is. Source: The Unicode Standard,
 * table 3-7. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed character that begins at s, of which n bytes can be read; 0: there is
 * none (a stray byte, one that is cut off, an overlong form, a surrogate). */
static inline size_t data_utf8_length(const char *s, size_t n) {
    const unsigned char *u = (const unsigned char *)s;
    if (n == 0) return 0;
    if (u[0] < 0x80) return 1;
    const size_t length = u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : u[0] < 0xf5 ? 4 : 0;
    if (length == 0 || n < length) return 0;
    const unsigned least = u[0] == 0xe0 ? 0xa0 : u[0] == 0xf0 ? 0x90 : 0x80;
    const unsigned greatest = u[0] == 0xed ? 0x9f : u[0] == 0xf4 ? 0x8f : 0xbf;
    if (u[1] < least || u[1] > greatest) return 0;
    for (size_t i = 2; i < length; i++)
        if (u[i] < 0x80 || u[i] > 0xbf) return 0;
    return length;
}

/* The number of a well-formed character of so many bytes. */
static inline uint32_t data_utf8_number(const char *s, size_t length) {
    static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = (unsigned char)*s & lead[length];
    for (size_t i = 1; i < length; i++) c = c << 6 | ((unsigned char)s[i] & 0x3f);
    return c;
}
