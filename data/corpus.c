/* corpus.c - from text to examples. The text is walked twice: to check and to count, then to number
 * words and to fill arrays that have the right size. */
#include "data/corpus.h"

#include <stdio.h>

#include "data/corpus_internal.h"
#include "data/visible.h"

/* The vocabulary in which a stream, or an answer, is numbered. */
static data_words *words_of(data_corpus *c, int stream) {
    return &c->stream[stream == c->roles.query ? c->roles.key : stream];
}
static data_words *answers_of(data_corpus *c, int r) {
    return c->roles.value >= 0 ? &c->stream[c->roles.value] : &c->answer[r];
}

static bool fill_words(data_corpus *c, data_span *rest, int e, size_t *at, uint64_t *hash) {
    int asked = 0, *ask = c->ask + (size_t)e * (size_t)c->asking;
    c->begin[e] = *at;
    for (data_span word; data_next_word(rest, &word) && !data_is_arrow(word); (*at)++) {
        int *ids = c->ids + *at * (size_t)c->n_streams, s = 0;
        if (data_takes_mark(&word)) ask[asked++] = (int)(*at - c->begin[e]);
        *hash = data_hash(*hash, word.at, word.n);
        for (data_span feature; data_next_feature(&word, &feature); s++)
            if ((ids[s] = data_words_number(words_of(c, s), c->arena, feature.at, feature.n)) < 0)
                return false;
        for (; s < c->n_streams; s++) ids[s] = -1;
    }
    if (asked == 0) ask[0] = (int)(*at - c->begin[e]) - 1;
    for (int i = 0; i < c->asking; i++)
        *hash = data_hash(*hash, (const char *)&ask[i], sizeof *ask);
    c->begin[e + 1] = *at;
    return true;
}

/* The position of the only word that is the answer, -1: none, or several; with roles, of the only
 * one that has the answer as its value and the key that `asks` asks for. */
static int source_of(const data_corpus *c, int e, int asks, data_span answer) {
    const size_t streams = (size_t)c->n_streams;
    const data_corpus_roles r = c->roles;
    const int in = r.value >= 0 ? r.value : 0,
              word = data_words_find(&c->stream[in], answer.at, answer.n);
    const int *ids = c->ids + c->begin[e] * streams;
    int found = -1, n = (int)(c->begin[e + 1] - c->begin[e]);
    for (int t = 0; word >= 0 && t < n; t++, ids += streams) {
        if (ids[in] != word || (r.value >= 0 && t == asks)) continue;
        if (r.value >= 0 && ids[r.key] != (ids + (ptrdiff_t)(asks - t) * (int)streams)[r.query])
            continue;
        if (found >= 0) return -1;
        found = t;
    }
    return found;
}

static bool fill_answers(data_corpus *c, data_span rest, int e, uint64_t *hash) {
    const int per = c->asking * c->n_readouts, *ask = c->ask + (size_t)e * (size_t)c->asking;
    int i = 0;
    for (data_span answer; data_next_word(&rest, &answer); i++) {
        const size_t at = (size_t)e * (size_t)per + (size_t)i;
        c->target[at] =
            data_words_number(answers_of(c, i % c->n_readouts), c->arena, answer.at, answer.n);
        if (c->target[at] < 0) return false;
        c->source[at] = source_of(c, e, ask[i / c->n_readouts], answer);
        *hash = data_hash(*hash, answer.at, answer.n);
    }
    return true;
}

/* ---- roles ---- */

static bool roles_fit(const data_corpus *c, const char *name, char *error, size_t size) {
    const int role[] = {c->roles.key, c->roles.value, c->roles.query};
    char shown[256];
    data_visible_text(name, shown, sizeof shown);
    for (int i = 0; i < 3; i++)
        if (role[i] >= c->n_streams)
            return snprintf(error, size, "%s: no word has a feature%d, which --roles names", shown,
                            role[i]),
                   false;
    if (role[0] >= 0 && c->n_readouts > 1)
        return snprintf(error, size,
                        "%s: --roles needs lines with one answer for each word that "
                        "asks; these have %d",
                        shown, c->n_readouts),
               false;
    return true;
}

