/* table.c - a study's means as a table of text, at most 80 columns wide where names allow. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/visible.h"
#include "train/io/words.h"

#include "train/study/words.h"

enum { LINE = 80, GAP = 2, CELL = 96 };

/* One line a variant, or (turned) one line a measure. */
typedef struct {
    const qkv_study *s;
    const qkv_study_results *r;
    bool turned;
} table;

int qkv_study_decimals(double x) {
    double size = fabs(x);
    return size >= 99.95 ? 0 : size >= 9.995 ? 1 : size > 1.0005 ? 2 : 3;  // fractions: 3
}

/* "0.944 ± 0.006"; "never": steps99 that no seed reached; (3/5): only some seeds have it. */
static const char *cell(const table *t, int variant, int column, char out[CELL]) {
    const qkv_study_shown *shown = &t->s->column[column];
    const char *measure = shown->measure;
    if (shown->counted) {
        const qkv_study_count k =
            qkv_study_counted(t->s, t->r, variant, measure, shown->least, shown->most);
        qkv_io_words(out, CELL, k.n ? "%d of %d (%.0f-%.0f %%)" : "-", k.inside, k.n, 100 * k.low,
                     100 * k.high);
        return out;
    }
    qkv_study_summary m = qkv_study_summarise(t->s, t->r, variant, measure);
    bool steps = strcmp(measure, "steps99") == 0 || strcmp(measure, "steps50") == 0,
         whole = steps || strcmp(measure, "cached") == 0;
    int decimals = whole ? 0 : qkv_study_decimals(m.mean), n = 0;
    if (m.n == 0)
        snprintf(out, CELL, "%s", m.failed ? "failed" : steps ? "never" : "-");
    else if (m.least == m.most)
        n = qkv_io_words(out, CELL, "%.*f", decimals, m.mean);
    else
        n = qkv_io_words(out, CELL, "%.*f ± %.*f", decimals, m.mean, decimals, m.sd);
    if (m.n > 0 && m.n < t->s->seeds)
        snprintf(out + n, CELL - (size_t)n, " (%d/%d)", m.n, t->s->seeds);
    return out;
}

static const char *at(const table *t, int row, int col, char out[CELL]) {
    return t->turned ? cell(t, col, row, out) : cell(t, row, col, out);
}

static const char *heading(const table *t, int col) {
    return t->turned ? t->s->variant[col].name : t->s->column[col].as;
}

static const char *label(const table *t, int row) {
    return t->turned ? t->s->column[row].as : t->s->variant[row].name;
}

static int max(int a, int b) { return a > b ? a : b; }

static int column_width(const table *t, int col) {
    char text[CELL];
    int w = data_visible_width(heading(t, col));
    int rows = t->turned ? t->s->n_columns : t->s->n_variants;
    for (int row = 0; row < rows; row++) w = max(w, data_visible_width(at(t, row, col, text)));
    return w + GAP;
}

/* Of the names at the left; group names stand there, too. */
static int label_width(const table *t) {
    int w = 0, rows = t->turned ? t->s->n_columns : t->s->n_variants;
    for (int row = 0; row < rows; row++) w = max(w, data_visible_width(label(t, row)));
    for (int v = 0; v < t->s->n_variants; v++)
        w = max(w, data_visible_width(t->s->variant[v].group));
    return w;
}

static void add_padded(qkv_io_text *out, const char *text, int width) {
    int pad = width - data_visible_width(text);
    qkv_io_text_add(out, "%*s%s", pad > 0 ? pad : 0, "", text);
}

static void add_label(qkv_io_text *out, const char *text, int width) {
    qkv_io_text_add(out, "%s%*s", text, max(width - data_visible_width(text), 0), "");
}

/* Has any variant first..end-1 something to say about a measure? */
static bool is_known(const table *t, int column, int first, int end) {
    const char *measure = t->s->column[column].measure;
    for (int v = first; v < end; v++) {
        qkv_study_summary m = qkv_study_summarise(t->s, t->r, v, measure);
        if (m.n || m.failed || strcmp(measure, "steps99") == 0) return true;
    }
    return false;
}

/* Is there anything in some columns of a row? */
static bool has_cells(const table *t, int row, const int *col, int n) {
    char text[CELL];
    for (int i = 0; i < n; i++)
        if (strcmp(at(t, row, col[i], text), "-")) return true;
    return false;
}

/* Some of the columns, for the variants first..end-1; `more`: the others stand above. */
static void add_piece(const table *t, const int *col, int n, int first, int end, bool more,
                      qkv_io_text *out) {
    char text[CELL];
    int left = label_width(t), rows = t->turned ? t->s->n_columns : end;
    add_label(out, t->s->variant[first].group, left);
    for (int i = 0; i < n; i++) add_padded(out, heading(t, col[i]), column_width(t, col[i]));
    qkv_io_text_add(out, "\n");
    for (int row = t->turned ? 0 : first; row < rows; row++) {
        if (t->turned && !is_known(t, row, first, end)) continue;
        if (more && !has_cells(t, row, col, n)) continue;
        add_label(out, label(t, row), left);
        for (int i = 0; i < n; i++)
            add_padded(out, at(t, row, col[i], text), column_width(t, col[i]));
        qkv_io_text_add(out, "\n");
    }
}

/* The variants first..end-1, a group, in as many pieces as the line asks for. */
static void add_block(const table *t, int first, int end, qkv_io_text *out) {
    int piece[LINE], n = 0, width = label_width(t);
    bool more = false;
    for (int c = t->turned ? first : 0; c < (t->turned ? end : t->s->n_columns); c++) {
        if (!t->turned && !is_known(t, c, first, end)) continue;
        if (n && (n == LINE || width + column_width(t, c) > LINE)) {
            add_piece(t, piece, n, first, end, more, out);
            qkv_io_text_add(out, "\n");
            more = true;
            width = label_width(t);
            n = 0;
        }
        width += column_width(t, c);
        piece[n++] = c;
    }
    add_piece(t, piece, n, first, end, more, out);
}

static int total_width(const table *t) {
    int w = label_width(t);
    for (int c = 0; c < t->s->n_columns; c++) w += column_width(t, c);
    return w;
}

void qkv_study_table(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out) {
    table t = {s, r, false};
    t.turned = total_width(&t) > LINE && s->n_variants < s->n_columns;
    for (int v = 0, end; v < s->n_variants; v = end) {
        const char *group = s->variant[v].group;
        for (end = v; end < s->n_variants && strcmp(s->variant[end].group, group) == 0;) end++;
        if (v) qkv_io_text_add(out, "\n");
        add_block(&t, v, end, out);
    }
}
