/* sizes.c - how large queries, keys and values are in each layer, and the stream they are made from.
 *
 * Root mean squares over all positions of some examples: "sizes.layerL.q", ".k", ".v", and ".out" of the
 * stream after the layer. */
#include <math.h>
#include <stdio.h>

#include "train/probe/look.h"
#include "train/study/probe.h"

enum { EXAMPLES = 100, MAX_LAYERS = 64, NODES = 4 };
static const char *const names[NODES] = {"q", "k", "v", "out"};

typedef struct {
    double squares[MAX_LAYERS][NODES], n[MAX_LAYERS][NODES];
} tally;

static ag_node *find(qkv_trainer *t, qkv_trainer_worker *w, int layer, int i) {
    return i < NODES - 1 ? qkv_probe_node(t, w, layer, names[i])
                         : qkv_probe_find(w, "layer%d.out", layer);
}

static void add(const real *x, size_t n, double *squares, double *counted) {
    *counted += (double)n;
    for (size_t k = 0; k < n; k++) *squares += (double)x[k] * (double)x[k];
}

/* Of what stands behind an example's length nothing is counted. */
static bool count(qkv_trainer *t, qkv_trainer_worker *w, tensor_arena *arena, void *ctx) {
    (void)arena;
    tally *sum = ctx;
    for (int l = 0; l <= qkv_probe_last_layer(t); l++)
        for (int i = 0; i < NODES; i++) {
            const ag_node *node = find(t, w, l, i);
            if (!node) continue;
            const bool stored = i == 1 || i == 2;  // k, v
            const data_side_name side = stored ? qkv_trainer_spec(t)->store : DATA_SEQUENCE;
            const size_t W = (size_t)node->val.shape.dim[2], T = (size_t)node->val.shape.dim[1];
            for (int b = 0; b < w->count; b++)
                add(node->val.x + (size_t)b * T * W, (size_t)data_length(&w->data, side, b) * W,
                    &sum->squares[l][i], &sum->n[l][i]);
        }
    return true;
}

bool qkv_study_probe_run_sizes(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    tally sum = {0};
    if (!qkv_probe_has_nodes(t, "q k v", error) ||
        !qkv_probe_see(t, "test", EXAMPLES, 0, count, &sum, error))
        return false;
    for (int l = 0; l <= qkv_probe_last_layer(t); l++)
        for (int i = 0; i < NODES; i++)
            if (sum.n[l][i] > 0)
                qkv_probe_measure_add(out, sqrt(sum.squares[l][i] / sum.n[l][i]),
                                      "sizes.layer%d.%s", l, names[i]);
    return true;
}
