/* induction.c - what came after this token the last time?
 *
 *     a b c d | c d a b      l distinct tokens, then the same turned by a random number of places
 *
 * At each position of the second half but one (that holds the first half's last token) the next
 * token is asked for. The random turn rules out a merely positional answer; the same token is key
 * at one position and content at another. */
#include "data/data.h"

typedef struct {
    int pairs, keys;
} options;

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 12, 1, 4096, "tokens before the repeat"),
    DATA_INT(options, keys, "keys", 32, 1, 65536, "token symbols"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    const options *o = data_chosen(s);
    if (!data_pairs_fit(s, o->pairs, o->keys, o->keys, error, size)) return false;
    s->side[DATA_SEQUENCE] = (data_side){2 * o->pairs, 1, {data_plain("token", "t", o->keys)}};
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"token", "t", o->keys, NULL, false};
    s->scored = o->pairs - 1;
    s->sees = DATA_CAUSAL;
    s->entries = o->pairs;
    s->chance = 1.0 / o->keys;
    s->in_context = 1.0 / o->pairs;
    s->key_at = -1;  // a token is found by the one before it
    s->scratch = o->keys;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    int l = o->pairs, *token = out->ids[DATA_SEQUENCE][0], turn = (int)rng_below(r, (uint32_t)l);
    rng_choose(r, o->keys, l, token, out->scratch);
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
    .name = "induction",
    .summary = "a sequence repeated from a random place: say what comes next",
    .recommended = "layers=2 positions=learned batch=32 steps=700",
    .options = table,
    .configure = configure,
    .example = example,
    .right_entries = right_entries,
};
