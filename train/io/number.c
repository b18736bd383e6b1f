/* number.c - numbers as text, the same in every locale. */
#include "train/io/number.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A host program may have a decimal comma: the text's point is put into the locale's form, and
 * back. */
static const char *point(void) { return localeconv()->decimal_point; }

/* What strtod() makes of a text that is a number, and nothing else. */
static bool read_real(const char *text, double *out) {
    char local[64], *end;
    size_t length = strspn(text, "0123456789.eE+-");  // nothing hexadecimal, no nan, no infinity
    if (length == 0 || length > 48 || text[length] || text[0] == '+') return false;
    const char *dot = strchr(text, '.');
    if (dot && strcmp(point(), ".") != 0) {
        snprintf(local, sizeof local, "%.*s%s%s", (int)(dot - text), text, point(), dot + 1);
        text = local;
    }
    errno = 0;
    *out = strtod(text, &end);
    return end != text && !*end;
}

bool qkv_io_parse_real(const char *text, double *out) {
    double x;
    if (!read_real(text, &x) || !isfinite(x)) return false;
    if (x == 0 && errno == ERANGE) return false;  // too small to be anything but 0
    *out = x;
    return true;
}

bool qkv_io_parse_int(const char *text, long *out) {
    char *end;
    if (!isdigit((unsigned char)text[0]) && text[0] != '-') return false;
    errno = 0;
    long x = strtol(text, &end, 10);
    if (end == text || *end || errno == ERANGE) return false;
    *out = x;
    return true;
}

bool qkv_io_is_real(const char *text) {
    double x;
    return read_real(text, &x);
}

bool qkv_io_is_whole(const char *text) {
    if (*text == '-') text++;
    return *text && text[strspn(text, "0123456789")] == '\0';
}

char *qkv_io_format_real(double x, int digits, char out[QKV_IO_NUMBER]) {
    if (!isfinite(x)) {
        snprintf(out, QKV_IO_NUMBER, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
        return out;
    }
    snprintf(out, QKV_IO_NUMBER, "%.*g", digits, x);
    const char *local = point();
    char *at = strcmp(local, ".") ? strstr(out, local) : NULL;
    if (at) {
        *at = '.';
        memmove(at + 1, at + strlen(local), strlen(at + strlen(local)) + 1);
    }
    return out;
}

char *qkv_io_format_exact(double x, char out[QKV_IO_NUMBER]) {
    for (int digits = 15; digits <= 17; digits++) {
        double back;
        qkv_io_format_real(x, digits, out);
        if (!isfinite(x) || (qkv_io_parse_real(out, &back) && back == x)) break;
    }
    return out;
}
