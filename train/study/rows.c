/* rows.c - trainings as rows: filtered, grouped, and their numbers. */
#include "train/study/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/number.h"

const char *qkv_study_rows_text(const qkv_study_rows *r, int i, int column) {
    return qkv_io_table_cell(&r->table, r->row[i], column);
}

double qkv_study_rows_number(const qkv_study_rows *r, int i, int column) {
    double x;
    return qkv_io_table_number(&r->table, r->row[i], column, &x) ? x : (double)NAN;
}

bool qkv_study_rows_failed(const qkv_study_rows *r, int i) {
    return *qkv_study_rows_text(r, i, qkv_io_table_column(&r->table, "failed")) != '\0';
}

int qkv_study_rows_column(const qkv_study_rows *r, const char *name, char *error) {
    char field[80], has[300] = "";
    snprintf(field, sizeof field, "%s", name);
    int column = qkv_io_table_column(&r->table, field);
    for (char *c = field; column < 0 && *c; c++)
        if (*c == '-') *c = '_';
    if (column < 0) column = qkv_io_table_column(&r->table, field);
    if (column >= 0) return column;
    for (int i = 0; i < r->table.cols; i++) {
        const size_t n = strlen(has);
        snprintf(has + n, sizeof has - n, "%s%s", n ? ", " : "",
                 qkv_io_table_cell(&r->table, -1, i));
    }
    return qkv_io_fail(error, "there is no column '%.60s', but %s", name, has), -1;
}

bool qkv_study_rows_vary(const qkv_study_rows *r, int column) {
    for (int i = 1; i < r->n; i++)
        if (strcmp(qkv_study_rows_text(r, i, column), qkv_study_rows_text(r, 0, column)) != 0)
            return true;
    return false;
}

/* ---- conditions ---- */

typedef struct {
    int column;
    char op[3];
    const char *text;
    double x;
    bool number;
} condition;

static bool is_true(const qkv_study_rows *r, int i, const condition *c) {
    const double x = qkv_study_rows_number(r, i, c->column);
    const bool equal = c->number && !isnan(x)
                           ? x == c->x
                           : strcmp(qkv_study_rows_text(r, i, c->column), c->text) == 0;
    if (*c->op == '=') return equal;
    if (*c->op == '!') return !equal;
    if (isnan(x)) return false;
    return (*c->op == '<' ? x < c->x : x > c->x) || (c->op[1] && x == c->x);
}

static bool read_condition(const qkv_study_rows *r, char *word, condition *c, char *error) {
    const size_t n = strcspn(word, "=!<>"), signs = strspn(word + n, "=!<>");
    static const char *const known[] = {"=", "!=", "<", "<=", ">", ">="};
    bool is_known = false;
    snprintf(c->op, sizeof c->op, "%.*s", (int)signs, word + n);
    for (size_t k = 0; k < sizeof known / sizeof *known && signs <= 2; k++)
        is_known = is_known || strcmp(known[k], c->op) == 0;
    if (!n || !is_known || !word[n + signs])
        return qkv_io_fail(error, "'%.60s' is no condition, as lr<=0.01 or optimizer=adam", word);
    c->text = word + n + signs;
    word[n] = '\0';
    c->number = qkv_io_parse_real(c->text, &c->x);
    if (!c->number && *c->op != '=' && *c->op != '!')
        return qkv_io_fail(error, "'%.60s' is not a number, which %s needs", c->text, c->op);
    c->column = qkv_study_rows_column(r, word, error);
    return c->column >= 0;
}

bool qkv_study_rows_filter(qkv_study_rows *r, const char *conditions, char *error) {
    if (!QKV_IO_GIVEN(error, r, conditions)) return false;
    char *save = NULL, *words = tensor_arena_take(r->arena, strlen(conditions) + 1, 1);
    if (!words) return qkv_io_fail(error, "out of memory");
    for (char *w = strtok_r(strcpy(words, conditions), " ", &save); w;
         w = strtok_r(NULL, " ", &save)) {
        condition c = {.column = -1};
        int kept = 0;
        if (!read_condition(r, w, &c, error)) return false;
        for (int i = 0; i < r->n; i++)
            if (is_true(r, i, &c)) r->row[kept++] = r->row[i];
        r->n = kept;
    }
    return true;
}

/* ---- groups ---- */

static uint64_t hash_of(const qkv_study_rows *r, int i, const int *columns, int n) {
    uint64_t h = 14695981039346656037u;
    for (int k = 0; k < n; k++)
        for (const char *c = qkv_study_rows_text(r, i, columns[k]);; c++) {
            h = (h ^ (unsigned char)*c) * 1099511628211u;
            if (!*c) break;
        }
    return h ^ h >> 29;
}

static bool alike(const qkv_study_rows *r, int a, int b, const int *columns, int n) {
    for (int k = 0; k < n; k++)
        if (strcmp(qkv_study_rows_text(r, a, columns[k]), qkv_study_rows_text(r, b, columns[k])))
            return false;
    return true;
}

bool qkv_study_rows_group(const qkv_study_rows *r, const int *columns, int n, qkv_study_groups *out,
                          char *error) {
    if (!QKV_IO_GIVEN(error, r, columns, out)) return false;
    const size_t rows = (size_t)r->n, slots = 2 * rows + 1;
    int *slot = tensor_arena_take(r->arena, slots, sizeof *slot);
    *out = (qkv_study_groups){.of = tensor_arena_take(r->arena, rows + 1, sizeof *out->of),
                              .first = tensor_arena_take(r->arena, rows + 1, sizeof *out->first)};
    if (!slot || !out->of || !out->first) return qkv_io_fail(error, "out of memory");
    for (int i = 0; i < r->n; i++) {
        size_t at = (size_t)(hash_of(r, i, columns, n) % slots);
        while (slot[at] && !alike(r, out->first[slot[at] - 1], i, columns, n))
            at = (at + 1) % slots;
        if (!slot[at]) {
            out->first[out->n] = i;
            slot[at] = ++out->n;
        }
        out->of[i] = slot[at] - 1;
    }
    return true;
}

int qkv_study_rows_numbers(const qkv_study_rows *r, const qkv_study_groups *g, int group,
                           int column, double *x) {
    int n = 0;
    for (int i = 0; i < r->n; i++) {
        if (g->of[i] != group) continue;
        x[n] = qkv_study_rows_number(r, i, column);
        n += !isnan(x[n]);
    }
    return n;
}
