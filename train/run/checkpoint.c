/* checkpoint.c - a trainer's state as tensors by name: saved, compared, and only then restored. */
#include "train/run/checkpoint.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/config/version.h"
#include "train/io/given.h"
#include "train/io/safetensors.h"
#include "train/run/layout.h"

#define FORMAT QKV_RUN_LAYOUT_FORMAT

enum { STATE = QKV_RUN_LAYOUT_STATE };

qkv_run_progress qkv_run_progress_start(void) {
    return (qkv_run_progress){0, -1, (double)INFINITY};
}

bool qkv_run_compose(const qkv_trainer *t, const qkv_run_progress *p, const char *path, void **file,
                     size_t *size, char *error) {
    if (!QKV_IO_GIVEN(error, t, p, path, file, size)) return false;
    qkv_run_layout_state s = {
        .step = p->step, .best_step = p->best_step, .best_loss = p->best_loss};
    qkv_run_layout l;
    char *config = qkv_config_to_json(qkv_trainer_config(t));
    bool ok = qkv_run_layout_init(&l, t, &s) && config;
    if (ok) {
        qkv_io_note notes[] = {{"format", FORMAT}, {"version", QKV_VERSION}, {"config", config}};
        ok = qkv_io_safetensors_compose(qkv_trainer_allocator(t), path, l.tensor, l.n, notes, 3,
                                        file, size, error);
    } else {
        qkv_io_error(error, "write", path, ENOMEM);
    }
    qkv_run_layout_free(&l);
    free(config);
    return ok;
}

