/* source.c - the state with which a run begins that is started --from another. */
#include "train/run/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/given.h"
#include "train/io/safetensors.h"
#include "train/run/files.h"
#include "train/run/layout.h"
#include "train/run/weights.h"
#include "train/trainer/anomaly.h"

/* The configuration stored in a file, if it is a checkpoint. */
static qkv_io_status config_of_file(const qkv_io *io, const char *path, char **json, size_t *n,
                                    char *error) {
    qkv_io_safetensors file;
    qkv_io_status s = qkv_io_safetensors_open(&file, io, NULL, path, error);
    if (s != QKV_IO_OK) return s;
    const char *text = qkv_io_safetensors_note(&file, "config");
    *n = text ? strlen(text) : 0;
    if (text && (*json = tensor_malloc.alloc(NULL, *n + 1)))
        memcpy(*json, text, *n + 1);
    else if (text)
        s = (qkv_io_fail(error, "out of memory"), QKV_IO_FAILED);
    qkv_io_safetensors_close(&file);
    return s;
}

qkv_io_status qkv_run_source_config(const qkv_io *io, const char *from, char **json, size_t *n,
                                    char *error) {
    if (!QKV_IO_GIVEN(error, from, json, n)) return QKV_IO_FAILED;
    char dir[QKV_IO_PATH];
    size_t length;
    *json = NULL;
    *n = 0;
    if (qkv_config_from_is_file(from)) return config_of_file(io, from, json, n, error);
    char why[QKV_IO_ERROR];
    qkv_config_from_step(from, &length);
    snprintf(dir, sizeof dir, "%.*s", (int)length, from);
    qkv_io_status s = qkv_run_config_text(io, dir, json, n, why);
    if (s != QKV_IO_OK) qkv_io_fail(error, "--from RUN[@STEP]: %.400s", why);
    return s;
}

/* ---- taking over ---- */

/* "the state of 'RUN' does not fit: WHAT 'NAME'MORE" */
static qkv_io_status unfit(char *error, const char *from, const char *what, const char *name,
                           const char *more) {
    char shown[160], which[100];
    qkv_io_fail(error, "--from: the state of '%s' does not fit: %s '%s'%s%s",
                qkv_io_printable(from, shown, sizeof shown), what,
                qkv_io_printable(name, which, sizeof which), more,
                qkv_run_layout_is_moment(name) ? "; --no-moments begins the optimiser anew" : "");
    return QKV_IO_USAGE;
}

/* Copies all tensors that both have, after a look whether they have the same ones. */
static qkv_io_status take_over(const char *name, const qkv_run_layout *from,
                               const qkv_run_layout *to, bool moments, char *error) {
    for (int i = QKV_RUN_LAYOUT_STATE; i < to->n; i++) {
        const qkv_io_stored *want = &to->tensor[i];
        if (!moments && qkv_run_layout_is_moment(want->name)) continue;
        const qkv_io_stored *has = qkv_io_stored_find(from->tensor, from->n, i, want->name);
        if (!has) return unfit(error, name, "it lacks", want->name, "");
        if (has->rank != want->rank ||
            memcmp(has->dim, want->dim, (size_t)want->rank * sizeof *want->dim) != 0)
            return unfit(error, name, "", want->name, " has another shape");
    }
    for (int i = QKV_RUN_LAYOUT_STATE; i < from->n; i++) {
        const char *has = from->tensor[i].name;
        if (!moments && qkv_run_layout_is_moment(has)) continue;
        if (!qkv_io_stored_find(to->tensor, to->n, i, has))
            return unfit(error, name, "it also has", has, "");
    }
    for (int i = QKV_RUN_LAYOUT_STATE; i < to->n; i++) {
        const qkv_io_stored *want = &to->tensor[i];
        if (!moments && qkv_run_layout_is_moment(want->name)) continue;
        memcpy((void *)(size_t)want->data,
               qkv_io_stored_find(from->tensor, from->n, i, want->name)->data, want->bytes);
    }
    return QKV_IO_OK;
}

/* "wq" is every layer's, too. */
static bool is_named(const char *name, const char *pattern) {
    char ending[QKV_CONFIG_TEXT_SIZE + 2];
    snprintf(ending, sizeof ending, "*.%s", pattern);
    return ag_matches(pattern, name) || ag_matches(ending, name);
}

/* Copies the parameters of that name; the moments stay. */
static bool copy_named(ag_params *to, ag_params *from, const char *pattern, char *why) {
    bool any = false;
    for (int i = 0; i < ag_params_count(to); i++) {
        ag_param_entry *p = ag_params_at(to, i);
        if (!is_named(p->name, pattern)) continue;
        const ag_param_entry *other = ag_params_find(from, p->name);
        if (!other || !tensor_same_shape(other->val.shape, p->val.shape))
            return qkv_io_fail(why, "its '%.100s' %s", p->name,
                               other ? "has another shape" : "is not there");
        memcpy(p->val.x, other->val.x, p->val.n * sizeof *p->val.x);
        any = true;
    }
    return any || qkv_io_fail(why, "no parameter is called '%.100s'", pattern);
}

