/* corpus.c - from text to examples. The text is walked twice: to check and to count, then to number
 * words and to fill arrays that have the right size. */
#include "data/corpus.h"

#include <stdio.h>

#include "data/corpus_internal.h"

static bool fill_words(data_corpus *c, data_span *rest, int e, size_t *at, uint64_t *hash) {
    int asked = 0, *ask = c->ask + (size_t)e * (size_t)c->asking;
    c->begin[e] = *at;
    for (data_span word; data_next_word(rest, &word) && !data_is_arrow(word); (*at)++) {
        int *ids = c->ids + *at * (size_t)c->n_streams, s = 0;
        if (data_takes_mark(&word)) ask[asked++] = (int)(*at - c->begin[e]);
        *hash = data_hash(*hash, word.at, word.n);
        for (data_span feature; data_next_feature(&word, &feature); s++)
            if ((ids[s] = data_words_number(&c->stream[s], c->arena, feature.at, feature.n)) < 0)
                return false;
        for (; s < c->n_streams; s++) ids[s] = -1;
    }
    if (asked == 0) ask[0] = (int)(*at - c->begin[e]) - 1;
    for (int i = 0; i < c->asking; i++)
        *hash = data_hash(*hash, (const char *)&ask[i], sizeof *ask);
    c->begin[e + 1] = *at;
    return true;
}

/* The position of the only word that is the answer; -1: none, or several. */
static int source_of(const data_corpus *c, int e, data_span answer) {
    const int word = data_words_find(&c->stream[0], answer.at, answer.n);
    int found = -1;
    for (size_t t = c->begin[e]; word >= 0 && t < c->begin[e + 1]; t++) {
        if (c->ids[t * (size_t)c->n_streams] != word) continue;
        if (found >= 0) return -1;
        found = (int)(t - c->begin[e]);
    }
    return found;
}

static bool fill_answers(data_corpus *c, data_span rest, int e, uint64_t *hash) {
    size_t at = (size_t)e * (size_t)(c->asking * c->n_readouts);
    int r = 0;
    for (data_span answer; data_next_word(&rest, &answer); at++, r = (r + 1) % c->n_readouts) {
        c->target[at] = data_words_number(&c->answer[r], c->arena, answer.at, answer.n);
        if (c->target[at] < 0) return false;
        c->source[at] = source_of(c, e, answer);
        *hash = data_hash(*hash, answer.at, answer.n);
    }
    return true;
}

static bool take_room(data_corpus *c, size_t words) {
    const size_t n = (size_t)c->n, asks = n * (size_t)c->asking;
    c->begin = tensor_arena_take(c->arena, n + 1, sizeof *c->begin);
    c->ids = tensor_arena_take(c->arena, words, (size_t)c->n_streams * sizeof *c->ids);
    c->ask = tensor_arena_take(c->arena, asks, sizeof *c->ask);
    c->target = tensor_arena_take(c->arena, asks, (size_t)c->n_readouts * sizeof *c->target);
    c->source = tensor_arena_take(c->arena, asks, (size_t)c->n_readouts * sizeof *c->source);
    return c->begin && c->ids && c->ask && c->target && c->source;
}

static bool fill(data_corpus *c, const data_source *sources, int n, data_line *line) {
    size_t at = 0;
    int e = 0;
    for (int i = 0; i < n; i++)
        for (data_walk w = data_walk_of(&sources[i], NULL, 0); data_walk_line(&w); e++) {
            data_span rest = w.line;
            uint64_t hash = 0;
            if (!fill_words(c, &rest, e, &at, &hash) || !fill_answers(c, rest, e, &hash))
                return false;
            line[e] = (data_line){.source = i, .number = w.number, .hash = hash};
        }
    return true;
}

bool data_corpus_read(const tensor_allocator *mem, const data_source *sources, int n_sources,
                      double held_out, data_corpus *out, char *error, size_t size) {
    data_corpus c = {.arena = tensor_arena_new(mem)};
    tensor_arena *spare = tensor_arena_new(mem);  // what is needed only until the end
    data_line *line = NULL;
    size_t words;
    *error = '\0';
    bool ok = c.arena && spare && data_corpus_survey(&c, sources, n_sources, &words, error, size) &&
              take_room(&c, words) &&
              (line = tensor_arena_take(spare, (size_t)c.n, sizeof *line)) &&
              fill(&c, sources, n_sources, line) &&
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
