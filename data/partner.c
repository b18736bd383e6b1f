/* partner.c - the question names another key than the one it wants.
 *
 * As pairs, but keys come in partners 2i and 2i+1, and the question for a wants the entry whose
 * key is a's partner. The entry with key a itself is always stored too: a model whose queries and
 * keys are the same projection of keys must prefer "equal to itself" for at least one of two
 * partners, and is right half of the time at most; three quarters, if values take part in the match
 * (train/probe/partner.c). */
#include <stdio.h>

#include "data/data.h"

static int partner(int key) { return key ^ 1; }

typedef struct {
    int pairs, keys, values;
} options;

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 8, 1, 4096, "stored pairs"),
    DATA_INT(options, keys, "keys", 32, 1, 65536,
             "key symbols, two by two; an odd one is left out"),
    DATA_INT(options, values, "values", 32, 1, 65536, "value symbols"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    options *o = (void *)s->options.byte;
    o->keys -= o->keys % 2;  // the last key would have no partner
    if (!data_pairs_layout(s, o->pairs, o->keys, o->values, error, size)) return false;
    s->has_distractor = true;
    s->roles.asks_for = partner;
    return o->pairs >= 2 || (snprintf(error, size, "partner: at least 2 pairs are needed"), false);
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    int n = o->pairs, *key = out->ids[DATA_SEQUENCE][0], *value = out->ids[DATA_SEQUENCE][1];
    int asked = (int)rng_below(r, (uint32_t)o->keys), at[2];
    rng_choose(r, n, 2, at, out->scratch);  // where the asked key stands, and its partner
    rng_choose(r, o->values, n, value, out->scratch);
    // The others: numbered without these two.
    rng_choose(r, o->keys - 2, n - 2, key, out->scratch);
    for (int i = n - 1, left = n - 2; i >= 0; i--) {
        if (i == at[0] || i == at[1]) continue;
        int k = key[--left];
        key[i] = k < asked / 2 * 2 ? k : k + 2;
    }
    key[at[0]] = key[n] = asked;
    key[at[1]] = partner(asked);
    value[n] = s->roles.marker;
    out->target[0][n] = value[at[1]];
    out->source[0][n] = at[1];
    out->distractor[0][n] = at[0];
}

const data_task data_task_partner = {
    .name = "partner",
    .summary = "as pairs, but a key asks for its partner's value, not for its own",
    .options = table,
    .configure = configure,
    .example = example,
};
