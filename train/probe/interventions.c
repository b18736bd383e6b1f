/* interventions.c - change one thing, see what follows. */
#include "train/probe/interventions.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/probe/attention_map.h"
#include "train/probe/experiment.h"
#include "train/probe/look.h"

/* One loaded micro-batch under test. */
typedef struct {
    qkv_probe_experiment on;
    int *entry;                    // [S] the entries of one example
    int *right, *other;            // [B] entries t and j; t -1: the example has no two such entries
    int *says_right, *says_other;  // [B] the values that stand there
    qkv_probe_interventions *sum;
} experiment;

/* The ids of a stream of the store, for one example. */
static int *ids(const experiment *b, int stream, int example) {
    return b->on.w->data.rows.ids[b->on.spec->store][stream] +
           (ptrdiff_t)example * b->on.spec->side[b->on.spec->store].T;
}

/* The changes, for one example. */
static void swap_keys(experiment *b, int e) {
    qkv_probe_swap(ids(b, b->on.spec->roles.key, e), b->right[e], b->other[e]);
}
static void swap_values(experiment *b, int e) {
    qkv_probe_swap(ids(b, b->on.spec->roles.value, e), b->right[e], b->other[e]);
}
static void other_query(experiment *b, int e) {
    int row = b->on.w->rows[qkv_probe_scored_row(b->on.t, b->on.w, e)];
    b->on.w->data.rows.ids[DATA_SEQUENCE][b->on.spec->roles.query][row] =
        data_asks_for(b->on.spec, ids(b, b->on.spec->roles.key, e)[b->other[e]]);
}
static void random_values(experiment *b, int e) {
    int *x = ids(b, b->on.spec->roles.value, e), symbols = data_symbols(data_value(b->on.spec));
    const int *key = ids(b, b->on.spec->roles.key, e);
    for (int i = 0; i < b->on.spec->entries; i++)
        if (data_is_entry(b->on.spec, key, x, i))
            x[i] = (int)rng_below(&b->on.random, (uint32_t)symbols);
}

static const struct {
    const char *key, *name;
    void (*change)(experiment *b, int example);
} changes[] = {{"clean", "clean", NULL},
               {"swap_keys", "keys of t and j swapped", swap_keys},
               {"swap_values", "values of t and j swapped", swap_values},
               {"other_query", "asked for j's key instead", other_query},
               {"random_values", "all values replaced by random ones", random_values}};
_Static_assert(sizeof changes / sizeof *changes == QKV_PROBE_INTERVENTIONS,
               "an entry of the enumeration for each change, in this order");

static bool experiment_new(tensor_arena *arena, qkv_trainer *t, qkv_probe_interventions *sum,
                           experiment *b) {
    const data_spec *s = qkv_trainer_spec(t);
    const size_t B = (size_t)qkv_trainer_any_worker(t)->B;
    *b = (experiment){.sum = sum};
    b->entry = tensor_arena_take(arena, (size_t)s->side[s->store].T, sizeof(int));
    b->right = tensor_arena_take(arena, B, sizeof(int));
    b->other = tensor_arena_take(arena, B, sizeof(int));
    b->says_right = tensor_arena_take(arena, B, sizeof(int));
    b->says_other = tensor_arena_take(arena, B, sizeof(int));
    return b->entry && b->right && b->other && b->says_right && b->says_other &&
           qkv_probe_experiment_new(arena, t, "interventions", &b->on);
}

/* Notes t, a random other entry j, and what stands there; counts the examples that have them. */
static int choose_entries(experiment *b) {
    int chosen = 0;
    for (int e = 0; e < b->on.w->count; e++) {
        const int *key = ids(b, b->on.spec->roles.key, e),
                  *value = ids(b, b->on.spec->roles.value, e),
                  t = b->on.w->source[0][qkv_probe_scored_row(b->on.t, b->on.w, e)];
        int n = 0, at = -1;
        for (int p = 0; p < b->on.spec->entries; p++) {
            if (!data_is_entry(b->on.spec, key, value, p)) continue;
            if (p == t) at = n;
            b->entry[n++] = p;
        }
        b->right[e] = -1;
        if (at < 0 || n < 2) continue;
        int j = b->entry[(at + 1 + (int)rng_below(&b->on.random, (uint32_t)n - 1)) % n];
        b->right[e] = t;
        b->other[e] = j;
        b->says_right[e] = value[t];
        b->says_other[e] = value[j];
        chosen++;
    }
    return chosen;
}

static void change(void *ctx, int i, int e) {
    experiment *b = ctx;
    if (changes[i].change && b->right[e] >= 0) changes[i].change(b, e);
}

static void tally(void *ctx, int i) {
    const experiment *b = ctx;
    qkv_probe_intervention *sum = &b->sum->changed[i];
    for (int e = 0; e < b->on.w->count; e++) {
        if (b->right[e] < 0) continue;
        const real *now = b->on.view.attention + (ptrdiff_t)e * b->on.view.S;
        const real *was = b->on.clean.attention + (ptrdiff_t)e * b->on.view.S;
        for (int s = 0; s < b->on.view.S; s++) sum->moved += fabs((double)(now[s] - was[s])) / 2;
        sum->looks_at_t += b->on.view.looks_at[e] == b->right[e];
        sum->looks_at_j += b->on.view.looks_at[e] == b->other[e];
        sum->attention_t += (double)now[b->right[e]];
        sum->attention_j += (double)now[b->other[e]];
        sum->says_t += b->on.view.answer[e] == b->says_right[e];
        sum->says_j += b->on.view.answer[e] == b->says_other[e];
    }
}

