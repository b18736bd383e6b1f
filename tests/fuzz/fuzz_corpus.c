/* fuzz_corpus.c - any bytes as examples of one's own. The first byte says whether features play roles, and
 * whether the text is one file that is shared out or three.
 *
 * Promises: a refusal is one sentence, which names the file; in what is accepted every number is within its
 * vocabulary, every place within its line, every example in one split, and where the answer stands is it. */
#include <math.h>
#include <string.h>

#include "data/corpus.h"
#include "tests/fuzz/fuzz.h"

/* How many blocks of memory are held. */
static long blocks;

static void *take(void *ctx, size_t n) {
    void *p = tensor_malloc.alloc(ctx, n);
    blocks += p != NULL;
    return p;
}

static void release(void *ctx, void *p) {
    blocks -= p != NULL;
    tensor_malloc.release(ctx, p);
}

static void check_words(const data_words *w) {
    for (int i = 0; i < w->n; i++) {
        const size_t n = strlen(w->text[i]);
        PROMISE(n > 0 && n <= DATA_CORPUS_WORD && data_words_find(w, w->text[i], n) == i);
    }
}

static void check_example(const data_corpus *c, int e) {
    const int words = (int)(c->begin[e + 1] - c->begin[e]), per = c->asking * c->n_readouts,
              in = c->roles.value >= 0 ? c->roles.value : 0;
    PROMISE(words > 0 && words <= c->longest);
    for (size_t t = c->begin[e]; t < c->begin[e + 1]; t++)
        for (int s = 0; s < c->n_streams; s++) {
            const int id = c->ids[t * (size_t)c->n_streams + (size_t)s];
            PROMISE(id >= (s ? -1 : 0) && id < c->stream[s].n);
        }
    for (int a = 0; a < c->asking; a++) {
        const int at = c->ask[(size_t)e * (size_t)c->asking + (size_t)a];
        PROMISE(at >= 0 && at < words && (!c->last_asks || at == words - 1));
    }
    for (int a = 0; a < per; a++) {
        const size_t i = (size_t)e * (size_t)per + (size_t)a;
        const data_words *answer = &c->answer[a % c->n_readouts];
        const int source = c->source[i];
        PROMISE(c->target[i] >= 0 && c->target[i] < answer->n && source >= -1 && source < words);
        if (source < 0) continue;
        const int id = c->ids[(c->begin[e] + (size_t)source) * (size_t)c->n_streams + (size_t)in];
        PROMISE(strcmp(c->stream[in].text[id], answer->text[c->target[i]]) == 0);
    }
}

static void check_splits(const data_corpus *c) {
    unsigned char *seen = calloc((size_t)c->n, 1);
    PROMISE(seen && c->n > 0 && c->count[0] + c->count[1] + c->count[2] == c->n);
    for (int k = 0; k < DATA_SPLITS; k++) {
        PROMISE(c->count[k] > 0);
        for (int i = 0; i < c->count[k]; i++) {
            const int e = data_corpus_pick(c, (data_split)k, 1, (uint64_t)i);
            PROMISE(e >= 0 && e < c->n && !seen[e]);
            seen[e] = 1;
        }
        for (int r = 0; r < c->n_readouts; r++) {
            const data_corpus_levels l = data_corpus_levels_of(c, (data_split)k, r);
            PROMISE(l.any_class > 0 && l.any_class <= 1 && l.any_word >= 0 &&
                    l.any_word <= 1 + 1e-9);
            PROMISE(l.most_frequent >= 0 && l.most_frequent <= 1 + 1e-9);
            PROMISE(l.frequency_loss >= 0 && isfinite(l.frequency_loss));
        }
    }
    free(seen);
}

FUZZ(fuzz_corpus) {
    static const data_corpus_roles roles[] = {{-1, -1, -1}, {0, 0, 1}, {2, 0, 1}, {1, 2, 0}};
    const tensor_allocator mem = {take, release, NULL};
    const char *text = (const char *)data;
    const unsigned how = n ? *data : 0;
    char error[512];
    data_corpus c;
    if (n) text++, n--;
    data_source source[] = {{"own.txt", text, n, DATA_SPLITS},
                            {"own.txt", text, n, DATA_VALID},
                            {"own.txt", text, n, DATA_TEST}};
    if (how & 4) source[0].split = DATA_TRAIN;
    memset(error, 'x', sizeof error);
    const bool read = data_corpus_read(&mem, source, how & 4 ? 3 : 1, 0.3, roles[how & 3], &c,
                                       error, sizeof error);
    if (read) {
        for (int s = 0; s < c.n_streams; s++) check_words(&c.stream[s]);
        for (int r = 0; r < c.n_readouts; r++) check_words(&c.answer[r]);
        for (int e = 0; e < c.n; e++) check_example(&c, e);
        check_splits(&c);
        data_corpus_free(&c);
    } else {
        PROMISE(memchr(error, 0, sizeof error) && strlen(error) > 8 && !strchr(error, '\n'));
        PROMISE(strncmp(error, "own.txt", 7) == 0);
    }
    PROMISE(blocks == 0);
    return 0;
}
