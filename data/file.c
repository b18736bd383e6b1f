/* file.c - examples from a file of one's own; corpus.h says how they are written.
 *
 *     position   0      1        2     3    ...   n-1
 *     word       the    animal   did   not        tired     -> animal
 *     feature1   ...
 *
 * Each line is an example. Shorter ones are filled up at the end with positions that hold nothing,
 * which nobody sees. Where the last word asks, everybody sees only what came before. */
#include <stdio.h>
#include <string.h>

#include "data/source.h"

typedef struct {
    char data[DATA_TEXT_SIZE], valid[DATA_TEXT_SIZE], test[DATA_TEXT_SIZE];
    char checksum[DATA_CHECKSUM], roles[64], without[128];
    double share;
} options;

static const data_option table[] = {
    DATA_FILE(options, data, "data", "", "examples, one a line: words => answer"),
    DATA_FILE(options, valid, "data-valid", "",
              "examples to watch training by; else a part of --data"),
    DATA_FILE(options, test, "data-test", "", "examples for the end; else a part of --data"),
    DATA_REAL(options, share, "data-held-out", 0.1, 0.001, 0.45,
              "part of --data for each of these two"),
    DATA_TEXT(options, roles, "roles", "", "key=..,value=..",
              "which features are keys and values, and perhaps query=..: word, feature1, ..."),
    DATA_TEXT(options, without, "without", "", "LINES",
              "lines of --data that are left out of the loss when they are drawn: 17,40-49"),
    DATA_TEXT(options, checksum, "data-checksum", "", "HEX",
              "of all these files; another one is refused; empty: any"),
    DATA_END,
};

typedef struct {
    data_own own;
    tensor_arena *arena;  // holds this struct
    data_corpus corpus;
    bool *keys;     // [words] NULL: there are no roles
    bool *without;  // [lines + 1] NULL: none is left out
    char feature[DATA_CORPUS_STREAMS][16], answer[DATA_MAXREADOUTS][16];  // names
} file;

static void release(data_own *own) {
    file *f = (file *)(void *)own;
    data_corpus_free(&f->corpus);
    tensor_arena_free(f->arena);
}

enum { FILES = 3 };

/* The role that a part like "key=word" is for, and the number of its stream; false: it is none. */
static bool take_role(const char *part, size_t n, data_corpus_roles *r) {
    static const char *const names[] = {"query=", "key=", "value="};
    int *const to[] = {&r->query, &r->key, &r->value};
    for (int i = 0; i < 3; i++) {
        const size_t length = strlen(names[i]);
        const char *at = part + length;
        if (strncmp(part, names[i], length) != 0 || n < length || *to[i] >= 0) continue;
        n -= length;
        if (n == 4 && strncmp(at, "word", 4) == 0) return *to[i] = 0, true;
        if (n != 8 || strncmp(at, "feature", 7) != 0 || at[7] < '1' || at[7] > '7') return false;
        return *to[i] = at[7] - '0', true;
    }
    return false;
}

static bool read_roles(const char *text, data_corpus_roles *r, char *error, size_t size) {
    *r = (data_corpus_roles){-1, -1, -1};
    bool ok = true;
    for (const char *at = text; *at && ok;) {
        const size_t n = strcspn(at, ",");
        ok = take_role(at, n, r);
        at += n + (at[n] == ',');
    }
    if (ok && *text) ok = r->key >= 0 && r->value >= 0 && r->value != r->key;
    if (ok && r->query < 0) r->query = r->key;
    if (ok && (!*text || r->query != r->value)) return true;
    snprintf(error, size,
             "file: --roles '%.60s' is not as in key=word,value=feature1 or "
             "key=feature1,value=feature2,query=word: two or three different ones of word, "
             "feature1 ... feature7",
             text);
    return false;
}

/* Reads the files, and from them the corpus. */
static bool load(const data_spec *s, options *o, data_corpus *c, char *error, size_t size) {
    const int n = *o->valid ? FILES : 1;
    data_corpus_roles roles;
    if (!read_roles(o->roles, &roles, error, size)) return false;
    data_source source[FILES] = {
        {.name = o->data, .split = n == 1 ? DATA_SPLITS : DATA_TRAIN},
        {.name = o->valid, .split = DATA_VALID},
        {.name = o->test, .split = DATA_TEST},
    };
    bool ok = data_sources_read(s->files, source, n, o->checksum, error, size);
    for (int i = 0; ok && i < n; i++) ok = data_source_is_text(&source[i], error, size);
    ok = ok && data_corpus_read(NULL, source, n, o->share, roles, c, error, size);
    data_sources_release(s->files, source, n);
    return ok;
}

