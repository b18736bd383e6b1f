/* hide.c - a table's rows replaced by their mean. */
#include "train/probe/hide.h"

#include <stdio.h>

void qkv_probe_hide(ag_node *node, void *hidden) {
    const qkv_probe_hidden *b = hidden;
    int D = tensor_width(node->val.shape), S = b->spec->side[b->spec->store].T;
    int *const *ids = b->w->data.rows.ids[b->spec->store];
    for (int e = 0; e < b->w->count; e++)
        for (int p = 0; p < b->spec->entries; p++) {
            const int *key = ids[b->spec->roles.key] + e * S, id = ids[b->stream][e * S + p];
            if (!data_is_entry(b->spec, key, ids[b->spec->roles.value] + e * S, p)) continue;
            real *x = node->val.x + ((ptrdiff_t)e * S + p) * D;
            for (int d = 0; id >= 0 && d < D; d++)
                x[d] += b->mean[d] - b->table->val.x[(ptrdiff_t)id * D + d];
        }
}

bool qkv_probe_hide_new(tensor_arena *arena, qkv_trainer *t, qkv_trainer_worker *w, int stream,
                        qkv_probe_hidden *out) {
    const data_spec *s = qkv_trainer_spec(t);
    char name[96];
    const data_stream *hidden = &s->side[s->store].stream[stream];
    snprintf(name, sizeof name, "%s.%s", qkv_trainer_store_name(s), hidden->name);
    *out = (qkv_probe_hidden){s, w, ag_params_find(qkv_trainer_params(t), name), stream, NULL};
    if (!out->table) return false;
    int D = out->table->val.shape.dim[1], N = data_symbols(hidden);
    out->mean = tensor_arena_reals(arena, (size_t)D);
    for (int i = 0; out->mean && i < N; i++)
        for (int d = 0; d < D; d++)
            out->mean[d] += out->table->val.x[(ptrdiff_t)i * D + d] / (real)N;
    return out->mean != NULL;
}
