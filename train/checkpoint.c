/* checkpoint.c - a trainer's state as tensors by name: saved, compared, and only then restored. */
#include "train/checkpoint.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/safetensors.h"
#include "train/trainer_internal.h"
#include "train/version.h"

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
    train_stored *tensor;
    int n;
    tensor_arena *arena;
} layout;

static const train_dtype REAL_DTYPE = sizeof(real) == 8 ? TRAIN_F64 : TRAIN_F32;

static void state_tensors(train_stored at[STATE], const state *s) {
    at[0] = (train_stored){.name = "state.step", .dtype = TRAIN_I64, .data = &s->step, .bytes = 8};
    at[1] = (train_stored){
        .name = "state.best_step", .dtype = TRAIN_I64, .data = &s->best_step, .bytes = 8};
    at[2] = (train_stored){
        .name = "state.best_loss", .dtype = TRAIN_F64, .data = &s->best_loss, .bytes = 8};
}

static bool add(layout *l, const char *prefix, const ag_param_entry *p, const real *x) {
    size_t length = strlen(prefix) + strlen(p->name) + 1;
    char *name = tensor_arena_take(l->arena, length, 1);
    if (!name) return false;
    snprintf(name, length, "%s%s", prefix, p->name);
    train_stored t = {.name = name, .dtype = REAL_DTYPE, .rank = p->val.shape.rank, .data = x};
    for (int i = 0; i < t.rank; i++) t.dim[i] = (size_t)p->val.shape.dim[i];
    t.bytes = p->val.n * sizeof(real);
    l->tensor[l->n++] = t;
    return true;
}

/* False when memory is out; to be freed in any case. The state's tensors come first: theirs are 8
 * bytes an element. */
static bool layout_init(layout *l, const train_trainer *t, const state *s) {
    int params = ag_params_count(t->params), kinds = t->square ? 3 : 2;
    *l = (layout){.arena = tensor_arena_new(t->mem), .n = STATE};
    if (!l->arena) return false;
    l->tensor = tensor_arena_take(l->arena, (size_t)(STATE + kinds * params), sizeof *l->tensor);
    if (!l->tensor) return false;
    state_tensors(l->tensor, s);
    for (int kind = 0; kind < kinds; kind++)
        for (int i = 0; i < params; i++) {
            const ag_param_entry *p = ag_params_at(t->params, i);
            bool added = kind == 0   ? add(l, "", p, p->val.x)
                         : kind == 1 ? add(l, "optimizer.mean.", p, t->mean + p->offset)
                                     : add(l, "optimizer.square.", p, t->square + p->offset);
            if (!added) return false;
        }
    return true;
}

static void layout_free(layout *l) { tensor_arena_free(l->arena); }

train_progress train_progress_start(void) { return (train_progress){0, -1, (double)INFINITY}; }

bool train_save(const train_io *io, const train_trainer *t, const train_progress *p,
                const char *path, char *error) {
    state s = {p->step, p->best_step, p->best_loss};
    layout l;
    char *config = train_config_to_json(&t->config);
    bool ok = layout_init(&l, t, &s) && config;
    if (ok) {
        train_note notes[] = {{"format", FORMAT}, {"version", TRAIN_VERSION}, {"config", config}};
        ok = train_safetensors_write(io, t->mem, path, l.tensor, l.n, notes, 3, error);
    } else {
        train_io_error(error, "write", path, ENOMEM);
    }
    layout_free(&l);
    free(config);
    return ok;
}

/* ---- reading ---- */

/* A file that is well-formed but not what was expected: "'PATH' WHAT 'NAME'MORE". */
static train_file_status unfit(char *error, const char *path, const char *what, const char *name,
                               const char *more) {
    char shown[200], which[100];
    snprintf(error, TRAIN_ERROR, "'%s' %s '%s'%s", train_printable(path, shown, sizeof shown), what,
             train_printable(name, which, sizeof which), more);
    return TRAIN_FILE_DAMAGED;
}

static train_file_status check_tensor(const train_stored *has, const train_stored *want,
                                      const char *path, char *error) {
    char more[96];
    if (!has) return unfit(error, path, "is no checkpoint of this model: it lacks", want->name, "");
    if (has->dtype != want->dtype) {
        snprintf(more, sizeof more, " is %s, not %s", train_dtype_name(has->dtype),
                 train_dtype_name(want->dtype));
        return unfit(error, path, "is no checkpoint of this model:", want->name, more);
    }
    if (has->rank == want->rank &&
        memcmp(has->dim, want->dim, (size_t)want->rank * sizeof *want->dim) == 0)
        return TRAIN_FILE_OK;
    return unfit(error, path, "is no checkpoint of this model:", want->name, " has another shape");
}

/* The tensor of that name. A file written here has its tensors where the layout has them. */
static const train_stored *at_or_find(const train_stored *list, int n, int i, const char *name) {
    if (i < n && strcmp(list[i].name, name) == 0) return &list[i];
    for (int k = 0; k < n; k++)
        if (strcmp(list[k].name, name) == 0) return &list[k];
    return NULL;
}

