/* text.c - a text, of which each next token is asked for.
 *
 *     position   0   1   2   3   ...   n-1
 *     token      T   h   e      ...    e      -> h  e  _  ...  r: at every position the next one
 *
 * Training shows windows from anywhere in the text but its end; what is held out is watched and
 * tested on windows that stand side by side. A token is a character, a byte or a word (letters and
 * digits in a row; any other character by itself; blanks only divide). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/source.h"
#include "data/text.h"
#include "data/utf8.h"
#include "data/visible.h"

typedef struct {
    char data[DATA_TEXT_SIZE], checksum[DATA_CHECKSUM];
    int unit, time;
    double share;
} options;

static const data_option table[] = {
    DATA_FILE(options, data, "data", "", "the text, in UTF-8 (but for bytes)"),
    DATA_CHOICE(options, unit, "unit", "characters", "characters|bytes|words", "what a token is"),
    DATA_INT(options, time, "time", 64, 1, 65536, "tokens of an example, the context"),
    DATA_REAL(options, share, "data-held-out", 0.1, 0.001, 0.9,
              "part of the text, its end, that is not trained on"),
    DATA_TEXT(options, checksum, "data-checksum", "", "HEX",
              "of the file; another one is refused; empty: any"),
    DATA_END,
};

static void release(data_own *own) {
    data_text *t = (data_text *)(void *)own;
    tensor_arena_free(t->arena);
}

/* ---- tokens ---- */

static bool is_word(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80;
}

/* Bytes of the token that begins here. */
static size_t token_length(int unit, const char *at, size_t left) {
    size_t n = 0;
    if (unit == DATA_BYTES) return 1;
    while (unit == DATA_WORDS && n < left && is_word((unsigned char)at[n])) n++;
    return n ? n : data_utf8_length(at, left);
}

/* Fails at a byte of a text; line and column, in characters, from 1. */
static bool fail_at(const data_source *s, size_t at, const char *what, char *error, size_t size) {
    char name[256];
    long line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column += ((unsigned char)s->text[i] & 0xc0) != 0x80;
        if (s->text[i] == '\n') line++, column = 1;
    }
    snprintf(error, size, "%s, line %ld, column %ld: %s",
             data_visible_text(s->name, name, sizeof name), line, column, what);
    return false;
}

static bool check_text(const data_source *s, char *error, size_t size) {
    char what[64];
    for (size_t i = 0, length; i < s->n; i += length) {
        length = s->text[i] ? data_utf8_length(s->text + i, s->n - i) : 0;
        if (length) continue;
        snprintf(what, sizeof what, "the byte 0x%02x is no UTF-8 text", (unsigned char)s->text[i]);
        return fail_at(s, i, what, error, size);
    }
    return true;
}

/* Blanks only divide words. */
static bool divides(int unit, char c) {
    return unit == DATA_WORDS && (c == ' ' || c == '\t' || c == '\r');
}

/* Numbers all tokens; t->ids has room for as many as there are bytes. */
static bool number(data_text *t, int unit, const char *text, size_t n) {
    for (size_t i = 0; i < n;) {
        const size_t length = token_length(unit, text + i, n - i);
        const bool blank = divides(unit, text[i]);
        const int id = blank ? 0 : data_words_number(&t->words, t->arena, text + i, length);
        if (id < 0) return false;
        if (!blank) t->ids[t->n++] = id;
        i += length;
    }
    return true;
}

/* ---- other texts ---- */

const data_text *data_text_of(const data_spec *s) {
    return s->task == &data_task_text ? (const data_text *)(const void *)s->own : NULL;
}

int data_text_tokens(const data_text *t, const char *text, size_t n, int *ids, char *error,
                     size_t size) {
    static const char *const names[] = {"character", "byte", "word"};
    const data_source source = {.name = "the prompt", .text = text, .n = n};
    int found = 0;
    if (t->unit != DATA_BYTES && !check_text(&source, error, size)) return -1;
    for (size_t i = 0; i < n;) {
        const size_t length = token_length(t->unit, text + i, n - i);
        if (!divides(t->unit, text[i])) {
            ids[found] = data_words_find(&t->words, text + i, length);
            if (ids[found++] < 0) {
                char token[DATA_SYMBOL], what[160];
                snprintf(what, sizeof what,
                         "the %s '%s' does not occur in the text that was learned", names[t->unit],
                         data_visible(text + i, length, token, sizeof token));
                return fail_at(&source, i, what, error, size), -1;
            }
        }
        i += length;
    }
    return found;
}

bool data_text_apart(const data_text *t, int before, int id) {
    if (t->unit != DATA_WORDS || before < 0) return false;
    const char *a = t->words.text[before], *b = t->words.text[id];
    return *a != '\n' && *b != '\n' && !strchr("([{", *a) && !strchr(".,;:!?)]}'", *b) &&
           *a != '\'';
}

/* ---- the task ---- */

static bool divide(data_text *t, const options *o, char *error, size_t size) {
    const size_t window = (size_t)o->time + 1, held = (size_t)((double)t->n * o->share);
    t->window = window;
    t->begin[DATA_TRAIN] = 0;
    t->begin[DATA_VALID] = t->n - held;
    t->begin[DATA_TEST] = t->n - held / 2;
    t->begin[DATA_SPLITS] = t->n;
    for (int k = 0; k < DATA_SPLITS; k++) {
        if (t->begin[k + 1] - t->begin[k] >= window) continue;
        snprintf(error, size,
                 "%s: %zu tokens are too few: each half of the %g that are held out must hold %zu; "
                 "a smaller --time, or a larger --data-held-out",
                 o->data, t->n, o->share, window);
        return false;
    }
    return true;
}

