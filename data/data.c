/* data.c - the catalogue, specs, and how symbols are shown. */
#include "data/data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/visible.h"

const data_task *const data_tasks[] = {
#define DATA_TASK(name) &data_task_##name,
#include "data/tasks.def"
#undef DATA_TASK
    NULL};

bool data_null(char *error, size_t size) {
    if (error) snprintf(error, size, "a task, or what is to be filled for it, is NULL");
    return false;
}

const data_task *data_find(const char *name) {
    for (int i = 0; name && data_tasks[i]; i++)
        if (strcmp(data_tasks[i]->name, name) == 0) return data_tasks[i];
    return NULL;
}

int data_length(const data_batch *b, data_side_name side, int example) {
    return b->rows.length[side][example];
}

/* Is there a text for each of n symbols, but for the one that is shown as "?", by words or by a prefix? */
static bool has_words(const char *const *words, const char *prefix, int n, int marker) {
    for (int i = 0; words && i < n; i++)
        if (!words[i] && i != marker) return false;
    return words || prefix;
}

static bool is_stream(const data_stream *s) {
    const int n = s->second > 0 ? s->second : data_symbols(s);
    return s->name && s->vocab > 0 && s->marker < s->vocab && s->second <= s->vocab &&
           has_words(s->words, s->prefix, n, s->marker) && (s->second <= 0 || s->second_prefix);
}

static bool is_readout(const data_readout *r) {
    return r->name && r->classes > 0 &&
           has_words(r->words, r->prefix, r->classes - r->has_none, -1);
}

/* Does every stream have a name and symbols, every side no more streams than there is room for? */
static const char *wrong_side(const data_side *side) {
    if (side->T < 0 || side->T > 1 << 20) return "a side has a bad number of positions";
    if (side->T > 0 && (side->n_streams < 1 || side->n_streams > DATA_MAXSTREAMS))
        return "a side has a bad number of streams";
    for (int i = 0; side->T > 0 && i < side->n_streams; i++)
        if (!is_stream(&side->stream[i]))
            return "a stream has no name, no symbols or no prefix, or one of its words is NULL";
    return NULL;
}

/* What a task must not leave undone, as half a sentence; NULL: all is well. */
static const char *wrong_with(const data_spec *s) {
    const data_side *sequence = &s->side[DATA_SEQUENCE], *store = &s->side[s->store == DATA_MEMORY];
    for (int i = 0; i < DATA_SIDES; i++)
        if (wrong_side(&s->side[i])) return wrong_side(&s->side[i]);
    if (sequence->T < 1) return "there is no sequence";
    if (s->n_readouts < 1 || s->n_readouts > DATA_MAXREADOUTS)
        return "there are too few or too many readouts";
    for (int r = 0; r < s->n_readouts; r++)
        if (!is_readout(&s->readout[r]))
            return "a readout has no name, no classes or no prefix, or one of its words is NULL";
    if (s->scored < 1 || s->scored > sequence->T) return "the number of scored positions is wrong";
    if (s->entries < 0 || s->entries > store->T)
        return "there are more entries than positions in the store";
    if (s->scratch < 0) return "scratch is negative";
    if (s->roles.marker_stream >= sequence->n_streams) return "a role names no stream";
    for (int r = 0; r < s->n_readouts; r++)
        if (s->asked[r].key >= store->n_streams ||
            (s->asked[r].key >= 0 &&
             (s->asked[r].value < 0 || s->asked[r].value >= store->n_streams ||
              s->asked[r].query < 0 || s->asked[r].query >= sequence->n_streams)))
            return "what asks, is found or carried names no stream";
    if (s->roles.key < 0) return NULL;
    if (s->roles.key >= store->n_streams || s->roles.value < 0 ||
        s->roles.value >= store->n_streams || s->roles.query < 0 ||
        s->roles.query >= sequence->n_streams)
        return "a role names no stream";
    for (int k = 0; k < data_symbols(data_key(s)); k++)
        if (data_asks_for(s, k) < 0 || data_asks_for(s, k) >= data_symbols(data_query(s)))
            return "asks_for() is not a symbol that asks";
    return NULL;
}

