/* pairs.c - associative retrieval.
 *
 *     position   0        1        ...   n-1          n
 *     key        k_1      k_2            k_n          k_t
 *     value      v_1      v_2            v_n          ?      -> v_t
 *
 * Keys are distinct, values are distinct, t is uniform. Distinct values make the reference points exact: a blind guess
 * is right once in N_v; a model that knows the stored values but cannot match is right once in n. n must stay below
 * both vocabularies: were every key always present, attention could learn to avoid the right pair instead. */
#include <stdio.h>

#include "data/data.h"

static bool configure(data_spec *s, char *error, size_t size) {
    data_options *o = &s->options;
    if (!o->pairs) o->pairs = 8;
    if (!o->keys) o->keys = 32;
    if (!o->values) o->values = 32;
    if (o->pairs >= o->keys || o->pairs >= o->values) {
        snprintf(error, size, "pairs: %d pairs need more than %d keys and values, there are %d and %d", o->pairs,
                 o->pairs, o->keys, o->values);
        return false;
    }
    data_side *sequence = &s->side[DATA_SEQUENCE];
    sequence->T = o->pairs + 1;
    sequence->n_streams = 2;
    sequence->stream[0] = (data_stream){"key", "k", o->keys, -1};
    sequence->stream[1] = (data_stream){"value", "v", o->values + 1, o->values};
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"value", "v", o->values};
    s->scored = 1;
    s->causal = true;
    s->entries = o->pairs;
    s->chance = 1.0 / o->values;
    s->bag = 1.0 / o->pairs;
    s->roles.query = s->roles.key = 0;
    s->roles.value = s->roles.marker_stream = 1;
    s->roles.marker = o->values;
    s->scratch = o->keys > o->values ? o->keys : o->values;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    int n = s->options.pairs, *key = out->ids[DATA_SEQUENCE][0], *value = out->ids[DATA_SEQUENCE][1];
    rng_choose(r, s->options.keys, n, key, out->scratch);
    rng_choose(r, s->options.values, n, value, out->scratch);
    int t = (int)rng_below(r, (uint32_t)n);
    key[n] = key[t];
    value[n] = s->roles.marker;
    out->target[0][n] = value[t];
    out->source[0][n] = t;
}

const data_task data_task_pairs = {
    "pairs", "associative retrieval: n (key, value) pairs and a key; answer with its value", configure, example};