bool qkv_run_save(const qkv_io *io, const qkv_trainer *t, const qkv_run_progress *p,
                  const char *path, char *error) {
    void *file;
    size_t size;
    if (!QKV_IO_GIVEN(error, t, p, path) || !qkv_run_compose(t, p, path, &file, &size, error))
        return false;
    const tensor_allocator *mem = qkv_trainer_allocator(t);
    bool ok = qkv_io_write_file(io, path, file, size, error);
    mem->release(mem->ctx, file);
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

/* Are these its tensors: names, dtypes and shapes? */
static qkv_io_status check_layout(const qkv_io_safetensors *file, const qkv_io_stored *want, int n,
                                  bool any_real, qkv_io_besides_fn *besides, const char *path,
                                  char *error) {
    char what[QKV_IO_ST_WHAT], shown[120];
    if (qkv_io_safetensors_fits(file, want, n, any_real, besides, what)) return QKV_IO_OK;
    qkv_io_fail(error, "'%s' is no checkpoint of this model: %s",
                qkv_io_printable(path, shown, sizeof shown), what);
    return QKV_IO_DAMAGED;
}

static bool whatever(const char *name) { return name != NULL; }

/* Did another program write it? The numbers of the run stand first in a file that was written here;
 * others sort tensors by name, and have the checksum that they found, or none. */
static bool is_foreign(const qkv_io_safetensors *file) {
    qkv_run_layout_state s = {0};
    qkv_io_stored want[STATE];
    qkv_run_layout_state_tensors(want, &s);
    bool all = true, first = true;
    for (int i = 0; i < STATE; i++) {
        all = all && qkv_io_safetensors_find(file, want[i].name);
        first = first && i < file->n && strcmp(file->tensor[i].name, want[i].name) == 0;
    }
    return all && !first;
}

/* Opens a file that says it is a checkpoint. */
static qkv_io_status open_checkpoint(qkv_io_safetensors *file, const qkv_io *io,
                                     const tensor_allocator *mem, const char *path, char *error) {
    qkv_io_status status = qkv_io_safetensors_open(file, io, mem, path, error);
    if (status != QKV_IO_OK) return status;
    const char *format = qkv_io_safetensors_note(file, "format");
    file->unchecked = is_foreign(file);
    if (!format || strcmp(format, FORMAT) != 0)
        status = unfit(error, path, "is no checkpoint: its format is", format ? format : "",
                       ", not '" FORMAT "'");
    else if (!file->unchecked && !qkv_io_safetensors_note(file, "crc32"))
        status = unfit(error, path, "is damaged: it lacks", "crc32", "");
    if (status != QKV_IO_OK) qkv_io_safetensors_close(file);
    return status;
}

/* After success: "", or what a reader of the file should know. */
static void say_foreign(const qkv_io_safetensors *file, char *error) {
    char shown[200];
    *error = '\0';
    if (file->unchecked)
        qkv_io_fail(error,
                    "'%s' was written by another program and carries no checksum of ours: damage "
                    "in it would go unseen",
                    qkv_io_printable(file->path, shown, sizeof shown));
}

static qkv_run_progress progress_of(const qkv_run_layout_state *s) {
    return (qkv_run_progress){(int)s->step, (int)s->best_step, s->best_loss};
}

/* The numbers of a loaded file, and whether they can be true. */
static qkv_io_status read_state(const qkv_io_safetensors *file, qkv_run_layout_state *s,
                                const char *path, char *error) {
    qkv_io_stored want[STATE];
    *s = (qkv_run_layout_state){0};
    qkv_run_layout_state_tensors(want, s);
    qkv_io_status status = check_layout(file, want, STATE, false, whatever, path, error);
    if (status != QKV_IO_OK) return status;
    for (int i = 0; i < STATE; i++)
        memcpy((void *)(size_t)want[i].data,
               qkv_io_stored_find(file->tensor, file->n, i, want[i].name)->data,
               (size_t)want[i].bytes);
    if (s->step < 0 || s->step > INT_MAX)
        return unfit(error, path, "is damaged:", "state.step", " is no step");
    if (s->best_step < -1 || s->best_step > s->step)
        return unfit(error, path, "is damaged:", "state.best_step", " is no step");
    return QKV_IO_OK;
}

/* A tensor of the trainer's from the file; the numbers of the run are read before. */
static void take(const qkv_io_stored *to, const qkv_io_stored *from) {
    if (to->bytes)
        qkv_io_stored_read(from, (real *)(size_t)to->data, (size_t)to->bytes / sizeof(real));
}

qkv_io_status qkv_run_restore(const qkv_io *io, qkv_trainer *t, qkv_run_progress *p,
                              const char *path, char *error) {
    if (!QKV_IO_GIVEN(error, t, p, path)) return QKV_IO_FAILED;
    return qkv_run_restore_as(io, t, p, path, false, error);
}

qkv_io_status qkv_run_restore_as(const qkv_io *io, qkv_trainer *t, qkv_run_progress *p,
                                 const char *path, bool any_real, char *error) {
    if (!QKV_IO_GIVEN(error, t, p, path)) return QKV_IO_FAILED;
    qkv_io_safetensors file;
    qkv_io_status status = open_checkpoint(&file, io, qkv_trainer_allocator(t), path, error);
    if (status != QKV_IO_OK) return status;
    qkv_run_layout_state s = {0};
    qkv_run_layout l;
    if (!qkv_run_layout_init(&l, t, &s)) {
        qkv_io_error(error, "read", path, ENOMEM);
        status = QKV_IO_FAILED;
    }
    if (status == QKV_IO_OK)
        status = check_layout(&file, l.tensor, l.n, any_real, NULL, path, error);
    if (status == QKV_IO_OK) status = qkv_io_safetensors_load(&file, error);
    if (status == QKV_IO_OK) status = read_state(&file, &s, path, error);
    if (status == QKV_IO_OK) {  // from here on nothing can fail
        for (int i = STATE; i < l.n; i++) {
            const qkv_io_stored *to = &l.tensor[i];
            take(to, qkv_io_stored_find(file.tensor, file.n, i, to->name));
        }
        *p = progress_of(&s);
        say_foreign(&file, error);
    }
    qkv_run_layout_free(&l);
    qkv_io_safetensors_close(&file);
    return status;
}

qkv_io_status qkv_run_checkpoint_config(const qkv_io *io, const tensor_allocator *mem,
                                        const char *path, const struct qkv_config_plugin *plugin,
                                        qkv_config *c, char *error) {
    if (!QKV_IO_GIVEN(error, path, c)) return QKV_IO_FAILED;
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

qkv_io_status qkv_run_checkpoint_read(const qkv_io *io, const tensor_allocator *mem,
                                      const char *path, qkv_run_progress *p, char *error) {
    if (!QKV_IO_GIVEN(error, path, p)) return QKV_IO_FAILED;
    qkv_io_safetensors file;
    qkv_run_layout_state s;
    qkv_io_status status = open_checkpoint(&file, io, mem, path, error);
    if (status != QKV_IO_OK) return status;
    status = qkv_io_safetensors_load(&file, error);
    if (status == QKV_IO_OK) status = read_state(&file, &s, path, error);
    if (status == QKV_IO_OK) *p = progress_of(&s);
    if (status == QKV_IO_OK) say_foreign(&file, error);
    qkv_io_safetensors_close(&file);
    return status;
}

qkv_io_status qkv_run_checkpoint_check(const qkv_io *io, const tensor_allocator *mem,
                                       const char *path, char *error) {
    qkv_run_progress p;
    return qkv_run_checkpoint_read(io, mem, path, &p, error);
}
