/* columns.c - choosing columns of metrics.csv by name. */
#include "train/plot/columns.h"

#include <stdio.h>
#include <string.h>

#include "train/io/number.h"

enum { MATRICES = 4 };

static const char *const matrix[MATRICES] = {".wq", ".wk", ".wv", ".wo"};

/* False without memory. */
static bool add(qkv_plot_columns *c, tensor_arena *arena, int index, bool helps, const char *stem,
                size_t length, const char *suffix) {
    qkv_plot_column *at = tensor_arena_grow(arena, c->at, c->n, 1, &c->room, sizeof *at);
    if (!at) return false;
    c->at = at;
    at[c->n] = (qkv_plot_column){.index = index, .helps = helps};
    snprintf(at[c->n++].heading, QKV_PLOT_HEADING, "%.*s%s",
             length < QKV_PLOT_HEADING - 8 ? (int)length : QKV_PLOT_HEADING - 8, stem, suffix);
    return true;
}

/* Where the stem of a column, such as "grad.layer0.attn.wq", has its four matrices; -1: nowhere.
 * False if it is no matrix, or an earlier column has the same stem. */
static bool find_matrices(const qkv_io_table *t, int column, int found[MATRICES]) {
    const char *heading = qkv_io_table_cell(t, -1, column);
    size_t n = strlen(heading);
    bool is_matrix = false;
    for (int m = 0; m < MATRICES; m++) {
        found[m] = -1;
        is_matrix |= n > 3 && strcmp(heading + n - 3, matrix[m]) == 0;
    }
    for (int j = 0; is_matrix && j < t->cols; j++) {
        const char *other = qkv_io_table_cell(t, -1, j);
        if (strlen(other) != n || strncmp(other, heading, n - 3)) continue;
        for (int m = 0; m < MATRICES; m++) {
            if (strcmp(other + n - 3, matrix[m])) continue;
            if (j < column) return false;
            found[m] = j;
        }
    }
    return is_matrix;
}

/* For "grad.*": every stem "grad.layer0.attn" that has at least one of the four matrices, in order
 * of appearance, gets all four columns. */
static bool add_matrices(qkv_plot_columns *c, tensor_arena *arena, const char *pattern) {
    size_t prefix = strlen(pattern) - 1;  // without the star
    bool ok = true;
    for (int i = 0, found[MATRICES]; i < c->table.cols; i++) {
        const char *heading = qkv_io_table_cell(&c->table, -1, i);
        size_t n = strlen(heading);
        if (strncmp(heading, pattern, prefix) || n < prefix + 4) continue;
        if (!find_matrices(&c->table, i, found)) continue;
        for (int m = 0; m < MATRICES; m++)
            ok = ok && add(c, arena, found[m], false, heading + prefix, n - 3 - prefix, matrix[m]);
    }
    return ok;
}

/* Of "val_loss|loss" the first if it has a number in this table, otherwise the second. */
static char *choose(const qkv_io_table *t, char *word) {
    char *bar = strchr(word, '|');
    double x;
    if (!bar) return word;
    *bar = '\0';
    int col = qkv_io_table_column(t, word);
    for (int row = 0; row < t->rows; row++)
        if (qkv_io_table_number(t, row, col, &x)) return word;
    return bar + 1;
}

static bool find(qkv_plot_columns *c, tensor_arena *arena, const char *source) {
    char words[256], *save = NULL;
    bool ok = true;
    snprintf(words, sizeof words, "%s", source);
    for (char *w = strtok_r(words, " ", &save); ok && w; w = strtok_r(NULL, " ", &save)) {
        bool helps = *w == '+';
        if (*w == '@') continue;
        w = choose(&c->table, w + helps);
        if (w[strlen(w) - 1] == '*')
            ok = add_matrices(c, arena, w);
        else
            ok = add(c, arena, qkv_io_table_column(&c->table, w), helps, w, strlen(w), "");
    }
    return ok;
}

/* As a run writes it: a number, or nothing for NaN. */
static bool is_number_or_none(const char *cell) {
    return !*cell || qkv_io_is_real(cell) || strcmp(cell, "nan") == 0 || strcmp(cell, "inf") == 0 ||
           strcmp(cell, "-inf") == 0;
}

/* Steps only rise, and what stands in a row are numbers. */
static bool check_rows(const qkv_plot_columns *c, const char *run, char *why) {
    const qkv_io_table *t = &c->table;
    double before = -1, step;
    for (int row = 0; row < t->rows; row++) {
        const char *wrong = NULL;
        if (!qkv_io_table_number(t, row, c->step, &step) || !(step > before)) wrong = "step";
        for (int col = 0; col < t->cols && !wrong; col++)
            if (!is_number_or_none(qkv_io_table_cell(t, row, col)))
                wrong = qkv_io_table_cell(t, -1, col);
        if (wrong)
            return qkv_io_fail(why, "row %d of '%.200s/metrics.csv' is damaged: its %.40s", row + 1,
                               run, wrong);
        before = step;
    }
    return true;
}

qkv_io_status qkv_plot_columns_read(qkv_plot_columns *c, tensor_arena *arena, const char *run,
                                    const char *source, char *why) {
    *c = (qkv_plot_columns){.n = 0};
    qkv_io_status status = qkv_plot_table_read(&c->table, arena, run, "metrics", why);
    if (status != QKV_IO_OK) return status;
    c->step = qkv_io_table_column(&c->table, "step");
    if (c->step < 0)
        return qkv_io_fail(why, "'%.200s/metrics.csv' has no column named step", run),
               QKV_IO_DAMAGED;
    if (!check_rows(c, run, why)) return QKV_IO_DAMAGED;
    return find(c, arena, source) ? QKV_IO_OK : (qkv_io_fail(why, "out of memory"), QKV_IO_FAILED);
}

long qkv_plot_columns_write(qkv_io_text *out, const qkv_plot_columns *c) {
    long numbers = 0;
    double x;
    for (int row = 0; row < c->table.rows; row++) {
        qkv_io_text_add(out, "%s", qkv_io_table_cell(&c->table, row, c->step));
        for (size_t i = 0; i < c->n; i++) {
            const char *cell = qkv_io_table_cell(&c->table, row, c->at[i].index);
            bool is_number = qkv_io_parse_real(cell, &x), is_nan = strcmp(cell, "nan") == 0;
            qkv_io_text_add(out, ",%s", is_number || is_nan ? cell : "");
            numbers += is_number && !c->at[i].helps;
        }
        qkv_io_text_add(out, "\n");
    }
    return numbers;
}
