/* mqar.c - multi-query associative recall, in one row of tokens.
 *
 *     kv:  k_1 v_1 k_2 v_2 ... k_n v_n   then the n keys again in random order; at each: its value
 *     vk:  v_1 k_1 v_2 k_2 ... v_n k_n   the same, each value before its key
 *
 * A key and its value stand at different positions: one layer of attention cannot bring them
 * together. Source: Arora et al., "Zoology", 2023, in a compact form. */
#include <stdio.h>

#include "data/data.h"

#define ORDERS(X) X(KEY_FIRST, "kv") X(VALUE_FIRST, "vk")
enum { ORDERS(TENSOR_CONSTANT) };

typedef struct {
    int pairs, keys, order;
} options;

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 8, 1, 4096, "stored pairs"),
    DATA_INT(options, keys, "keys", 32, 1, 65536, "key symbols, and as many values"),
    DATA_CHOICE(options, order, "order", "kv", TENSOR_WORDS(ORDERS),
                "does a key stand before its value, or after?"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    const options *o = data_chosen(s);
    if (!data_pairs_fit(s, o->pairs, o->keys, o->keys, error, size)) return false;
    data_stream token = {"token", "k", 2 * o->keys, -1, NULL, o->keys, "v"};  // keys, then values
    s->side[DATA_SEQUENCE] = (data_side){3 * o->pairs, 1, {token}};
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"value", "v", o->keys, NULL, false};
    s->scored = o->pairs;
    s->sees = DATA_CAUSAL;
    s->entries = 2 * o->pairs;
    s->chance = 1.0 / o->keys;
    s->in_context = 1.0 / o->pairs;
    s->key_at = o->order == KEY_FIRST ? -1 : 1;
    s->scratch = data_larger(3 * o->pairs, o->keys);
    return true;
}

/* Tokens: keys are 0..N-1, values N..2N-1. */
static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    int n = o->pairs, N = o->keys, *token = out->ids[DATA_SEQUENCE][0];
    int key_at = o->order == KEY_FIRST ? 0 : 1, value_at = 1 - key_at;
    int *drawn = out->target[0], *order = out->source[0];
    rng_choose(r, N, n, drawn, out->scratch);
    for (int i = 0; i < n; i++) token[2 * i + key_at] = drawn[i];
    rng_choose(r, N, n, drawn, out->scratch);
    for (int i = 0; i < n; i++) token[2 * i + value_at] = N + drawn[i];
    rng_choose(r, n, n, order, out->scratch);
    for (int q = n - 1; q >= 0; q--) {
        int i = order[q], at = 2 * n + q;
        token[at] = token[2 * i + key_at];
        out->source[0][at] = 2 * i + value_at;
        out->target[0][at] = token[2 * i + value_at] - N;
    }
    for (int i = 0; i < 2 * n; i++) out->target[0][i] = out->source[0][i] = -1;
}

static int right_entries(const data_spec *s, const data_example *e, int r, int t) {
    const int *token = e->ids[DATA_SEQUENCE][0];
    (void)r;
    return data_count(token, s->entries, token[t]);
}

const data_task data_task_mqar = {
    .name = "mqar",
    .summary = "pairs in one row of tokens, then their keys again: recall each value",
    .recommended = "layers=2 d-model=64 positions=learned batch=32 steps=700",
    .options = table,
    .configure = configure,
    .example = example,
    .right_entries = right_entries,
};
