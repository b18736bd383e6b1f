/* json.c - one line of JSON on stdout. */
#include "train/cli/json.h"

#include <stdio.h>
#include <stdlib.h>

void cli_print_json(json_t *o) {
    char *line = json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
    for (const char *c = line; c && *c; c++) {
        if (*c == 127)
            fputs("\\u007f", stdout);  // jansson takes DEL for a printable character
        else
            putchar(*c);
    }
    if (line) putchar('\n');
    free(line);
    json_decref(o);
}
