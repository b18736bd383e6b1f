/* pointer.c - every position is query, key and value at once.
 *
 * Position i carries what it looks for (q_i), what it is (k_i) and what it brings (v_i). A random
 * cycle pi over the positions says whom i looks for: q_i = k_pi(i), answer v_pi(i), at every
 * position. In a cycle of three or more nobody is looked for by the one he looks for, so scores
 * that are symmetric (Q = K) must look at the wrong end as often as at the right one: the distractor is
 * the position that looks for i. */
#include <stdio.h>

#include "data/data.h"

typedef struct {
    int pairs, keys, values;
} options;

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 8, 1, 4096, "positions, each of which asks and is found"),
    DATA_INT(options, keys, "keys", 32, 1, 65536, "key symbols"),
    DATA_INT(options, values, "values", 32, 1, 65536, "value symbols"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    const options *o = data_chosen(s);
    if (!data_pairs_fit(s, o->pairs, o->keys, o->values, error, size)) return false;
    if (o->pairs < 3)
        return snprintf(error, size, "pointer: at least 3 positions are needed"), false;
    s->side[DATA_SEQUENCE] =
        (data_side){o->pairs,
                    3,
                    {data_plain("query", "q", o->keys), data_plain("key", "k", o->keys),
                     data_plain("value", "v", o->values)}};
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"value", "v", o->values, NULL, false};
    s->scored = s->entries = o->pairs;
    s->sees = DATA_FULL;
    s->chance = 1.0 / o->values;
    s->in_context = 1.0 / o->pairs;
    s->has_distractor = true;
    s->roles.query = 0;
    s->roles.key = 1;
    s->roles.value = 2;
    s->scratch = data_larger(2 * o->pairs, data_larger(o->keys, o->values));
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    int n = o->pairs, *const *ids = out->ids[DATA_SEQUENCE], *round = out->target[0];
    rng_choose(r, o->keys, n, ids[1], out->scratch);
    rng_choose(r, o->values, n, ids[2], out->scratch);
    rng_choose(r, n, n, round, out->scratch);  // the cycle: round[j] looks for round[j+1]
    for (int j = 0; j < n; j++) {
        int i = round[j], wanted = round[(j + 1) % n];
        ids[0][i] = ids[1][wanted];
        out->source[0][i] = wanted;
        out->distractor[0][wanted] = i;
    }
    for (int i = 0; i < n; i++) out->target[0][i] = ids[2][out->source[0][i]];
}

const data_task data_task_pointer = {
    .name = "pointer",
    .summary = "every position asks, is found and carries: a random cycle of pointers",
    .recommended = "batch=16 steps=800",
    .options = table,
    .configure = configure,
    .example = example,
};
