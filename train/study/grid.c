/* grid.c - lists of options' values, and all their combinations. */
#include "train/study/grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/number.h"

const char *qkv_study_grid_text(const json_t *value, char out[QKV_STUDY_VALUE]) {
    if (json_is_integer(value))
        snprintf(out, QKV_STUDY_VALUE, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        qkv_io_format_exact(json_real_value(value), out);
    else
        snprintf(out, QKV_STUDY_VALUE, "%s",
                 json_is_string(value) ? json_string_value(value)
                 : json_is_true(value) ? "true"
                                       : "false");
    return out;
}

/* ---- lists as text ---- */

static bool add_value(json_t *list, json_t *value, char *error) {
    json_t *other;
    size_t i;
    bool there = false;
    if (!value) return qkv_io_fail(error, "out of memory");
    if (json_array_size(list) < 1000)  // the cells of a longer one are compared
        json_array_foreach(list, i, other) { there = there || json_equal(other, value); }
    if (there) return json_decref(value), true;
    return json_array_append_new(list, value) == 0 || qkv_io_fail(error, "out of memory");
}

static json_t *number_of(const data_option *o, double x) {
    return o->kind == DATA_KIND_INT ? json_integer((json_int_t)llround(x)) : json_real(x);
}

static bool read_number(const data_option *o, const char *text, double *x) {
    long whole;
    if (o->kind != DATA_KIND_INT) return qkv_io_parse_real(text, x);
    if (!qkv_io_parse_int(text, &whole) || labs(whole) > 1L << 53) return false;
    return *x = (double)whole, true;
}

/* "a..b", and what stands behind it: ":n", "log" or "lin", "random". */
typedef struct {
    double from, to;
    long n;
    bool log, random;
} range;

static bool read_ends(const data_option *o, const char *item, size_t n, range *r) {
    char text[64];
    if (n >= sizeof text) return false;
    snprintf(text, sizeof text, "%.*s", (int)n, item);
    for (char *dots = text; (dots = strstr(dots, "..")); dots++) {
        *dots = '\0';
        if (read_number(o, text, &r->from) && read_number(o, dots + 2, &r->to)) return true;
        *dots = '.';
    }
    return false;
}

/* What stands behind the first colon: "13", "13log", "random:13log". */
static bool read_count(const char *text, range *r) {
    char number[32];
    r->random = strncmp(text, "random:", 7) == 0;
    if (r->random) text += 7;
    const size_t digits = strspn(text, "0123456789");
    snprintf(number, sizeof number, "%.*s", (int)digits, text);
    text += digits;
    r->log = strcmp(text, "log") == 0;
    return digits < 20 && qkv_io_parse_int(number, &r->n) &&
           (!*text || r->log || strcmp(text, "lin") == 0);
}

static bool read_range(const data_option *o, const char *item, range *r, char *error) {
    const char *colon = strchr(item, ':');
    *r = (range){.n = -1};
    if (!read_ends(o, item, colon ? (size_t)(colon - item) : strlen(item), r))
        return qkv_io_fail(error, "'%.60s' is no range of %snumbers A..B", item,
                           o->kind == DATA_KIND_INT ? "whole " : "");
    if (colon && !read_count(colon + 1, r))
        return qkv_io_fail(error,
                           "'%.60s': after A..B: comes a number of values, as 13, 13log or "
                           "random:13log",
                           item);
    if (r->from > r->to)
        return qkv_io_fail(error, "the range '%.60s' is reversed. Write its smaller end first",
                           item);
    if (!colon && o->kind != DATA_KIND_INT)
        return qkv_io_fail(error, "'%.60s' needs a number of values, as %.40s:5 or :5log", item,
                           item);
    if (!colon) r->n = r->to - r->from < 2e9 ? (long)(r->to - r->from) + 1 : 2000000000;
    if (r->n < 1) return qkv_io_fail(error, "the range '%.60s' is empty", item);
    if (r->n > QKV_STUDY_CELLS)
        return qkv_io_fail(error, "'%.60s' has more than %d values", item, QKV_STUDY_CELLS);
    if (r->log && r->from <= 0)
        return qkv_io_fail(error, "'%.60s': a logarithmic range begins above 0", item);
    return true;
}

/* With few digits, so that a person can write the value that is used. */
static double value_at(const data_option *o, const range *r, long i) {
    char text[QKV_IO_NUMBER];
    rng draw = rng_stream((uint64_t)i, o->field, 0);
    double part = r->random ? rng_double(&draw) : r->n > 1 ? (double)i / (double)(r->n - 1) : 0;
    double x = r->log ? r->from * pow(r->to / r->from, part) : r->from + (r->to - r->from) * part;
    if (o->kind == DATA_KIND_INT) return x;
    if (!r->random && (i == 0 || i == r->n - 1)) return i ? r->to : r->from;
    qkv_io_format_real(x, 6, text);
    return qkv_io_parse_real(text, &x) ? x : r->from;
}

static bool add_range(json_t *list, const data_option *o, const char *item, char *error) {
    range r;
    if (!read_range(o, item, &r, error)) return false;
    if (r.n == 1 && !r.random && r.from < r.to)
        return qkv_io_fail(error, "'%.60s': one value cannot reach from end to end", item);
    for (long i = 0; i < r.n; i++)
        if (!add_value(list, number_of(o, value_at(o, &r, i)), error)) return false;
    return true;
}

static bool add_item(json_t *list, const data_option *o, const char *item, char *error) {
    const bool number = o->kind == DATA_KIND_INT || o->kind == DATA_KIND_REAL;
    double x;
    if (!*item) return qkv_io_fail(error, "a value is missing between two commas, or at the end");
    if (!number) return add_value(list, json_string(item), error);
    if (strstr(item, "..")) return add_range(list, o, item, error);
    if (!read_number(o, item, &x))
        return qkv_io_fail(error, "'%.60s' is not a %snumber", item,
                           o->kind == DATA_KIND_INT ? "whole " : "");
    return add_value(list, number_of(o, x), error);
}

/* Texts are values as a whole, since there may be commas in them; but not those that are names. */
static bool is_list(const data_option *o) {
    return o->kind != DATA_KIND_TEXT || strcmp(o->field, "task") == 0 ||
           strcmp(o->field, "block") == 0;
}

bool qkv_study_grid_add(json_t *list, const data_option *o, const char *text, bool yes,
                        char *error) {
    if (!QKV_IO_GIVEN(error, list, o)) return false;
    if (!text) return add_value(list, json_boolean(yes), error);
    if (!is_list(o)) return add_value(list, json_string(text), error);
    for (;; text++) {
        char item[QKV_STUDY_VALUE];
        const size_t n = strcspn(text, ",");
        snprintf(item, sizeof item, "%.*s", (int)n, text);
        if (!add_item(list, o, item, error)) return false;
        text += n;
        if (!*text) return true;
    }
}

/* ---- combinations ---- */

static size_t commas(const char *text) {
    size_t n = 0;
    for (; (text = strchr(text, ',')); text++) n++;
    return n;
}

static bool list_is_right(const char *key, json_t *list, char *error) {
    json_t *row;
    size_t i;
    if (!json_array_size(list))
        return qkv_io_fail(error, "the grid's '%.60s' must be a list with values", key);
    json_array_foreach(list, i, row) {
        const bool pair = commas(key) > 0;
        if (pair ? json_array_size(row) != commas(key) + 1
                 : json_is_array(row) || json_is_object(row) || json_is_null(row))
            return qkv_io_fail(error, "the grid's '%.60s' needs %s in each place of its list", key,
                               pair ? "a list with one value for each of them" : "one value");
    }
    return true;
}

bool qkv_study_grid_count(json_t *grid, int *n, char *error) {
    if (!QKV_IO_GIVEN(error, n)) return false;
    const char *key;
    json_t *list;
    double product = 1;
    if (!json_is_object(grid)) return qkv_io_fail(error, "%s", "'grid' must be an object of lists");
    json_object_foreach(grid, key, list) {
        if (!list_is_right(key, list, error)) return false;
        product *= (double)json_array_size(list);
    }
    if (product > QKV_STUDY_CELLS)
        return qkv_io_fail(error, "these lists have %.0f combinations, more than %d", product,
                           QKV_STUDY_CELLS);
    return *n = (int)product, true;
}

/* Sets each of the names "a,b" to its part of a row. */
static void set_row(json_t *out, const char *key, json_t *row) {
    for (size_t i = 0;; i++, key++) {
        char name[80];
        const size_t n = strcspn(key, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, key);
        json_object_set(out, name, json_is_array(row) ? json_array_get(row, i) : row);
        key += n;
        if (!*key) return;
    }
}

json_t *qkv_study_grid_cell(json_t *grid, int i) {
    const char *key;
    json_t *list, *out = json_object();
    size_t block = 1;
    json_object_foreach(grid, key, list) block *= json_array_size(list);
    json_object_foreach(grid, key, list) {  // in the order in which they were set
        block /= json_array_size(list);
        set_row(out, key, json_array_get(list, (size_t)i / block % json_array_size(list)));
    }
    return out;
}
