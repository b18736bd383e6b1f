/* recall.c - fetch a whole vector: given a key, give back the entry exactly as it is.
 *
 * Entries are (e_key + e_value) / sqrt 2, the cue is e_key alone. The answer is no symbol but the
 * entry's vector, compared by squared error ("--readout vector"): matching wants large dot
 * products, the answer must come out at length 1. Keys are distinct, values are not. */
#include "data/data.h"

static bool configure(data_spec *s, char *error, size_t size) {
    data_options *o = &s->options;
    if (!data_pairs_options(s, 8, 32, 32, error, size)) return false;
    s->side[DATA_SEQUENCE] = (data_side){
        o->pairs + 1, 2, {data_plain("key", "k", o->keys), data_plain("value", "v", o->values)}};
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"value", "v", o->values, NULL};
    s->scored = 1;
    s->sees = DATA_ENTRIES;
    s->entries = o->pairs;
    s->entry_scale = 0.70710678118654752;
    s->roles.query = s->roles.key = 0;
    s->roles.value = 1;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    int n = s->options.pairs, *key = out->ids[DATA_SEQUENCE][0],
        *value = out->ids[DATA_SEQUENCE][1];
    rng_choose(r, s->options.keys, n, key, out->scratch);
    for (int i = 0; i < n; i++) value[i] = (int)rng_below(r, (uint32_t)s->options.values);
    int t = (int)rng_below(r, (uint32_t)n);
    key[n] = key[t];
    out->target[0][n] = value[t];
    out->source[0][n] = t;
}

const data_task data_task_recall = {
    "recall",
    "a key, and the whole entry is to be given back as a vector",
    "readout=vector freeze=embed.* embed-init=unit no-wo no-residual steps=3000",
    configure,
    example,
    NULL};