/* --swap-matrix: parameters of yet other runs. */
static qkv_io_status swap_matrices(const qkv_io *io, qkv_trainer *t, int threads, char *error) {
    const qkv_config *c = qkv_trainer_config(t);
    const char *rest = c->swap_matrix;
    char why[QKV_IO_ERROR], dir[QKV_IO_PATH], note[QKV_IO_ERROR];
    qkv_config_part part;
    qkv_io_status status = QKV_IO_OK;
    while (qkv_config_next_part(&rest, &part, why)) {
        size_t length;
        qkv_run_progress progress;
        if (!part.value || !*part.value || part.from >= 0)
            return qkv_io_fail(error, "--swap-matrix: '%.100s' is not NAME=RUN or NAME=RUN@STEP",
                               part.name),
                   QKV_IO_USAGE;
        const int at = qkv_config_from_step(part.value, &length);
        qkv_run_opening o = {.dir = dir,
                             .plugin = c->plugin,
                             .threads = threads,
                             .at = part.value[length] ? at : QKV_RUN_NEWEST};
        snprintf(dir, sizeof dir, "%.*s", (int)length, part.value);
        qkv_trainer *other = qkv_run_open_at(io, &o, &progress, &status, note);
        if (!other) return qkv_io_fail(error, "--swap-matrix: %.400s", note), status;
        const bool ok =
            copy_named(qkv_trainer_params(t), qkv_trainer_params(other), part.name, why);
        qkv_trainer_free(other);
        if (!ok)
            return qkv_io_fail(error, "--swap-matrix %.100s=%.100s: %.300s", part.name, part.value,
                               why),
                   QKV_IO_USAGE;
    }
    return !*why ? QKV_IO_OK : (qkv_io_fail(error, "--swap-matrix: %.400s", why), QKV_IO_USAGE);
}

/* The state of another run. */
static qkv_io_status from_run(const qkv_io *io, qkv_trainer *t, int threads, int *step,
                              char *error) {
    const qkv_config *c = qkv_trainer_config(t);
    char dir[QKV_IO_PATH], note[QKV_IO_ERROR];
    size_t length;
    qkv_run_progress progress;
    qkv_io_status status;
    qkv_run_layout_state none = {0};
    qkv_run_layout from = {0}, to = {0};
    qkv_run_opening o = {.dir = dir, .plugin = c->plugin, .threads = threads, .at = QKV_RUN_NEWEST};
    int at = qkv_config_from_step(c->from, &length);
    if (c->from[length]) o.at = at;
    snprintf(dir, sizeof dir, "%.*s", (int)length, c->from);
    qkv_trainer *other = qkv_run_open_at(io, &o, &progress, &status, note);
    if (!other) return qkv_io_fail(error, "--from %.100s: %.400s", c->from, note), status;
    *step = progress.step;
    bool room = qkv_run_layout_init(&from, other, &none);
    room = qkv_run_layout_init(&to, t, &none) && room;
    if (room)
        status = take_over(c->from, &from, &to, c->moments, error);
    else
        status = (qkv_io_fail(error, "out of memory"), QKV_IO_FAILED);
    if (status == QKV_IO_OK) snprintf(error, QKV_IO_ERROR, "%s", note);
    qkv_run_layout_free(&from);
    qkv_run_layout_free(&to);
    qkv_trainer_free(other);
    return status;
}

/* Compares the state's checksum with the one that the configuration wants, or notes it. */
static qkv_io_status note_source(qkv_trainer *t, int step, char *error) {
    const qkv_config *c = qkv_trainer_config(t);
    char sum[16], from[QKV_CONFIG_TEXT_SIZE + 16], shown[200];
    size_t length;
    qkv_run_layout_state none = {0};
    qkv_run_layout l;
    bool ok = qkv_run_layout_init(&l, t, &none), file = qkv_config_from_is_file(c->from);
    if (ok) snprintf(sum, sizeof sum, "%08x", qkv_run_layout_checksum(&l, c->moments));
    qkv_run_layout_free(&l);
    if (!ok) return qkv_io_fail(error, "out of memory"), QKV_IO_FAILED;
    qkv_io_printable(c->from, shown, sizeof shown);
    if (*c->from_checksum && strcmp(c->from_checksum, sum) != 0)
        return qkv_io_fail(error,
                           "the state of '%s' has the checksum %s, not %s: it is another one",
                           shown, sum, c->from_checksum),
               QKV_IO_DAMAGED;
    qkv_config_from_step(c->from, &length);
    if (file)
        snprintf(from, sizeof from, "%s", c->from);
    else
        snprintf(from, sizeof from, "%.*s@%d", (int)length, c->from, step);
    if (strlen(from) >= QKV_CONFIG_TEXT_SIZE)
        return qkv_io_fail(error, "--from: '%s' is too long a name", shown), QKV_IO_USAGE;
    qkv_trainer_note_source(t, from, sum);
    return QKV_IO_OK;
}

qkv_io_status qkv_run_begin_from(const qkv_io *io, qkv_trainer *t, int threads,
                                 qkv_run_progress *progress, char *error) {
    const qkv_config *c = qkv_trainer_config(t);
    char note[QKV_IO_ERROR];
    int step = 0;
    *error = '\0';
    qkv_io_status s = qkv_config_from_is_file(c->from) ? qkv_run_load_weights(io, t, c->from, error)
                                                       : from_run(io, t, threads, &step, error);
    snprintf(note, sizeof note, "%s", error);
    if (s == QKV_IO_OK && *c->swap_matrix) s = swap_matrices(io, t, threads, error);
    if (s != QKV_IO_OK) return s;
    if (c->steps <= step)
        return qkv_io_fail(error, "--from begins at step %d: --steps %d is no more than that", step,
                           c->steps),
               QKV_IO_USAGE;
    const ag_param_entry *bad = qkv_trainer_first_bad_parameter(qkv_trainer_params(t));
    if (bad)
        return qkv_io_fail(error, "--from: the parameter '%.100s' is not finite", bad->name),
               QKV_IO_DIVERGED;
    s = note_source(t, step, error);
    if (s == QKV_IO_OK) snprintf(error, QKV_IO_ERROR, "%s", note);
    *progress = qkv_run_progress_start();
    progress->step = step;
    return s;
}
