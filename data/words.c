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

/* The slot in which the text is, or would be. */
static int *slot_of(const data_words *w, const char *text, size_t n) {
    const size_t mask = 2 * (size_t)w->room - 1;
    for (size_t i = (size_t)data_hash(0, text, n) & mask;; i = (i + 1) & mask) {
        const int at = w->slot[i] - 1;
        if (at < 0 || (strncmp(w->text[at], text, n) == 0 && w->text[at][n] == '\0'))
            return &w->slot[i];
    }
}

int data_words_find(const data_words *w, const char *text, size_t length) {
    return w->room ? *slot_of(w, text, length) - 1 : -1;
}

static bool widen(data_words *w, tensor_arena *arena) {
    data_words more = *w;
    more.room = w->room ? 2 * w->room : 256;
    if (more.room > INT_MAX / 4) return false;
    more.text = tensor_arena_take(arena, (size_t)more.room, sizeof *more.text);
    more.slot = tensor_arena_take(arena, 2 * (size_t)more.room, sizeof *more.slot);
    if (!more.text || !more.slot) return false;
    for (int i = 0; i < w->n; i++) {
        more.text[i] = w->text[i];
        *slot_of(&more, w->text[i], strlen(w->text[i])) = i + 1;
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
    int *slot = slot_of(w, text, length);
    if (*slot) return *slot - 1;
    const char *copy = keep(w, arena, text, length);
    if (!copy) return -1;
    w->text[w->n] = copy;
    *slot = ++w->n;
    return *slot - 1;
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
