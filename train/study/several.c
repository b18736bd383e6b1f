/* several.c - two answers fetched at one position: is their order in the weights?
 *
 * The last layer's weights on the two entries that are asked for are exchanged, in every head, and all after
 * them is computed anew. "exchange.turned": the share of questions, both rightly answered before, whose two
 * answers are then each other's; "exchange.kept": whose answers stay. Weights that are equal carry no order:
 * nothing is turned. */
#include <math.h>

#include "train/probe/look.h"
#include "train/probe/observe.h"
#include "train/study/probe.h"

enum { EXAMPLES = 500 };

typedef struct {
    long rows;
    double turned, kept;
} tally;

static bool is_right(qkv_trainer *t, const qkv_trainer_worker *w, int row, bool turned) {
    for (int r = 0; r < 2; r++)
        if (qkv_probe_answer(t, w, r, row) != w->target[turned ? 1 - r : r][row]) return false;
    return true;
}

/* Exchanges the weights in the patch's copy of the node [B,H,T,S]. */
static void exchange(const qkv_trainer *t, const qkv_trainer_worker *w, const ag_node *weights,
                     real *x) {
    for (int n = 0; n < qkv_probe_rows(w); n++)
        for (int h = 0; h < weights->val.shape.dim[1]; h++) {
            const real *row = qkv_probe_row_of(weights, qkv_probe_row_example(t, w, n), h,
                                               qkv_probe_row_position(t, w, n));
            real *copy = x + (row - weights->val.x);
            copy[w->source[0][n]] = row[w->source[1][n]];
            copy[w->source[1][n]] = row[w->source[0][n]];
        }
}

static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    tally *sum = ctx;
    const int rows = qkv_probe_rows(w);
    ag_node *weights = qkv_trainer_weights(w, qkv_probe_last_layer(t));
    bool *right = tensor_arena_take(arena, (size_t)rows, sizeof *right);
    qkv_probe_patch patch;
    if (!right || !qkv_probe_patch_take(arena, weights, &patch)) return false;
    for (int n = 0; n < rows; n++) right[n] = is_right(t, w, n, false);
    exchange(t, w, weights, patch.x);
    qkv_probe_patch_on(&patch);
    const bool ok = qkv_probe_replay(w);
    qkv_probe_patch_off(&patch);
    for (int n = 0; ok && n < rows; n++) {
        if (!right[n]) continue;
        sum->rows++;
        sum->turned += is_right(t, w, n, true);
        sum->kept += is_right(t, w, n, false);
    }
    return ok;
}

bool qkv_study_probe_run_exchange(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const data_spec *s = qkv_trainer_spec(t);
    if (s->n_readouts != 2 || s->store != DATA_SEQUENCE)
        return qkv_io_fail(error, "the task '%s' has not two answers in its sequence",
                           s->task->name);
    if (!qkv_trainer_has_attention(t) || !qkv_trainer_any_worker(t)->out.logits[0])
        return qkv_io_fail(error, "the model has no attention, or no classes");
    tally sum = {0};
    if (!qkv_probe_see(t, "test", EXAMPLES, 0, count, &sum, error)) return false;
    const double rows = sum.rows ? (double)sum.rows : (double)NAN;
    qkv_probe_measure_add(out, sum.turned / rows, "exchange.turned");
    qkv_probe_measure_add(out, sum.kept / rows, "exchange.kept");
    return true;
}
