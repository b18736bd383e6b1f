/* cmd_table.c - qkv table: trainings side by side: means, shares, quantiles, paired differences. */
#include <stdio.h>
#include <string.h>

#include "train/cli/cli.h"
#include "train/cli/sheet.h"
#include "train/io/number.h"
#include "train/io/words.h"
#include "train/study/rows.h"

enum { MOST = 24 };

typedef struct {
    const char *by, *show, *where, *quantiles, *compare;
    cli_sheet_format format;
    qkv_study_rows rows;
    int by_column[64], n_by;
    struct {
        int column;
        bool share;  // of those that are >= (or <=, where `most`) the limit
        bool most;
        double limit;
        char name[80];
    } shown[MOST];
    int n_shown;
    double quantile[MOST];
    int n_quantiles;
    double *x;  // room for a column
} request;

static const cli_option options[] = {
    CLI_TEXT(request, by, "by", "NAMES", "a line for each value of these options: lr,d_k",
             .def = "all that vary, but the seed"),
    CLI_TEXT(
        request, show, "show", "NAMES",
        "what: a measure (its mean and deviation), accuracy>=0.95 (the share of trainings, and "
        "its 95 % interval), or learned, which is that; loss:12 is that of line 12 (--without)",
        .def = "accuracy,learned,steps99"),
    CLI_TEXT(request, where, "where", "TEXT",
             "only rows for which this is true: \"optimizer=adam lr<=0.01\""),
    CLI_TEXT(request, quantiles, "quantiles", "P,P", "of each measure, too, as 0.1,0.5,0.9"),
    CLI_TEXT(request, compare, "compare", "NAME",
             "instead: how much the other values of this option differ from its first, over pairs "
             "that are equal in all else, the seed too; with the 95 % interval of Student's t"),
    CLI_SHEET_FORMATS(request, format),
    CLI_END};

/* ---- what is asked for ---- */

/* The next of "a,b,c" into `out`; false after the last. */
static bool next_name(const char **list, char *out, size_t size) {
    if (!*list || !**list) return false;
    const size_t n = strcspn(*list, ",");
    snprintf(out, size, "%.*s", (int)n, *list);
    *list += n + ((*list)[n] == ',');
    return true;
}

static int choose_groups(request *r) {
    char error[QKV_IO_ERROR], name[80];
    const qkv_study_rows *rows = &r->rows;
    for (int c = 0; !r->by && c + 1 < rows->options && r->n_by < 64; c++) {
        const char *heading = qkv_io_table_cell(&rows->table, -1, c);
        const bool number = strcmp(heading, "cell") == 0 || strcmp(heading, "run") == 0;
        if (!number && qkv_study_rows_vary(rows, c)) r->by_column[r->n_by++] = c;
    }
    for (const char *list = r->by; next_name(&list, name, sizeof name);) {
        const int column = qkv_study_rows_column(rows, name, error);
        if (column < 0) return cli_error(CLI_USAGE, "table", "--by: %s", error);
        if (r->n_by == 64) return cli_error(CLI_USAGE, "table", "--by: too many names");
        r->by_column[r->n_by++] = column;
    }
    return CLI_OK;
}

static int add_shown(request *r, const char *text) {
    char error[QKV_IO_ERROR], name[80];
    const char *sign = strstr(text, ">=") ? strstr(text, ">=") : strstr(text, "<=");
    if (strcmp(text, "learned") == 0) return add_shown(r, "accuracy>=0.95");
    if (strncmp(text, "loss:", 5) == 0) {  // of one line of a file, as the probe calls it
        snprintf(name, sizeof name, "lines.%s", text + 5);
        return add_shown(r, name);
    }
    if (r->n_shown == MOST)
        return cli_error(CLI_USAGE, "table", "--show: more than %d names", MOST);
    snprintf(name, sizeof name, "%.*s", (int)(sign ? (size_t)(sign - text) : strlen(text)), text);
    const int i = r->n_shown, column = qkv_study_rows_column(&r->rows, name, error);
    if (column < 0 && !r->show) return CLI_OK;  // nobody asked for it
    if (column < 0) return cli_error(CLI_USAGE, "table", "--show: %s", error);
    r->shown[i].column = column;
    r->shown[i].share = sign != NULL;
    r->shown[i].most = sign && *sign == '<';
    if (sign && !qkv_io_parse_real(sign + 2, &r->shown[i].limit))
        return cli_error(CLI_USAGE, "table", "--show: '%s' is not a number", sign + 2);
    snprintf(r->shown[i].name, sizeof r->shown[i].name, "%s", text);
    r->n_shown++;
    return CLI_OK;
}

