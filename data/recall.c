/* recall.c - fetch a whole vector: given a key, give back the entry exactly as it is.
 *
 * Entries are (e_key + e_value) / sqrt 2, the cue is e_key alone. The answer is no symbol but the
 * entry's vector, compared by squared error ("--readout vector"): matching wants large dot
 * products, the answer must come out at length 1. Keys are distinct, values are not. */
#include "data/data.h"

typedef struct {
    int pairs, keys, values;
} options;

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 8, 1, 4096, "stored entries"),
    DATA_INT(options, keys, "keys", 32, 1, 65536, "key symbols"),
    DATA_INT(options, values, "values", 32, 1, 65536, "value symbols"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    const options *o = data_chosen(s);
    if (!data_pairs_fit(s, o->pairs, o->keys, o->values, error, size)) return false;
    s->side[DATA_SEQUENCE] = (data_side){
        o->pairs + 1, 2, {data_plain("key", "k", o->keys), data_plain("value", "v", o->values)}};
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"value", "v", o->values, NULL, false};
    s->scored = 1;
    s->sees = DATA_ENTRIES;
    s->entries = o->pairs;
    s->scratch = data_larger(o->keys, o->values);
    s->entry_scale = 0.70710678118654752;
    s->roles.query = s->roles.key = 0;
    s->roles.value = 1;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    int n = o->pairs, *key = out->ids[DATA_SEQUENCE][0], *value = out->ids[DATA_SEQUENCE][1];
    rng_choose(r, o->keys, n, key, out->scratch);
    for (int i = 0; i < n; i++) value[i] = (int)rng_below(r, (uint32_t)o->values);
    int t = (int)rng_below(r, (uint32_t)n);
    key[n] = key[t];
    out->target[0][n] = value[t];
    out->source[0][n] = t;
}

const data_task data_task_recall = {
    .name = "recall",
    .summary = "a key, and the whole entry is to be given back as a vector",
    .recommended = "readout=vector freeze=embed.* embed-init=unit no-wo no-residual steps=3000",
    .options = table,
    .configure = configure,
    .example = example,
};
