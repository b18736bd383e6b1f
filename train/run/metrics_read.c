/* metrics_read.c - what metrics.csv tells a run that goes on. */
#include <math.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/number.h"
#include "train/run/metrics.h"

/* A line of the file, without its end, which may be that of Windows; the next one begins at `next`. */
typedef struct {
    const char *at, *end, *next;
    int number;
} line;

/* The next whole line; false: there is none, only a part of one or nothing. */
static bool next_line(const char *text, const char *end, line *l) {
    size_t left = (size_t)(end - text);
    if (!l->at) qkv_io_begin_text(&text, &left);
    const char *at = l->at ? l->next : text,
               *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    if (!stop) return false;
    *l = (line){at, stop > at && stop[-1] == '\r' ? stop - 1 : stop, stop + 1, l->number + 1};
    return true;
}

/* The text of a field (0: the first); false when there is no such field, or it is no number's. */
static bool field(const line *l, int index, char out[QKV_IO_NUMBER]) {
    const char *at = l->at;
    for (; index > 0; index--) {
        at = memchr(at, ',', (size_t)(l->end - at));
        if (!at) return false;
        at++;
    }
    size_t n = 0;
    for (; at + n < l->end && at[n] != ','; n++)
        if (n + 1 == QKV_IO_NUMBER) return false;
    memcpy(out, at, n);
    out[n] = '\0';
    return true;
}

/* A number as qkv_io_text_number() writes it: nothing stands for NaN. */
static bool number(const line *l, int index, double *out) {
    char text[QKV_IO_NUMBER];
    *out = (double)NAN;
    if (!field(l, index, text)) return false;
    return !*text || strcmp(text, "nan") == 0 || strcmp(text, "inf") == 0 ||
           strcmp(text, "-inf") == 0 || qkv_io_parse_real(text, out);
}

static int fields(const line *l) {
    int n = 1;
    for (const char *at = l->at; at < l->end; at++) n += *at == ',';
    return n;
}

/* Where a column stands in the header; -1: nowhere. */
static int column_of(const line *header, const char *name) {
    size_t length = strlen(name);
    const char *at = header->at;
    for (int i = 0;; i++) {
        const char *comma = memchr(at, ',', (size_t)(header->end - at)),
                   *end = comma ? comma : header->end;
        if ((size_t)(end - at) == length && memcmp(at, name, length) == 0) return i;
        if (!comma) return -1;
        at = comma + 1;
    }
}

/* Is it the row of that step, and whole? */
static bool is_row(const line *l, int columns, long step) {
    char text[QKV_IO_NUMBER];
    long found;
    double x;
    if (fields(l) != columns || !field(l, 0, text) || !qkv_io_parse_int(text, &found) ||
        found != step)
        return false;
    for (int i = 1; i < columns; i++)
        if (!number(l, i, &x)) return false;
    return true;
}

static void note(const line *header, const line *l, const qkv_config *c, int step,
                 qkv_trainer_course *course, double *seconds) {
    double accuracy, loss, clock;
    number(l, column_of(header, "accuracy"), &accuracy);
    number(l, column_of(header, "val_loss"), &loss);
    number(l, column_of(header, "seconds"), &clock);
    if (isfinite(clock)) *seconds = clock;
    qkv_trainer_course_note(course, c, step, accuracy, loss);
}

/* Is the first line the header that this run has? A torn one is none at all. */
static bool check_header(qkv_trainer *t, const char *text, size_t n, line *header, char *error) {
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text want = {.arena = arena, .failed = !arena};
    if (arena) qkv_run_metrics_header(t, &want);
    bool ok = !want.failed;
    if (!ok) qkv_io_fail(error, "out of memory");
    const bool whole = ok && next_line(text, text + n, header);
    const char *at = whole ? header->at : text;
    const size_t has = whole ? (size_t)(header->end - at) : n, wants = ok ? want.n - 1 : 0;
    if (ok && (whole ? has != wants : has > wants)) ok = false;
    if (ok && memcmp(at, want.at, has) != 0) ok = false;
    if (!ok && !want.failed)
        qkv_io_fail(error, "its first line does not name the columns of this run");
    tensor_arena_free(arena);
    return ok;
}

bool qkv_run_metrics_read(qkv_trainer *t, const char *text, size_t n, int first, int step,
                          qkv_run_past *out, char *error) {
    if (!QKV_IO_GIVEN(error, t, text, out)) return false;
    const qkv_config *c = qkv_trainer_config(t);
    line header = {0};
    *out = (qkv_run_past){.before = qkv_trainer_course_start()};
    if (!check_header(t, text, n, &header, error)) return false;
    line l = header;
    int columns = header.at ? fields(&header) : 0;
    bool whole = header.at && next_line(text, text + n, &l);
    long every = c->eval_every, due = (first + every - 1) / every * every;
    if (header.at) out->keep = (size_t)(header.next - text);
    for (; due < step; due += every) {
        if (!header.at) return qkv_io_fail(error, n ? "its header has no end" : "it is empty");
        if (!whole || !is_row(&l, columns, due))
            return qkv_io_fail(error, "line %d is not the row of step %ld",
                               whole ? l.number : l.number + 1, due);
        note(&header, &l, c, (int)due, &out->before, &out->seconds);
        out->keep = (size_t)(l.next - text);
        whole = next_line(text, text + n, &l);
    }
    out->with = out->before;
    if (whole && is_row(&l, columns, step)) note(&header, &l, c, step, &out->with, &out->seconds);
    return true;
}

static bool is_text(const line *l) {
    const char *at = l->at;
    while (at < l->end && *at >= ' ' && *at <= '~') at++;
    return at == l->end;
}

bool qkv_run_clock_read(const char *text, size_t n, int step, qkv_run_past *out, char *error) {
    if (!QKV_IO_GIVEN(error, text, out)) return false;
    line l = {0};
    char field_of_step[QKV_IO_NUMBER];
    const size_t header = strlen(QKV_RUN_CLOCK_HEADER);
    long at = 0;
    double x = 0;
    while (at <= step && next_line(text, text + n, &l)) {
        if (!is_text(&l)) break;  // a hole that a power loss left
        const bool whole = l.number == 1 ? (size_t)(l.end - l.at) + 1 == header &&
                                               memcmp(l.at, QKV_RUN_CLOCK_HEADER, header - 1) == 0
                                         : fields(&l) == 2 && field(&l, 0, field_of_step) &&
                                               qkv_io_parse_int(field_of_step, &at) &&
                                               number(&l, 1, &x) && isfinite(x);
        if (!whole) return qkv_io_fail(error, "line %d is not a step and its seconds", l.number);
        if (at > step) break;
        if (x > out->seconds) out->seconds = x;
        out->keep_clock = (size_t)(l.next - text);
    }
    return true;
}

bool qkv_run_metrics_loss(const char *text, size_t n, int step, double *loss) {
    line header = {0}, l;
    if (!next_line(text, text + n, &header)) return false;
    const int columns = fields(&header), column = column_of(&header, "loss");
    for (l = header; column >= 0 && next_line(text, text + n, &l);)
        if (is_row(&l, columns, step)) return number(&l, column, loss);
    return false;
}
