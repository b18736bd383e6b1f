/* factors.c - lists like "*.wq=0.5,embed.*=0@60..80": what is said of whatever a pattern names, and when. */
#include <stdio.h>
#include <string.h>

#include "train/config/config.h"
#include "train/io/given.h"
#include "train/io/number.h"

static bool is_step(const char *text, int *out) {
    long n = 0;
    const bool ok = qkv_io_parse_int(text, &n) && n >= 0 && n <= 1000000000;
    return *out = (int)n, ok;
}

/* Cuts "@A..B" off the end of a word; a last @ without ".." behind it is part of a name. */
static bool take_steps(char *word, qkv_config_part *out, char *error) {
    char *at = strrchr(word, '@'), *dots = at ? strstr(at, "..") : NULL;
    if (!dots || strchr(at, '/')) return true;
    *at = *dots = '\0';
    if (!is_step(at + 1, &out->from) || !is_step(dots + 2, &out->to))
        return qkv_io_fail(error, "'%.60s@%.20s..%.20s': steps are two whole numbers, @A..B", word,
                           at + 1, dots + 2);
    return out->from < out->to ||
           qkv_io_fail(error, "'%.60s@%d..%d' ends before it begins: write the earlier step first",
                       word, out->from, out->to);
}

bool qkv_config_next_part(const char **list, qkv_config_part *out, char *error) {
    if (!QKV_IO_GIVEN(error, list, out) || !QKV_IO_GIVEN(error, *list)) return false;
    *out = (qkv_config_part){.from = -1, .to = -1};
    *error = '\0';
    *list += strspn(*list, ",");
    const size_t n = strcspn(*list, ",");
    if (!n) return false;
    snprintf(out->name, sizeof out->name, "%.*s", (int)n, *list);
    *list += n;
    char *equals = strchr(out->name, '=');
    if (equals) *equals = '\0', out->value = equals + 1;
    return take_steps(equals ? equals + 1 : out->name, out, error);
}
