/* sheet.h - a table on its way out: as text, Markdown, CSV or JSON. People read "0.944 ± 0.006" where
 * a program gets columns of numbers. */
#pragma once

#include <jansson.h>

#include "train/cli/cli.h"
#include "train/study/statistics.h"

typedef enum { CLI_SHEET_TEXT, CLI_SHEET_CSV, CLI_SHEET_JSON, CLI_SHEET_MARKDOWN } cli_sheet_format;

typedef struct {
    cli_sheet_format format;
    json_t *rows,
        *row;     // objects, heading -> text or number in the order of columns; the last of them
    bool failed;  // memory ran out
} cli_sheet;

/* The options that choose it, for the member of that type in the command's struct. */
cli_take_fn cli_take_sheet_format;
#define CLI_SHEET_FORMATS(type, member)                                                       \
    CLI_OWN(type, member, cli_take_sheet_format, "csv", NULL, "comma-separated values",       \
            .without = "json|markdown"),                                                      \
        CLI_OWN(type, member, cli_take_sheet_format, "json", NULL, "JSON instead of a table", \
                .without = "markdown"),                                                       \
        CLI_OWN(type, member, cli_take_sheet_format, "markdown", NULL, "a table of Markdown")

/* A new row, and its fields in order: every row has the same headings. */
void cli_sheet_row(cli_sheet *s);
void cli_sheet_text(cli_sheet *s, const char *heading, const char *text);
void cli_sheet_number(cli_sheet *s, const char *heading, double x);
void cli_sheet_mean(cli_sheet *s, const char *name, const qkv_study_mean *m);
void cli_sheet_share(cli_sheet *s, const char *name, int inside, int n);
void cli_sheet_difference(cli_sheet *s, const char *name, const qkv_study_mean *m);

void cli_sheet_print(const cli_sheet *s);
void cli_sheet_free(cli_sheet *s);
