/* attributes.c - four questions about four kinds of attribute, of items chosen independently.
 *
 * Each of n items has four match symbols (one of each kind) and four contents (one of each kind).
 * The question gives a match symbol of each kind, each of an item chosen on its own; asked for is,
 * in each kind, the content of that item. */
#include <stdio.h>

#include "data/data.h"

enum { KINDS = 4 };

typedef struct {
    int pairs, keys, values;
} options;

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 4, 1, 4096, "stored items"),
    DATA_INT(options, keys, "keys", 8, 1, 65536, "match symbols of a kind"),
    DATA_INT(options, values, "values", 8, 1, 65536, "contents of a kind"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    static const char *const match[] = {"match1", "match2", "match3", "match4"};
    static const char *const content[] = {"content1", "content2", "content3", "content4"};
    static const char *const query[] = {"query1", "query2", "query3", "query4"};
    const options *o = data_chosen(s);
    data_side *sequence = &s->side[DATA_SEQUENCE];
    if (!data_entries_layout(s, o->pairs, 1, o->keys, o->values, error, size)) return false;
    s->roles.marker_stream = s->roles.marker = -1;
    sequence->n_streams = 3 * KINDS;
    for (int i = 0; i < KINDS; i++) {
        sequence->stream[i] = data_plain(match[i], "m", o->keys);
        sequence->stream[KINDS + i] = data_plain(content[i], "c", o->values);
        sequence->stream[2 * KINDS + i] = data_plain(query[i], "m", o->keys);
        s->readout[i] = (data_readout){content[i], "c", o->values, NULL, false};
        s->asked[i].query = 2 * KINDS + i;
        s->asked[i].key = i;
        s->asked[i].value = KINDS + i;
    }
    s->n_readouts = KINDS;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    int n = o->pairs, *const *ids = out->ids[DATA_SEQUENCE];
    for (int kind = 0; kind < KINDS; kind++) {
        int *match = ids[kind], *content = ids[KINDS + kind], at = (int)rng_below(r, (uint32_t)n);
        rng_choose(r, o->keys, n, match, out->scratch);
        rng_choose(r, o->values, n, content, out->scratch);
        ids[2 * KINDS + kind][n] = match[at];
        out->target[kind][n] = content[at];
        out->source[kind][n] = at;
    }
}

static int right_entries(const data_spec *s, const data_example *e, int kind, int t) {
    return data_count(e->ids[DATA_SEQUENCE][kind], s->entries,
                      e->ids[DATA_SEQUENCE][2 * KINDS + kind][t]);
}

const data_task data_task_attributes = {
    .name = "attributes",
    .summary = "four kinds of attribute, a question of each kind at one position",
    .recommended = "d-model=64 heads=4 steps=2500",
    .options = table,
    .configure = configure,
    .example = example,
    .right_entries = right_entries,
};
