/* layout.c - the tensors of a checkpoint. */
#include "train/run/layout.h"

#include <stdio.h>
#include <string.h>

#include "train/io/crc32.h"

#define PREFIX "optimizer."

/* The numbers of the run: what they are called, and where they live. */
#define AT(field) offsetof(qkv_run_layout_state, field)
static const struct {
    const char *name;
    qkv_io_dtype dtype;
    size_t offset;
} numbers[] = {{"state.step", QKV_IO_I64, AT(step)},
               {"state.best_step", QKV_IO_I64, AT(best_step)},
               {"state.best_loss", QKV_IO_F64, AT(best_loss)}};
_Static_assert(sizeof numbers / sizeof *numbers == QKV_RUN_LAYOUT_STATE &&
                   sizeof(qkv_run_layout_state) == 8 * QKV_RUN_LAYOUT_STATE,
               "a line of the table for each number of the state, of 8 bytes");

void qkv_run_layout_state_tensors(qkv_io_stored at[QKV_RUN_LAYOUT_STATE],
                                  const qkv_run_layout_state *s) {
    for (int i = 0; i < QKV_RUN_LAYOUT_STATE; i++)
        at[i] = (qkv_io_stored){.name = numbers[i].name,
                                .dtype = numbers[i].dtype,
                                .data = (const char *)s + numbers[i].offset,
                                .bytes = 8};
}

/* A tensor called PREFIX MOMENT.NAME, or NAME where it is no moment. */
static bool add(qkv_run_layout *l, const char *prefix, const char *moment, const ag_param_entry *p,
                const real *x) {
    size_t length = strlen(prefix) + strlen(moment) + strlen(p->name) + 2;
    char *name = tensor_arena_take(l->arena, length, 1);
    if (!name) return false;
    snprintf(name, length, "%s%s%s%s", prefix, moment, *moment ? "." : "", p->name);
    l->tensor[l->n] = qkv_io_stored_of(name, &p->val);
    l->tensor[l->n++].data = x;
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
            if (!add(l, PREFIX, method->moment[m], p, o->moment[m] + p->offset)) return false;
        }
    return true;
}

void qkv_run_layout_free(qkv_run_layout *l) { tensor_arena_free(l->arena); }

bool qkv_run_layout_is_moment(const char *name) {
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

bool qkv_run_layout_is_state(const char *name) { return strncmp(name, "state.", 6) == 0; }

uint32_t qkv_run_layout_checksum(const qkv_run_layout *l, bool moments) {
    uint32_t crc = 0;
    for (int i = QKV_RUN_LAYOUT_STATE; i < l->n; i++) {
        const qkv_io_stored *t = &l->tensor[i];
        if (!moments && qkv_run_layout_is_moment(t->name)) continue;
        crc = qkv_io_crc32(crc, t->name, strlen(t->name) + 1);
        crc = qkv_io_crc32(crc, t->data, (size_t)t->bytes);
    }
    return crc;
}
