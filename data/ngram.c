/* ngram.c - counts of up to three tokens in a row, in one hash table. */
#include "data/ngram.h"

#include <math.h>
#include <stdint.h>

/* Some tokens in a row: how often they stand there, how often something follows them, and how many
 * different tokens do. */
typedef struct {
    uint64_t key;  // 0: free
    uint32_t count, followed, kinds;
} cell;

typedef struct {
    tensor_arena *arena;
    cell *at;
    size_t n, slots;  // cells in use; all of them, a power of two
    int vocab;
} table;

/* The last `length` tokens that end with x[0] as one number, which no other row of tokens has. */
static uint64_t key_of(const table *t, const int *x, int length) {
    uint64_t key = (uint64_t)length + 1;
    for (int i = length; i-- > 0;) key = key * (uint64_t)t->vocab + (uint64_t)x[-i];
    return length ? key : 1;
}

static cell *slot_of(const table *t, uint64_t key) {
    const uint64_t h = key * 0x9e3779b97f4a7c15u;
    for (size_t i = (size_t)(h ^ h >> 29) & (t->slots - 1);; i = (i + 1) & (t->slots - 1))
        if (t->at[i].key == key || t->at[i].key == 0) return &t->at[i];
}

/* Twice as many slots; the old ones stay in the arena, which holds at most as much again. */
static bool widen(table *t) {
    table more = *t;
    more.slots = t->slots ? 2 * t->slots : 1024;
    if (!(more.at = tensor_arena_take(t->arena, more.slots, sizeof *more.at))) return false;
    for (size_t i = 0; i < t->slots; i++)
        if (t->at[i].key) *slot_of(&more, t->at[i].key) = t->at[i];
    *t = more;
    return true;
}

/* The cell of some tokens, a new one if need be; NULL: memory is out. */
static cell *cell_of(table *t, const int *x, int length) {
    const uint64_t key = key_of(t, x, length);
    if (2 * t->n >= t->slots && !widen(t)) return NULL;
    cell *c = slot_of(t, key);
    t->n += c->key == 0;
    c->key = key;
    return c;
}

static bool count(table *t, const int *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (int length = 0; length < DATA_NGRAMS - 1 && (size_t)length <= i; length++) {
            cell *whole = cell_of(t, &x[i], length + 1);
            if (!whole) return false;
            const bool new = whole->count++ == 0;
            cell *before = cell_of(t, length ? &x[i - 1] : x, length);  // may move the other one
            if (!before) return false;
            before->followed++;
            before->kinds += new;
        }
    return true;
}

bool data_ngram_losses(const int *train, size_t n, const int *held, size_t m, int vocab,
                       double loss[DATA_NGRAMS]) {
    table t = {.arena = tensor_arena_new(NULL), .vocab = vocab};
    const bool ok = t.arena && vocab <= DATA_NGRAM_VOCAB && widen(&t) && count(&t, train, n);
    for (int k = 0; k < DATA_NGRAMS; k++) loss[k] = m < 3 ? (double)NAN : 0;
    for (size_t i = 2; ok && i < m; i++) {
        double p = 1.0 / vocab;
        loss[0] -= log(p) / (double)(m - 2);
        for (int length = 0; length < DATA_NGRAMS - 1; length++) {
            const cell *before = slot_of(&t, key_of(&t, length ? &held[i - 1] : held, length));
            const cell *whole = slot_of(&t, key_of(&t, &held[i], length + 1));
            const double all = (double)before->followed + before->kinds;
            if (before->key && all > 0)
                p = ((whole->key ? whole->count : 0) + before->kinds * p) / all;
            loss[length + 1] -= log(p) / (double)(m - 2);
        }
    }
    tensor_arena_free(t.arena);
    return ok;
}
