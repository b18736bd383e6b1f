/* set3.c - set algebra over two fetched items.
 *
 * An item is a key and a set of two contents. The question names two keys a and b, with
 *     set(a) = {x, z}, set(b) = {y, z}.
 * Asked for: x (only in a), y (only in b), z (in both): linear in what two heads fetch (a - b,
 * b - a, a + b), but no convex combination of items, which is all that one head can give, holds x
 * without z. */
#include <stdio.h>

#include "data/data.h"

typedef struct {
    int pairs, keys, values;
} options;

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 6, 1, 4096, "stored items"),
    DATA_INT(options, keys, "keys", 16, 1, 65536, "key symbols"),
    DATA_INT(options, values, "values", 16, 1, 65536, "contents"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    const options *o = data_chosen(s);
    if (!data_pairs_fit(s, o->pairs, o->keys, o->values, error, size)) return false;
    if (o->pairs < 2 || o->values < 4)
        return snprintf(error, size, "set3: at least 2 items and 4 contents are needed"), false;
    s->side[DATA_SEQUENCE] =
        (data_side){o->pairs + 1,
                    5,
                    {data_plain("key", "k", o->keys), data_marked("content", "c", o->values),
                     data_marked("content", "c", o->values), data_plain("first", "k", o->keys),
                     data_plain("second", "k", o->keys)}};
    static const char *const names[] = {"only_a", "only_b", "both"};
    s->n_readouts = 3;
    for (int r = 0; r < 3; r++)
        s->readout[r] = (data_readout){names[r], "c", o->values, NULL, false};
    s->scored = 1;
    s->sees = DATA_ENTRIES;
    s->entries = o->pairs;
    s->chance = 1.0 / o->values;
    s->scratch = data_larger(o->keys, o->values);
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    enum { X, Y, Z };
    const options *o = data_chosen(s);
    int n = o->pairs, contents = o->values, *const *ids = out->ids[DATA_SEQUENCE], at[2], xyz[3];
    rng_choose(r, o->keys, n, ids[0], out->scratch);
    rng_choose(r, n, 2, at, out->scratch);
    rng_choose(r, contents, 3, xyz, out->scratch);
    for (int i = 0; i < n; i++) {
        int pair[2], turned = (int)rng_below(r, 2);  // a set has no order
        rng_choose(r, contents, 2, pair, out->scratch);
        if (i == at[0]) pair[0] = xyz[X], pair[1] = xyz[Z];
        if (i == at[1]) pair[0] = xyz[Y], pair[1] = xyz[Z];
        ids[1][i] = pair[turned];
        ids[2][i] = pair[1 - turned];
    }
    ids[1][n] = contents;
    ids[3][n] = ids[0][at[0]];
    ids[4][n] = ids[0][at[1]];
    for (int slot = 0; slot < 3; slot++) out->target[slot][n] = xyz[slot];
    out->source[0][n] = at[0];
    out->source[1][n] = at[1];
    out->source[2][n] = at[0];  // z stands in both
}

/* The content must be in the first set alone, in the second alone, or in both: the sets that are
 * asked for decide. */
static int right_entries(const data_spec *s, const data_example *e, int slot, int t) {
    int *const *ids = e->ids[DATA_SEQUENCE], at[2] = {-1, -1}, found = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < s->entries; i++)
            if (ids[0][i] == ids[3 + k][t]) at[k] = i;
    if (at[0] < 0 || at[1] < 0) return 0;
    for (int content = 0; content < s->readout[slot].classes; content++) {
        bool in[2];
        for (int k = 0; k < 2; k++) in[k] = ids[1][at[k]] == content || ids[2][at[k]] == content;
        found += slot == 0 ? in[0] && !in[1] : slot == 1 ? in[1] && !in[0] : in[0] && in[1];
    }
    return found;
}

const data_task data_task_set3 = {
    .name = "set3",
    .summary = "two keys, three answers: in one set only, in the other only, in both",
    .recommended = "d-model=48 heads=3 steps=800 no-residual",
    .options = table,
    .configure = configure,
    .example = example,
    .right_entries = right_entries,
};
