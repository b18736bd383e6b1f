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
 *     query   -   ...  -    s_1 ... s_m
 *
 * Apart, keys and values are tokens of their own in the memory, k_1 v_1 k_2 v_2 ...: which key a value
 * belongs to is not in its embedding, and an encoder has to find out. */
#include <stdio.h>

#include "data/data.h"

typedef struct {
    int pairs, keys, values, queries;
    bool joined, apart;
} options;

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 8, 1, 4096, "pairs in the memory"),
    DATA_INT(options, keys, "keys", 32, 1, 65536, "key symbols"),
    DATA_INT(options, values, "values", 32, 1, 65536, "value symbols"),
    DATA_INT(options, queries, "queries", 0, 0, 4096, "questions; 0: half as many as pairs"),
    DATA_FLAG(options, joined, "joined", false, "pairs and questions in one causal sequence"),
    DATA_FLAG(options, apart, "apart", false, "a key and its value are two tokens of the memory"),
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
    if (o->joined && o->apart)
        return snprintf(error, size, "cross: --joined and --apart together are the task mqar"),
               false;
    const data_stream query = data_plain("query", "q", o->keys),
                      key = data_plain("key", "k", o->keys),
                      value = data_plain("value", "v", o->values),
                      token = {"token", "k", o->keys + o->values, -1, NULL, o->keys, "v"};
    if (o->joined) {
        s->side[DATA_SEQUENCE] = (data_side){o->pairs + o->queries, 3, {key, value, query}};
    } else {
        s->side[DATA_SEQUENCE] = (data_side){o->queries, 1, {query}};
        s->side[DATA_MEMORY] = o->apart ? (data_side){2 * o->pairs, 1, {token}}
                                        : (data_side){o->pairs, 2, {key, value}};
    }
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"value", "v", o->values, NULL, false};
    s->scored = o->queries;
    s->sees = o->joined ? DATA_CAUSAL : DATA_FULL;
    s->store = o->joined ? DATA_SEQUENCE : DATA_MEMORY;
    s->entries = s->side[s->store].T - (o->joined ? o->queries : 0);
    s->chance = 1.0 / o->values;
    s->in_context = 1.0 / o->pairs;
    s->scratch = data_larger(o->keys, o->values) + 2 * o->pairs;
    if (o->apart) {
        s->key_at = -1;
        return true;
    }
    s->roles.query = o->joined ? 2 : 0;
    s->roles.key = 0;
    s->roles.value = 1;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    const int n = o->pairs, m = o->queries, first = o->joined ? n : 0;
    int *store = out->ids[s->store][0], *at = out->source[0] + first, *drawn = out->scratch,
        *key = drawn + data_larger(o->keys, o->values), *value = key + n,
        *query = out->ids[DATA_SEQUENCE][o->joined ? 2 : 0] + first;
    rng_choose(r, o->keys, n, key, drawn);
    rng_choose(r, o->values, n, value, drawn);
    rng_choose(r, n, m, at, drawn);
    for (int i = 0; i < n; i++) {
        store[o->apart ? 2 * i : i] = key[i];
        if (o->apart)
            store[2 * i + 1] = o->keys + value[i];
        else
            out->ids[s->store][1][i] = value[i];
    }
    for (int i = 0; i < m; i++) {
        query[i] = key[at[i]];
        out->target[0][first + i] = value[at[i]];
        if (o->apart) at[i] = 2 * at[i] + 1;
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
