/* data.h - synthetic retrieval tasks. A task fills integer arrays and knows no graph.
 *
 * Example e of a split is a pure function of (seed, split, e): batch i of size B is the examples
 * iB .. iB+B-1, so a resumed run needs the step number and nothing else, and a batch does not
 * depend on how it is cut.
 *
 * NULL: a call that leaves a sentence refuses it (without room for the sentence, too); it is no name that
 * data_find() and the like find; data_release() of it does nothing. Else it is not allowed unless a
 * comment says what it means. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/option.h"
#include "tensor/arena.h"
#include "tensor/rng.h"

TENSOR_C_BEGIN

enum {
    DATA_MAXSTREAMS = 14,
    DATA_MAXREADOUTS = 8,
    DATA_MAXLEVELS = 8,
    DATA_MAXFACTS = 12,
    DATA_SYMBOL = 64
};

/* A task has one sequence, and for cross-attention a memory beside it. */
typedef enum { DATA_SEQUENCE, DATA_MEMORY, DATA_SIDES } data_side_name;

typedef struct data_task data_task;

/* The splits that every task has; "heldout" is one more, of tasks that hold combinations out. */
typedef enum { DATA_TRAIN, DATA_VALID, DATA_TEST, DATA_SPLITS } data_split;
data_split data_split_of(const char *name);  // DATA_SPLITS: none of these

/* What a call that leaves a sentence says where it is given NULL for what must be there; false. */
bool data_null(char *error, size_t size);

/* How a task reads files: whoever configures it says how, so that file work stays in one place. */
typedef struct {
    /* The file's n bytes, to be released; false with one sentence in error. */
    bool (*read)(void *ctx, const char *path, char **bytes, size_t *n, char *error, size_t size);
    void (*release)(void *ctx, char *bytes);
    void *ctx;
} data_files;

/* A named vocabulary. Every position carries at most one id of each stream (-1: absent);
 * embeddings are summed. Two streams of one name share their table. */
typedef struct {
    const char *name, *prefix;  // symbol 6 of the prefix "k" is shown as k6
    int vocab;
    int marker;                // the id that is shown as "?"; -1: none
    const char *const *words;  // instead of prefix and number; NULL: none
    int second;  // > 0: ids from here on are another kind, shown as second_prefix and id - second
    const char *second_prefix;
} data_stream;

/* A stream of n symbols; the same with a marker as the last id. */
static inline data_stream data_plain(const char *name, const char *prefix, int n) {
    data_stream s = {name, prefix, n, -1, NULL, 0, NULL};
    return s;
}
static inline data_stream data_marked(const char *name, const char *prefix, int n) {
    data_stream s = {name, prefix, n + 1, n, NULL, 0, NULL};
    return s;
}

typedef struct {
    int T, n_streams;  // T 0: the task has no such side
    data_stream stream[DATA_MAXSTREAMS];
} data_side;

/* A question put at scored positions of the sequence. */
typedef struct {
    const char *name, *prefix;
    int classes;
    const char *const *words;
    bool has_none;  // the last class says that nothing fits, and is shown as "none"
} data_readout;

/* Whom a position of the sequence sees: itself and earlier ones, all, or the entries of the store
 * only. */
typedef enum { DATA_CAUSAL, DATA_FULL, DATA_ENTRIES } data_visibility;

/* What a task loads for itself (the words of a file ...): the first member of a struct of its own,
 * made by configure(). Examples only read it, from several threads. */
typedef struct data_own data_own;
struct data_own {
    int users;  // counted by data_retain() and data_release()
    void (*release)(data_own *own);
};

typedef struct {
    const data_task *task;
    data_options options;  // the task's own struct, see data_chosen()
    data_side side[DATA_SIDES];
    int n_readouts;
    data_readout readout[DATA_MAXREADOUTS];
    int scored;  // positions scored in every example
    data_visibility sees;
    data_side_name store;       // where the entries stand that can be asked for:
    int entries;                // its positions 0..entries-1
    int answer_at;              // the answer's symbol stands so far from the source (coref 13: -1)
    int key_at;                 // what it is found by stands so far from it (mqar kv: -1)
    double chance, in_context;  // accuracy of a blind guess; of one who cannot match; 0: unknown
    bool has_distractor;        // a position that a confused model would look at: see data_example
    bool has_held_out;          // the split "heldout" has combinations that training never shows
    double entry_scale;         // factor of the entries' embeddings; 0: 1
    /* What the circuits are read from: the stream of the sequence that asks (with a marker beside
     * it, -1: none); the streams of the store that are found, and carried. key -1: the task has no
     * such roles. */
    struct {
        int query, marker_stream, marker, key, value;
        int (*asks_for)(int key);  // the query symbol that asks for a key; NULL: the key's own
        const bool *keys;          // [symbols of the key] which of them entries have; NULL: all
        const char *missing;  // why there are none, as half a sentence; NULL: the task has none
    } roles;
    /* The same of each readout, in tasks with several: the stream that asks for its answer, those that are
     * found, and carried. key -1: it is not asked for by one symbol. With roles, [0] is those. */
    struct {
        int query, key, value;
    } asked[DATA_MAXREADOUTS];
    int scratch;                // ints of scratch that an example needs
    int examples[DATA_SPLITS];  // how many different ones there are; 0: without end
    bool leaves_out;            // lines are left out of training: task->line says which
    double characters;          // of a text, for each scored position; 0: the task is none
    const data_files *files;    // NULL: files cannot be read
    data_own *own;              // NULL: nothing
} data_spec;