/* Does a word that asks have what it asks by, and no value of its own? */
static bool asks_well(const data_corpus *c, int e, const data_walk *w) {
    for (int a = 0; a < c->asking && c->roles.key >= 0; a++) {
        const int at = c->ask[(size_t)e * (size_t)c->asking + (size_t)a],
                  *ids = c->ids + (c->begin[e] + (size_t)at) * (size_t)c->n_streams;
        if (ids[c->roles.query] >= 0 && ids[c->roles.value] < 0) continue;
        return data_walk_fail(w, data_walk_place(w, at, 0), "the word that asks %s",
                              ids[c->roles.query] < 0
                                  ? "has not the feature that asks (--roles query=...)"
                                  : "has a value itself, and may not (--roles value=...)");
    }
    return true;
}

/* What shares a vocabulary has it from now on. */
static void share_words(data_corpus *c) {
    if (c->roles.key < 0) return;
    c->stream[c->roles.query] = c->stream[c->roles.key];
    c->answer[0] = c->stream[c->roles.value];
}

static bool take_room(data_corpus *c, size_t words) {
    const size_t n = (size_t)c->n, asks = n * (size_t)c->asking;
    c->begin = tensor_arena_take(c->arena, n + 1, sizeof *c->begin);
    c->line = tensor_arena_take(c->arena, n, sizeof *c->line);
    c->ids = tensor_arena_take(c->arena, words, (size_t)c->n_streams * sizeof *c->ids);
    c->ask = tensor_arena_take(c->arena, asks, sizeof *c->ask);
    c->target = tensor_arena_take(c->arena, asks, (size_t)c->n_readouts * sizeof *c->target);
    c->source = tensor_arena_take(c->arena, asks, (size_t)c->n_readouts * sizeof *c->source);
    return c->begin && c->line && c->ids && c->ask && c->target && c->source;
}

static bool fill(data_corpus *c, const data_source *sources, int n, data_line *line, char *error,
                 size_t size) {
    size_t at = 0;
    int e = 0;
    for (int i = 0; i < n; i++)
        for (data_walk w = data_walk_of(&sources[i], error, size); data_walk_line(&w); e++) {
            data_span rest = w.line;
            uint64_t hash = 0;
            if (!fill_words(c, &rest, e, &at, &hash) || !fill_answers(c, rest, e, &hash) ||
                !asks_well(c, e, &w))
                return false;
            line[e] = (data_line){.source = i, .number = w.number, .hash = hash};
            c->line[e] = i ? 0 : (int)w.number;
        }
    share_words(c);
    c->lines = data_lines(sources[0].text, sources[0].n);
    return true;
}

bool data_corpus_read(const tensor_allocator *mem, const data_source *sources, int n_sources,
                      double held_out, data_corpus_roles roles, data_corpus *out, char *error,
                      size_t size) {
    data_corpus c = {.arena = tensor_arena_new(mem), .roles = roles};
    tensor_arena *spare = tensor_arena_new(mem);  // what is needed only until the end
    data_line *line = NULL;
    size_t words;
    *error = '\0';
    bool ok = c.arena && spare && data_corpus_survey(&c, sources, n_sources, &words, error, size) &&
              roles_fit(&c, sources[0].name, error, size) && take_room(&c, words) &&
              (line = tensor_arena_take(spare, (size_t)c.n, sizeof *line)) &&
              fill(&c, sources, n_sources, line, error, size) &&
              data_corpus_share(&c, line, sources, held_out, spare, error, size);
    if (!ok && !*error) snprintf(error, size, "out of memory");
    tensor_arena_free(spare);
    if (!ok) tensor_arena_free(c.arena);
    *out = ok ? c : (data_corpus){0};
    return ok;
}

void data_corpus_free(data_corpus *c) {
    tensor_arena_free(c->arena);
    *c = (data_corpus){0};
}
