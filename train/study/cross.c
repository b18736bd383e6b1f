/* cross.c - the probe of the task cross: what must not matter, and what must.
 *
 *     permuted: the memory's entries in another order         -> the same answers
 *     values:   the values alone in another order             -> looks at the same slot, says its
 * new value reversed: the questions in the opposite order           -> the answers in the opposite
 * order
 *
 * Fractions of the questions. */
#include <math.h>
#include <string.h>

#include "tensor/rng.h"
#include "train/probe/look.h"
#include "train/probe/observe.h"
#include "train/study/probe.h"

enum { EXAMPLES = 500 };

typedef struct tally {
    bool (*change)(qkv_trainer *t, qkv_trainer_worker *w, struct tally *sum);
    rng random;
    long rows;
    double unchanged, looks_same, says_new, reversed;
    int *order, *scratch;  // of the entries
    int *says, *looks;     // [n_rows] before the change
} tally;

/* x[i] becomes what stood at order[i]. */
static void permute(const tally *sum, int *x, int n) {
    memcpy(sum->scratch, x, (size_t)n * sizeof *x);
    for (int i = 0; i < n; i++) x[i] = sum->scratch[sum->order[i]];
}

static void turn(int *x, int n) {
    for (int i = 0; i < n / 2; i++) qkv_probe_swap(x, i, n - 1 - i);
}

/* Draws a new order of example b's entries and permutes the streams from..to-1 of its memory. */
static void shuffle(qkv_trainer *t, qkv_trainer_worker *w, tally *sum, int b, int from, int to) {
    int n = qkv_trainer_spec(t)->entries;
    rng_choose(&sum->random, n, n, sum->order, sum->scratch);
    for (int s = from; s < to; s++) permute(sum, qkv_probe_ids(t, w, DATA_MEMORY, s, b), n);
}

static bool replay(qkv_trainer *t, qkv_trainer_worker *w) {
    qkv_trainer_reload(t, w);
    return qkv_probe_replay(w);
}

static bool permuted(qkv_trainer *t, qkv_trainer_worker *w, tally *sum) {
    int streams = qkv_trainer_spec(t)->side[DATA_MEMORY].n_streams;
    for (int b = 0; b < w->count; b++) shuffle(t, w, sum, b, 0, streams);
    if (!replay(t, w)) return false;
    for (int n = 0; n < qkv_probe_rows(w); n++)
        sum->unchanged += qkv_probe_answer(t, w, 0, n) == sum->says[n];
    return true;
}

static bool values_permuted(qkv_trainer *t, qkv_trainer_worker *w, tally *sum) {
    int stream = qkv_trainer_spec(t)->roles.value;
    const ag_node *weights = qkv_trainer_weights(w, qkv_probe_last_layer(t));
    for (int b = 0; b < w->count; b++) shuffle(t, w, sum, b, stream, stream + 1);
    if (!replay(t, w)) return false;
    for (int n = 0; n < qkv_probe_rows(w); n++) {
        int b = qkv_probe_row_example(t, w, n), slot = w->source[0][n];
        int looks = qkv_probe_looks_at(weights, b, qkv_probe_row_position(t, w, n));
        sum->looks_same += looks == sum->looks[n];
        sum->says_new +=
            qkv_probe_answer(t, w, 0, n) == qkv_probe_ids(t, w, DATA_MEMORY, stream, b)[slot];
    }
    return true;
}

/* Every position asks, so the rows of example b are b*T .. b*T + T-1. */
static bool reversed(qkv_trainer *t, qkv_trainer_worker *w, tally *sum) {
    const data_side *side = &qkv_trainer_spec(t)->side[DATA_SEQUENCE];
    int T = side->T;
    for (int b = 0; b < w->count; b++)
        for (int s = 0; s < side->n_streams; s++) turn(qkv_probe_ids(t, w, DATA_SEQUENCE, s, b), T);
    if (!replay(t, w)) return false;
    for (int n = 0; n < qkv_probe_rows(w); n++)
        sum->reversed += qkv_probe_answer(t, w, 0, n) == sum->says[n / T * T + T - 1 - n % T];
    return true;
}

static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    tally *sum = ctx;
    int entries = qkv_trainer_spec(t)->entries, rows = qkv_probe_rows(w);
    sum->order = tensor_arena_take(arena, (size_t)entries, sizeof(int));
    sum->scratch = tensor_arena_take(arena, (size_t)entries, sizeof(int));
    sum->says = tensor_arena_take(arena, (size_t)rows, sizeof(int));
    sum->looks = tensor_arena_take(arena, (size_t)rows, sizeof(int));
    const ag_node *weights = qkv_trainer_weights(w, qkv_probe_last_layer(t));
    if (!sum->order || !sum->scratch || !sum->says || !sum->looks || !weights) return false;
    for (int n = 0; n < rows; n++) {
        int b = qkv_probe_row_example(t, w, n), at = qkv_probe_row_position(t, w, n);
        sum->says[n] = qkv_probe_answer(t, w, 0, n);
        sum->looks[n] = qkv_probe_looks_at(weights, b, at);
    }
    sum->rows += rows;
    return sum->change(t, w, sum);
}

bool qkv_study_probe_run_cross(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const char *task = qkv_trainer_spec(t)->task->name;
    tally sum = {.random = rng_stream((uint64_t)qkv_trainer_config(t)->seed, "cross", 0)};
    if (strcmp(task, "cross") != 0)
        return qkv_io_fail(error, "this probe is of the task 'cross', not of '%s'", task);
    if (qkv_trainer_spec(t)->store != DATA_MEMORY)
        return qkv_io_fail(error, "the pairs are joined to the questions: there is no memory");
    if (!qkv_trainer_has_attention(t) || !qkv_trainer_any_worker(t)->out.logits[0])
        return qkv_io_fail(error, "the model has no attention to the memory, or no classes");
    if (data_no_roles(qkv_trainer_spec(t)))
        return qkv_io_fail(error,
                           "keys and values are no streams of their own: nothing to shuffle");
    bool (*const changes[])(qkv_trainer *, qkv_trainer_worker *, tally *) = {
        permuted, values_permuted, reversed};
    for (int i = 0; i < 3; i++) {
        sum.change = changes[i];
        if (!qkv_probe_see(t, "test", EXAMPLES, 0, count, &sum, error)) return false;
    }
    double rows = sum.rows ? (double)sum.rows / 3 : (double)NAN;
    qkv_probe_measure_add(out, sum.unchanged / rows, "cross.permuted.unchanged");
    qkv_probe_measure_add(out, sum.looks_same / rows, "cross.values.looks_same");
    qkv_probe_measure_add(out, sum.says_new / rows, "cross.values.says_new");
    qkv_probe_measure_add(out, sum.reversed / rows, "cross.reversed.answers_reversed");
    return true;
}
