/* corpus_use.c - which example comes when, and what can be had without looking. */
#include <math.h>

#include "data/corpus.h"

/* ---- the order ---- */

/* A number of 0..n-1 for each of 0..n-1, by the key: a Feistel network of four rounds over the next
 * power of four, walked until it is below n. Source: Black and Rogaway, "Ciphers with Arbitrary
 * Finite Domains", 2002, cycle walking. */
static uint64_t permuted(uint64_t x, uint64_t n, uint64_t key) {
    int half = 1;
    while (((uint64_t)1 << 2 * half) < n) half++;
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t f = (right + key + round * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
            f = (f ^ f >> 32) * 0xd6e8feb86659fd93u;
            const uint64_t next = left ^ (f >> 32 & mask);
            left = right;
            right = next;
        }
        x = left << half | right;
    } while (x >= n);
    return x;
}

int data_corpus_pick(const data_corpus *c, data_split split, uint64_t seed, uint64_t i) {
    const uint64_t n = (uint64_t)c->count[split], epoch = i / n;
    if (split != DATA_TRAIN) return c->order[split][i % n];
    rng r = rng_stream(seed, "epoch", epoch);
    const uint64_t key = (uint64_t)rng_u32(&r) << 32 | rng_u32(&r);
    return c->order[split][permuted(i % n, n, key)];
}

/* ---- levels ---- */

/* How often training has each class of a readout. */
static double *frequencies(const data_corpus *c, int readout, tensor_arena *arena) {
    const int per = c->asking * c->n_readouts;
    double *p = tensor_arena_take(arena, (size_t)c->answer[readout].n, sizeof *p);
    for (int i = 0; p && i < c->count[DATA_TRAIN]; i++)
        for (int a = readout; a < per; a += c->n_readouts)
            p[c->target[(size_t)c->order[DATA_TRAIN][i] * (size_t)per + (size_t)a]]++;
    return p;
}

/* The share of a line's words that are the answer; 0: none. */
static double share_of(const data_corpus *c, int e, int readout, int class) {
    const char *text = c->answer[readout].text[class];
    size_t length = 0;
    while (text[length]) length++;
    const int in = c->roles.value >= 0 ? c->roles.value : 0,
              word = data_words_find(&c->stream[in], text, length);
    int found = 0;
    for (size_t t = c->begin[e]; word >= 0 && t < c->begin[e + 1]; t++)
        found += c->ids[t * (size_t)c->n_streams + (size_t)in] == word;
    return (double)found / (double)(c->begin[e + 1] - c->begin[e]);
}

data_corpus_levels data_corpus_levels_of(const data_corpus *c, data_split split, int readout) {
    const int classes = c->answer[readout].n, per = c->asking * c->n_readouts;
    const double asked = (double)c->count[split] * c->asking,
                 trained = (double)c->count[DATA_TRAIN] * c->asking;
    data_corpus_levels l = {.any_class = 1.0 / classes, .any_class_loss = log(classes)};
    tensor_arena *arena = tensor_arena_new(NULL);
    const double *p = arena ? frequencies(c, readout, arena) : NULL;
    int most = 0;
    for (int k = 1; p && k < classes; k++)
        if (p[k] > p[most]) most = k;
    for (int i = 0; p && i < c->count[split]; i++)
        for (int a = readout; a < per; a += c->n_readouts) {
            const int e = c->order[split][i],
                      class = c->target[(size_t)e * (size_t)per + (size_t)a];
            const double share = share_of(c, e, readout, class);
            l.most_frequent += (class == most) / asked;
            l.frequency_loss -= log(p[class] / trained) / asked;
            l.any_word += share / asked;
            l.any_word_loss -= log(share) / asked;
        }
    if (!p) l.most_frequent = l.frequency_loss = l.any_word = l.any_word_loss = (double)NAN;
    if (!isfinite(l.any_word_loss)) l.any_word_loss = (double)NAN;
    tensor_arena_free(arena);
    return l;
}
