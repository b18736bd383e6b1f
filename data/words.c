/* words.c - a hash table with open addressing. */
#include "data/words.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "data/data.h"

uint64_t data_hash(uint64_t h, const char *bytes, size_t n) {
    h ^= 0xcbf29ce484222325u;  // FNV-1a, its bits then mixed
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

/* Eight bytes at a time: the table alone knows this hash, so it may differ between machines. */
static uint32_t quick_hash(const char *text, size_t n) {
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint64_t h = n * odd, x = 0;
    for (; n >= sizeof x; text += sizeof x, n -= sizeof x) {
        memcpy(&x, text, sizeof x);
        h = (h ^ x) * odd;
        h ^= h >> 32;
    }
    x = 0;
    for (size_t i = 0; i < n; i++) x = x << 8 | (unsigned char)text[i];
    h = (h ^ x) * odd;
    return (uint32_t)(h >> 32);
}

/* The slot in which the text is, or would be. */
static data_words_slot *slot_of(const data_words *w, uint32_t hash, const char *text, size_t n) {
    const size_t mask = 2 * (size_t)w->room - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        data_words_slot *s = &w->slot[i];
        if (!s->word) return s;
        if (s->hash == hash && w->length[s->word - 1] == n &&
            memcmp(w->text[s->word - 1], text, n) == 0)
            return s;
    }
}

int data_words_find(const data_words *w, const char *text, size_t length) {
    return w->room ? slot_of(w, quick_hash(text, length), text, length)->word - 1 : -1;
}

static bool widen(data_words *w, tensor_arena *arena) {
    data_words more = *w;
    more.room = w->room ? 2 * w->room : 256;
    if (more.room > INT_MAX / 4) return false;
    more.text = tensor_arena_take(arena, (size_t)more.room, sizeof *more.text);
    more.length = tensor_arena_take(arena, (size_t)more.room, sizeof *more.length);
    more.slot = tensor_arena_take(arena, 2 * (size_t)more.room, sizeof *more.slot);
    if (!more.text || !more.length || !more.slot) return false;
    if (w->n) {
        memcpy(more.text, w->text, (size_t)w->n * sizeof *w->text);
        memcpy(more.length, w->length, (size_t)w->n * sizeof *w->length);
    }
    const size_t mask = 2 * (size_t)more.room - 1;
    for (size_t i = 0; w->room && i < 2 * (size_t)w->room; i++) {
        size_t to = w->slot[i].hash & mask;
        while (w->slot[i].word && more.slot[to].word) to = (to + 1) & mask;
        if (w->slot[i].word) more.slot[to] = w->slot[i];
    }
    *w = more;
    return true;
}

static const char *keep(data_words *w, tensor_arena *arena, const char *text, size_t n) {
    const size_t piece = n < 1 << 14 ? 1 << 16 : n + 1;
    if (w->left < n + 1) {
        if (!(w->piece = tensor_arena_take(arena, piece, 1))) return NULL;
        w->left = piece;
    }
    char *copy = memcpy(w->piece, text, n);
    copy[n] = '\0';
    w->piece += n + 1;
    w->left -= n + 1;
    return copy;
}

int data_words_number(data_words *w, tensor_arena *arena, const char *text, size_t length) {
    if (2 * w->n >= w->room && !widen(w, arena)) return -1;
    const uint32_t hash = quick_hash(text, length);
    data_words_slot *slot = slot_of(w, hash, text, length);
    if (slot->word) return slot->word - 1;
    const char *copy = keep(w, arena, text, length);
    if (!copy) return -1;
    w->text[w->n] = copy;
    w->length[w->n] = length;
    *slot = (data_words_slot){hash, ++w->n};
    return w->n - 1;
}

const int *data_answers_of_words(const data_spec *s, tensor_arena *arena) {
    const data_stream *word = &s->side[DATA_SEQUENCE].stream[0];
    const data_readout *r = &s->readout[0];
    data_words answers = {0};
    int *class_of = tensor_arena_take(arena, (size_t)word->vocab, sizeof(int));
    for (int k = 0; k < r->classes; k++)
        if (data_words_number(&answers, arena, r->words[k], strlen(r->words[k])) < 0) return NULL;
    for (int i = 0; class_of && i < word->vocab; i++)
        class_of[i] = data_words_find(&answers, word->words[i], strlen(word->words[i]));
    return class_of;
}