/* Names, dtypes and shapes, both ways. */
static train_file_status check_layout(const train_safetensors *file, const layout *l,
                                      const char *path, char *error) {
    for (int i = 0; i < l->n; i++) {
        const train_stored *want = &l->tensor[i];
        train_file_status status =
            check_tensor(at_or_find(file->tensor, file->n, i, want->name), want, path, error);
        if (status != TRAIN_FILE_OK) return status;
    }
    for (int i = 0; i < file->n; i++)
        if (!at_or_find(l->tensor, l->n, i, file->tensor[i].name))
            return unfit(error, path, "is no checkpoint of this model: it also has",
                         file->tensor[i].name, "");
    return TRAIN_FILE_OK;
}

/* Opens a file that says it is a checkpoint. */
static train_file_status open_checkpoint(train_safetensors *file, const train_io *io,
                                         const tensor_allocator *mem, const char *path,
                                         char *error) {
    train_file_status status = train_safetensors_open(file, io, mem, path, error);
    if (status != TRAIN_FILE_OK) return status;
    const char *format = train_safetensors_note(file, "format");
    if (!format || strcmp(format, FORMAT) != 0)
        status = unfit(error, path, "is no checkpoint: its format is", format ? format : "",
                       ", not '" FORMAT "'");
    else if (!train_safetensors_note(file, "crc32"))
        status = unfit(error, path, "is damaged: it lacks", "crc32", "");
    if (status != TRAIN_FILE_OK) train_safetensors_close(file);
    return status;
}

/* The three numbers of a loaded file, and whether they can be true. */
static train_file_status read_state(const train_safetensors *file, state *s, const char *path,
                                    char *error) {
    train_stored want[STATE];
    state_tensors(want, s);
    for (int i = 0; i < STATE; i++) {
        const train_stored *has = at_or_find(file->tensor, file->n, i, want[i].name);
        train_file_status status = check_tensor(has, &want[i], path, error);
        if (status != TRAIN_FILE_OK) return status;
        memcpy(i == 0   ? (void *)&s->step
               : i == 1 ? (void *)&s->best_step
                        : &s->best_loss,
               has->data, 8);
    }
    if (s->step < 0 || s->step > INT_MAX)
        return unfit(error, path, "is damaged:", "state.step", " is no step");
    if (s->best_step < -1 || s->best_step > s->step)
        return unfit(error, path, "is damaged:", "state.best_step", " is no step");
    return TRAIN_FILE_OK;
}

train_file_status train_restore(const train_io *io, train_trainer *t, train_progress *p,
                                const char *path, char *error) {
    train_safetensors file;
    train_file_status status = open_checkpoint(&file, io, t->mem, path, error);
    if (status != TRAIN_FILE_OK) return status;
    state s = {0};
    layout l;
    if (!layout_init(&l, t, &s)) {
        train_io_error(error, "read", path, ENOMEM);
        status = TRAIN_FILE_UNREADABLE;
    }
    if (status == TRAIN_FILE_OK) status = check_layout(&file, &l, path, error);
    if (status == TRAIN_FILE_OK) status = train_safetensors_load(&file, error);
    if (status == TRAIN_FILE_OK) status = read_state(&file, &s, path, error);
    if (status == TRAIN_FILE_OK) {  // from here on nothing can fail
        for (int i = STATE; i < l.n; i++) {
            const train_stored *to = &l.tensor[i];
            const train_stored *from = at_or_find(file.tensor, file.n, i, to->name);
            if (to->bytes) memcpy((void *)(size_t)to->data, from->data, to->bytes);
        }
        *p = (train_progress){(int)s.step, (int)s.best_step, s.best_loss};
    }
    layout_free(&l);
    train_safetensors_close(&file);
    return status;
}

train_file_status train_checkpoint_config(const train_io *io, const tensor_allocator *mem,
                                          const char *path, train_config *c, char *error) {
    train_safetensors file;
    train_config read;
    char why[TRAIN_ERROR];
    train_file_status status = open_checkpoint(&file, io, mem, path, error);
    if (status != TRAIN_FILE_OK) return status;
    train_config_default(&read);
    const char *text = train_safetensors_note(&file, "config");
    if (!text) {
        status = unfit(error, path, "is damaged: it lacks", "config", "");
    } else if (!train_config_from_json(&read, text, strlen(text), why)) {
        char shown[120];
        status = unfit(error, path, "is damaged: its", "config", " is wrong: ");
        strcat(error, train_printable(why, shown, sizeof shown));
    } else {
        *c = read;
    }
    train_safetensors_close(&file);
    return status;
}

train_file_status train_checkpoint_check(const train_io *io, const tensor_allocator *mem,
                                         const char *path, char *error) {
    train_safetensors file;
    state s;
    train_file_status status = open_checkpoint(&file, io, mem, path, error);
    if (status != TRAIN_FILE_OK) return status;
    status = train_safetensors_load(&file, error);
    if (status == TRAIN_FILE_OK) status = read_state(&file, &s, path, error);
    train_safetensors_close(&file);
    return status;
}