/* The task's options, as the struct that its table describes. */
static inline const void *data_chosen(const data_spec *s) { return s->options.byte; }

/* One example to be written: arrays of T (ids: of each side's T). Lengths come as T. */
typedef struct {
    int *ids[DATA_SIDES][DATA_MAXSTREAMS];
    int *target[DATA_MAXREADOUTS];  // class, or -1: not scored
    int *source[DATA_MAXREADOUTS];  // the position of the store where the answer stands, or -1
    // The position that a confused model would look at; -1: none.
    int *distractor[DATA_MAXREADOUTS];
    int *length
        [DATA_SIDES];      // one number each: positions that hold something; what stands behind is
                           // padding, which nobody sees
    bool held_out;         // in: the example is of the split "heldout"
    const char *split;     // in: its split,
    uint64_t seed, index;  // seed, and number there
    int *scratch;
} data_example;

/* What one gets who does not look for the answer; the loss is summed over readouts, as a model's is.
 * NaN: unknown. */
typedef struct {
    const char *key, *label, *who;  // "blind", "chance", "a blind guess": for programs, in a
                                    // picture, in a sentence
    double accuracy, loss;
} data_level;

/* What was counted in the data: {"examples", "examples", 500}; the words follow the number. */
typedef struct {
    const char *key, *words;
    double number;
} data_fact;

struct data_task {
    const char *name, *summary;
    const char *recommended;     // options with which it is learned: "layers=2 positions=learned"
    const data_option *options;  // what can be chosen, DATA_END at the end; NULL: nothing
    /* Completes spec from spec->options, which are within their ranges; what it changes there is
     * kept. False with one sentence in error, and nothing to be released. */
    bool (*configure)(data_spec *spec, char *error, size_t size);
    /* Writes one example; every array comes filled with -1. */
    void (*example)(const data_spec *spec, rng *r, const data_example *out);
    /* How many entries would be a right answer to readout r at position t, judged by the finished
     * example alone. NULL: those whose key is asked for (spec->roles). */
    int (*right_entries)(const data_spec *spec, const data_example *e, int r, int t);
    /* The line of a file, from 1, that example `index` of a split is (0: of another file); below 0: the
     * same, left out of training's loss. NULL: examples are no lines. */
    int (*line)(const data_spec *spec, const char *split, uint64_t seed, uint64_t index);
    /* Write what is known before training, and return how many. NULL: chance and in_context; none. */
    int (*levels)(const data_spec *spec, data_split split, data_level out[DATA_MAXLEVELS]);
    int (*facts)(const data_spec *spec, data_fact out[DATA_MAXFACTS]);
};

/* The same for any task. */
int data_levels(const data_spec *s, data_split split, data_level out[DATA_MAXLEVELS]);
int data_facts(const data_spec *s, data_fact out[DATA_MAXFACTS]);

/* The same for any task; -1 if there is no way to tell. */
int data_right_entries(const data_spec *s, const data_example *e, int readout, int t);

/* How many lines a text has, as a task that reads lines counts them: empty ones and comments, too. */
int data_lines(const char *text, size_t n);

/* How often `id` stands in x[0..n-1]. */
static inline int data_count(const int *x, int n, int id) {
    int found = 0;
    for (int i = 0; i < n; i++) found += x[i] == id;
    return found;
}

/* What the entries' embeddings are multiplied by. */
static inline double data_entry_scale(const data_spec *s) {
    return s->entry_scale > 0 ? s->entry_scale : 1;
}

static inline int data_larger(int a, int b) { return a > b ? a : b; }

/* n stored pairs need more keys and values than that, or attention could learn to avoid the right
 * one; false with a sentence. */
bool data_pairs_fit(const data_spec *s, int n, int keys, int values, char *error, size_t size);