static bool in_range(const data_spec *s, char *error, size_t size) {
    for (const data_option *o = s->task->options; o && o->option; o++) {
        double x = data_option_number(o, s->options.byte);
        if (o->kind == DATA_KIND_TEXT || o->kind == DATA_KIND_FILE || data_option_holds(o, x))
            continue;
        snprintf(error, size, "%s: --%s: %g is not between %g and %g", s->task->name, o->option, x,
                 o->least, o->greatest);
        return false;
    }
    return true;
}

/* A task that refuses its options should say why; one of somebody else's may not. */
static bool refused(const data_task *task, char *error, size_t size) {
    if (size && !*error)
        snprintf(error, size,
                 "the task '%s' refuses its options without a reason: its configure() returned "
                 "false and left `error` empty",
                 task->name);
    return false;
}

bool data_configure(const data_task *task, const data_options *options, data_spec *spec,
                    char *error, size_t size) {
    return data_configure_from(task, options, NULL, spec, error, size);
}

bool data_configure_from(const data_task *task, const data_options *options,
                         const data_files *files, data_spec *spec, char *error, size_t size) {
    if (!task || !spec || !error) return data_null(error, size);
    const char *wrong = task->name && task->configure && task->example
                            ? data_options_wrong(task->options)
                            : "it lacks its name, configure() or example()";
    *spec =
        (data_spec){.task = task, .files = files, .roles = {-1, -1, -1, -1, -1, NULL, NULL, NULL}};
    for (int r = 0; r < DATA_MAXREADOUTS; r++) spec->asked[r].key = -1;
    if (!wrong) {
        if (options)
            spec->options = *options;
        else
            data_options_reset(task->options, &spec->options);
        if (size) *error = '\0';
        if (!in_range(spec, error, size)) return false;
        if (!task->configure(spec, error, size)) return refused(task, error, size);
        data_retain(spec);
        if (spec->roles.key >= 0) {
            spec->asked[0].query = spec->roles.query;
            spec->asked[0].key = spec->roles.key;
            spec->asked[0].value = spec->roles.value;
        }
        wrong = wrong_with(spec);
    }
    if (wrong)
        snprintf(error, size, "the task '%s' is not complete: %s", task->name ? task->name : "",
                 wrong);
    else if (data_try(spec, error, size))
        return true;
    data_release(spec);
    return false;
}

void data_retain(data_spec *spec) {
    if (spec && spec->own) spec->own->users++;
}

void data_release(data_spec *spec) {
    data_own *own = spec ? spec->own : NULL;
    if (own) spec->own = NULL;
    if (own && --own->users == 0) own->release(own);
}

data_split data_split_of(const char *name) {
    static const char *const names[] = {"train", "valid", "test"};
    int split = 0;
    if (!name) return DATA_SPLITS;
    while (split < DATA_SPLITS && strcmp(name, names[split]) != 0) split++;
    return (data_split)split;
}

int data_at_most(const data_spec *s, const char *split, int count) {
    const data_split which = data_split_of(split);
    const int all = which < DATA_SPLITS ? s->examples[which] : 0;
    return all > 0 && all < count ? all : count;
}

int data_right_entries(const data_spec *s, const data_example *e, int readout, int t) {
    if (s->task->right_entries) return s->task->right_entries(s, e, readout, t);
    if (s->roles.key < 0) return -1;
    int asked = e->ids[DATA_SEQUENCE][s->roles.query][t], found = 0;
    const int *key = e->ids[s->store][s->roles.key], *value = e->ids[s->store][s->roles.value];
    for (int i = 0; i < s->entries; i++)
        found += data_is_entry(s, key, value, i) && data_asks_for(s, key[i]) == asked;
    return found;
}

/* A text that a task forgot. */
static const char *given(const char *text, const char *otherwise) {
    return text ? text : otherwise;
}

