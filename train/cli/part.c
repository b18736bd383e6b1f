/* part.c - "--part I/N": a machine's share of trainings. */
#include "train/cli/part.h"

#include <stdio.h>
#include <string.h>

#include "train/cli/cli.h"
#include "train/io/number.h"

int cli_take_part(const char *command, const cli_option *o, const char *text, void *field) {
    cli_part *p = field;
    char first[32];
    const char *slash = strchr(text, '/');
    snprintf(first, sizeof first, "%.*s", slash ? (int)(slash - text) : 0, text);
    if (slash && qkv_io_parse_int(first, &p->i) && qkv_io_parse_int(slash + 1, &p->n) &&
        p->i >= 1 && p->n >= p->i && p->n <= 100000)
        return CLI_OK;
    return cli_error(CLI_USAGE, command, "--%s: '%s' is not of the form I/N with 1 <= I <= N",
                     o->name, text);
}
