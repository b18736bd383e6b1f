/* rows_read.c - rows from a folder: cells.csv as it is, or config.json and metrics.csv of runs. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/given.h"
#include "train/run/run.h"
#include "train/study/grid.h"
#include "train/study/rows.h"

/* ---- runs ---- */

typedef struct {
    const qkv_io *io;
    tensor_arena *arena;
    const char **dir;
    int n;
    size_t room;
    const char *below;  // the folder that is looked through
    bool failed;
} run_list;

static void add_run(run_list *l, const char *dir) {
    const char **at = tensor_arena_grow(l->arena, l->dir, (size_t)l->n, 1, &l->room, sizeof *at);
    char *copy = tensor_arena_take(l->arena, strlen(dir) + 1, 1);
    l->failed = l->failed || !at || !copy;
    if (l->failed) return;
    l->dir = at;
    at[l->n++] = strcpy(copy, dir);
}

static bool has_file(const qkv_io *io, const char *dir, const char *name) {
    char path[QKV_IO_PATH], ignored[QKV_IO_ERROR];
    if (!qkv_io_path(path, dir, name, ignored)) return false;
    const int fd = qkv_io_open(io, path, 0);
    if (fd >= 0) qkv_io_close(io, fd);
    return fd >= 0;
}

static bool visit(void *ctx, const char *name) {
    run_list *l = ctx;
    char path[QKV_IO_PATH], ignored[QKV_IO_ERROR];
    if (*name != '.' && qkv_io_path(path, l->below, name, ignored) &&
        has_file(l->io, path, "config.json"))
        add_run(l, path);
    return true;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool list_runs(run_list *l, const char *const *dirs, int n, char *error) {
    for (int i = 0; i < n; i++) {
        const int before = l->n;
        if (has_file(l->io, dirs[i], "config.json")) {
            add_run(l, dirs[i]);
            continue;
        }
        l->below = dirs[i];
        l->io->list(l->io->ctx, dirs[i], visit, l);
        if (l->n == before && !l->failed)
            return qkv_io_fail(error,
                               "'%.200s' is no sweep or study with a cells.csv, no run, and has no "
                               "runs in it",
                               dirs[i]);
        if (l->n > before + 1)
            qsort(l->dir + before, (size_t)(l->n - before), sizeof *l->dir, by_name);
    }
    return !l->failed || qkv_io_fail(error, "out of memory");
}

/* What the last row of metrics.csv says; an object. */
static qkv_io_status read_metrics(const qkv_io *io, tensor_arena *arena, const char *dir,
                                  json_t *to, char *error) {
    qkv_io_table t;
    char path[QKV_IO_PATH];
    if (!qkv_io_path(path, dir, "metrics.csv", error)) return QKV_IO_FAILED;
    const qkv_io_status status = qkv_io_table_read(&t, io, arena, path, error);
    if (status != QKV_IO_OK) return status;
    for (int c = 0; t.rows && c < t.cols; c++) {
        const char *name = qkv_io_table_cell(&t, -1, c);
        double x;
        if (strcmp(name, "lr") == 0 || strcmp(name, "seconds") == 0) continue;
        json_object_set_new(
            to,
            strcmp(name, "loss") == 0       ? "batch_loss"
            : strcmp(name, "val_loss") == 0 ? "loss"
                                            : name,
            qkv_io_table_number(&t, t.rows - 1, c, &x) ? json_real(x) : json_string(""));
    }
    return QKV_IO_OK;
}

static qkv_io_status read_run(const qkv_io *io, tensor_arena *arena, const char *dir,
                              json_t *options, json_t *measures, char *error) {
    char *text;
    size_t n;
    const qkv_io_status status = qkv_run_config_text(io, dir, &text, &n, error);
    if (status != QKV_IO_OK) return status == QKV_IO_DAMAGED ? QKV_IO_DAMAGED : QKV_IO_FAILED;
    json_t *o = json_loadb(text, n, 0, NULL), *value;
    const char *key;
    tensor_malloc.release(NULL, text);
    if (!json_is_object(o)) {
        json_decref(o);
        return qkv_io_fail(error, "'%.200s/config.json' is no configuration", dir), QKV_IO_DAMAGED;
    }
    json_object_foreach(o, key, value) {
        if (!qkv_config_is_remark(key) && strcmp(key, "seed") != 0 && strcmp(key, "checksum") != 0)
            json_object_set(options, key, value);
    }
    json_object_set(options, "seed", json_object_get(o, "seed"));
    json_decref(o);
    return read_metrics(io, arena, dir, measures, error);
}

/* ---- objects as a table ---- */

static void add_keys(json_t *keys, json_t *rows, bool seed) {
    json_t *row, *value;
    const char *key;
    size_t i;
    json_array_foreach(rows, i, row) {
        json_object_foreach(row, key, value) {
            if (seed || strcmp(key, "seed") != 0) json_object_set_new(keys, key, json_true());
        }
    }
}

static const char *kept(tensor_arena *arena, const json_t *value) {
    char text[QKV_STUDY_VALUE];
    if (!value) return "";
    qkv_study_grid_text(value, text);
    char *copy = tensor_arena_take(arena, strlen(text) + 1, 1);
    return copy ? strcpy(copy, text) : NULL;
}

static bool fill(qkv_study_rows *r, const run_list *l, json_t *options, json_t *measures) {
    json_t *keys = json_object(), *value;
    const char *key;
    json_object_set_new(keys, "run", json_true());
    add_keys(keys, options, false);
    json_object_set_new(keys, "seed", json_true());
    r->options = (int)json_object_size(keys);
    add_keys(keys, measures, false);
    r->table.cols = (int)json_object_size(keys);
    r->table.rows = l->n;
    r->table.cell = tensor_arena_take(r->arena, (size_t)(l->n + 1) * (size_t)r->table.cols,
                                      sizeof *r->table.cell);
    bool ok = r->table.cell != NULL;
    int c = 0;
    json_object_foreach(keys, key, value) {
        for (int i = -1; ok && i < l->n; i++) {
            json_t *name = i < 0 ? json_string(key) : c == 0 ? json_string(l->dir[i]) : NULL;
            const json_t *at =
                name ? name
                     : json_object_get(
                           json_array_get(c < r->options ? options : measures, (size_t)i), key);
            const char *text = kept(r->arena, at);
            r->table.cell[(i + 1) * r->table.cols + c] = text;
            ok = text != NULL;
            json_decref(name);
        }
        c++;
    }
    json_decref(keys);
    return ok;
}

static qkv_io_status read_runs(qkv_study_rows *r, const qkv_io *io, const char *const *dirs, int n,
                               char *error) {
    run_list l = {.io = io, .arena = r->arena};
    json_t *options = json_array(), *measures = json_array();
    qkv_io_status status = list_runs(&l, dirs, n, error) ? QKV_IO_OK : QKV_IO_ABSENT;
    for (int i = 0; i < l.n && status == QKV_IO_OK; i++) {
        json_t *set = json_object(), *found = json_object();
        status = read_run(io, r->arena, l.dir[i], set, found, error);
        json_array_append_new(options, set);
        json_array_append_new(measures, found);
    }
    if (status == QKV_IO_OK && !fill(r, &l, options, measures))
        status = (qkv_io_fail(error, "out of memory"), QKV_IO_FAILED);
    json_decref(options);
    json_decref(measures);
    return status;
}

qkv_io_status qkv_study_rows_read(qkv_study_rows *r, const qkv_io *io, tensor_arena *arena,
                                  const char *const *dirs, int n, char *error) {
    char path[QKV_IO_PATH];
    if (!QKV_IO_GIVEN(error, r, arena, dirs)) return QKV_IO_FAILED;
    io = qkv_io_of(io);
    *r = (qkv_study_rows){.arena = arena};
    qkv_io_status status;
    if (n == 1 && has_file(io, dirs[0], "cells.csv")) {
        if (!qkv_io_path(path, dirs[0], "cells.csv", error)) return QKV_IO_FAILED;
        status = qkv_io_table_read(&r->table, io, arena, path, error);
        r->options = status == QKV_IO_OK ? qkv_io_table_column(&r->table, "seed") + 1 : 0;
        if (status == QKV_IO_OK && !r->options)
            status = (qkv_io_fail(error, "'%.200s' has no column 'seed'", path), QKV_IO_DAMAGED);
    } else {
        status = read_runs(r, io, dirs, n, error);
    }
    if (status != QKV_IO_OK) return status;
    r->n = r->table.rows;
    r->row = tensor_arena_take(arena, (size_t)r->n + 1, sizeof *r->row);
    if (!r->row) return qkv_io_fail(error, "out of memory"), QKV_IO_FAILED;
    for (int i = 0; i < r->n; i++) r->row[i] = i;
    return QKV_IO_OK;
}
