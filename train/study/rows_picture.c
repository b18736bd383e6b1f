/* rows_picture.c - what a picture of rows shows, as CSV for sweep.gp.
 *
 * Block 0 is a line that says what it is: kind, panels, series, whether x and y are logarithmic, how many
 * values they have, whether colours are a scale, and the labels. Then comes a block for each panel's each
 * series. */
#include "train/study/rows_picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/number.h"

enum { MOST_PANELS = 12, MOST_SERIES = 32 };

/* The values of a column, each once: numbers by size, words as they came. */
typedef struct {
    int column, n;  // -1: no column, one value
    const char **text;
    bool numbers;
} axis;

typedef struct {
    const qkv_study_rows *r;
    axis x, y, colour, panel;
    int value;  // the measure of a map
    char kind;  // m: map, c: curves, s: scatter
    double *found;
    qkv_io_text *out;
    char *error;
} picture;

static int by_number(const void *a, const void *b) {
    double x = 0, y = 0;
    qkv_io_parse_real(*(const char *const *)a, &x);
    qkv_io_parse_real(*(const char *const *)b, &y);
    return x < y ? -1 : x > y;
}

static bool list_values(picture *p, axis *a, int column) {
    const qkv_study_rows *r = p->r;
    qkv_study_groups g;
    double x;
    *a = (axis){.column = column, .n = 1, .numbers = true};
    if (column < 0) return true;
    if (!qkv_study_rows_group(r, &column, 1, &g, p->error)) return false;
    a->n = g.n;
    a->text = tensor_arena_take(r->arena, (size_t)g.n + 1, sizeof *a->text);
    if (!a->text) return qkv_io_fail(p->error, "out of memory");
    for (int i = 0; i < g.n; i++) {
        a->text[i] = qkv_study_rows_text(r, g.first[i], column);
        a->numbers = a->numbers && qkv_io_parse_real(a->text[i], &x);
    }
    if (a->numbers) qsort(a->text, (size_t)a->n, sizeof *a->text, by_number);
    return true;
}

static int index_of(const axis *a, const qkv_study_rows *r, int i) {
    for (int k = 0; a->column >= 0 && k < a->n; k++)
        if (strcmp(a->text[k], qkv_study_rows_text(r, i, a->column)) == 0) return k;
    return 0;
}

static const char *name_at(const axis *a, int k) { return a->column < 0 ? "" : a->text[k]; }

static const char *heading(const picture *p, int column) {
    return column < 0 ? "" : qkv_io_table_cell(&p->r->table, -1, column);
}

/* Are its numbers positive, and far apart? */
static bool is_wide(const axis *a) {
    double first, last;
    return a->column >= 0 && a->n > 2 && a->numbers && qkv_io_parse_real(a->text[0], &first) &&
           qkv_io_parse_real(a->text[a->n - 1], &last) && first > 0 && last / first >= 8;
}

/* ---- which picture ---- */

static bool find(picture *p, const char *option, const char *name, int *column) {
    char why[QKV_IO_ERROR];
    *column = name ? qkv_study_rows_column(p->r, name, why) : -1;
    return !name || *column >= 0 || qkv_io_fail(p->error, "--%s: %s", option, why);
}

