/* pairs.c - associative retrieval.
 *
 *     position   0        1        ...   n-1          n
 *     key        k_1      k_2            k_n          k_t
 *     value      v_1      v_2            v_n          ?      -> v_t
 *
 * Keys are distinct, values are distinct, t is uniform. Distinct values make the reference points
 * exact: a blind guess is right once in N_v; a model that knows the stored values but cannot match
 * is right once in n. n must stay below both vocabularies: were every key always present,
 * attention could learn to avoid the right pair instead.
 *
 * Questions whose key is none of the stored ones, on request: "none" is to be said, a class after the values;
 * or (absent-says=own) the value with the key's own number, so that nothing need be brought from anywhere.
 *
 * Held out on request: the combinations (k, v) with (5 k + 3 v) mod 4 = 0, a quarter of them. */
#include <math.h>
#include <stdio.h>

#include "data/data.h"

typedef struct {
    int pairs, keys, values;
    bool hold_out;
    double absent;
    int says;
} options;

enum { SAYS_NONE, SAYS_OWN };

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 8, 1, 4096, "stored pairs"),
    DATA_INT(options, keys, "keys", 32, 1, 65536, "key symbols"),
    DATA_INT(options, values, "values", 32, 1, 65536, "value symbols"),
    DATA_FLAG(options, hold_out, "hold-out", false,
              "a quarter of the combinations of key and value never occurs in training"),
    DATA_REAL(options, absent, "absent", 0, 0, 1,
              "share of questions whose key is not stored: the answer is \"none\""),
    DATA_CHOICE(options, says, "absent-says", "none", "none|own",
                "what is right there: \"none\", or the value with the key's own number"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    const options *o = data_chosen(s);
    if (!data_pairs_layout(s, o->pairs, o->keys, o->values, error, size)) return false;
    const bool none = o->absent > 0 && o->says == SAYS_NONE;
    s->has_held_out = o->hold_out;
    s->readout[0].has_none = none;
    s->readout[0].classes += none;
    s->chance =
        none || o->absent == 0 ? fmax(o->absent, (1 - o->absent) / o->values) : 1.0 / o->values;
    s->in_context = fmax(o->absent + (none || o->absent == 0 ? 0 : (1 - o->absent) / o->values),
                         (1 - o->absent) / o->pairs);
    if (o->absent == 0 && o->says != SAYS_NONE)
        return snprintf(error, size, "pairs: --absent-says belongs to --absent, which is 0"), false;
    if (o->says == SAYS_OWN && o->keys > o->values)
        return snprintf(error, size,
                        "pairs: --absent-says own needs a value for each key, there are %d for %d",
                        o->values, o->keys),
               false;
    if (o->absent > 0 && o->hold_out)
        return snprintf(error, size, "pairs: --absent and --hold-out do not go together"), false;
    if (o->hold_out) s->scratch += o->values;
    return true;
}

static bool held_out(int key, int value) { return (5 * key + 3 * value) % 4 == 0; }

/* May key i of the example go with this value? Training shows no held-out combination, the split
 * "heldout" asks for one. */
static bool fits(const data_example *e, int i, int asked, int key, int value) {
    if (e->held_out) return i != asked || held_out(key, value);
    return !held_out(key, value);
}

/* Moves values among value[0..n-1] and the unused ones after them, each key taking the first that
 * fits; false: none was left for one of them. */
static bool arrange(const options *o, const data_example *e, int asked, int *value) {
    const int *key = e->ids[DATA_SEQUENCE][0];
    for (int i = 0; i < o->pairs; i++) {
        int j = i;
        while (j < o->values && !fits(e, i, asked, key[i], value[j])) j++;
        if (j == o->values) return false;
        int first = value[j];
        value[j] = value[i];
        value[i] = first;
    }
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    int n = o->pairs, *key = out->ids[DATA_SEQUENCE][0], *value = out->ids[DATA_SEQUENCE][1];
    rng_choose(r, o->keys, n, key, out->scratch);
    rng_choose(r, o->values, n, value, out->scratch);
    int t = (int)rng_below(r, (uint32_t)n);
    if (o->hold_out) {
        int *all = out->scratch + data_larger(o->keys, o->values);  // every value, in random order
        do rng_choose(r, o->values, o->values, all, out->scratch);
        while (!arrange(o, out, t, all));
        for (int i = 0; i < n; i++) value[i] = all[i];
    }
    key[n] = key[t];
    value[n] = s->roles.marker;
    out->target[0][n] = value[t];
    out->source[0][n] = t;
    if (o->absent > 0 && rng_double(r) < o->absent) {
        do key[n] = (int)rng_below(r, (uint32_t)o->keys);
        while (data_count(key, n, key[n]));
        out->target[0][n] = o->says == SAYS_OWN ? key[n] : o->values;
        out->source[0][n] = -1;
    }
}

const data_task data_task_pairs = {
    .name = "pairs",
    .summary = "associative retrieval: n (key, value) pairs and a key; answer with its value",
    .options = table,
    .configure = configure,
    .example = example,
};
