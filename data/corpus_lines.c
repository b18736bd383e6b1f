/* corpus_lines.c - a text line by line: what may stand there, and what is wrong with it. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/corpus_internal.h"
#include "data/utf8.h"
#include "data/visible.h"

/* ---- walking ---- */

data_walk data_walk_of(const data_source *s, char *error, size_t size) {
    data_walk w = {
        .source = s, .rest = s->text, .end = s->text + s->n, .error = error, .size = size};
    if (s->n >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0) w.rest += 3;
    return w;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Takes a line off the text: it ends in a line feed, a carriage return, or both. Where the next line
 * feed is stays known: a text that has none is searched for it once. */
static void take_line(data_walk *w) {
    const size_t left = (size_t)(w->end - w->rest);
    if (!w->feed || w->feed < w->rest) w->feed = memchr(w->rest, '\n', left);
    if (!w->feed) w->feed = w->end;
    const char *end = memchr(w->rest, '\r', (size_t)(w->feed - w->rest));
    if (!end) end = w->feed;
    w->line = (data_span){w->rest, (size_t)(end - w->rest)};
    w->rest = end + (end < w->end);
    if (end < w->feed && w->rest == w->feed && w->rest < w->end) w->rest++;
    w->number++;
}

bool data_walk_line(data_walk *w) {
    while (w->rest < w->end) {
        take_line(w);
        size_t blank = 0;
        while (blank < w->line.n && is_blank(w->line.at[blank])) blank++;
        if (blank < w->line.n && w->line.at[blank] != '#') return true;
    }
    return false;
}

int data_lines(const char *text, size_t n) {
    data_walk w = data_walk_of(&(data_source){.text = text, .n = n}, NULL, 0);
    while (w.rest < w.end) take_line(&w);
    return (int)w.number;
}

bool data_next_word(data_span *rest, data_span *word) {
    while (rest->n && is_blank(*rest->at)) rest->at++, rest->n--;
    size_t n = 0;
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
    size_t n = 0;
    if (!word->at) return false;
    while (n < word->n && word->at[n] != '|') n++;
    *feature = (data_span){word->at, n};
    *word = n < word->n ? (data_span){word->at + n + 1, word->n - n - 1} : (data_span){NULL, 0};
    return true;
}

const char *data_walk_place(const data_walk *w, int word, int feature) {
    data_span rest = w->line, at = {NULL, 0}, part = {NULL, 0};
    for (int i = 0; i <= word && data_next_word(&rest, &at); i++) {
    }
    for (int i = 0; i <= feature && data_next_feature(&at, &part); i++) {
    }
    return part.at;
}

/* ---- checking ---- */

bool data_walk_fail(const data_walk *w, const char *at, const char *format, ...) {
    char what[256], name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    long column = 1;
    for (const char *p = w->line.at; p < at; p++) column += ((unsigned char)*p & 0xc0) != 0x80;
    snprintf(w->error, w->size, "%s, line %ld, column %ld: %s",
             data_visible_text(w->source->name, name, sizeof name), w->number, column, what);
    return false;
}

/* What one line has. */
typedef struct {
    int words, marked, answers, streams;
    bool last_marked;
    const char *mark, *arrow;  // where the last word that asks, and => stand
} shape;

/* Does a character end lines, or is it a control, or a mark of byte order: nothing that a word has? */
static bool is_foreign(uint32_t c) {
    return (c < 0x20 && c != '\t') || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
           c == 0xfeff;
}

static bool check_characters(const data_walk *w) {
    for (size_t i = 0; i < w->line.n;) {
        const char *at = w->line.at + i;
        if (*at >= ' ' && *at < 0x7f) {
            i++;
            continue;
        }
        const size_t length = *at ? data_utf8_length(at, w->line.n - i) : 0;
        if (!*at) return data_walk_fail(w, at, "a byte 0; this is no text");
        if (!length)
            return data_walk_fail(w, at, "the byte 0x%02x is no UTF-8", (unsigned char)*at);
        const uint32_t c = data_utf8_number(at, length);
        if (is_foreign(c))
            return data_walk_fail(w, at,
                                  "the character U+%04X, which is a %s; words are divided by "
                                  "blanks and tabs, and lines end in line feeds",
                                  (unsigned)c,
                                  c == 0xfeff   ? "mark of byte order"
                                  : c >= 0x2028 ? "separator of lines"
                                                : "control");
        i += length;
    }
    return true;
}

static bool check_length(const data_walk *w, data_span s, const char *what) {
    if (s.n == 0) return data_walk_fail(w, s.at, "an empty %s", what);
    if (s.n <= DATA_CORPUS_WORD) return true;
    return data_walk_fail(w, s.at, "%zu bytes of one %s; at most %d are read", s.n, what,
                          DATA_CORPUS_WORD);
}

static bool check_word(const data_walk *w, data_span word, shape *s) {
    int streams = 0;
    s->words++;
    s->last_marked = data_takes_mark(&word);
    s->marked += s->last_marked;
    if (s->last_marked) s->mark = word.at;
    if (s->words > DATA_CORPUS_LONGEST)
        return data_walk_fail(w, word.at, "more than %d words in one line", DATA_CORPUS_LONGEST);
    for (data_span feature, rest = word; data_next_feature(&rest, &feature);) {
        if (!check_length(w, feature, streams ? "feature" : "word")) return false;
        if (rest.at && feature.n > 1 && feature.at[feature.n - 1] == '?')
            return data_walk_fail(
                w, feature.at + feature.n - 1,
                "the mark ? stands behind the last feature of the word that asks");
        if (++streams > DATA_CORPUS_STREAMS)
            return data_walk_fail(w, feature.at, "more than %d features of one word",
                                  DATA_CORPUS_STREAMS - 1);
    }
    if (streams > s->streams) s->streams = streams;
    return true;
}

static bool check_parts(const data_walk *w, shape *s, bool *answering) {
    for (data_span word, rest = w->line; data_next_word(&rest, &word);) {
        if (*answering) {
            if (data_is_arrow(word)) return data_walk_fail(w, word.at, "a second =>");
            if (!check_length(w, word, "answer")) return false;
            s->answers++;
        } else if (data_is_arrow(word)) {
            if (s->words == 0) return data_walk_fail(w, word.at, "no words before =>");
            *answering = true;
            s->arrow = word.at;
        } else if (!check_word(w, word, s)) {
            return false;
        }
    }
    return true;
}

/* Where the first answer stands that is too many; the end of the line: there are too few. */
static const char *surplus(const data_walk *w, const shape *s, int answers) {
    return s->answers > answers ? data_walk_place(w, s->words + 1 + answers, 0)
                                : w->line.at + w->line.n;
}

/* An arrow that is part of a word; NULL: there is none. */
static const char *arrow_within(data_span line) {
    for (size_t i = 0; i + 1 < line.n; i++)
        if (line.at[i] == '=' && line.at[i + 1] == '>') return line.at + i;
    return NULL;
}

static bool check_line(const data_walk *w, shape *s) {
    const char *end = w->line.at + w->line.n;
    bool answering = false;
    *s = (shape){0};
    if (!check_characters(w) || !check_parts(w, s, &answering)) return false;
    if (!answering) {
        const char *glued = arrow_within(w->line);
        return data_walk_fail(w, glued ? glued : end, "no %s; a line is: words => answer",
                              glued ? "blanks around =>" : "answer");
    }
    if (s->answers == 0) return data_walk_fail(w, end, "no answer after =>");
    if (s->marked == 0) s->marked = 1, s->last_marked = true;
    if (s->marked > 1 && s->marked != s->answers)
        return data_walk_fail(w, surplus(w, s, s->marked),
                              "%d words ask, but the number of answers is %d", s->marked,
                              s->answers);
    if (s->marked > 1 || s->answers <= DATA_MAXREADOUTS) return true;
    return data_walk_fail(w, surplus(w, s, DATA_MAXREADOUTS),
                          "the number of answers is %d; at most %d are read", s->answers,
                          DATA_MAXREADOUTS);
}

/* Takes a line's shape into account; all must ask and answer equally often. */
static bool join(const data_walk *w, data_corpus *c, const shape *s, size_t *words) {
    const int readouts = s->marked > 1 ? 1 : s->answers;
    if (c->n == 0) c->asking = s->marked, c->n_readouts = readouts, c->last_asks = true;
    if (s->marked != c->asking)
        return data_walk_fail(w, s->marked > c->asking ? s->mark : s->arrow,
                              "the number of words that ask is %d; in the first example %d",
                              s->marked, c->asking);
    if (readouts != c->n_readouts)
        return data_walk_fail(w, surplus(w, s, c->n_readouts),
                              "the number of answers is %d; in the first example %d", readouts,
                              c->n_readouts);
    if (c->n == INT_MAX - 1)
        return data_walk_fail(w, w->line.at, "more than %d examples", INT_MAX - 1);
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
    char name[256];
    snprintf(error, size, "%s: there are no examples in it",
             data_visible_text(sources[0].name, name, sizeof name));
    return false;
}
