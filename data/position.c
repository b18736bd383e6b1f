/* position.c - two questions at one position, one by content and one by position.
 *
 *     position   0     ...   n-1        n          ...   n+m-1
 *     key        k_1         k_n        -                -
 *     value      v_1         v_n        ?                ?
 *     content    -           -          k_a              k_a'     -> v_a in the readout "content"
 *     place      -           -          p_b              p_b'     -> v_b in the readout "place"
 *
 * The place is b itself, or (by=back) how far b stands before the question. With several questions these are
 * two things: a place is at another distance from each of them. a, b are independent, and every question
 * has its own; questions see the entries only. */
#include "data/data.h"

typedef struct {
    int pairs, keys, values, queries, by;
} options;

enum { BY_PLACE, BY_BACK };

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 8, 1, 4096, "stored pairs"),
    DATA_INT(options, keys, "keys", 32, 1, 65536, "key symbols"),
    DATA_INT(options, values, "values", 32, 1, 65536, "value symbols"),
    DATA_INT(options, queries, "queries", 4, 1, 4096, "questions"),
    DATA_CHOICE(options, by, "by", "place", "place|back",
                "a position is asked for by its place, or by how far back it is"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    const options *o = data_chosen(s);
    if (!data_entries_layout(s, o->pairs, o->queries, o->keys, o->values, error, size))
        return false;
    const int places = o->by == BY_BACK ? o->pairs + o->queries : o->pairs;
    data_side *sequence = &s->side[DATA_SEQUENCE];
    sequence->stream[2] = data_plain("content", "k", o->keys);
    sequence->stream[3] = data_plain("place", o->by == BY_BACK ? "-" : "p", places);
    sequence->n_streams = 4;
    s->n_readouts = 2;
    s->readout[0] = (data_readout){"content", "v", o->values, NULL, false};
    s->readout[1] = (data_readout){"place", "v", o->values, NULL, false};
    s->asked[0].query = 2;
    s->asked[0].key = 0;
    s->asked[0].value = 1;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    const int n = o->pairs;
    int *const *ids = out->ids[DATA_SEQUENCE];
    rng_choose(r, o->keys, n, ids[0], out->scratch);
    rng_choose(r, o->values, n, ids[1], out->scratch);
    for (int t = n; t < n + o->queries; t++) {
        const int at[2] = {(int)rng_below(r, (uint32_t)n), (int)rng_below(r, (uint32_t)n)};
        ids[1][t] = o->values;
        ids[2][t] = ids[0][at[0]];
        ids[3][t] = o->by == BY_BACK ? t - at[1] : at[1];
        for (int question = 0; question < 2; question++) {
            out->target[question][t] = ids[1][at[question]];
            out->source[question][t] = at[question];
        }
    }
}

static int right_entries(const data_spec *s, const data_example *e, int question, int t) {
    const options *o = data_chosen(s);
    int *const *ids = e->ids[DATA_SEQUENCE];
    if (question == 0) return data_count(ids[0], s->entries, ids[2][t]);
    const int at = o->by == BY_BACK ? t - ids[3][t] : ids[3][t];
    return at >= 0 && at < s->entries;
}

const data_task data_task_position = {
    .name = "position",
    .summary = "at one position a question by content and one by position",
    .recommended = "steps=1500 heads=2 positions=learned",
    .options = table,
    .configure = configure,
    .example = example,
    .right_entries = right_entries,
};
