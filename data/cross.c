/* cross.c - cross-attention: the questions stand in one sequence, the pairs in another.
 *
 *     memory    key    k_1 ... k_n      sequence  query   s_1 ... s_m: distinct stored keys
 *               value  v_1 ... v_n      answer            the value stored with s_i
 *
 * The decoder has a table of its own for the questions: nothing says beforehand that question 5
 * and key 5 belong together. */
#include <stdio.h>

#include "data/data.h"

typedef struct {
    int pairs, keys, values, queries;
} options;

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 8, 1, 4096, "pairs in the memory"),
    DATA_INT(options, keys, "keys", 32, 1, 65536, "key symbols"),
    DATA_INT(options, values, "values", 32, 1, 65536, "value symbols"),
    DATA_INT(options, queries, "queries", 0, 0, 4096, "questions; 0: half as many as pairs"),
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
    s->side[DATA_SEQUENCE] = (data_side){o->queries, 1, {data_plain("query", "q", o->keys)}};
    s->side[DATA_MEMORY] = (data_side){
        o->pairs, 2, {data_plain("key", "k", o->keys), data_plain("value", "v", o->values)}};
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"value", "v", o->values, NULL, false};
    s->scored = o->queries;
    s->sees = DATA_FULL;
    s->store = DATA_MEMORY;
    s->entries = o->pairs;
    s->chance = 1.0 / o->values;
    s->in_context = 1.0 / o->pairs;
    s->scratch = data_larger(o->keys, o->values);
    s->roles.query = s->roles.key = 0;
    s->roles.value = 1;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    int n = o->pairs, m = o->queries;
    int *key = out->ids[DATA_MEMORY][0], *value = out->ids[DATA_MEMORY][1],
        *query = out->ids[DATA_SEQUENCE][0];
    rng_choose(r, o->keys, n, key, out->scratch);
    rng_choose(r, o->values, n, value, out->scratch);
    rng_choose(r, n, m, out->source[0], out->scratch);
    for (int i = 0; i < m; i++) {
        query[i] = key[out->source[0][i]];
        out->target[0][i] = value[out->source[0][i]];
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