static bool choose(picture *p, const qkv_study_view *v) {
    int x, y, colour, panel;
    if (!find(p, "x", v->x, &x) || !find(p, "y", v->y, &y) || !find(p, "panel", v->panel, &panel) ||
        !find(p, "colour", v->colour, &colour))
        return false;
    const int options = p->r->options;
    p->kind = v->scatter || x >= options ? 's' : y < options ? 'm' : 'c';
    p->value = colour;
    if (p->kind == 'm' && !v->colour && !find(p, "colour", "accuracy", &p->value)) return false;
    if (p->kind == 'm' && p->value < options)
        return qkv_io_fail(p->error, "--colour: '%s' is an option; a map shows a measure",
                           v->colour);
    if (panel >= options)
        return qkv_io_fail(p->error, "--panel: '%s' is no option, but a measure", v->panel);
    if (p->kind == 'c' && colour >= options)
        return qkv_io_fail(p->error, "--colour: '%s' is a measure; curves are of an option",
                           v->colour);
    if (x == y) return qkv_io_fail(p->error, "--x and --y are both '%s'", v->x);
    const bool by_value = p->kind == 'm' || colour >= options;  // colours as a scale
    if (!list_values(p, &p->x, x) || !list_values(p, &p->y, y) ||
        !list_values(p, &p->colour, by_value ? -1 : colour) || !list_values(p, &p->panel, panel))
        return false;
    if (p->panel.n > MOST_PANELS)
        return qkv_io_fail(p->error, "--panel: '%s' has %d values; at most %d panels are drawn",
                           v->panel, p->panel.n, MOST_PANELS);
    if (p->colour.n > MOST_SERIES)
        return qkv_io_fail(p->error, "--colour: '%s' has %d values; at most %d are told apart",
                           v->colour, p->colour.n, MOST_SERIES);
    if (p->kind != 'm' && (!p->x.numbers || (p->kind == 's' && y < options && !p->y.numbers)))
        return qkv_io_fail(p->error, "--x: not all values of '%s' are numbers, which an axis needs",
                           v->x);
    return true;
}

/* ---- rows of the picture ---- */

/* A name at an axis: of a long number three digits. */
static const char *short_name(const axis *a, int k, char out[QKV_IO_NUMBER]) {
    double x;
    if (!a->numbers || strlen(a->text[k]) < 8 || !qkv_io_parse_real(a->text[k], &x))
        return a->text[k];
    return qkv_io_format_real(x, 3, out);
}

static void add_point(picture *p, const double x[5], const char *at_x, const char *at_y, int panel,
                      int series) {
    char name[200];
    qkv_io_text_add(p->out, "%d", 1 + panel * p->colour.n + series);
    for (int k = 0; k < 5; k++) {
        qkv_io_text_add(p->out, ",");
        qkv_io_text_number(p->out, x[k]);
    }
    const char *text[] = {at_x, at_y, "", ""};
    char panel_name[200] = "";
    if (p->panel.column >= 0)
        snprintf(panel_name, sizeof panel_name, "%.80s = %.100s", heading(p, p->panel.column),
                 name_at(&p->panel, panel));
    snprintf(name, sizeof name, "%.80s %.100s", heading(p, p->colour.column),
             name_at(&p->colour, series));
    text[2] = panel_name;
    text[3] = p->colour.column < 0 ? "" : name;
    for (int k = 0; k < 4; k++) {
        qkv_io_text_add(p->out, ",");
        qkv_io_text_label(p->out, text[k]);
    }
    qkv_io_text_add(p->out, ",,\n");
}

static bool is_of(const picture *p, int i, int panel, int series) {
    return index_of(&p->panel, p->r, i) == panel && index_of(&p->colour, p->r, i) == series;
}

static void add_cells(picture *p, int panel) {
    const int n = p->x.n * p->y.n;
    double *sum = tensor_arena_take(p->r->arena, (size_t)n, sizeof *sum);
    int *count = tensor_arena_take(p->r->arena, (size_t)n, sizeof *count),
        *all = tensor_arena_take(p->r->arena, (size_t)n, sizeof *all);
    p->out->failed = p->out->failed || !sum || !count || !all;
    if (p->out->failed) return;
    for (int i = 0; i < p->r->n; i++) {
        if (!is_of(p, i, panel, 0)) continue;
        const int k = index_of(&p->y, p->r, i) * p->x.n + index_of(&p->x, p->r, i);
        const double x = qkv_study_rows_number(p->r, i, p->value);
        all[k]++;
        if (isnan(x)) continue;
        sum[k] += x;
        count[k]++;
    }
    for (int k = 0; k < n; k++) {
        if (!all[k]) continue;
        const int col = k % p->x.n, row = k / p->x.n;
        char x[QKV_IO_NUMBER], y[QKV_IO_NUMBER];
        const double mean = count[k] ? sum[k] / count[k] : (double)NAN;
        add_point(p, (double[]){col, row, count[k], all[k], mean}, short_name(&p->x, col, x),
                  short_name(&p->y, row, y), panel, 0);
    }
}

