/* corpus_lines.c - a text line by line: what may stand there, and what is wrong with it. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/corpus_internal.h"
#include "data/utf8.h"

/* ---- walking ---- */

data_walk data_walk_of(const data_source *s, char *error, size_t size) {
    data_walk w = {
        .source = s, .rest = s->text, .end = s->text + s->n, .error = error, .size = size};
    if (s->n >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0) w.rest += 3;
    return w;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool data_walk_line(data_walk *w) {
    while (w->rest < w->end) {
        const char *end = memchr(w->rest, '\n', (size_t)(w->end - w->rest));
        const char *next = end ? end + 1 : w->end;
        if (!end) end = w->end;
        w->line = (data_span){w->rest, (size_t)(end - w->rest)};
        w->rest = next;
        w->number++;
        if (w->line.n && w->line.at[w->line.n - 1] == '\r') w->line.n--;
        size_t blank = 0;
        while (blank < w->line.n && is_blank(w->line.at[blank])) blank++;
        if (blank < w->line.n && w->line.at[blank] != '#') return true;
    }
    return false;
}

bool data_next_word(data_span *rest, data_span *word) {
    size_t n = 0;
    while (rest->n && is_blank(*rest->at)) rest->at++, rest->n--;
    while (n < rest->n && !is_blank(rest->at[n])) n++;
    *word = (data_span){rest->at, n};
    *rest = (data_span){rest->at + n, rest->n - n};
    return n > 0;
}

bool data_is_arrow(data_span w) { return w.n == 2 && w.at[0] == '=' && w.at[1] == '>'; }

bool data_takes_mark(data_span *word) {
    if (word->at[word->n - 1] != '?') return false;
    if (word->n > 1) word->n--;
    return true;
}

bool data_next_feature(data_span *word, data_span *feature) {
    if (!word->at) return false;
    const char *bar = memchr(word->at, '|', word->n);
    *feature = (data_span){word->at, bar ? (size_t)(bar - word->at) : word->n};
    *word = bar ? (data_span){bar + 1, word->n - feature->n - 1} : (data_span){NULL, 0};
    return true;
}

/* ---- checking ---- */

/* Fails at a place in the line; NULL: the line as a whole. */
static bool fail(const data_walk *w, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(const data_walk *w, const char *at, const char *format, ...) {
    char what[256], column[32] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (at) {
        long characters = 1;
        for (const char *p = w->line.at; p < at; p++)
            characters += ((unsigned char)*p & 0xc0) != 0x80;
        snprintf(column, sizeof column, ", column %ld", characters);
    }
    snprintf(w->error, w->size, "%s, line %ld%s: %s", w->source->name, w->number, column, what);
    return false;
}

/* What one line has. */
typedef struct {
    int words, marked, answers, streams;
    bool last_marked;
} shape;

static bool check_characters(const data_walk *w) {
    for (size_t i = 0; i < w->line.n;) {
        const char *at = w->line.at + i;
        const size_t length = *at ? data_utf8_length(at, w->line.n - i) : 0;
        if (!*at) return fail(w, at, "a byte 0; this is no text");
        if (!length) return fail(w, at, "the byte 0x%02x is no UTF-8", (unsigned char)*at);
        i += length;
    }
    return true;
}

static bool check_length(const data_walk *w, data_span s, const char *what) {
    if (s.n == 0) return fail(w, s.at, "an empty %s", what);
    if (s.n <= DATA_CORPUS_WORD) return true;
    return fail(w, s.at, "%zu bytes of one %s; at most %d are read", s.n, what, DATA_CORPUS_WORD);
}

static bool check_word(const data_walk *w, data_span word, shape *s) {
    int streams = 0;
    s->words++;
    s->last_marked = data_takes_mark(&word);
    s->marked += s->last_marked;
    if (s->words > DATA_CORPUS_LONGEST)
        return fail(w, word.at, "more than %d words in one line", DATA_CORPUS_LONGEST);
    for (data_span feature, rest = word; data_next_feature(&rest, &feature);) {
        if (!check_length(w, feature, streams ? "feature" : "word")) return false;
        if (++streams > DATA_CORPUS_STREAMS)
            return fail(w, feature.at, "more than %d features of one word",
                        DATA_CORPUS_STREAMS - 1);
    }
    if (streams > s->streams) s->streams = streams;
    return true;
}

static bool check_parts(const data_walk *w, shape *s, bool *answering) {
    for (data_span word, rest = w->line; data_next_word(&rest, &word);) {
        if (*answering) {
            if (data_is_arrow(word)) return fail(w, word.at, "a second =>");
            if (!check_length(w, word, "answer")) return false;
            s->answers++;
        } else if (data_is_arrow(word)) {
            if (s->words == 0) return fail(w, word.at, "no words before =>");
            *answering = true;
        } else if (!check_word(w, word, s)) {
            return false;
        }
    }
    return true;
}

static bool check_line(const data_walk *w, shape *s) {
    const char *end = w->line.at + w->line.n;
    bool answering = false;
    *s = (shape){0};
    if (!check_characters(w) || !check_parts(w, s, &answering)) return false;
    if (!answering) return fail(w, end, "no answer; a line is: words => answer");
    if (s->answers == 0) return fail(w, end, "no answer after =>");
    if (s->marked == 0) s->marked = 1, s->last_marked = true;
    if (s->marked > 1 && s->marked != s->answers)
        return fail(w, NULL, "%d words ask, and there are %d answers", s->marked, s->answers);
    if (s->marked > 1 || s->answers <= DATA_MAXREADOUTS) return true;
    return fail(w, NULL, "%d answers; at most %d are read", s->answers, DATA_MAXREADOUTS);
}

/* Takes a line's shape into account; all must ask and answer equally often. */
static bool join(const data_walk *w, data_corpus *c, const shape *s, size_t *words) {
    const int readouts = s->marked > 1 ? 1 : s->answers;
    if (c->n == 0) c->asking = s->marked, c->n_readouts = readouts, c->last_asks = true;
    if (s->marked != c->asking)
        return fail(w, NULL, "%d words ask; in the first example %d", s->marked, c->asking);
    if (readouts != c->n_readouts)
        return fail(w, NULL, "%d answers; in the first example %d", readouts, c->n_readouts);
    if (c->n == INT_MAX - 1) return fail(w, NULL, "more than %d examples", INT_MAX - 1);
    c->n++;
    *words += (size_t)s->words;
    if (s->words > c->longest) c->longest = s->words;
    if (s->streams > c->n_streams) c->n_streams = s->streams;
    c->last_asks = c->last_asks && s->last_marked && s->marked == 1;
    return true;
}

bool data_corpus_survey(data_corpus *c, const data_source *sources, int n, size_t *words,
                        char *error, size_t size) {
    *words = 0;
    for (int i = 0; i < n; i++) {
        data_walk w = data_walk_of(&sources[i], error, size);
        for (shape s; data_walk_line(&w);)
            if (!check_line(&w, &s) || !join(&w, c, &s, words)) return false;
    }
    if (c->n) return true;
    snprintf(error, size, "%s: there are no examples in it", sources[0].name);
    return false;
}