/* ---- the task ---- */

/* Words that are the key of some entry: others are never asked for. */
static void find_keys(const data_corpus *c, bool *keys) {
    const int *ids = c->ids, key = c->roles.key, value = c->roles.value;
    for (size_t at = 0; at < c->begin[c->n]; at++, ids += c->n_streams)
        if (ids[key] >= 0 && ids[value] >= 0) keys[ids[key]] = true;
}

static void describe(data_spec *s, file *f) {
    const data_corpus *c = &f->corpus;
    data_side *side = &s->side[DATA_SEQUENCE];
    *side = (data_side){.T = c->longest, .n_streams = c->n_streams};
    for (int i = 0; i < c->n_streams; i++) {
        snprintf(f->feature[i], sizeof f->feature[i], i ? "feature%d" : "word", i);
        side->stream[i] =
            (data_stream){f->feature[i], "", c->stream[i].n, -1, c->stream[i].text, 0, NULL};
    }
    for (int r = 0; r < c->n_readouts; r++) {
        snprintf(f->answer[r], sizeof f->answer[r], c->n_readouts > 1 ? "answer%d" : "answer",
                 r + 1);
        s->readout[r] = (data_readout){f->answer[r], "", c->answer[r].n, c->answer[r].text, false};
    }
    s->n_readouts = c->n_readouts;
    s->scored = c->asking;
    s->sees = c->last_asks ? DATA_CAUSAL : DATA_FULL;
    s->entries = c->longest;
    s->chance = 1.0 / c->answer[0].n;
    for (int k = 0; k < DATA_SPLITS; k++) s->examples[k] = c->count[k];
    s->roles.query = c->roles.query;
    s->roles.key = c->roles.key;
    s->roles.value = c->roles.value;
    s->roles.keys = f->keys;
    s->roles.missing = c->n_streams > 1
                           ? "no features are said to be keys and values (--roles)"
                           : "its words have no features that could be keys and values (--roles)";
}

/* A line's number at *text, which moves behind it; 0: there is none. */
static long take_line_number(const char **text) {
    long n = 0;
    while (**text >= '0' && **text <= '9' && n < 1000000000) n = 10 * n + (*(*text)++ - '0');
    return n;
}

/* "17,40-49": marks these lines. */
static bool leave_out(file *f, const char *list, char *error, size_t size) {
    const long lines = f->corpus.lines;
    if (!*list) return true;
    f->without = tensor_arena_take(f->arena, (size_t)lines + 1, 1);
    if (!f->without) return snprintf(error, size, "out of memory"), false;
    for (const char *at = list;; at++) {
        const long first = take_line_number(&at);
        if (*at == '-') at++;
        const long last = at > list && at[-1] == '-' ? take_line_number(&at) : first;
        if (first < 1 || last < first || (*at && *at != ','))
            return snprintf(error, size,
                            "file: --without '%.60s' is not lines as in 17,40-49, from 1 on", list),
                   false;
        if (last > lines)
            return snprintf(error, size, "file: --without: there is no line %ld, the file has %ld",
                            last, lines),
                   false;
        for (long k = first; k <= last; k++) f->without[k] = true;
        if (!*at) return true;
    }
}

static bool configure(data_spec *s, char *error, size_t size) {
    options *o = (options *)(void *)s->options.byte;
    if (!*o->data)
        return snprintf(error, size, "file: which one? --data FILE, with one example a line"),
               false;
    if (!*o->valid != !*o->test)
        return snprintf(error, size, "file: --data-valid and --data-test go together"), false;
    tensor_arena *arena = tensor_arena_new(NULL);
    file *f = arena ? tensor_arena_take(arena, 1, sizeof *f) : NULL;
    bool ok =
        f ? load(s, o, &f->corpus, error, size) : (snprintf(error, size, "out of memory"), false);
    if (!ok) return tensor_arena_free(arena), false;
    f->arena = arena;
    f->own.release = release;
    if (f->corpus.roles.key >= 0) {
        f->keys = tensor_arena_take(arena, (size_t)f->corpus.stream[f->corpus.roles.key].n, 1);
        if (!f->keys) return release(&f->own), snprintf(error, size, "out of memory"), false;
        find_keys(&f->corpus, f->keys);
    }
    if (!leave_out(f, o->without, error, size)) return release(&f->own), false;
    describe(s, f);
    s->leaves_out = f->without != NULL;
    s->own = &f->own;
    return true;
}

