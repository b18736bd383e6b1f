/* sheet.c - a table on its way out: as text, Markdown, CSV or JSON. */
#include "train/cli/sheet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/visible.h"
#include "train/cli/json.h"
#include "train/io/number.h"
#include "train/io/words.h"
#include "train/study/words.h"

enum { GAP = 2 };

int cli_take_sheet_format(const char *command, const cli_option *o, const char *value,
                          void *field) {
    (void)command, (void)value;
    *(cli_sheet_format *)field = strcmp(o->name, "csv") == 0    ? CLI_SHEET_CSV
                                 : strcmp(o->name, "json") == 0 ? CLI_SHEET_JSON
                                                                : CLI_SHEET_MARKDOWN;
    return CLI_OK;
}

static bool for_people(const cli_sheet *s) {
    return s->format == CLI_SHEET_TEXT || s->format == CLI_SHEET_MARKDOWN;
}

/* ---- filling ---- */

void cli_sheet_row(cli_sheet *s) {
    if (!s->rows) s->rows = json_array();
    s->row = json_object();
    s->failed = s->failed || json_array_append_new(s->rows, s->row) != 0;
}

static void add(cli_sheet *s, const char *heading, json_t *value) {
    s->failed = s->failed || json_object_set_new(s->row, heading, value) != 0;
}

void cli_sheet_text(cli_sheet *s, const char *heading, const char *text) {
    double x;
    if (s->format == CLI_SHEET_JSON && qkv_io_parse_real(text, &x))
        cli_sheet_number(s, heading, x);
    else
        add(s, heading, cli_json_text(text));
}

void cli_sheet_number(cli_sheet *s, const char *heading, double x) {
    char text[40];
    if (!for_people(s)) {
        add(s, heading,
            x == rint(x) && fabs(x) < 1e15 ? json_integer((json_int_t)x) : cli_json_number(x));
        return;
    }
    if (x == rint(x))
        qkv_io_words(text, sizeof text, "%.0f", x);
    else
        qkv_io_words(text, sizeof text, "%.*f", qkv_study_decimals(x), x);
    add(s, heading, json_string(isnan(x) ? "-" : text));
}

/* "accuracy", "mean" -> accuracy_mean */
static void add_part(cli_sheet *s, const char *name, const char *part, double x) {
    char heading[200];
    snprintf(heading, sizeof heading, "%.150s_%s", name, part);
    cli_sheet_number(s, heading, x);
}

void cli_sheet_mean(cli_sheet *s, const char *name, const qkv_study_mean *m) {
    if (!for_people(s)) {
        add_part(s, name, "n", m->n);
        add_part(s, name, "mean", m->mean);
        add_part(s, name, "sd", m->sd);
        return;
    }
    char text[80];
    const int decimals = qkv_study_decimals(m->mean);
    if (m->n > 1)
        qkv_io_words(text, sizeof text, "%.*f ± %.*f", decimals, m->mean, decimals, m->sd);
    else
        qkv_io_words(text, sizeof text, m->n ? "%.*f" : "-", decimals, m->mean);
    add(s, name, json_string(text));
}

void cli_sheet_share(cli_sheet *s, const char *name, int inside, int n) {
    const qkv_study_interval share = qkv_study_wilson(inside, n);
    if (!for_people(s)) {
        add_part(s, name, "count", inside);
        add_part(s, name, "share", n ? (double)inside / n : (double)NAN);
        add_part(s, name, "low", share.low);
        add_part(s, name, "high", share.high);
        return;
    }
    char text[80];
    qkv_io_words(text, sizeof text, "%d of %d (%.0f-%.0f %%)", inside, n, 100 * share.low,
                 100 * share.high);
    add(s, name, json_string(text));
}