/* What tasks share in which n entries (key, value) stand before questions, as streams 0 and 1, a question
 * having the marker "?" as its value; it sees the entries only. The readouts are the task's own. */
bool data_entries_layout(data_spec *s, int n, int questions, int keys, int values, char *error,
                         size_t size);

/* The same of pairs and partner: one question, which has its key in the keys' stream, and is answered with a
 * value; causal. */
bool data_pairs_layout(data_spec *s, int n, int keys, int values, char *error, size_t size);

/* The catalogue: one line a task in tasks.def. */
#define DATA_TASK(name) extern const data_task data_task_##name;
#include "data/tasks.def"
#undef DATA_TASK
extern const data_task *const data_tasks[];  // NULL ends it
const data_task *data_find(const char *name);

/* The spec of a task under options (NULL: its defaults); false with one sentence in error. What
 * the task loaded is freed with the last release: one for configuring, one for each retain, which
 * is for those who keep a copy. */
bool data_configure(const data_task *task, const data_options *options, data_spec *spec,
                    char *error, size_t size);

/* The same for a task that may read files, which data_configure() cannot. */
bool data_configure_from(const data_task *task, const data_options *options,
                         const data_files *files, data_spec *spec, char *error, size_t size);

/* The least of `count` and the number of different examples of a split. */
int data_at_most(const data_spec *s, const char *split, int count);

void data_retain(data_spec *spec);
void data_release(data_spec *spec);

/* B examples side by side: arrays [B,T] in the arena's memory. */
typedef struct {
    const data_spec *spec;
    int B;
    data_example rows;  // the arrays of all examples; example b begins at b*T of its side
    const char *wrong;  // half a sentence, once the task has written where it may not: the rows are
                        // not to be used
    int margin;         // of the scratch memory
} data_batch;

/* False when memory is out. spec must outlive the batch. */
bool data_batch_new(tensor_arena *arena, const data_spec *spec, int B, data_batch *out);

/* Examples first .. first+count-1 of a split into rows 0..count-1; the other rows repeat the last
 * one, unscored. */
void data_fill(data_batch *b, uint64_t seed, const char *split, uint64_t first, int count);

/* Does the task write only where it may, in a few examples? Done by data_configure(). */
bool data_try(const data_spec *spec, char *error, size_t size);

/* A hash of all ids of the one example in a batch of one. */
uint64_t data_fingerprint(const data_batch *b);

/* The share of `count` examples of a split that occur among the first `trained` of "train": what a
 * model can know by heart. NaN: nothing to compare, or memory is out. */
double data_seen(const data_spec *spec, uint64_t seed, const char *split, int count, int trained);

/* The stream that plays a role, and its ids of all examples. */
static inline const data_stream *data_key(const data_spec *s) {
    return &s->side[s->store].stream[s->roles.key];
}
static inline const data_stream *data_value(const data_spec *s) {
    return &s->side[s->store].stream[s->roles.value];
}
static inline const data_stream *data_query(const data_spec *s) {
    return &s->side[DATA_SEQUENCE].stream[s->roles.query];
}

/* How many symbols a stream has, its marker left out (which is the last id). */
int data_symbols(const data_stream *s);

/* How many positions of a side hold something in an example. */
int data_length(const data_batch *b, data_side_name side, int example);

/* The symbol of an id as people read it: "k6", "?" or "" (absent). Returns out. */
char *data_symbol(const data_stream *s, int id, char out[DATA_SYMBOL]);
char *data_answer(const data_readout *r, int id, char out[DATA_SYMBOL]);

/* Of each word of the first stream the class of the first readout that it is, or -1, in the arena;
 * both must have words. NULL: out of memory. */
const int *data_answers_of_words(const data_spec *s, tensor_arena *arena);

/* What stands at a position of an example: "k6 v12". Returns out, of `size` bytes. */
char *data_position(const data_batch *b, data_side_name side, int example, int t, char *out,
                    size_t size);

/* Does an entry stand at position p of the store, of one example's keys and values? */
static inline bool data_is_entry(const data_spec *s, const int *key, const int *value, int p) {
    return p < s->entries && key[p] >= 0 && value[p] >= 0;
}

/* Why there are no roles, as half a sentence; NULL: there are. */
static inline const char *data_no_roles(const data_spec *s) {
    return s->roles.key >= 0  ? NULL
           : s->roles.missing ? s->roles.missing
                              : "the task has no keys and values";
}

/* The query symbol that asks for a key. */
static inline int data_asks_for(const data_spec *s, int key) {
    return s->roles.asks_for ? s->roles.asks_for(key) : key;
}

TENSOR_C_END
