#include "train/plot/columns.h"

#include <stdlib.h>
#include <string.h>

enum { MATRICES = 4 };

static const char *const matrix[MATRICES] = {".wq", ".wk", ".wv", ".wo"};

char *qkv_plot_path(const char *dir, const char *name, const char *extension) {
    size_t n = strlen(dir) + strlen(name) + strlen(extension) + 2;
    char *path = malloc(n);
    if (path) snprintf(path, n, "%s/%s%s", dir, name, extension);
    return path;
}

qkv_plot_status qkv_plot_metrics_read(qkv_plot_table *t, int *step, const char *run, char *why) {
    *t = (qkv_plot_table){0};
    char *path = qkv_plot_path(run, "metrics", ".csv");
    qkv_plot_status status =
        path ? qkv_plot_table_read(t, path, why) : qkv_plot_say(why, "out of memory");
    if (status == QKV_PLOT_OK) {
        *step = qkv_plot_table_column(t, "step");
        if (*step < 0) status = qkv_plot_say(why, "%s has no column named step", path);
    }
    free(path);
    return status;
}

static void add(qkv_plot_columns *c, int index, bool helps, const char *stem, int length,
                const char *suffix) {
    snprintf(c->heading[c->n], QKV_PLOT_HEADING, "%.*s%s",
             length < QKV_PLOT_HEADING - 8 ? length : QKV_PLOT_HEADING - 8, stem, suffix);
    c->index[c->n] = index;
    c->helps[c->n++] = helps;
}

/* For "grad.*": every stem "grad.layer0.attn" that has at least one of the four matrices, in order
 * of appearance, gets all four columns. */
static void add_matrices(qkv_plot_columns *c, const qkv_plot_table *t, const char *pattern) {
    size_t prefix = strlen(pattern) - 1;  // without the star
    for (int i = 0; i < t->cols; i++) {
        const char *heading = qkv_plot_table_cell(t, -1, i);
        size_t n = strlen(heading);
        if (strncmp(heading, pattern, prefix) || n < prefix + 4) continue;
        int found[MATRICES] = {-1, -1, -1, -1};
        bool is_matrix = false, seen = false;
        for (int m = 0; m < MATRICES; m++) is_matrix |= strcmp(heading + n - 3, matrix[m]) == 0;
        for (int j = 0; is_matrix && j < t->cols; j++) {
            const char *other = qkv_plot_table_cell(t, -1, j);
            if (strlen(other) != n || strncmp(other, heading, n - 3)) continue;
            for (int m = 0; m < MATRICES; m++) {
                if (strcmp(other + n - 3, matrix[m])) continue;
                seen |= j < i;
                found[m] = j;
            }
        }
        for (int m = 0; is_matrix && !seen && m < MATRICES; m++) {
            add(c, found[m], false, heading + prefix, (int)(n - 3 - prefix), matrix[m]);
        }
    }
}

bool qkv_plot_columns_find(qkv_plot_columns *c, const qkv_plot_table *t, const char *source) {
    size_t most = strlen(source) + MATRICES * (size_t)t->cols;
    *c = (qkv_plot_columns){malloc(most * QKV_PLOT_HEADING), malloc(most * sizeof *c->index),
                            malloc(most * sizeof *c->helps), 0};
    char *words = strdup(source), *save = NULL;
    bool ok = c->heading && c->index && c->helps && words;
    for (char *w = ok ? strtok_r(words, " ", &save) : NULL; w; w = strtok_r(NULL, " ", &save)) {
        bool helps = *w == '+';
        if (*w == '@') continue;
        if (helps) w++;
        if (w[strlen(w) - 1] == '*') {
            add_matrices(c, t, w);
        } else {
            add(c, qkv_plot_table_column(t, w), helps, w, (int)strlen(w), "");
        }
    }
    free(words);
    return ok;
}

void qkv_plot_columns_free(qkv_plot_columns *c) {
    free(c->heading);
    free(c->index);
    free(c->helps);
}

long qkv_plot_columns_write(FILE *out, const qkv_plot_table *t, int step,
                            const qkv_plot_columns *c) {
    long numbers = 0;
    double x;
    for (int row = 0; row < t->rows; row++) {
        const char *at = qkv_plot_table_cell(t, row, step);
        if (!qkv_plot_number(at, &x)) continue;
        fputs(at, out);
        for (int i = 0; i < c->n; i++) {
            const char *cell = qkv_plot_table_cell(t, row, c->index[i]);
            bool is_number = qkv_plot_number(cell, &x);
            fprintf(out, ",%s", is_number ? cell : "");
            if (is_number && !c->helps[i]) numbers++;
        }
        putc('\n', out);
    }
    return numbers;
}
