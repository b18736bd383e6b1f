/* two.c - two questions at one position: what one softmax and a linear reader cannot do, two heads can.
 *
 *     position   0     ...   n-1        n
 *     key        k_1         k_n        -
 *     value      v_1         v_n        ?
 *     first      -           -          k_a    -> v_a in the readout "first"
 *     second     -           -          k_b    -> v_b in the readout "second"
 *
 * a and b are different entries. The question sees the entries only. With answers=sorted "first" is the
 * lesser of both values and "second" the greater: the same two entries, but who asked for which is no
 * longer needed. */
#include <stdio.h>

#include "data/data.h"

typedef struct {
    int pairs, keys, values, answers;
} options;

enum { ASKED, SORTED };

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 8, 1, 4096, "stored pairs"),
    DATA_INT(options, keys, "keys", 32, 1, 65536, "key symbols"),
    DATA_INT(options, values, "values", 32, 1, 65536, "value symbols"),
    DATA_CHOICE(options, answers, "answers", "asked", "asked|sorted",
                "in the order asked, or the lesser value first"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    const options *o = data_chosen(s);
    static const char *const names[] = {"first", "second"};
    data_side *sequence = &s->side[DATA_SEQUENCE];
    if (!data_entries_layout(s, o->pairs, 1, o->keys, o->values, error, size)) return false;
    if (o->pairs < 2) return snprintf(error, size, "two: at least 2 pairs are needed"), false;
    for (; s->n_readouts < 2; s->n_readouts++) {
        const int r = s->n_readouts;
        sequence->stream[sequence->n_streams++] = data_plain(names[r], "k", o->keys);
        s->readout[r] = (data_readout){names[r], "v", o->values, NULL, false};
        if (o->answers == SORTED) continue;  // which of both asks for it depends on the values
        s->asked[r].query = 2 + r;
        s->asked[r].key = 0;
        s->asked[r].value = 1;
    }
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    int n = o->pairs, *const *ids = out->ids[DATA_SEQUENCE], at[2];
    rng_choose(r, o->keys, n, ids[0], out->scratch);
    rng_choose(r, o->values, n, ids[1], out->scratch);
    rng_choose(r, n, 2, at, out->scratch);
    ids[1][n] = o->values;
    for (int slot = 0; slot < 2; slot++) ids[2 + slot][n] = ids[0][at[slot]];
    const int swapped = o->answers == SORTED && ids[1][at[0]] > ids[1][at[1]];
    for (int slot = 0; slot < 2; slot++) {
        out->source[slot][n] = at[slot ^ swapped];
        out->target[slot][n] = ids[1][at[slot ^ swapped]];
    }
}

static int right_entries(const data_spec *s, const data_example *e, int slot, int t) {
    const options *o = data_chosen(s);
    int *const *ids = e->ids[DATA_SEQUENCE], asked[2] = {-1, -1}, found = 0;
    if (o->answers == ASKED) return data_count(ids[0], s->entries, ids[2 + slot][t]);
    for (int i = 0; i < s->entries; i++)
        for (int k = 0; k < 2; k++)
            if (ids[0][i] == ids[2 + k][t]) asked[k] = ids[1][i], found++;
    return found == 2 && asked[0] != asked[1];  // one of them is the lesser, one the greater
}

const data_task data_task_two = {
    .name = "two",
    .summary = "two questions at one position, two answers",
    .recommended = "steps=1500 heads=2",
    .options = table,
    .configure = configure,
    .example = example,
    .right_entries = right_entries,
};
