/* text.c - numbers and names that came from outside, and sentences that go back. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "train/plot/csv.h"

qkv_plot_status qkv_plot_say(char *why, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(why, QKV_PLOT_TEXT, format, args);
    va_end(args);
    return QKV_PLOT_FAILED;
}

static bool digit(char c) { return c >= '0' && c <= '9'; }

/* By hand, because strtod reads what the locale and hexadecimal allow. The last bits do not matter
 * for a picture. */
bool qkv_plot_number(const char *text, double *x) {
    bool minus = *text == '-';
    const char *p = text + (*text == '-' || *text == '+');
    if (!digit(p[*p == '.'])) return false;
    double value = 0;
    int power = 0, exponent = 0;
    for (; digit(*p); p++) value = value * 10 + (*p - '0');
    if (*p == '.') {
        for (p++; digit(*p); p++, power--) value = value * 10 + (*p - '0');
    }
    if (*p == 'e' || *p == 'E') {
        bool down = p[1] == '-';
        p += 1 + (p[1] == '-' || p[1] == '+');
        if (!digit(*p)) return false;
        for (; digit(*p); p++) exponent = exponent < 9999 ? exponent * 10 + (*p - '0') : exponent;
        if (down) exponent = -exponent;
    }
    value *= pow(10, power + exponent);
    *x = minus ? -value : value;
    return !*p && isfinite(value);
}

/* The length of the UTF-8 character at s; 0 if it is broken. (Lead and continuation bytes, no
 * surrogates, no C1.) */
static int character(const unsigned char *s) {
    int n = s[0] < 0x80   ? 1
            : s[0] < 0xc2 ? 0
            : s[0] < 0xe0 ? 2
            : s[0] < 0xf0 ? 3
            : s[0] < 0xf5 ? 4
                          : 0;
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
    }
    bool bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
               (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f) ||
               (s[0] == 0xc2 && s[1] < 0xa0);
    return bad ? 0 : n;
}

void qkv_plot_label(FILE *f, const char *text, int most) {
    const unsigned char *s = (const unsigned char *)text;
    putc('"', f);
    for (int shown = 0; *s; shown++) {
        int n = character(s);
        if (shown == most - 1 && (n ? s[n] : s[1])) {
            fputs("\xe2\x80\xa6", f);
            break;
        }
        if (n > 1) {
            fwrite(s, 1, (size_t)n, f);
        } else {
            putc(!n                      ? '?'
                 : *s < ' ' || *s == 127 ? ' '
                 : *s == '"'             ? '\''
                 : *s == '\\'            ? '/'
                                         : *s,
                 f);
        }
        s += n ? n : 1;
    }
    putc('"', f);
}
