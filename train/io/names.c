/* names.c - paths, and text from outside made fit for a message. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/io/io.h"

bool qkv_io_fail(char *error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(error, QKV_IO_ERROR, format, args);
    va_end(args);
    return false;
}

bool qkv_io_path(char out[QKV_IO_PATH], const char *dir, const char *name, char *error) {
    size_t n = strlen(dir);
    if (!n) return qkv_io_fail(error, "'' names no directory; '.' is the one that one is in");
    const char *slash = dir[n - 1] != '/' ? "/" : "";
    if (snprintf(out, QKV_IO_PATH, "%s%s%s", dir, slash, name) < QKV_IO_PATH) return true;
    qkv_io_error(error, "use the directory", dir, ENAMETOOLONG);
    return false;
}

static bool in(unsigned char c, int least, int greatest) { return c >= least && c <= greatest; }

size_t qkv_io_character(const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) return in(s[0], 0x20, 0x7e);
    if (in(s[0], 0xc2, 0xdf)) return in(s[1], s[0] == 0xc2 ? 0xa0 : 0x80, 0xbf) ? 2 : 0;
    if (in(s[0], 0xe0, 0xef)) {
        bool well = in(s[1], s[0] == 0xe0 ? 0xa0 : 0x80, s[0] == 0xed ? 0x9f : 0xbf) &&
                    in(s[2], 0x80, 0xbf);
        bool steers = s[0] == 0xe2 && ((s[1] == 0x80 && in(s[2], 0xa8, 0xae)) ||
                                       (s[1] == 0x81 && in(s[2], 0xa6, 0xa9)));
        return well && !steers ? 3 : 0;
    }
    if (in(s[0], 0xf0, 0xf4)) {
        bool well = in(s[1], s[0] == 0xf0 ? 0x90 : 0x80, s[0] == 0xf4 ? 0x8f : 0xbf);
        return well && in(s[2], 0x80, 0xbf) && in(s[3], 0x80, 0xbf) ? 4 : 0;
    }
    return 0;
}

char *qkv_io_printable(const char *text, char *out, size_t size) {
    const char *s = text;
    size_t length = strlen(text), n = 0;
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

int qkv_io_width(const char *text) {
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void qkv_io_error(char *error, const char *doing, const char *path, int errno_value) {
    char shown[256], why[128];
    if (strerror_r(errno_value, why, sizeof why) != 0)
        snprintf(why, sizeof why, "error %d", errno_value);
    qkv_io_fail(error, "cannot %s '%s': %s", doing, qkv_io_printable(path, shown, sizeof shown),
                why);
}
