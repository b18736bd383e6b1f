/* induction.c - what came after this token the last time?
 *
 *     a b c d | c d a b      l distinct tokens, then the same turned by a random number of places
 *
 * At each position of the second half but one (that holds the first half's last token) the next
 * token is asked for. The random turn rules out a merely positional answer; the same token is key
 * at one position and content at another. */
#include "data/data.h"

static bool configure(data_spec *s, char *error, size_t size) {
    data_options *o = &s->options;
    if (!data_pairs_options(s, 12, 32, o->keys ? o->keys : 32, error, size)) return false;
    s->side[DATA_SEQUENCE] = (data_side){2 * o->pairs, 1, {data_plain("token", "t", o->keys)}};
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"token", "t", o->keys, NULL};
    s->scored = o->pairs - 1;
    s->sees = DATA_CAUSAL;
    s->entries = o->pairs;
    s->chance = 1.0 / o->keys;
    s->in_context = 1.0 / o->pairs;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    int l = s->options.pairs, *token = out->ids[DATA_SEQUENCE][0],
        turn = (int)rng_below(r, (uint32_t)l);
    rng_choose(r, s->options.keys, l, token, out->scratch);
    for (int i = 0; i < l; i++) {
        int j = (i + turn) % l;
        token[l + i] = token[j];
        if (j == l - 1) continue;  // nothing came after it
        out->target[0][l + i] = token[j + 1];
        out->source[0][l + i] = j + 1;
    }
}

static int right_entries(const data_spec *s, const data_example *e, int r, int t) {
    const int *token = e->ids[DATA_SEQUENCE][0];
    (void)r;
    return data_count(token, s->entries - 1, token[t]);  // nothing came after the last one
}

const data_task data_task_induction = {
    "induction",
    "a sequence repeated from a random place: say what comes next",
    "layers=2 positions=learned batch=32 steps=700",
    configure,
    example,
    right_entries};