static int choose_shown(request *r) {
    char name[80];
    int code = CLI_OK;
    const char *list = r->show ? r->show : "accuracy,learned,steps99";
    while (code == CLI_OK && next_name(&list, name, sizeof name)) code = add_shown(r, name);
    list = r->quantiles;
    while (code == CLI_OK && next_name(&list, name, sizeof name)) {
        double *part = &r->quantile[r->n_quantiles];
        if (r->n_quantiles == MOST || !qkv_io_parse_real(name, part) || *part < 0 || *part > 1)
            return cli_error(CLI_USAGE, "table", "--quantiles: '%s' is not between 0 and 1", name);
        r->n_quantiles++;
    }
    if (code == CLI_OK && !r->n_shown)
        code = cli_error(CLI_USAGE, "table", "--show: nothing to show");
    return code;
}

/* ---- means and shares ---- */

static void add_share(const request *r, cli_sheet *t, const qkv_study_groups *g, int group, int k) {
    int n = 0, inside = 0;
    for (int i = 0; i < r->rows.n; i++) {
        if (g->of[i] != group) continue;
        const double x = qkv_study_rows_number(&r->rows, i, r->shown[k].column);
        n++;
        inside += r->shown[k].most ? x <= r->shown[k].limit : x >= r->shown[k].limit;
    }
    cli_sheet_share(t, r->shown[k].name, inside, n);
}

static void add_measure(const request *r, cli_sheet *t, const qkv_study_groups *g, int group,
                        int k) {
    const int n = qkv_study_rows_numbers(&r->rows, g, group, r->shown[k].column, r->x);
    const qkv_study_mean m = qkv_study_mean_of(r->x, n);
    cli_sheet_mean(t, r->shown[k].name, &m);
    qkv_study_sort(r->x, n);
    for (int q = 0; q < r->n_quantiles; q++) {
        char name[120];
        qkv_io_words(name, sizeof name, "%.80s q%g", r->shown[k].name, r->quantile[q]);
        cli_sheet_number(t, name, qkv_study_quantile(r->x, n, r->quantile[q]));
    }
}

static int tabulate(request *r, cli_sheet *t) {
    char error[QKV_IO_ERROR];
    qkv_study_groups g;
    if (!qkv_study_rows_group(&r->rows, r->by_column, r->n_by, &g, error))
        return cli_error(CLI_FAILED, "table", "%s", error);
    for (int group = 0; group < g.n; group++) {
        int n = 0, failed = 0;
        for (int i = 0; i < r->rows.n; i++) {
            n += g.of[i] == group;
            failed += g.of[i] == group && qkv_study_rows_failed(&r->rows, i);
        }
        cli_sheet_row(t);
        for (int k = 0; k < r->n_by; k++)
            cli_sheet_text(t, qkv_io_table_cell(&r->rows.table, -1, r->by_column[k]),
                           qkv_study_rows_text(&r->rows, g.first[group], r->by_column[k]));
        cli_sheet_number(t, "n", n);
        cli_sheet_number(t, "failed", failed);
        for (int k = 0; k < r->n_shown; k++) {
            if (r->shown[k].share)
                add_share(r, t, &g, group, k);
            else
                add_measure(r, t, &g, group, k);
        }
    }
    return CLI_OK;
}

/* ---- differences ---- */

/* Of each group of rows that are equal in all options but the compared one, its row with that value; -1. */
static int row_with(const request *r, const qkv_study_groups *pairs, int pair, int column,
                    const char *value, const int *next) {
    for (int i = pairs->first[pair]; i >= 0; i = next[i])
        if (strcmp(qkv_study_rows_text(&r->rows, i, column), value) == 0) return i;
    return -1;
}

/* Of each row the next one of its group; -1: the last. */
static int *chain(const request *r, const qkv_study_groups *g) {
    int *next = tensor_arena_take(r->rows.arena, (size_t)r->rows.n + 1, sizeof *next);
    int *last = tensor_arena_take(r->rows.arena, (size_t)r->rows.n + 1, sizeof *last);
    for (int i = 0; next && last && i < r->rows.n; i++) {
        next[i] = -1;
        if (g->first[g->of[i]] != i) next[last[g->of[i]]] = i;
        last[g->of[i]] = i;
    }
    return last ? next : NULL;
}

