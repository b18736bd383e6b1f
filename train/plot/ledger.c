/* ledger.c - RUN/ledger.csv as areas: the parts of parameters of one kind, added up over some steps. */
#include <string.h>

#include "train/plot/data.h"
#include "train/probe/account.h"

enum { BINS = 150, GROUPS = 10 };

/* Kinds of parameters; the last is what is left. */
static const char *const groups[GROUPS] = {"W^Q",
                                           "W^K",
                                           "W^V",
                                           "W^O",
                                           "embeddings",
                                           "unembedding",
                                           "feed-forward",
                                           "other attention parameters",
                                           "norms and other parameters",
                                           "left"};

static int group_of(const char *name) {
    static const char *const matrix[] = {".wq", ".wk", ".wv", ".wo"};
    const size_t n = strlen(name);
    for (int i = 0; i < 4; i++)
        if (n > 3 && strcmp(name + n - 3, matrix[i]) == 0) return i;
    switch (qkv_probe_part_of(name)) {
        case QKV_PROBE_PART_EMBEDDING: return 4;
        case QKV_PROBE_PART_UNEMBEDDING: return 5;
        case QKV_PROBE_PART_FEED_FORWARD: return 6;
        case QKV_PROBE_PART_ATTENTION: return 7;
        default: return 8;
    }
}

/* The table, and what its columns are. */
typedef struct {
    qkv_io_table t;
    int step, next, loss, change, left;
    int shown;  // rows, up to where nearly all is done
    bool there[GROUPS];
} book;

static qkv_io_status damaged(const char *run, int row, const char *what, char *why) {
    qkv_io_fail(why, "row %d of '%.200s/ledger.csv' is damaged: its %.40s", row + 1, run, what);
    return QKV_IO_DAMAGED;
}

/* Steps follow each other, and everything is a number. */
static qkv_io_status check_rows(const book *b, const char *run, char *why) {
    double first, next, before = -1, x;
    for (int row = 0; row < b->t.rows; row++) {
        if (!qkv_io_table_number(&b->t, row, b->step, &first) ||
            !qkv_io_table_number(&b->t, row, b->next, &next) || !(next > first) ||
            (row && (first < before || first > before)))
            return damaged(run, row, "step", why);
        before = next;
        for (int c = b->loss; c <= b->left; c++)
            if (!qkv_io_table_number(&b->t, row, c, &x))
                return damaged(run, row, qkv_io_table_cell(&b->t, -1, c), why);
    }
    return QKV_IO_OK;
}

static double number(const book *b, int row, int col) {
    double x = 0;
    return qkv_io_table_number(&b->t, row, col, &x) ? x : 0;
}

/* A quarter more rows than it takes for 99 % of the fall. */
static int rows_shown(const book *b) {
    double sum = 0, least = 0;
    int row = 0;
    for (int r = 0; r < b->t.rows; r++) {
        sum += number(b, r, b->change);
        if (sum < least) least = sum;
    }
    for (sum = 0; row < b->t.rows && sum > 0.99 * least; row++) sum += number(b, row, b->change);
    row += row / 4 + 1;
    return row < b->t.rows && least < 0 ? row : b->t.rows;
}

static qkv_io_status read_book(book *b, tensor_arena *arena, const char *run, char *why) {
    const qkv_io_status status = qkv_plot_table_read(&b->t, arena, run, "ledger", why);
    if (status == QKV_IO_SKIPPED)
        qkv_io_fail(why, "'%.200s' has no ledger.csv; qkv ledger writes it", run);
    if (status != QKV_IO_OK) return status;
    b->step = qkv_io_table_column(&b->t, "step");
    b->next = qkv_io_table_column(&b->t, "next");
    b->loss = qkv_io_table_column(&b->t, "loss");
    b->change = qkv_io_table_column(&b->t, "change");
    b->left = qkv_io_table_column(&b->t, "left");
    if (b->step != 0 || b->next != 1 || b->loss != 2 || b->change != 3 || b->left < 4)
        return qkv_io_fail(why, "'%.200s/ledger.csv' is not a table of qkv ledger", run),
               QKV_IO_DAMAGED;
    if (b->t.rows == 0)
        return qkv_io_fail(why, "'%.200s/ledger.csv' is empty", run), QKV_IO_DAMAGED;
    for (int c = b->change + 1; c < b->left; c++)
        b->there[group_of(qkv_io_table_cell(&b->t, -1, c))] = true;
    b->there[GROUPS - 1] = true;
    b->shown = rows_shown(b);
    return check_rows(b, run, why);
}

/* Adds rows first .. end-1 to each group. */
static void add_rows(const book *b, int first, int end, double sum[GROUPS]) {
    for (int row = first; row < end; row++) {
        for (int c = b->change + 1; c < b->left; c++)
            sum[group_of(qkv_io_table_cell(&b->t, -1, c))] += number(b, row, c);
        sum[GROUPS - 1] += number(b, row, b->left);
    }
}

static void put_row(const book *b, qkv_io_text *out, double step, double total,
                    const double sum[GROUPS], double divisor) {
    qkv_io_text_number(out, step);
    qkv_io_text_add(out, ",");
    qkv_io_text_number(out, total);
    for (int g = 0; g < GROUPS; g++) {
        if (!b->there[g]) continue;
        qkv_io_text_add(out, ",");
        qkv_io_text_number(out, sum[g] / divisor);
    }
    qkv_io_text_add(out, "\n");
}

static void put_header(const book *b, qkv_io_text *out, const char *total) {
    qkv_io_text_add(out, "step,%s", total);
    for (int g = 0; g < GROUPS; g++)
        if (b->there[g]) qkv_io_text_add(out, ",%s", groups[g]);
    qkv_io_text_add(out, "\n");
}

qkv_io_status qkv_plot_ledger_data(qkv_io_text *out, const char *run, char *why) {
    book b = {.left = -1};
    double sum[GROUPS] = {0};
    const qkv_io_status status = read_book(&b, out->arena, run, why);
    if (status != QKV_IO_OK) return status;
    const int bins = b.shown < BINS ? b.shown : BINS;
    put_header(&b, out, "change");
    for (int i = 0; i < bins; i++) {
        const int first = (int)((long long)b.shown * i / bins),
                  end = (int)((long long)b.shown * (i + 1) / bins);
        const double from = number(&b, first, b.step), to = number(&b, end - 1, b.next);
        double part[GROUPS] = {0}, change = 0;
        for (int row = first; row < end; row++) change += number(&b, row, b.change);
        add_rows(&b, first, end, part);
        put_row(&b, out, (from + to) / 2, change / (to - from), part, to - from);
    }
    qkv_io_text_add(out, "\n\n");
    put_header(&b, out, "loss");
    put_row(&b, out, number(&b, 0, b.step), number(&b, 0, b.loss), sum, 1);
    for (int i = 0; i < bins; i++) {
        const int first = (int)((long long)b.shown * i / bins),
                  end = (int)((long long)b.shown * (i + 1) / bins);
        add_rows(&b, first, end, sum);
        put_row(&b, out, number(&b, end - 1, b.next),
                number(&b, end - 1, b.loss) + number(&b, end - 1, b.change), sum, 1);
    }
    return out->failed ? (qkv_io_fail(why, "out of memory"), QKV_IO_FAILED) : QKV_IO_OK;
}
