/* observe.c - where a model looks and what it says. */
#include "train/probe/observe.h"

#include <string.h>

bool qkv_probe_view_new(tensor_arena *arena, qkv_trainer *t, qkv_probe_view *out) {
    const data_spec *s = qkv_trainer_spec(t);
    size_t B = (size_t)qkv_trainer_any_worker(t)->B;
    *out = (qkv_probe_view){.S = s->side[s->store].T};
    out->attention = tensor_arena_reals(arena, B * (size_t)out->S);
    out->looks_at = tensor_arena_take(arena, B, sizeof(int));
    out->answer = tensor_arena_take(arena, B, sizeof(int));
    return out->attention && out->looks_at && out->answer;
}

int qkv_probe_scored_row(const qkv_trainer *t, const qkv_trainer_worker *w, int b) {
    int T = qkv_trainer_spec(t)->side[DATA_SEQUENCE].T, first = -1;
    for (int n = 0; n < w->n_rows && w->rows[n] >= 0; n++) {
        if (w->rows[n] / T != b) continue;
        if (w->target[0][n] >= 0) return n;
        if (first < 0) first = n;
    }
    return first;
}

bool qkv_probe_observe(qkv_trainer *t, qkv_trainer_worker *w, qkv_probe_view *out) {
    const data_spec *spec = qkv_trainer_spec(t);
    int T = spec->side[DATA_SEQUENCE].T, S = out->S, H = qkv_trainer_config(t)->heads;
    int classes = spec->readout[0].classes;
    ag_set_run(w->graph, (ag_run){.training = false});
    if (!ag_forward(w->graph)) return false;
    const ag_node *node = qkv_trainer_weights(w, qkv_trainer_config(t)->layers - 1);
    if (!node) return false;
    const real *weights = node->val.x;  // [B,H,T,S]
    for (int b = 0; b < w->count; b++) {
        int n = qkv_probe_scored_row(t, w, b), q = w->rows[n] % T;
        real *row = out->attention + (ptrdiff_t)b * S;
        memset(row, 0, (size_t)S * sizeof *row);
        for (int h = 0; h < H; h++)
            for (int s = 0; s < S; s++)
                row[s] += weights[((ptrdiff_t)(b * H + h) * T + q) * S + s] / (real)H;
        out->looks_at[b] = qkv_trainer_argmax(row, S);
        out->answer[b] =
            qkv_trainer_argmax(w->out.logits[0]->val.x + (ptrdiff_t)n * classes, classes);
    }
    return true;
}

void qkv_probe_swap(int *ids, int i, int j) {
    int was = ids[i];
    ids[i] = ids[j];
    ids[j] = was;
}

bool qkv_probe_patch_take(tensor_arena *arena, ag_node *node, qkv_probe_patch *out) {
    out->node = node;
    out->x = out->node ? tensor_arena_reals(arena, out->node->val.n) : NULL;
    if (out->x) memcpy(out->x, out->node->val.x, out->node->val.n * sizeof(real));
    return out->x != NULL;
}

static void overwrite(ag_node *node, void *kept) {
    memcpy(node->val.x, kept, node->val.n * sizeof(real));
}

void qkv_probe_patch_on(qkv_probe_patch *p) { ag_hook(p->node, overwrite, p->x); }
void qkv_probe_patch_off(qkv_probe_patch *p) { ag_unhook(p->node, overwrite, p->x); }
