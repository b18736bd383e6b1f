/* checkpoint.c - a trainer's state as tensors by name: saved, compared, and only then restored. */
#include "train/run/checkpoint.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/config/version.h"
#include "train/io/safetensors.h"

#define FORMAT "qkv-checkpoint-1"

enum { STATE = 3 };

/* The progress as it stands in a file. */
typedef struct {
    int64_t step, best_step;
    double best_loss;
} state;

/* What a checkpoint of this trainer consists of; data points to where it lives in the trainer and
 * in `state`. */
typedef struct {
    qkv_io_stored *tensor;
    int n;
    tensor_arena *arena;
} layout;

static const qkv_io_dtype REAL_DTYPE = sizeof(real) == 8 ? QKV_IO_F64 : QKV_IO_F32;

static void state_tensors(qkv_io_stored at[STATE], const state *s) {
    at[0] =
        (qkv_io_stored){.name = "state.step", .dtype = QKV_IO_I64, .data = &s->step, .bytes = 8};
    at[1] = (qkv_io_stored){
        .name = "state.best_step", .dtype = QKV_IO_I64, .data = &s->best_step, .bytes = 8};
    at[2] = (qkv_io_stored){
        .name = "state.best_loss", .dtype = QKV_IO_F64, .data = &s->best_loss, .bytes = 8};
}

