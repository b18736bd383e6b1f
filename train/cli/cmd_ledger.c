/* cmd_ledger.c - qkv ledger: who took the held-out loss down, step by step. */
#include <math.h>
#include <stdio.h>

#include "train/cli/json.h"
#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/run/ledger.h"

enum { PARTS = 4, NAME = 26 };

typedef struct {
    long from, to, every, examples;
    const char *through, *symbols, *out;
    bool json;
    cli_state state;
} request;

static const cli_option options[] = {
    CLI_INT(request, from, "from", "A", 0, 0, 1000000000, "the first step",
            .def = "the run's first"),
    CLI_INT(request, to, "to", "B", QKV_RUN_NEWEST, 1, 1000000000,
            "the step at which the ledger ends", .def = "the newest"),
    CLI_INT(request, every, "every", "N", 1, 1, 1000000000,
            "a row for the straight line over so many steps: coarser, and quicker"),
    CLI_INT(request, examples, "examples", "N", 128, 1, 1000000,
            "held-out examples, the first of those that the run evaluates"),
    CLI_TEXT(request, through, "through", "SITE",
             "tell apart the ways through this attention (layer0.attn), or all"),
    CLI_TEXT(request, symbols, "symbols", "TABLE",
             "a column for each row of a table of embeddings (embed.key)"),
    CLI_FILE(request, out, "out", "where the table goes", .def = "RUN/ledger.csv"),
    CLI_OPTION_DATA(request, state),
    CLI_OPTION_PLUGIN(request, state.plugin, "the plugin with the run's task or block"),
    CLI_FLAG(request, json, "json", "one line of JSON"),
    CLI_END};

/* ---- parts of the training ---- */

/* Rows first[p] to first[p + 1] - 1 are part p: the loss falls by a quarter of its fall in each. */
typedef struct {
    int n, first[PARTS + 1];
} division;

static division divide(const qkv_run_ledger *l) {
    division d = {.n = 1};
    const double start = l->row[0].before;
    double least = start;
    for (int r = 0; r < l->rows; r++) least = fmin(least, l->row[r].after);
    for (int r = 0; r + 1 < l->rows && d.n < PARTS && least < start; r++)
        if (start - l->row[r].after >= d.n * (start - least) / PARTS) d.first[d.n++] = r + 1;
    d.first[d.n] = l->rows;
    return d;
}

/* The sum of a column over some rows; column -1: what is left, -2: the loss's change. */
static double sum_of(const qkv_run_ledger *l, int column, int first, int end) {
    double sum = 0;
    for (int r = first; r < end; r++) {
        const qkv_run_ledger_row *row = &l->row[r];
        sum += column == -1   ? row->left
               : column == -2 ? row->after - row->before
                              : row->part[column];
    }
    return sum;
}

/* ---- words ---- */

static void print_row(const qkv_run_ledger *l, const division *d, const char *name, int column) {
    char label[NAME * 4 + 4];
    printf("  %s", qkv_io_fit(name, NAME, label, sizeof label));
    for (int p = 0; p < d->n; p++)
        cli_print(" %11.5f", sum_of(l, column, d->first[p], d->first[p + 1]));
    if (d->n > 1) cli_print(" %11.5f", sum_of(l, column, 0, l->rows));
    printf("\n");
}

static void print_heading(const qkv_run_ledger *l, const division *d) {
    printf("\n  %-*s", NAME, "steps");
    for (int p = 0; p < d->n; p++) {
        char steps[32];
        snprintf(steps, sizeof steps, "%d-%d", l->row[d->first[p]].first,
                 l->row[d->first[p + 1] - 1].next);
        printf(" %11s", steps);
    }
    printf(d->n > 1 ? " %11s\n" : "\n", "all");
    printf("  %-*s", NAME, "loss at the end");
    for (int p = 0; p < d->n; p++) cli_print(" %11.5f", l->row[d->first[p + 1] - 1].after);
    if (d->n > 1) cli_print(" %11.5f", l->row[l->rows - 1].after);
    printf("\n\n");
}

/* The parameter whose part is the least of those above `above` in order, so that it took most down; -1: none
 * took anything. `rank` 0 is the first. */
static int most_of(const qkv_run_ledger *l, int first, int end, int rank) {
    int found = -1;
    double before = -(double)INFINITY;
    for (int k = 0; k <= rank; k++) {
        double best = 0;
        int at = -1;
        for (int i = 0; i < l->parameters; i++) {
            const double x = sum_of(l, i, first, end);
            if (x < best && x > before) best = x, at = i;
        }
        if (at < 0) return -1;
        before = best;
        found = at;
    }
    return found;
}

static void print_sentences(const qkv_run_ledger *l, const division *d) {
    char name[128];
    printf("\n");
    for (int p = 0; p < d->n; p++) {
        const int first = d->first[p], end = d->first[p + 1];
        cli_print("Steps %d to %d, loss %.4g to %.4g: ", l->row[first].first, l->row[end - 1].next,
                  l->row[first].before, l->row[end - 1].after);
        int rank = 0;
        for (int at; rank < 3 && (at = most_of(l, first, end, rank)) >= 0; rank++)
            cli_print("%s%s took down %.3g", rank ? ", " : "",
                      qkv_io_printable(l->column[at].name, name, sizeof name),
                      -sum_of(l, at, first, end));
        printf("%s.\n", rank ? "" : "no parameter took it down");
    }
}

static int over_tolerance(const qkv_run_ledger *l) {
    int n = 0;
    for (int r = 0; r < l->rows; r++) n += fabs(l->row[r].left) > l->row[r].allowed;
    return n;
}