static bool run_changes(experiment *b) {
    static const qkv_probe_experiment_plan plan = {QKV_PROBE_INTERVENTIONS, change, tally};
    b->sum->examples += choose_entries(b);
    return qkv_probe_experiment_run(&b->on, &plan, b);
}

/* V of example Y under the scores of example X. The worker holds X before and after; Y stands
 * `distance` further on. */
static bool run_cross(tensor_arena *arena, experiment *b, const char *split, uint64_t first,
                      uint64_t distance, qkv_probe_activation_patching *out) {
    int count = b->on.w->count, S = b->on.view.S;
    int *stored = tensor_arena_take(arena, (size_t)b->on.w->B * (size_t)S, sizeof(int));
    int *y_own = tensor_arena_take(arena, (size_t)b->on.w->B, sizeof(int));
    if (!stored || !y_own) return false;
    qkv_trainer_load(b->on.t, b->on.w, split, first + distance, count, count);
    if (!ag_forward(b->on.w->graph)) return false;
    memcpy(stored, ids(b, b->on.spec->roles.value, 0),
           (size_t)b->on.w->B * (size_t)S * sizeof(int));
    for (int e = 0; e < count; e++)
        y_own[e] = b->on.w->target[0][qkv_probe_scored_row(b->on.t, b->on.w, e)];
    qkv_probe_patch v;
    ag_node *values = qkv_probe_node(b->on.t, b->on.w, qkv_probe_last_layer(b->on.t), "v");
    if (!qkv_probe_patch_take(arena, values, &v)) return false;
    qkv_trainer_load(b->on.t, b->on.w, split, first, count, count);
    qkv_probe_patch_on(&v);
    bool ran = qkv_probe_observe(b->on.t, b->on.w, &b->on.view);
    qkv_probe_patch_off(&v);
    for (int e = 0; ran && e < count; e++) {
        if (b->right[e] < 0 || stored[(ptrdiff_t)e * S + b->right[e]] < 0) continue;
        out->pairs++;
        out->says_y_at_t += b->on.view.answer[e] == stored[(ptrdiff_t)e * S + b->right[e]];
        out->says_x += b->on.view.answer[e] == b->says_right[e];
        out->says_y += b->on.view.answer[e] == y_own[e];
    }
    return ran;
}

static void divide(qkv_probe_interventions *out) {
    for (int i = 0; i < QKV_PROBE_INTERVENTIONS; i++)
        out->changed[i].key = changes[i].key, out->changed[i].name = changes[i].name;
    const double n = out->examples ? out->examples : (double)NAN;
    for (int i = 0; i < QKV_PROBE_INTERVENTIONS; i++) {
        qkv_probe_intervention *c = &out->changed[i];
        double *all[] = {&c->looks_at_t, &c->looks_at_j, &c->attention_t, &c->attention_j,
                         &c->moved,      &c->says_t,     &c->says_j};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) *all[k] /= n;
    }
    for (int i = 0; i < QKV_PROBE_ABLATIONS; i++) {
        out->ablated[i].accuracy /= n;
        out->ablated[i].in_context /= n;
        out->ablated[i].answer_attention /= n;
    }
    const double pairs = out->cross.pairs ? out->cross.pairs : (double)NAN;
    out->cross.says_y_at_t /= pairs;
    out->cross.says_x /= pairs;
    out->cross.says_y /= pairs;
}

bool qkv_probe_intervene(qkv_trainer *t, const char *split, int count, qkv_probe_interventions *out,
                         char *error) {
    if (!QKV_IO_GIVEN(error, t, split, out)) return false;
    *out = (qkv_probe_interventions){0};
    const data_spec *s = qkv_trainer_spec(t);
    if (qkv_probe_attention_missing(t))
        return qkv_io_fail(error, "%s: nothing can be swapped: %s", s->task->name,
                           qkv_probe_attention_missing(t));
    if (!qkv_probe_has_nodes(t, "k v", error)) return false;
    tensor_arena *arena = tensor_arena_new(NULL), *scratch = tensor_arena_new(NULL);
    experiment b;
    bool ok = arena && scratch && experiment_new(arena, t, out, &b);
    count = data_at_most(s, split, count);
    const int all = data_at_most(s, split, INT_MAX);
    const uint64_t distance = (uint64_t)count + (count % all == 0);  // of a finite split not itself
    for (int first = 0; ok && first < count; first += b.on.w->B) {
        int n = count - first < b.on.w->B ? count - first : b.on.w->B;
        tensor_arena_reset(scratch);
        qkv_trainer_load(t, b.on.w, split, (uint64_t)first, n, n);
        ok = run_changes(&b) &&
             run_cross(scratch, &b, split, (uint64_t)first, distance, &out->cross) &&
             qkv_probe_ablate(scratch, t, b.on.w, b.right, out);
    }
    if (!ok) qkv_trainer_fail(t, error);
    divide(out);
    tensor_arena_free(scratch);
    tensor_arena_free(arena);
    return ok;
}