/* A tensor called PREFIX MOMENT.NAME, or NAME where it is no moment. */
static bool add(layout *l, const char *prefix, const char *moment, const ag_param_entry *p,
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

/* False when memory is out; to be freed in any case. The state's tensors come first: theirs are 8
 * bytes an element. */
static bool layout_init(layout *l, const qkv_trainer *t, const state *s) {
    const qkv_optim *o = qkv_trainer_optim(t);
    const qkv_optim_method *method = &qkv_optim_methods[o->settings.method];
    int params = ag_params_count(o->params);
    *l = (layout){.arena = tensor_arena_new(qkv_trainer_allocator(t)), .n = STATE};
    if (!l->arena) return false;
    l->tensor = tensor_arena_take(l->arena, (size_t)(STATE + (1 + QKV_OPTIM_MOMENTS) * params),
                                  sizeof *l->tensor);
    if (!l->tensor) return false;
    state_tensors(l->tensor, s);
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

static void layout_free(layout *l) { tensor_arena_free(l->arena); }

qkv_run_progress qkv_run_progress_start(void) {
    return (qkv_run_progress){0, -1, (double)INFINITY};
}

bool qkv_run_save(const qkv_io *io, const qkv_trainer *t, const qkv_run_progress *p,
                  const char *path, char *error) {
    state s = {p->step, p->best_step, p->best_loss};
    layout l;
    char *config = qkv_config_to_json(qkv_trainer_config(t));
    bool ok = layout_init(&l, t, &s) && config;
    if (ok) {
        qkv_io_note notes[] = {{"format", FORMAT}, {"version", QKV_VERSION}, {"config", config}};
        ok = qkv_io_safetensors_write(io, qkv_trainer_allocator(t), path, l.tensor, l.n, notes, 3,
                                      error);
    } else {
        qkv_io_error(error, "write", path, ENOMEM);
    }
    layout_free(&l);
    free(config);
    return ok;
}

/* ---- reading ---- */

/* A file that is well-formed but not what was expected: "'PATH' WHAT 'NAME'MORE". */
static qkv_io_status unfit(char *error, const char *path, const char *what, const char *name,
                           const char *more) {
    char shown[200], which[100];
    qkv_io_fail(error, "'%s' %s '%s'%s", qkv_io_printable(path, shown, sizeof shown), what,
                qkv_io_printable(name, which, sizeof which), more);
    return QKV_IO_DAMAGED;
}

static qkv_io_status check_tensor(const qkv_io_stored *has, const qkv_io_stored *want,
                                  const char *path, char *error) {
    char more[96];
    if (!has) return unfit(error, path, "is no checkpoint of this model: it lacks", want->name, "");
    if (has->dtype != want->dtype) {
        snprintf(more, sizeof more, " is %s, not %s", qkv_io_dtype_name(has->dtype),
                 qkv_io_dtype_name(want->dtype));
        return unfit(error, path, "is no checkpoint of this model:", want->name, more);
    }
    if (has->rank == want->rank &&
        memcmp(has->dim, want->dim, (size_t)want->rank * sizeof *want->dim) == 0)
        return QKV_IO_OK;
    return unfit(error, path, "is no checkpoint of this model:", want->name, " has another shape");
}

/* The tensor of that name. A file written here has its tensors where the layout has them. */
static const qkv_io_stored *at_or_find(const qkv_io_stored *list, int n, int i, const char *name) {
    if (i < n && strcmp(list[i].name, name) == 0) return &list[i];
    for (int k = 0; k < n; k++)
        if (strcmp(list[k].name, name) == 0) return &list[k];
    return NULL;
}

/* Names, dtypes and shapes, both ways. */
static qkv_io_status check_layout(const qkv_io_safetensors *file, const layout *l, const char *path,
                                  char *error) {
    for (int i = 0; i < l->n; i++) {
        const qkv_io_stored *want = &l->tensor[i];
        qkv_io_status status =
            check_tensor(at_or_find(file->tensor, file->n, i, want->name), want, path, error);
        if (status != QKV_IO_OK) return status;
    }
    for (int i = 0; i < file->n; i++)
        if (!at_or_find(l->tensor, l->n, i, file->tensor[i].name))
            return unfit(error, path, "is no checkpoint of this model: it also has",
                         file->tensor[i].name, "");
    return QKV_IO_OK;
}

/* Opens a file that says it is a checkpoint. */
static qkv_io_status open_checkpoint(qkv_io_safetensors *file, const qkv_io *io,
                                     const tensor_allocator *mem, const char *path, char *error) {
    qkv_io_status status = qkv_io_safetensors_open(file, io, mem, path, error);
    if (status != QKV_IO_OK) return status;
    const char *format = qkv_io_safetensors_note(file, "format");
    if (!format || strcmp(format, FORMAT) != 0)
        status = unfit(error, path, "is no checkpoint: its format is", format ? format : "",
                       ", not '" FORMAT "'");
    else if (!qkv_io_safetensors_note(file, "crc32"))
        status = unfit(error, path, "is damaged: it lacks", "crc32", "");
    if (status != QKV_IO_OK) qkv_io_safetensors_close(file);
    return status;
}

/* The three numbers of a loaded file, and whether they can be true. */
static qkv_io_status read_state(const qkv_io_safetensors *file, state *s, const char *path,
                                char *error) {
    qkv_io_stored want[STATE];
    state_tensors(want, s);
    for (int i = 0; i < STATE; i++) {
        const qkv_io_stored *has = at_or_find(file->tensor, file->n, i, want[i].name);
        qkv_io_status status = check_tensor(has, &want[i], path, error);
        if (status != QKV_IO_OK) return status;
        memcpy(i == 0   ? (void *)&s->step
               : i == 1 ? (void *)&s->best_step
                        : &s->best_loss,
               has->data, 8);
    }
    if (s->step < 0 || s->step > INT_MAX)
        return unfit(error, path, "is damaged:", "state.step", " is no step");
    if (s->best_step < -1 || s->best_step > s->step)
        return unfit(error, path, "is damaged:", "state.best_step", " is no step");
    return QKV_IO_OK;
}

qkv_io_status qkv_run_restore(const qkv_io *io, qkv_trainer *t, qkv_run_progress *p,
                              const char *path, char *error) {
    qkv_io_safetensors file;
    qkv_io_status status = open_checkpoint(&file, io, qkv_trainer_allocator(t), path, error);
    if (status != QKV_IO_OK) return status;
    state s = {0};
    layout l;
    if (!layout_init(&l, t, &s)) {
        qkv_io_error(error, "read", path, ENOMEM);
        status = QKV_IO_UNREADABLE;
    }
    if (status == QKV_IO_OK) status = check_layout(&file, &l, path, error);
    if (status == QKV_IO_OK) status = qkv_io_safetensors_load(&file, error);
    if (status == QKV_IO_OK) status = read_state(&file, &s, path, error);
    if (status == QKV_IO_OK) {  // from here on nothing can fail
        for (int i = STATE; i < l.n; i++) {
            const qkv_io_stored *to = &l.tensor[i];
            const qkv_io_stored *from = at_or_find(file.tensor, file.n, i, to->name);
            if (to->bytes) memcpy((void *)(size_t)to->data, from->data, to->bytes);
        }
        *p = (qkv_run_progress){(int)s.step, (int)s.best_step, s.best_loss};
    }
    layout_free(&l);
    qkv_io_safetensors_close(&file);
    return status;
}

qkv_io_status qkv_run_checkpoint_config(const qkv_io *io, const tensor_allocator *mem,
                                        const char *path, const struct qkv_config_plugin *plugin,
                                        qkv_config *c, char *error) {
    qkv_io_safetensors file;
    qkv_config read;
    char why[QKV_IO_ERROR];
    qkv_io_status status = open_checkpoint(&file, io, mem, path, error);
    if (status != QKV_IO_OK) return status;
    qkv_config_default(&read);
    qkv_config_use_plugin(&read, plugin);
    const char *text = qkv_io_safetensors_note(&file, "config");
    if (!text) {
        status = unfit(error, path, "is damaged: it lacks", "config", "");
    } else if (!qkv_config_from_json(&read, text, strlen(text), why)) {
        char shown[120];
        status = unfit(error, path, "is damaged: its", "config", " is wrong: ");
        strcat(error, qkv_io_printable(why, shown, sizeof shown));
    } else {
        *c = read;
    }
    qkv_io_safetensors_close(&file);
    return status;
}

qkv_io_status qkv_run_checkpoint_check(const qkv_io *io, const tensor_allocator *mem,
                                       const char *path, char *error) {
    qkv_io_safetensors file;
    state s;
    qkv_io_status status = open_checkpoint(&file, io, mem, path, error);
    if (status != QKV_IO_OK) return status;
    status = qkv_io_safetensors_load(&file, error);
    if (status == QKV_IO_OK) status = read_state(&file, &s, path, error);
    qkv_io_safetensors_close(&file);
    return status;
}
