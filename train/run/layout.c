/* layout.c - what a checkpoint consists of. */
#include "train/run/layout.h"

#include <stdio.h>
#include <string.h>

static const qkv_io_dtype REAL_DTYPE = sizeof(real) == 8 ? QKV_IO_F64 : QKV_IO_F32;

void qkv_run_layout_state_tensors(qkv_io_stored at[QKV_RUN_LAYOUT_STATE],
                                  const qkv_run_layout_state *s) {
    at[0] =
        (qkv_io_stored){.name = "state.step", .dtype = QKV_IO_I64, .data = &s->step, .bytes = 8};
    at[1] = (qkv_io_stored){
        .name = "state.best_step", .dtype = QKV_IO_I64, .data = &s->best_step, .bytes = 8};
    at[2] = (qkv_io_stored){
        .name = "state.best_loss", .dtype = QKV_IO_F64, .data = &s->best_loss, .bytes = 8};
}

/* A tensor called PREFIX MOMENT.NAME, or NAME where it is no moment. */
static bool add(qkv_run_layout *l, const char *prefix, const char *moment, const ag_param_entry *p,
                const real *x) {
    size_t length = strlen(prefix) + strlen(moment) + strlen(p->name) + 2;
    char *name = tensor_arena_take(l->arena, length, 1);
    if (!name) return false;
    snprintf(name, length, "%s%s%s%s", prefix, moment, *moment ? "." : "", p->name);
    qkv_io_stored t = {.name = name, .dtype = REAL_DTYPE, .rank = p->val.shape.rank, .data = x};
    for (int i = 0; i < t.rank; i++) t.dim[i] = (size_t)p->val.shape.dim[i];
    t.bytes = p->val.n * sizeof(real);
    l->tensor[l->n++] = t;
    return true;
}

bool qkv_run_layout_init(qkv_run_layout *l, const qkv_trainer *t, const qkv_run_layout_state *s) {
    const qkv_optim *o = qkv_trainer_optim(t);
    const qkv_optim_method *method = &qkv_optim_methods[o->settings.method];
    int params = ag_params_count(o->params);
    *l = (qkv_run_layout){.arena = tensor_arena_new(qkv_trainer_allocator(t)),
                          .n = QKV_RUN_LAYOUT_STATE};
    if (!l->arena) return false;
    l->tensor = tensor_arena_take(l->arena,
                                  (size_t)(QKV_RUN_LAYOUT_STATE + (1 + QKV_OPTIM_MOMENTS) * params),
                                  sizeof *l->tensor);
    if (!l->tensor) return false;
    qkv_run_layout_state_tensors(l->tensor, s);
    for (int i = 0; i < params; i++) {
        const ag_param_entry *p = ag_params_at(o->params, i);
        if (!add(l, "", "", p, p->val.x)) return false;
    }
    for (int m = 0; m < QKV_OPTIM_MOMENTS; m++)
        for (int i = 0; method->moment[m] && i < params; i++) {
            const ag_param_entry *p = ag_params_at(o->params, i);
            if (!add(l, "optimizer.", method->moment[m], p, o->moment[m] + p->offset)) return false;
        }
    return true;
}

void qkv_run_layout_free(qkv_run_layout *l) { tensor_arena_free(l->arena); }
