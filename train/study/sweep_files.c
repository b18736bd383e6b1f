/* sweep_files.c - a sweep's folder: sweep.json, whose cells are there, and the tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/config/version.h"
#include "train/io/given.h"
#include "train/study/members.h"
#include "train/study/sweep.h"

enum { MOST = 1 << 28 };

/* With 15 digits, which keep 0.1 readable, where they are enough. */
static char *text_of(json_t *o) {
    char *text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    json_t *back = text ? json_loads(text, 0, NULL) : NULL;
    if (text && !json_equal(back, o)) {
        free(text);
        text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    }
    json_decref(back);
    return text;
}

qkv_io_status qkv_study_sweep_read(const qkv_io *io, const char *dir,
                                   const struct qkv_config_plugin *plugin, qkv_study_sweep **out,
                                   char *error) {
    static const char *const members[] = {"base", "grid", "probes", "version", NULL};
    char path[QKV_IO_PATH], shown[200];
    void *text;
    size_t n;
    if (!QKV_IO_GIVEN(error, dir, out) || !qkv_io_path(path, dir, "sweep.json", error))
        return QKV_IO_FAILED;
    *out = NULL;
    const qkv_io_status status = qkv_io_read_file(io, NULL, path, MOST, &text, &n, error);
    if (status != QKV_IO_OK) return status;
    json_error_t where;
    json_t *o = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
    tensor_malloc.release(NULL, text);
    char why[QKV_IO_ERROR] = "it is no JSON";
    if (o && qkv_study_member_object(o, "a sweep", members, why))
        *out = qkv_study_sweep_new(o, plugin, why);
    json_decref(o);
    if (*out) return QKV_IO_OK;
    qkv_io_fail(error, "'%s': %.300s", qkv_io_printable(path, shown, sizeof shown), why);
    return QKV_IO_DAMAGED;
}

/* ---- whose folder is it? ---- */

static bool is_anything(void *ctx, const char *name) {
    bool *any = ctx;
    *any = *any || (*name != '.' && strcmp(name, "slurm") != 0);
    return !*any;
}

/* Is the cell of a line one of the sweep's? Lines that are none say nothing. */
static bool has_line(const qkv_study_sweep *w, json_t *names, const char *line, size_t n,
                     char *error) {
    json_t *o = json_loadb(line, n, 0, NULL);
    const char *name = json_string_value(json_object_get(o, "variant"));
    const json_int_t seed = json_integer_value(json_object_get(o, "seed"));
    const json_t *at = name ? json_object_get(names, name) : NULL;
    bool ok = !name;
    for (json_int_t i = json_integer_value(at); at && !ok && i < w->n; i++)
        ok = w->cell[i].seed == seed &&
             strcmp(w->study->variant[w->cell[i].variant].name, name) == 0;
    if (!ok)
        qkv_io_fail(error,
                    "holds a cell that this sweep has not: %.200s seed=%d. A longer list adds "
                    "cells; for other ones choose another --out",
                    name, (int)seed);
    json_decref(o);
    return ok;
}

static bool has_lines(const qkv_study_sweep *w, const char *text, size_t n, char *error) {
    json_t *first = json_object();  // of each variant's cells
    bool ok = true;
    for (int i = w->n - 1; i >= 0; i--)
        json_object_set_new(first, w->study->variant[w->cell[i].variant].name, json_integer(i));
    for (const char *line = text, *end; ok && (end = memchr(line, '\n', n)); line = end + 1) {
        ok = has_line(w, first, line, (size_t)(end - line), error);
        n -= (size_t)(end - line) + 1;
    }
    json_decref(first);
    return ok;
}

bool qkv_study_sweep_belongs(const qkv_io *io, const qkv_study_sweep *w, const char *dir,
                             char *error) {
    if (!QKV_IO_GIVEN(error, w, dir)) return false;
    char path[QKV_IO_PATH], shown[200], why[QKV_IO_ERROR];
    bool any = false;
    void *text;
    size_t n;
    io = qkv_io_of(io);
    qkv_io_printable(dir, shown, sizeof shown);
    if (io->list(io->ctx, dir, is_anything, &any) != 0 || !any) return true;
    if (!qkv_io_path(path, dir, "sweep.json", error)) return false;
    qkv_io_status status = qkv_io_read_file(io, NULL, path, MOST, &text, &n, error);
    if (status == QKV_IO_ABSENT)
        return qkv_io_fail(error, "'%s' is not empty, and no sweep's folder. Choose another --out",
                           shown);
    if (status != QKV_IO_OK) return false;
    tensor_malloc.release(NULL, text);
    if (!qkv_io_path(path, dir, "results.jsonl", error)) return false;
    status = qkv_io_read_file(io, NULL, path, (size_t)1 << 30, &text, &n, error);
    if (status != QKV_IO_OK) return status == QKV_IO_ABSENT;
    const bool ok = has_lines(w, text, n, why) || qkv_io_fail(error, "'%s' %s", shown, why);
    tensor_malloc.release(NULL, text);
    return ok;
}

/* ---- writing ---- */

static bool write_file(const qkv_io *io, const char *dir, const char *name, const char *text,
                       char *error) {
    char path[QKV_IO_PATH];
    return qkv_io_path(path, dir, name, error) &&
           qkv_io_write_file(io, path, text, strlen(text), error);
}

/* The text of sweep.json, malloc'd. */
static char *definition_of(const qkv_study_sweep *w) {
    json_object_set_new(w->definition, "version", json_string(QKV_VERSION));
    return text_of(w->definition);
}

bool qkv_study_sweep_begin(const qkv_io *io, const qkv_study_sweep *w, const char *dir,
                           char *error) {
    if (!QKV_IO_GIVEN(error, w, dir)) return false;
    char *text = definition_of(w);
    if (!text) return qkv_io_fail(error, "out of memory");
    const bool ok =
        qkv_io_make_directory(io, dir, error) && write_file(io, dir, "sweep.json", text, error);
    free(text);
    return ok;
}

/* Does sweep.json say what this sweep is? */
static bool is_still(const qkv_io *io, const qkv_study_sweep *w, const char *dir) {
    char path[QKV_IO_PATH], ignored[QKV_IO_ERROR], *mine = definition_of(w);
    void *text = NULL;
    size_t n;
    const bool read = qkv_io_path(path, dir, "sweep.json", ignored) &&
                      qkv_io_read_file(io, NULL, path, MOST, &text, &n, ignored) == QKV_IO_OK;
    const bool same = !read || !mine || strcmp(mine, text) == 0;
    if (read) tensor_malloc.release(NULL, text);
    free(mine);
    return same;
}

bool qkv_study_sweep_write(const qkv_io *io, const qkv_study_sweep *w, const qkv_study_results *r,
                           const struct qkv_config_plugin *plugin, const char *dir, char *error) {
    if (!QKV_IO_GIVEN(error, w, r, dir)) return false;
    if (!is_still(io, w, dir)) return true;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text cells = {.arena = arena, .failed = !arena}, times = cells;
    bool ok = arena || qkv_io_fail(error, "out of memory");
    ok = ok && qkv_study_cells_csv(w->study, w->cell, w->n, r, plugin, false, &cells, error);
    if (ok) qkv_study_times_csv(w->study, w->cell, w->n, r, &times);
    ok = ok && (!times.failed || qkv_io_fail(error, "out of memory")) &&
         write_file(io, dir, "cells.csv", cells.at, error) &&
         write_file(io, dir, "times.csv", times.at, error);
    tensor_arena_free(arena);
    return ok;
}
