/* checkpoint.c - a trainer's state as tensors by name: saved, compared, and only then restored. */
#include "train/run/checkpoint.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/config/version.h"
#include "train/io/safetensors.h"
#include "train/run/layout.h"

#define FORMAT QKV_RUN_LAYOUT_FORMAT

enum { STATE = QKV_RUN_LAYOUT_STATE };

qkv_run_progress qkv_run_progress_start(void) {
    return (qkv_run_progress){0, -1, (double)INFINITY};
}

bool qkv_run_save(const qkv_io *io, const qkv_trainer *t, const qkv_run_progress *p,
                  const char *path, char *error) {
    qkv_run_layout_state s = {p->step, p->best_step, p->best_loss};
    qkv_run_layout l;
    char *config = qkv_config_to_json(qkv_trainer_config(t));
    bool ok = qkv_run_layout_init(&l, t, &s) && config;
    if (ok) {
        qkv_io_note notes[] = {{"format", FORMAT}, {"version", QKV_VERSION}, {"config", config}};
        ok = qkv_io_safetensors_write(io, qkv_trainer_allocator(t), path, l.tensor, l.n, notes, 3,
                                      error);
    } else {
        qkv_io_error(error, "write", path, ENOMEM);
    }
    qkv_run_layout_free(&l);
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
static qkv_io_status check_layout(const qkv_io_safetensors *file, const qkv_run_layout *l,
                                  const char *path, char *error) {
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
static qkv_io_status read_state(const qkv_io_safetensors *file, qkv_run_layout_state *s,
                                const char *path, char *error) {
    qkv_io_stored want[STATE];
    qkv_run_layout_state_tensors(want, s);
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
    qkv_run_layout_state s = {0};
    qkv_run_layout l;
    if (!qkv_run_layout_init(&l, t, &s)) {
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
    qkv_run_layout_free(&l);
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
    qkv_run_layout_state s;
    qkv_io_status status = open_checkpoint(&file, io, mem, path, error);
    if (status != QKV_IO_OK) return status;
    status = qkv_io_safetensors_load(&file, error);
    if (status == QKV_IO_OK) status = read_state(&file, &s, path, error);
    qkv_io_safetensors_close(&file);
    return status;
}
