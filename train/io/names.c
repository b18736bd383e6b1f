/* names.c - paths, and text from outside made fit for a message. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/visible.h"
#include "train/io/given.h"
#include "train/io/io.h"
#include "train/io/words.h"

bool qkv_io_fail(char *error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (error) qkv_io_vwords(error, QKV_IO_ERROR, format, args);
    va_end(args);
    return false;
}

bool qkv_io_path(char out[QKV_IO_PATH], const char *dir, const char *name, char *error) {
    if (!QKV_IO_GIVEN(error, out, dir, name)) return false;
    size_t n = strlen(dir);
    if (!n) return qkv_io_fail(error, "'' names no directory; '.' is the one that one is in");
    const char *slash = dir[n - 1] != '/' ? "/" : "";
    if (snprintf(out, QKV_IO_PATH, "%s%s%s", dir, slash, name) < QKV_IO_PATH) return true;
    qkv_io_error(error, "use the directory", dir, ENAMETOOLONG);
    return false;
}

size_t qkv_io_character(const char *text) { return data_visible_length(text, strnlen(text, 4)); }

char *qkv_io_printable(const char *text, char *out, size_t size) {
    const char *s = text ? text : "(none)";
    size_t length = strlen(s), n = 0;
    if (length >= size && size > 4) {  // the end of a path says more than its beginning
        s += length - (size - 4);
        while (((unsigned char)*s & 0xc0) == 0x80) s++;
        memcpy(out, "...", n = 3);
    }
    while (*s && n + 1 < size) {
        size_t k = qkv_io_character(s);
        if (n + k >= size) break;
        if (k) memcpy(out + n, s, k);
        if (!k) out[n] = '?', k = 1;
        n += k;
        s += k;
    }
    out[n] = '\0';
    return out;
}

const char *qkv_io_begin_text(const char **text, size_t *n) {
    const unsigned char *at = (const unsigned char *)*text;
    if (*n >= 2 && ((at[0] == 0xff && at[1] == 0xfe) || (at[0] == 0xfe && at[1] == 0xff)))
        return "is encoded as UTF-16; save it as UTF-8";
    if (*n >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) *text += 3, *n -= 3;
    return *n ? NULL : "is empty";
}

/* The bytes of as many characters, from the beginning, as take no more columns than `most`. */
static size_t fitting(const char *text, int most, int *width) {
    size_t n = 0, left = strlen(text);
    *width = 0;
    while (left > n) {
        char one[8];
        size_t k = qkv_io_character(text + n), step = k ? k : 1;
        snprintf(one, sizeof one, "%.*s", (int)step, text + n);
        const int w = data_visible_width(one);
        if (*width + w > most) break;
        *width += w;
        n += step;
    }
    return n;
}

char *qkv_io_fit(const char *text, int columns, char *out, size_t size) {
    const bool right = columns < 0;
    const int room = right ? -columns : columns;
    int width;
    size_t n = fitting(text, room, &width);
    const bool cut = text[n] != '\0';
    if (cut) n = fitting(text, room - 1, &width), width++;
    snprintf(out, size, "%*s%.*s%s%*s", right ? room - width : 0, "", (int)n, text,
             cut ? "\xe2\x80\xa6" : "", right ? 0 : room - width, "");
    return out;
}

void qkv_io_error(char *error, const char *doing, const char *path, int errno_value) {
    char shown[256], why[128];
    if (strerror_r(errno_value, why, sizeof why) != 0)
        snprintf(why, sizeof why, "error %d", errno_value);
    qkv_io_fail(error, "cannot %s '%s': %s", doing, qkv_io_printable(path, shown, sizeof shown),
                why);
}