static void add_difference(const request *r, cli_sheet *t, const qkv_study_groups *pairs,
                           const qkv_study_groups *by, int group, int column, const char *first,
                           const char *other, const int *next) {
    cli_sheet_row(t);
    for (int k = 0; k < r->n_by; k++)
        cli_sheet_text(t, qkv_io_table_cell(&r->rows.table, -1, r->by_column[k]),
                       qkv_study_rows_text(&r->rows, by->first[group], r->by_column[k]));
    char name[200];
    snprintf(name, sizeof name, "%.90s - %.90s", other, first);
    cli_sheet_text(t, qkv_io_table_cell(&r->rows.table, -1, column), name);
    for (int k = 0; k < r->n_shown; k++) {
        int n = 0;
        if (r->shown[k].share) continue;
        for (int p = 0; p < pairs->n; p++) {
            if (by->of[pairs->first[p]] != group) continue;
            const int a = row_with(r, pairs, p, column, first, next),
                      b = row_with(r, pairs, p, column, other, next);
            if (a < 0 || b < 0) continue;
            r->x[n] = qkv_study_rows_number(&r->rows, b, r->shown[k].column) -
                      qkv_study_rows_number(&r->rows, a, r->shown[k].column);
            n += r->x[n] == r->x[n];  // no NaN
        }
        const qkv_study_mean m = qkv_study_mean_of(r->x, n);
        cli_sheet_difference(t, r->shown[k].name, &m);
    }
}

static int compare(request *r, cli_sheet *t) {
    char error[QKV_IO_ERROR];
    int all[512], n = 0;
    qkv_study_groups pairs, by, values;
    const int column = qkv_study_rows_column(&r->rows, r->compare, error);
    if (column < 0) return cli_error(CLI_USAGE, "table", "--compare: %s", error);
    if (column >= r->rows.options || !qkv_study_rows_vary(&r->rows, column))
        return cli_error(CLI_USAGE, "table",
                         "--compare: '%s' is no option with several values here", r->compare);
    for (int c = 0; c < r->rows.options && n < 512; c++) {
        const char *heading = qkv_io_table_cell(&r->rows.table, -1, c);
        if (c != column && strcmp(heading, "cell") != 0 && strcmp(heading, "run") != 0)
            all[n++] = c;
    }
    int kept = 0;
    for (int k = 0; k < r->n_by; k++)
        if (r->by_column[k] != column) r->by_column[kept++] = r->by_column[k];
    r->n_by = r->by ? kept : 0;  // without --by over all pairs
    if (!qkv_study_rows_group(&r->rows, all, n, &pairs, error) ||
        !qkv_study_rows_group(&r->rows, r->by_column, r->n_by, &by, error) ||
        !qkv_study_rows_group(&r->rows, &column, 1, &values, error))
        return cli_error(CLI_FAILED, "table", "%s", error);
    const int *next = chain(r, &pairs);
    if (!next) return cli_error(CLI_FAILED, "table", "out of memory");
    const char *first = qkv_study_rows_text(&r->rows, 0, column);
    for (int group = 0; group < by.n; group++)
        for (int v = 1; v < values.n; v++)
            add_difference(r, t, &pairs, &by, group, column, first,
                           qkv_study_rows_text(&r->rows, values.first[v], column), next);
    return CLI_OK;
}

/* ---- the command ---- */

static int read_rows(request *r, const char *const *dirs, int n) {
    char error[QKV_IO_ERROR];
    switch (qkv_study_rows_read(&r->rows, &cli_files, r->rows.arena, dirs, n, error)) {
        case QKV_IO_OK: break;
        case QKV_IO_DAMAGED: return cli_error(CLI_DAMAGED, "table", "%s", error);
        default: return cli_error(CLI_FAILED, "table", "%s", error);
    }
    if (r->where && !qkv_study_rows_filter(&r->rows, r->where, error))
        return cli_error(CLI_USAGE, "table", "--where: %s", error);
    if (!r->rows.n) return cli_error(CLI_FAILED, "table", "no row is left to show");
    r->x = tensor_arena_take(r->rows.arena, (size_t)r->rows.n + 1, sizeof *r->x);
    return r->x ? CLI_OK : cli_error(CLI_FAILED, "table", "out of memory");
}

static int operate(request *r, int n, char **dirs) {
    cli_sheet t = {.format = r->format};
    int code = read_rows(r, (const char *const *)dirs, n);
    if (code == CLI_OK) code = choose_groups(r);
    if (code == CLI_OK) code = choose_shown(r);
    if (code == CLI_OK) code = r->compare ? compare(r, &t) : tabulate(r, &t);
    if (code == CLI_OK && t.failed) code = cli_error(CLI_FAILED, "table", "out of memory");
    if (code == CLI_OK) cli_sheet_print(&t);
    cli_sheet_free(&t);
    return code;
}

int cli_table(int argc, char **argv) {
    request r = {.format = CLI_SHEET_TEXT};
    int first = 0;
    bool done;
    int code = cli_read(argc, argv, options, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    if (first == argc)
        return cli_error(CLI_USAGE, "table",
                         "the folder of a sweep, of a study, or of runs is needed");
    r.rows.arena = tensor_arena_new(NULL);
    code = r.rows.arena ? operate(&r, argc - first, argv + first)
                        : cli_error(CLI_FAILED, "table", "out of memory");
    tensor_arena_free(r.rows.arena);
    return code;
}
