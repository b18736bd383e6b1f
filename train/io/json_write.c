/* json_write.c - strings as JSON has them. */
#include <string.h>

#include "data/utf8.h"
#include "train/io/json.h"

bool qkv_io_json_can_put(const char *string) {
    size_t n = strlen(string), step;
    for (; n; string += step, n -= step)
        if (!(step = data_utf8_length(string, n))) return false;
    return true;
}

void qkv_io_json_put(qkv_io_text *out, const char *string) {
    static const char plain[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    qkv_io_text_put(out, "\"", 1);
    while (*string) {
        size_t n = 0;
        while (string[n] && !strchr(plain, string[n]) && (unsigned char)string[n] >= 32) n++;
        qkv_io_text_put(out, string, n);
        string += n;
        if (!*string) break;
        const char *escape = strchr(plain, *string);
        if (escape)
            qkv_io_text_add(out, "\\%c", names[escape - plain]);
        else
            qkv_io_text_add(out, "\\u%04X", (unsigned)(unsigned char)*string);
        string++;
    }
    qkv_io_text_put(out, "\"", 1);
}
