/* partner.c - the question names another key than the one it wants.
 *
 * As pairs, but keys come in partners 2i and 2i+1, and the question for a wants the entry whose
 * key is a's partner. The entry with key a itself is always stored too: a model whose queries and
 * keys are the same projection must prefer "equal to itself" for at least one of two partners, and
 * is right half of the time at most. */
#include <stdio.h>

#include "data/data.h"

static int partner(int key) { return key ^ 1; }

static bool configure(data_spec *s, char *error, size_t size) {
    data_options *o = &s->options;
    if (!data_pairs_options(s, 8, 32, 32, error, size)) return false;
    if (o->keys % 2) o->keys--;  // the last key would have no partner
    s->side[DATA_SEQUENCE] = (data_side){
        o->pairs + 1, 2, {data_plain("key", "k", o->keys), data_marked("value", "v", o->values)}};
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"value", "v", o->values, NULL};
    s->scored = 1;
    s->sees = DATA_CAUSAL;
    s->entries = o->pairs;
    s->chance = 1.0 / o->values;
    s->bag = 1.0 / o->pairs;
    s->has_decoy = true;
    s->roles.query = s->roles.key = 0;
    s->roles.value = s->roles.marker_stream = 1;
    s->roles.marker = o->values;
    s->roles.asks_for = partner;
    return o->pairs >= 2 || (snprintf(error, size, "partner: at least 2 pairs are needed"), false);
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    int n = s->options.pairs, *key = out->ids[DATA_SEQUENCE][0],
        *value = out->ids[DATA_SEQUENCE][1], at[2];
    int asked = (int)rng_below(r, (uint32_t)s->options.keys);
    rng_choose(r, n, 2, at, out->scratch);  // where the asked key stands, and its partner
    rng_choose(r, s->options.values, n, value, out->scratch);
    rng_choose(r, s->options.keys - 2, n - 2, key,
               out->scratch);  // the others: numbered without these two
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
    out->decoy[0][n] = at[0];
}

const data_task data_task_partner = {
    "partner", "as pairs, but a key asks for its partner's value, not for its own",
    "",        configure,
    example,   NULL};
