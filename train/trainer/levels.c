/* levels.c - losses to compare a loss with. */
#include <math.h>

#include "train/trainer/trainer_internal.h"

/* Sums over scored rows of the vectors that are asked for. */
typedef struct {
    long rows;
    double *sum;               // [D]
    double squares, off_mean;  // of their lengths; of their distances from the mean entry
} vectors;

/* |vector asked for - mean of its example's entries|^2. */
static double from_mean(const real *entry, int entries, int source, int D) {
    double squares = 0;
    for (int d = 0; d < D; d++) {
        double mean = 0;
        for (int e = 0; e < entries; e++) mean += (double)entry[(ptrdiff_t)e * D + d] / entries;
        const double off = (double)entry[(ptrdiff_t)source * D + d] - mean;
        squares += off * off;
    }
    return squares;
}

static void add_vectors(qkv_trainer *t, const qkv_trainer_worker *w, const real *embedded,
                        vectors *v) {
    const data_spec *s = &t->spec;
    int D = t->config.d_model, S = s->side[s->store].T;
    for (int n = 0; n < w->n_rows && w->rows[n] >= 0; n++) {
        int source = w->source[0][n];
        if (source < 0) continue;
        const real *first = embedded + (ptrdiff_t)(w->source_rows[n] - source) * D;
        const real *wanted = first + (ptrdiff_t)source * D;
        for (int d = 0; d < D; d++) {
            v->sum[d] += (double)wanted[d];
            v->squares += (double)wanted[d] * (double)wanted[d];
        }
        const int entries = s->entries > 0 ? s->entries : S,
                  there = data_length(&w->data, s->store, (w->source_rows[n] - source) / S);
        v->off_mean += from_mean(first, there < entries ? there : entries, source, D);
        v->rows++;
    }
}

/* The squared error of one who says the mean of all answers, and of one who says the mean of what is
 * stored in the example. */
static bool levels_of_vectors(qkv_trainer *t, const char *split, int count,
                              qkv_trainer_levels *out) {
    qkv_trainer_worker *w = &t->workers[0];
    ag_node *embedded = ag_find(w->graph, qkv_trainer_store_name(&t->spec));
    tensor_arena *arena = tensor_arena_new(t->mem);
    vectors v = {.sum = arena ? tensor_arena_take(arena, (size_t)t->config.d_model, sizeof(double))
                              : NULL};
    bool ok = v.sum && embedded;
    count = data_at_most(&t->spec, split, count);
    for (int first = 0; ok && first < count; first += w->B) {
        qkv_trainer_load(t, w, split, (uint64_t)first, count - first < w->B ? count - first : w->B,
                         count);
        ag_set_run(w->graph, (ag_run){.training = false});
        if ((ok = ag_forward(w->graph))) add_vectors(t, w, embedded->val.x, &v);
    }
    double squared_mean = 0, rows = (double)v.rows;
    for (int d = 0; ok && d < t->config.d_model; d++)
        squared_mean += v.sum[d] / rows * (v.sum[d] / rows);
    if (ok && v.rows)
        *out = (qkv_trainer_levels){
            2,
            {{"blind", "the mean of all answers", "saying the mean of all answers", (double)NAN,
              v.squares / rows - squared_mean},
             {"unmatched", "the mean of what is stored", "the mean of what is stored", (double)NAN,
              v.off_mean / rows}}};
    tensor_arena_free(arena);
    return ok;
}

bool qkv_trainer_loss_levels(qkv_trainer *t, const char *split, int count,
                             qkv_trainer_levels *out) {
    if (!t || !split || !out) return false;
    *out = (qkv_trainer_levels){0};
    if (t->config.readout == NN_READOUT_VECTOR) return levels_of_vectors(t, split, count, out);
    const data_split which = data_split_of(split);
    out->n = data_levels(&t->spec, which == DATA_SPLITS ? DATA_TEST : which, out->at);
    return true;
}
