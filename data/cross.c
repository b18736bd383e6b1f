/* cross.c - questions and pairs: in two sequences, as cross-attention has them, or joined in one.
 *
 *     memory    key    k_1 ... k_n      sequence  query   s_1 ... s_m: distinct stored keys
 *               value  v_1 ... v_n      answer            the value stored with s_i
 *
 * The decoder has a table of its own for the questions: nothing says beforehand that question 5
 * and key 5 belong together. Joined, the same example is one causal sequence, as a decoder alone reads it:
 *
 *     key     k_1 ... k_n    -  ...  -
 *     value   v_1 ... v_n    -  ...  -
 *     query   -   ...  -    s_1 ... s_m */
#include <stdio.h>

#include "data/data.h"

typedef struct {
    int pairs, keys, values, queries;
    bool joined;
} options;

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 8, 1, 4096, "pairs in the memory"),
    DATA_INT(options, keys, "keys", 32, 1, 65536, "key symbols"),
    DATA_INT(options, values, "values", 32, 1, 65536, "value symbols"),
    DATA_INT(options, queries, "queries", 0, 0, 4096, "questions; 0: half as many as pairs"),
    DATA_FLAG(options, joined, "joined", false, "pairs and questions in one causal sequence"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    options *o = (void *)s->options.byte;
    if (!data_pairs_fit(s, o->pairs, o->keys, o->values, error, size)) return false;
    if (!o->queries) o->queries = o->pairs > 1 ? o->pairs / 2 : 1;
    if (o->queries > o->pairs) {
        snprintf(error, size, "cross: %d distinct questions need as many pairs, there are %d",
                 o->queries, o->pairs);
        return false;
    }
    const data_stream query = data_plain("query", "q", o->keys),
                      key = data_plain("key", "k", o->keys),
                      value = data_plain("value", "v", o->values);
    if (o->joined) {
        s->side[DATA_SEQUENCE] = (data_side){o->pairs + o->queries, 3, {key, value, query}};
    } else {
        s->side[DATA_SEQUENCE] = (data_side){o->queries, 1, {query}};
        s->side[DATA_MEMORY] = (data_side){o->pairs, 2, {key, value}};
    }
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"value", "v", o->values, NULL, false};
    s->scored = o->queries;
    s->sees = o->joined ? DATA_CAUSAL : DATA_FULL;
    s->store = o->joined ? DATA_SEQUENCE : DATA_MEMORY;
    s->entries = o->pairs;
    s->chance = 1.0 / o->values;
    s->in_context = 1.0 / o->pairs;
    s->scratch = data_larger(o->keys, o->values);
    s->roles.query = o->joined ? 2 : 0;
    s->roles.key = 0;
    s->roles.value = 1;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    const int n = o->pairs, m = o->queries, first = o->joined ? n : 0;
    int *key = out->ids[s->store][0], *value = out->ids[s->store][1],
        *query = out->ids[DATA_SEQUENCE][s->roles.query] + first, *at = out->source[0] + first;
    rng_choose(r, o->keys, n, key, out->scratch);
    rng_choose(r, o->values, n, value, out->scratch);
    rng_choose(r, n, m, at, out->scratch);
    for (int i = 0; i < m; i++) {
        query[i] = key[at[i]];
        out->target[0][first + i] = value[at[i]];
    }
}

const data_task data_task_cross = {
    .name = "cross",
    .summary = "questions in one sequence, (key, value) pairs in another: cross-attention",
    .recommended = "batch=32",
    .options = table,
    .configure = configure,
    .example = example,
};
