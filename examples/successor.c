/* successor.c - a task of one's own: asked for a month, answer what stands with the month after it.
 *
 *     position   0      1      ...   n-1          n
 *     month      Mar    Nov          Aug          Oct
 *     value      v4     v17          v9           ?     -> v17
 *
 *     qkv train --plugin successor.c --task successor --out runs/successor
 *
 * In the built-in task `pairs` a question matches the key that equals it. Here it never does: Q and
 * K have to learn who follows whom. The months stand in random order, so positions do not help. */
#include "train/config/plugin.h"

enum { MONTHS = 12, MONTH = 0, VALUE = 1 };  // symbols; the two streams

static const char *const months[MONTHS] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/* The month whose question wants the entry of this month. */
static int before(int month) { return (month + MONTHS - 1) % MONTHS; }

// What can be chosen on the command line, beside what every run has.
typedef struct {
    int pairs, values;
} options;

static const data_option table[] = {
    DATA_INT(options, pairs, "pairs", 6, 1, MONTHS - 1, "stored months"),
    DATA_INT(options, values, "values", 32, 1, 65536, "value symbols"),
    DATA_END,
};

static bool configure(data_spec *s, char *error, size_t size) {
    const options *o = data_chosen(s);
    if (!data_pairs_fit(s, o->pairs, MONTHS, o->values, error, size)) return false;

    // What stands at each position: a month; a value v0, v1 ... or the marker "?", its last id.
    data_side *row = &s->side[DATA_SEQUENCE];
    row->T = o->pairs + 1;
    row->n_streams = 2;
    row->stream[MONTH] = data_plain("month", "", MONTHS);
    row->stream[MONTH].words = months;
    row->stream[VALUE] = data_marked("value", "v", o->values);

    // What is asked: one question an example, whose answer is one of the values.
    s->n_readouts = 1;
    s->readout[0] = (data_readout){.name = "value", .prefix = "v", .classes = o->values};
    s->scored = 1;
    s->sees = DATA_CAUSAL;
    s->store = DATA_SEQUENCE;  // what can be asked for stands in the row itself,
    s->entries = o->pairs;     // at its positions 0..pairs-1
    s->chance = 1.0 / o->values;
    s->in_context = 1.0 / o->pairs;

    // For pictures and interventions: which stream asks, which is found, which is carried.
    s->roles.query = s->roles.key = MONTH;
    s->roles.value = s->roles.marker_stream = VALUE;
    s->roles.marker = o->values;
    s->roles.asks_for = before;
    s->scratch = data_larger(MONTHS, o->values);  // rng_choose() works in it
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    const options *o = data_chosen(s);
    int n = o->pairs, t = (int)rng_below(r, (uint32_t)n);
    int *month = out->ids[DATA_SEQUENCE][MONTH], *value = out->ids[DATA_SEQUENCE][VALUE];
    rng_choose(r, MONTHS, n, month, out->scratch);
    rng_choose(r, o->values, n, value, out->scratch);
    month[n] = before(month[t]);
    value[n] = s->roles.marker;
    out->target[0][n] = value[t];
    out->source[0][n] = t;
}

static const data_task successor = {
    .name = "successor",
    .summary = "asks for a month; the answer stands with the month after it",
    .options = table,
    .configure = configure,
    .example = example,
};

static const data_task *const tasks[] = {&successor, NULL};

const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), .tasks = tasks};