static void add_curve(picture *p, int panel, int series) {
    for (int k = 0; p->x.text && k < p->x.n; k++) {
        double x = 0, low = (double)INFINITY, high = -(double)INFINITY;
        int n = 0;
        qkv_io_parse_real(p->x.text[k], &x);
        for (int i = 0; i < p->r->n; i++) {
            if (!is_of(p, i, panel, series) || index_of(&p->x, p->r, i) != k) continue;
            const double y = qkv_study_rows_number(p->r, i, p->y.column);
            if (isnan(y)) continue;
            p->found[n++] = y;
            low = fmin(low, y);
            high = fmax(high, y);
        }
        const qkv_study_mean m = qkv_study_mean_of(p->found, n);
        if (n) add_point(p, (double[]){x, m.mean, low, high, n}, p->x.text[k], "", panel, series);
    }
}

static void add_points(picture *p, int panel, int series) {
    for (int i = 0; i < p->r->n; i++) {
        const double x = qkv_study_rows_number(p->r, i, p->x.column),
                     y = qkv_study_rows_number(p->r, i, p->y.column),
                     value = p->colour.column < 0 && p->value >= 0
                                 ? qkv_study_rows_number(p->r, i, p->value)
                                 : (double)NAN;
        if (is_of(p, i, panel, series) && !isnan(x) && !isnan(y))
            add_point(p, (double[]){x, y, (double)NAN, (double)NAN, value}, "", "", panel, series);
    }
}

static void add_head(picture *p) {
    const bool scale = p->kind == 'm' || (p->colour.column < 0 && p->value >= 0);
    qkv_io_text_add(
        p->out, "block,x,y,low,high,value,at_x,at_y,panel,series,,\n0,%c,%d,%d,%d,%d,%d,%d,%d,",
        p->kind, p->panel.n, p->colour.n, is_wide(&p->x), is_wide(&p->y), p->x.n, p->y.n, scale);
    qkv_io_text_label(p->out, heading(p, p->x.column));
    qkv_io_text_add(p->out, ",");
    qkv_io_text_label(p->out, heading(p, p->y.column));
    qkv_io_text_add(p->out, ",");
    qkv_io_text_label(p->out, heading(p, p->value));
    qkv_io_text_add(p->out, "\n");
}

bool qkv_study_rows_picture(const qkv_study_rows *r, const qkv_study_view *v, qkv_io_text *out,
                            char *error) {
    if (!QKV_IO_GIVEN(error, r, v, out) || !QKV_IO_GIVEN(error, v->x, v->y)) return false;
    picture p = {.r = r, .out = out, .error = error};
    p.found = tensor_arena_take(r->arena, (size_t)r->n + 1, sizeof *p.found);
    if (!p.found) return qkv_io_fail(error, "out of memory");
    if (!choose(&p, v)) return false;
    add_head(&p);
    for (int panel = 0; panel < p.panel.n; panel++)
        for (int series = 0; series < p.colour.n; series++) {
            const size_t empty = out->n;
            if (p.kind == 'm') add_cells(&p, panel);
            if (p.kind == 'c') add_curve(&p, panel, series);
            if (p.kind == 's') add_points(&p, panel, series);
            if (out->n == empty && !out->failed) {  // a block needs a row
                const double none = (double)NAN;
                add_point(&p, (double[]){none, none, none, none, none}, "", "", panel, series);
            }
        }
    return !out->failed || qkv_io_fail(error, "out of memory");
}