int data_levels(const data_spec *s, data_split split, data_level out[DATA_MAXLEVELS]) {
    const data_level known[] = {
        {"blind", "chance", "a blind guess", s->chance, 0},
        {"unmatched", "cannot match", "a model that cannot match", s->in_context, 0}};
    int n = 0;
    if (s->task->levels) {
        n = s->task->levels(s, split, out);
        for (int i = 0; i < n; i++) {
            out[i].key = given(out[i].key, "level");
            out[i].label = given(out[i].label, out[i].key);
            out[i].who = given(out[i].who, out[i].label);
        }
        return n;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].accuracy <= 0) continue;
        out[n] = known[i];
        out[n++].loss = 0 - s->n_readouts * log(known[i].accuracy);
    }
    return n;
}

int data_facts(const data_spec *s, data_fact out[DATA_MAXFACTS]) {
    const int n = s->task->facts ? s->task->facts(s, out) : 0;
    for (int i = 0; i < n; i++) {
        out[i].key = given(out[i].key, "number");
        out[i].words = given(out[i].words, out[i].key);
    }
    return n;
}

int data_symbols(const data_stream *s) { return s->marker >= 0 ? s->marker : s->vocab; }

/* A word that is no text, as a byte 0, has one byte all the same. */
static char *show(const char *prefix, const char *const *words, int id, char out[DATA_SYMBOL]) {
    if (words) {
        const size_t n = strlen(words[id]);
        return data_visible(words[id], n ? n : 1, out, DATA_SYMBOL);
    }
    snprintf(out, DATA_SYMBOL, "%s%d", prefix, id);
    return out;
}

char *data_symbol(const data_stream *s, int id, char out[DATA_SYMBOL]) {
    if (s->second > 0 && id >= s->second) return show(s->second_prefix, NULL, id - s->second, out);
    if (id >= 0 && id != s->marker) return show(s->prefix, s->words, id, out);
    snprintf(out, DATA_SYMBOL, "%s", id < 0 ? "" : "?");
    return out;
}

char *data_answer(const data_readout *r, int id, char out[DATA_SYMBOL]) {
    if (r->has_none && id == r->classes - 1) return strcpy(out, "none");
    return show(r->prefix, r->words, id, out);
}

bool data_pairs_fit(const data_spec *s, int n, int keys, int values, char *error, size_t size) {
    if (!s || !error) return data_null(error, size);
    if (n < keys && n < values) return true;
    snprintf(error, size, "%s: %d pairs need more than %d keys and values, there are %d and %d",
             s->task->name, n, n, keys, values);
    return false;
}

char *data_position(const data_batch *b, data_side_name side, int example, int t, char *out,
                    size_t size) {
    const data_side *s = &b->spec->side[side];
    size_t n = 0;
    out[0] = '\0';
    for (int i = 0; i < s->n_streams; i++) {
        char symbol[DATA_SYMBOL];
        data_symbol(&s->stream[i], b->rows.ids[side][i][example * s->T + t], symbol);
        if (!*symbol) continue;
        if (n + strlen(symbol) + sizeof " ..." >= size) return strcpy(out + n, "..."), out;
        n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " " : "", symbol);
    }
    return out;
}

bool data_entries_layout(data_spec *s, int n, int questions, int keys, int values, char *error,
                         size_t size) {
    if (!data_pairs_fit(s, n, keys, values, error, size)) return false;
    s->side[DATA_SEQUENCE] = (data_side){
        n + questions, 2, {data_plain("key", "k", keys), data_marked("value", "v", values)}};
    s->scored = questions;
    s->sees = DATA_ENTRIES;
    s->entries = n;
    s->chance = 1.0 / values;
    s->in_context = 1.0 / n;
    s->roles.marker_stream = 1;
    s->roles.marker = values;
    s->scratch = data_larger(keys, values);
    return true;
}

bool data_pairs_layout(data_spec *s, int n, int keys, int values, char *error, size_t size) {
    if (!data_entries_layout(s, n, 1, keys, values, error, size)) return false;
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"value", "v", values, NULL, false};
    s->sees = DATA_CAUSAL;
    s->roles.query = s->roles.key = 0;
    s->roles.value = 1;
    return true;
}
