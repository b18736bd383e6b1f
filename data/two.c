/* two.c - two questions at one position: what one softmax cannot do, two heads can.
 *
 *     position   0     ...   n-1        n
 *     key        k_1         k_n        -
 *     value      v_1         v_n        ?
 *     first      -           -          k_a    -> v_a in the readout "first"
 *     second     -           -          k_b    -> v_b in the readout "second"
 *
 * a and b are different entries. The question sees the entries only. */
#include <stdio.h>

#include "data/data.h"

static bool configure(data_spec *s, char *error, size_t size) {
    data_options *o = &s->options;
    if (!data_pairs_options(s, 8, 32, 32, error, size)) return false;
    if (o->pairs < 2) return snprintf(error, size, "two: at least 2 pairs are needed"), false;
    s->side[DATA_SEQUENCE] =
        (data_side){o->pairs + 1,
                    4,
                    {data_plain("key", "k", o->keys), data_marked("value", "v", o->values),
                     data_plain("first", "k", o->keys), data_plain("second", "k", o->keys)}};
    s->n_readouts = 2;
    s->readout[0] = (data_readout){"first", "v", o->values, NULL};
    s->readout[1] = (data_readout){"second", "v", o->values, NULL};
    s->scored = 1;
    s->sees = DATA_ENTRIES;
    s->entries = o->pairs;
    s->chance = 1.0 / o->values;
    s->in_context = 1.0 / o->pairs;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    int n = s->options.pairs, *const *ids = out->ids[DATA_SEQUENCE], at[2];
    rng_choose(r, s->options.keys, n, ids[0], out->scratch);
    rng_choose(r, s->options.values, n, ids[1], out->scratch);
    rng_choose(r, n, 2, at, out->scratch);
    ids[1][n] = s->options.values;
    for (int slot = 0; slot < 2; slot++) {
        ids[2 + slot][n] = ids[0][at[slot]];
        out->target[slot][n] = ids[1][at[slot]];
        out->source[slot][n] = at[slot];
    }
}

static int right_entries(const data_spec *s, const data_example *e, int slot, int t) {
    return data_count(e->ids[DATA_SEQUENCE][0], s->entries, e->ids[DATA_SEQUENCE][2 + slot][t]);
}

const data_task data_task_two = {"two",
                                 "two questions at one position, two answers",
                                 "steps=1500 heads=2",
                                 configure,
                                 example,
                                 right_entries};