void cli_sheet_difference(cli_sheet *s, const char *name, const qkv_study_mean *m) {
    const qkv_study_interval within = qkv_study_mean_interval(m);
    if (!for_people(s)) {
        add_part(s, name, "pairs", m->n);
        add_part(s, name, "difference", m->mean);
        add_part(s, name, "low", within.low);
        add_part(s, name, "high", within.high);
        return;
    }
    char text[120];
    const int decimals = qkv_study_decimals(m->mean) + 1;
    if (m->n > 1)
        qkv_io_words(text, sizeof text, "%+.*f (%+.*f to %+.*f; %d pairs)", decimals, m->mean,
                     decimals, within.low, decimals, within.high, m->n);
    else
        qkv_io_words(text, sizeof text, m->n ? "%+.*f (one pair)" : "no pair", decimals, m->mean);
    add(s, name, json_string(text));
}

void cli_sheet_free(cli_sheet *s) { json_decref(s->rows); }

/* ---- printing ---- */

static bool is_number(const char *text) {
    double x;
    return qkv_io_parse_real(text, &x) || strcmp(text, "-") == 0;
}

typedef struct {
    int width;
    bool numbers;
} column;

static column column_of(const cli_sheet *s, const char *heading) {
    json_t *row;
    size_t i;
    column c = {data_visible_width(heading), true};
    json_array_foreach(s->rows, i, row) {
        const char *text = json_string_value(json_object_get(row, heading));
        const int w = data_visible_width(text ? text : "");
        if (w > c.width) c.width = w;
        c.numbers = c.numbers && text && is_number(text);
    }
    return c;
}

static void print_cell(const char *text, const column *c, bool last) {
    const int blanks = c->width - data_visible_width(text);
    if (c->numbers) printf("%*s", blanks, "");
    fputs(text, stdout);
    if (!last) printf("%*s", (c->numbers ? 0 : blanks) + GAP, "");
}

/* Line -1: the headings. */
static void print_line(const cli_sheet *s, int line, const column *columns) {
    json_t *row = json_array_get(s->rows, line < 0 ? 0 : (size_t)line), *value;
    const char *heading;
    const bool markdown = s->format == CLI_SHEET_MARKDOWN;
    size_t k = 0;
    json_object_foreach(row, heading, value) {
        const char *text = line < 0 ? heading : json_string_value(value);
        const bool last = ++k == json_object_size(row);
        if (markdown)
            printf("%s %s |", k == 1 ? "|" : "", text ? text : "");
        else
            print_cell(text ? text : "", &columns[k - 1], last);
    }
    printf("\n");
    for (size_t i = 0; line < 0 && markdown && i < k; i++)
        printf("%s---|%s", i ? "" : "|", i + 1 == k ? "\n" : "");
}

static void print_for_people(const cli_sheet *s) {
    enum { MOST = 512 };
    column columns[MOST];
    json_t *value;
    const char *heading;
    int k = 0;
    json_object_foreach(json_array_get(s->rows, 0), heading, value) {
        if (k < MOST) columns[k++] = column_of(s, heading);
    }
    for (int i = -1; i < (int)json_array_size(s->rows); i++) print_line(s, i, columns);
}

static void print_csv(json_t *row, bool headings) {
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text out = {.arena = arena, .failed = !arena};
    const char *heading;
    json_t *value;
    bool first = true;
    json_object_foreach(row, heading, value) {
        if (!first) qkv_io_text_put(&out, ",", 1);
        first = false;
        const char *text = headings ? heading : json_string_value(value);
        if (text && strpbrk(text, ",\"\n"))
            qkv_io_text_label(&out, text);
        else if (text)
            qkv_io_text_put(&out, text, strlen(text));
        else if (json_is_number(value))
            qkv_io_text_number(&out, json_number_value(value));
    }
    puts(out.at ? out.at : "");
    tensor_arena_free(arena);
}

void cli_sheet_print(const cli_sheet *s) {
    json_t *row;
    size_t i;
    if (for_people(s)) print_for_people(s);
    if (s->format == CLI_SHEET_CSV) print_csv(json_array_get(s->rows, 0), true);
    json_array_foreach(s->rows, i, row) {
        if (s->format == CLI_SHEET_CSV) print_csv(row, false);
        if (s->format == CLI_SHEET_JSON) cli_print_json(json_incref(row));
    }
}
