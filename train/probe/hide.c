/* hide.c - a table's rows replaced by their mean, where entries have them: at their own positions, and with
 * token shift at the next. */
#include "train/probe/hide.h"

#include <stdio.h>

/* x [D], an embedding in which row `id` of a table stands `by` times, has the mean instead. */
static void forget(real *x, const ag_param_entry *table, const real *mean, int id, real by) {
    const int D = table->val.shape.dim[1];
    for (int d = 0; d < D; d++) x[d] += by * (mean[d] - table->val.x[(ptrdiff_t)id * D + d]);
}

void qkv_probe_hide(ag_node *node, void *hidden) {
    const qkv_probe_hidden *b = hidden;
    const data_spec *s = b->spec;
    const int D = tensor_width(node->val.shape), S = s->side[s->store].T;
    const real factor = (real)data_entry_scale(s);
    int *const *ids = b->w->data.rows.ids[s->store];
    for (int e = 0; e < b->w->count; e++)
        for (int p = 0; p < s->entries; p++) {
            const int *key = ids[s->roles.key] + e * S, id = ids[b->stream][e * S + p];
            if (!data_is_entry(s, key, ids[s->roles.value] + e * S, p) || id < 0) continue;
            for (int k = 0; k < 2 && p + k < S && b->table[k]; k++)
                forget(node->val.x + ((ptrdiff_t)e * S + p + k) * D, b->table[k], b->mean[k], id,
                       p + k < s->entries ? factor : 1);
        }
}

bool qkv_probe_hide_new(tensor_arena *arena, qkv_trainer *t, qkv_trainer_worker *w, int stream,
                        qkv_probe_hidden *out) {
    static const char *const formats[] = {"%s.%s", "%s.previous.%s"};
    const data_spec *s = qkv_trainer_spec(t);
    const data_stream *hidden = &s->side[s->store].stream[stream];
    *out = (qkv_probe_hidden){.spec = s, .w = w, .stream = stream};
    for (int k = 0; k < 2; k++) {
        char name[96];
        snprintf(name, sizeof name, formats[k], qkv_trainer_store_name(s), hidden->name);
        const ag_param_entry *table = ag_params_find(qkv_trainer_params(t), name);
        if (!table) return k > 0;
        const int D = table->val.shape.dim[1], N = data_symbols(hidden);
        out->table[k] = table;
        out->mean[k] = tensor_arena_reals(arena, (size_t)D);
        if (!out->mean[k]) return false;
        for (int i = 0; i < N; i++)
            for (int d = 0; d < D; d++)
                out->mean[k][d] += table->val.x[(ptrdiff_t)i * D + d] / (real)N;
    }
    return true;
}