static void print_text(const qkv_run_ledger *l, const char *run, const char *path) {
    char shown[QKV_IO_PATH], to[QKV_IO_PATH];
    const division d = divide(l);
    cli_print("%s, steps %d to %d: the loss of %d held-out examples went from %.5g to %.5g.\n",
              qkv_io_printable(run, shown, sizeof shown), l->row[0].first, l->row[l->rows - 1].next,
              l->examples, l->row[0].before, l->row[l->rows - 1].after);
    printf("Each parameter's part of that change: below 0 it took the loss down, above 0 up.\n");
    print_heading(l, &d);
    for (int i = 0; i < l->parameters; i++) print_row(l, &d, l->column[i].name, i);
    print_row(l, &d, "left", -1);
    print_row(l, &d, "the loss's change", -2);
    for (int i = l->parameters; i < l->columns; i++) {
        if (i == l->parameters || l->column[i].kind != l->column[i - 1].kind) printf("\n");
        print_row(l, &d, l->column[i].name, i);
    }
    print_sentences(l, &d);
    const int over = over_tolerance(l);
    if (over)
        printf("In %d of %d rows halving did not bring what is left below rounding.\n", over,
               l->rows);
    printf("%s: %d rows (qkv plot %s --ledger draws them)\n", qkv_io_printable(path, to, sizeof to),
           l->rows, shown);
}

/* ---- JSON ---- */

static json_t *part_json(const qkv_run_ledger *l, const division *d, const char *name, int column) {
    json_t *o = json_object(), *parts = json_array();
    for (int p = 0; p < d->n; p++)
        json_array_append_new(parts,
                              cli_json_number(sum_of(l, column, d->first[p], d->first[p + 1])));
    json_object_set_new(o, "name", cli_json_text(name));
    json_object_set_new(o, "all", cli_json_number(sum_of(l, column, 0, l->rows)));
    json_object_set_new(o, "parts", parts);
    return o;
}

static void print_json(const qkv_run_ledger *l, const char *run, const char *path) {
    static const char *const kinds[] = {"parameters", "ways", "symbols"};
    const division d = divide(l);
    json_t *o = json_object(), *ends = json_array(),
           *lists[3] = {json_array(), json_array(), json_array()};
    for (int p = 0; p < d.n; p++)
        json_array_append_new(ends, json_integer(l->row[d.first[p + 1] - 1].next));
    for (int i = 0; i < l->columns; i++)
        json_array_append_new(lists[l->column[i].kind], part_json(l, &d, l->column[i].name, i));
    json_object_set_new(o, "run", cli_json_text(run));
    json_object_set_new(o, "from", json_integer(l->row[0].first));
    json_object_set_new(o, "to", json_integer(l->row[l->rows - 1].next));
    json_object_set_new(o, "examples", json_integer(l->examples));
    json_object_set_new(o, "rows", json_integer(l->rows));
    json_object_set_new(o, "loss_before", cli_json_number(l->row[0].before));
    json_object_set_new(o, "loss_after", cli_json_number(l->row[l->rows - 1].after));
    json_object_set_new(o, "part_ends", ends);
    for (int k = 0; k < 3; k++) json_object_set_new(o, kinds[k], lists[k]);
    json_object_set_new(o, "left", part_json(l, &d, "left", -1));
    json_object_set_new(o, "rows_over_tolerance", json_integer(over_tolerance(l)));
    json_object_set_new(o, "table", cli_json_text(path));
    cli_print_json(o);
}

/* ---- the command ---- */

static void say_steps(void *ctx, int done, int total) {
    (void)ctx;
    cli_progress_at(done, total, "steps");
}

static int check(const request *r) {
    if (r->to != QKV_RUN_NEWEST && r->from >= r->to)
        return cli_error(CLI_USAGE, "ledger", "--from %ld is not before --to %ld", r->from, r->to);
    return CLI_OK;
}

int cli_ledger(int argc, char **argv) {
    char error[QKV_IO_ERROR], path[QKV_IO_PATH];
    request r = {.state = {.at = QKV_RUN_NEWEST}};
    const char *run;
    bool done;
    int code = cli_read_run(argc, argv, options, &r, &run, &done);
    if (code == CLI_OK && !done) code = check(&r);
    if (code != CLI_OK || done) return code;
    if (!qkv_io_path(path, run, "ledger.csv", error))
        return cli_error(CLI_USAGE, "ledger", "%s", error);
    const qkv_run_ledger_options o = {.from = (int)r.from,
                                      .to = (int)r.to,
                                      .every = (int)r.every,
                                      .books = {(int)r.examples, r.through, r.symbols},
                                      .progress = say_steps};
    const qkv_run_opening opening = cli_opening(run, &r.state);
    qkv_run_ledger l;
    tensor_arena *arena = tensor_arena_new(NULL);
    if (!arena) return cli_error(CLI_FAILED, "ledger", "out of memory");
    cli_progress_begin("ledger", r.json);
    const qkv_io_status s = qkv_run_ledger_of(&cli_files, &opening, &o, arena, &l, error);
    if (s != QKV_IO_OK) code = cli_error(cli_code(s), "ledger", "%s", error);
    if (code == CLI_OK && *error) cli_error(CLI_OK, "ledger", "note: %s", error);
    cli_progress_end();
    const char *to = r.out ? r.out : path;
    if (code == CLI_OK && !qkv_run_ledger_write(&cli_files, &l, to, error))
        code = cli_error(CLI_FAILED, "ledger", "%s", error);
    if (code == CLI_OK) (r.json ? print_json : print_text)(&l, run, to);
    tensor_arena_free(arena);
    return code;
}