static const data_corpus *corpus_of(const data_spec *s) {
    return &((const file *)(const void *)s->own)->corpus;
}

static int pick(const data_spec *s, const char *name, uint64_t seed, uint64_t index) {
    const data_split split = data_split_of(name);
    return data_corpus_pick(corpus_of(s), split == DATA_SPLITS ? DATA_TEST : split, seed, index);
}

static int line(const data_spec *s, const char *split, uint64_t seed, uint64_t index) {
    const bool *without = ((const file *)(const void *)s->own)->without;
    const int n = corpus_of(s)->line[pick(s, split, seed, index)];
    return without && without[n] ? -n : n;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const data_corpus *c = corpus_of(s);
    const int e = pick(s, out->split, out->seed, out->index);
    (void)r;
    *out->length[DATA_SEQUENCE] = (int)(c->begin[e + 1] - c->begin[e]);
    for (size_t t = 0; t < c->begin[e + 1] - c->begin[e]; t++)
        for (int i = 0; i < c->n_streams; i++)
            out->ids[DATA_SEQUENCE][i][t] =
                c->ids[(c->begin[e] + t) * (size_t)c->n_streams + (size_t)i];
    for (int a = 0; a < c->asking; a++)
        for (int k = 0; k < c->n_readouts; k++) {
            const size_t from =
                ((size_t)e * (size_t)c->asking + (size_t)a) * (size_t)c->n_readouts + (size_t)k;
            const int at = c->ask[(size_t)e * (size_t)c->asking + (size_t)a];
            out->target[k][at] = c->target[from];
            out->source[k][at] = c->source[from];
        }
}

/* Means over the answers of a line; their losses add up. */
static int levels(const data_spec *s, data_split split, data_level out[DATA_MAXLEVELS]) {
    const data_corpus *c = corpus_of(s);
    data_level l[] = {{"blind", "chance", "a blind guess", 0, 0},
                      {"frequent", "most frequent", "the most frequent answer", 0, 0},
                      {"word", "a word of the line", "some word of the line", 0, 0}};
    for (int r = 0; r < c->n_readouts; r++) {
        const data_corpus_levels of = data_corpus_levels_of(c, split, r);
        l[0].accuracy += of.any_class / c->n_readouts, l[0].loss += of.any_class_loss;
        l[1].accuracy += of.most_frequent / c->n_readouts, l[1].loss += of.frequency_loss;
        l[2].accuracy += of.any_word / c->n_readouts, l[2].loss += of.any_word_loss;
    }
    memcpy(out, l, sizeof l);
    return (int)(sizeof l / sizeof *l);
}

static int facts(const data_spec *s, data_fact out[DATA_MAXFACTS]) {
    const data_corpus *c = corpus_of(s);
    int answers = 0;
    for (int r = 0; r < c->n_readouts; r++) answers += c->answer[r].n;
    const data_fact f[] = {
        {"examples", "examples", c->n},
        {"train", "to train on", c->count[DATA_TRAIN]},
        {"valid", "to watch by", c->count[DATA_VALID]},
        {"test", "for the end", c->count[DATA_TEST]},
        {"duplicates", "repeat another one", c->duplicates},
        {"shared", "held out that training has, too", c->shared},
        {"moved", "trained on for a word only they have", c->moved},
        {"words", "different words", c->stream[0].n},
        {"longest", "words in the longest line", c->longest},
        {"answers", "different answers", answers},
    };
    memcpy(out, f, sizeof f);
    return (int)(sizeof f / sizeof *f);
}

const data_task data_task_file = {
    .name = "file",
    .summary = "your own examples, one a line: words => answer",
    .recommended = "layers=2 heads=4 d-model=64 positions=learned norm=layer d-ff=128",
    .options = table,
    .configure = configure,
    .example = example,
    .line = line,
    .levels = levels,
    .facts = facts,
};