static bool load(const data_spec *s, options *o, data_text *t, char *error, size_t size) {
    data_source source = {.name = o->data};
    bool ok = data_sources_read(s->files, &source, 1, o->checksum, error, size) &&
              (o->unit == DATA_BYTES ||
               (data_source_is_text(&source, error, size) && check_text(&source, error, size)));
    if (ok && !source.n) {
        snprintf(error, size, "%s: the file is empty", o->data);
        ok = false;
    }
    if (ok) {
        t->ids = tensor_arena_take(t->arena, source.n, sizeof *t->ids);
        ok = t->ids && number(t, o->unit, source.text, source.n);
        if (!ok) snprintf(error, size, "out of memory");
        t->bytes = source.n;
        for (size_t i = 0; i < source.n; i++)
            t->characters += ((unsigned char)source.text[i] & 0xc0) != 0x80;
        t->unit = o->unit;
    }
    data_sources_release(s->files, &source, 1);
    return ok && divide(t, o, error, size);
}

static void describe(data_spec *s, const data_text *t, const options *o) {
    s->side[DATA_SEQUENCE] = (data_side){.T = o->time, .n_streams = 1};
    s->side[DATA_SEQUENCE].stream[0] =
        (data_stream){"token", "", t->words.n, -1, t->words.text, 0, NULL};
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"token", "", t->words.n, t->words.text, false};
    s->scored = o->time;
    s->sees = DATA_CAUSAL;
    s->entries = o->time;
    s->chance = 1.0 / t->words.n;
    s->characters = (double)t->characters / (double)t->n;
    for (int k = DATA_VALID; k < DATA_SPLITS; k++)
        s->examples[k] = (int)((t->begin[k + 1] - t->begin[k] - 1) / (t->window - 1));
}

static bool configure(data_spec *s, char *error, size_t size) {
    options *o = (options *)(void *)s->options.byte;
    if (!*o->data) return snprintf(error, size, "text: which one? --data FILE"), false;
    tensor_arena *arena = tensor_arena_new(NULL);
    data_text *t = arena ? tensor_arena_take(arena, 1, sizeof *t) : NULL;
    if (!t) {
        tensor_arena_free(arena);
        return snprintf(error, size, "out of memory"), false;
    }
    t->arena = arena;
    t->own.release = release;
    if (!load(s, o, t, error, size)) return tensor_arena_free(arena), false;
    describe(s, t, o);
    s->own = &t->own;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const data_text *t = (const data_text *)(const void *)s->own;
    const data_split split = data_split_of(out->split);
    const size_t T = t->window - 1, k = split == DATA_SPLITS ? DATA_TEST : split;
    size_t at = t->begin[k] + (size_t)(out->index % (uint64_t)(k ? s->examples[k] : 1)) * T;
    if (k == DATA_TRAIN) {
        const size_t places = t->begin[DATA_VALID] - t->window + 1;
        at = places <= UINT32_MAX ? rng_below(r, (uint32_t)places)
                                  : (size_t)(rng_double(r) * (double)places);
    }
    memcpy(out->ids[DATA_SEQUENCE][0], t->ids + at, T * sizeof *t->ids);
    memcpy(out->target[0], t->ids + at + 1, T * sizeof *t->ids);
}

/* ---- what is known before training ---- */

/* What counting gets on a split; training's own is that of "valid". */
static int levels(const data_spec *s, data_split split, data_level out[DATA_MAXLEVELS]) {
    static const char *const names[DATA_NGRAMS][3] = {{"uniform", "uniform", "guessing evenly"},
                                                      {"unigram", "unigram", "how frequent it is"},
                                                      {"bigram", "bigram", "the one before"},
                                                      {"trigram", "trigram", "the two before"}};
    data_text *t = (data_text *)(void *)s->own;
    const data_split k = split == DATA_TRAIN ? DATA_VALID : split;
    if (t->counted[k][0] == 0 &&
        !data_ngram_losses(t->ids, t->begin[DATA_VALID], t->ids + t->begin[k],
                           t->begin[k + 1] - t->begin[k], t->words.n, t->counted[k]))
        return 0;
    for (int i = 0; i < DATA_NGRAMS; i++)
        out[i] = (data_level){names[i][0], names[i][1], names[i][2], (double)NAN, t->counted[k][i]};
    return DATA_NGRAMS;
}

static int facts(const data_spec *s, data_fact out[DATA_MAXFACTS]) {
    static const char *const units[] = {"characters", "bytes", "words"};
    const data_text *t = data_text_of(s);
    const data_fact f[] = {
        {"tokens", units[t->unit], (double)t->n},
        {"train", "to train on", (double)t->begin[DATA_VALID]},
        {"valid", "to watch by", (double)(t->begin[DATA_TEST] - t->begin[DATA_VALID])},
        {"test", "for the end", (double)(t->begin[DATA_SPLITS] - t->begin[DATA_TEST])},
        {"vocabulary", "different ones", t->words.n},
        {"bytes", "bytes in all", (double)t->bytes},
    };
    memcpy(out, f, sizeof f);
    return (int)(sizeof f / sizeof *f);
}

const data_task data_task_text = {
    .name = "text",
    .summary = "a text of your own: the next character, byte or word",
    .recommended =
        "layers=2 heads=4 d-model=64 d-ff=256 norm=layer positions=learned batch=16 "
        "steps=1000 eval-examples=64 eval-every=100",
    .options = table,
    .configure = configure,
    .example = example,
    .levels = levels,
    .facts = facts,
};
