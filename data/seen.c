/* seen.c - which examples of a split does training show, too? Examples are compared by a hash of all
 * their ids. */
#include <math.h>
#include <stdlib.h>

#include "data/data.h"

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t data_fingerprint(const data_batch *b) {
    const data_spec *s = b->spec;
    uint64_t h = 1469598103934665603u;
    for (int side = 0; side < DATA_SIDES; side++)
        for (int i = 0; i < s->side[side].n_streams; i++)
            for (int t = 0; t < s->side[side].T; t++)
                h = (h ^ (uint64_t)(unsigned)b->rows.ids[side][i][t]) * 1099511628211u;
    return h;
}

double data_seen(const data_spec *spec, uint64_t seed, const char *split, int count, int trained) {
    count = data_at_most(spec, split, count);
    if (count < 1 || trained < 1) return (double)NAN;
    tensor_arena *arena = tensor_arena_new(NULL);
    data_batch b;
    uint64_t *known = arena ? tensor_arena_take(arena, (size_t)trained, sizeof *known) : NULL;
    bool ok = known && data_batch_new(arena, spec, 1, &b);
    long found = 0;
    for (int e = 0; ok && e < trained; e++) {
        data_fill(&b, seed, "train", (uint64_t)e, 1);
        known[e] = data_fingerprint(&b);
    }
    if (ok) qsort(known, (size_t)trained, sizeof *known, by_value);
    for (int e = 0; ok && e < count; e++) {
        data_fill(&b, seed, split, (uint64_t)e, 1);
        uint64_t h = data_fingerprint(&b);
        found += bsearch(&h, known, (size_t)trained, sizeof h, by_value) != NULL;
    }
    tensor_arena_free(arena);
    return ok ? (double)found / count : (double)NAN;
}
