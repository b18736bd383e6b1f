/* experiment.c - one change after another, each on the examples as they were. */
#include "train/probe/experiment.h"

#include <string.h>

bool qkv_probe_experiment_new(tensor_arena *arena, qkv_trainer *t, const char *purpose,
                              qkv_probe_experiment *out) {
    size_t all = 0;
    *out = (qkv_probe_experiment){
        .t = t,
        .w = qkv_trainer_any_worker(t),
        .spec = qkv_trainer_spec(t),
        .random = rng_stream((uint64_t)qkv_trainer_config(t)->seed, purpose, 0)};
    for (int s = 0; s < DATA_SIDES; s++)
        all +=
            (size_t)out->spec->side[s].n_streams * (size_t)out->w->B * (size_t)out->spec->side[s].T;
    out->kept = tensor_arena_take(arena, all, sizeof(int));
    return out->kept && qkv_probe_view_new(arena, t, &out->clean) &&
           qkv_probe_view_new(arena, t, &out->view);
}

static void copy_ids(const qkv_probe_experiment *b, bool back) {
    int *kept = b->kept;
    for (int side = 0; side < DATA_SIDES; side++)
        for (int s = 0; s < b->spec->side[side].n_streams; s++) {
            const size_t n = (size_t)b->w->B * (size_t)b->spec->side[side].T;
            int *live = b->w->data.rows.ids[side][s];
            memcpy(back ? live : kept, back ? kept : live, n * sizeof(int));
            kept += n;
        }
}

bool qkv_probe_experiment_run(qkv_probe_experiment *b, const qkv_probe_experiment_plan *plan,
                              void *ctx) {
    copy_ids(b, false);
    if (!qkv_probe_observe(b->t, b->w, &b->clean)) return false;
    for (int i = 0; i < plan->changes; i++) {
        for (int e = 0; e < b->w->count; e++) plan->change(ctx, i, e);
        qkv_trainer_reload(b->t, b->w);
        if (!qkv_probe_observe(b->t, b->w, &b->view)) return false;
        plan->tally(ctx, i);
        copy_ids(b, true);
    }
    qkv_trainer_reload(b->t, b->w);
    return true;
}
