#include "train/run_files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/probe/attention_map.h"

/* ---- the directory ---- */

/* Is it a file that a run writes? The lock and the pictures are left alone. */
static bool ours(const char *name) {
    return strcmp(name, "config.json") == 0 || strcmp(name, "metrics.csv") == 0 ||
           strcmp(name, "levels.csv") == 0 || strcmp(name, "best.safetensors") == 0 ||
           strncmp(name, "step-", 5) == 0 || train_is_temporary(name);
}

typedef struct {
    const train_io *io;
    const char *dir;
    bool occupied;  // there is something beside a lock
    bool remove;
    bool failed;
    char *error;
} survey;

static bool visit(void *ctx, const char *name) {
    survey *s = ctx;
    char path[TRAIN_PATH];
    if (strcmp(name, ".lock") == 0) return true;
    s->occupied = true;
    if (!s->remove || !ours(name)) return true;
    s->failed = !train_path(path, s->dir, name, s->error);
    if (!s->failed && s->io->unlink(s->io->ctx, path) != 0) {
        train_io_error(s->error, "remove", path, errno);
        s->failed = true;
    }
    return !s->failed;
}

train_status train_open_directory(const train_io *io, const train_run_options *o, int *lock,
                                  char *error) {
    char path[TRAIN_PATH], shown[256];
    *lock = -1;
    if (!train_make_directory(io, o->dir, error) || !train_path(path, o->dir, ".lock", error))
        return TRAIN_FAILED;
    survey s = {.io = io, .dir = o->dir, .error = error};
    if (io->list(io->ctx, o->dir, visit, &s) != 0) {
        train_io_error(error, "read", o->dir, errno);
        return TRAIN_FAILED;
    }
    if (s.occupied && !o->force && !o->resume) {
        snprintf(error, TRAIN_ERROR,
                 "'%s' is not empty; --force replaces the run in it, --resume goes on with it",
                 train_printable(o->dir, shown, sizeof shown));
        return TRAIN_FAILED;
    }
    *lock = train_open(io, path, O_RDWR | O_CREAT);
    if (*lock < 0 || io->lock(io->ctx, *lock) != 0) {
        if (*lock >= 0 && errno == EWOULDBLOCK)
            snprintf(error, TRAIN_ERROR, "another run is writing to '%s'",
                     train_printable(o->dir, shown, sizeof shown));
        else
            train_io_error(error, "lock", path, errno);
        train_close_directory(io, *lock);
        return TRAIN_FAILED;
    }
    s.remove = o->force && !o->resume;
    if (s.remove && (io->list(io->ctx, o->dir, visit, &s) != 0 || s.failed)) {
        train_close_directory(io, *lock);
        return TRAIN_FAILED;
    }
    return TRAIN_DONE;
}

void train_close_directory(const train_io *io, int lock) {
    if (lock >= 0) io->close(io->ctx, lock);
}

/* ---- what describes the run ---- */

static bool write_text(const train_io *io, const char *dir, const char *name, const char *text,
                       size_t n, char *error) {
    char path[TRAIN_PATH];
    return train_path(path, dir, name, error) && train_write_file(io, path, text, n, error);
}

bool train_write_descriptions(const train_io *io, const train_trainer *t, const char *dir,
                              char *error) {
    const data_spec *s = train_trainer_spec(t);
    char *json = train_config_to_json(train_trainer_config(t));
    if (!json) return snprintf(error, TRAIN_ERROR, "out of memory"), false;
    tensor_arena *arena = tensor_arena_new(NULL);
    train_text config = {.arena = arena, .failed = !arena}, levels = config;
    train_text_add(&config, "%s\n", json);
    free(json);
    const struct {
        const char *label;
        double accuracy;
    } known[] = {{"chance", s->chance}, {"cannot match", s->bag}};
    train_text_add(&levels, "loss,accuracy,label\n");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!(known[i].accuracy > 0)) continue;
        train_text_number(&levels, -log(known[i].accuracy));
        train_text_add(&levels, ",");
        train_text_number(&levels, known[i].accuracy);
        train_text_add(&levels, ",\"%s (ln %.0f)\"\n", known[i].label, 1 / known[i].accuracy);
    }
    if (levels.failed || config.failed) snprintf(error, TRAIN_ERROR, "out of memory");
    bool ok = !levels.failed && !config.failed &&
              write_text(io, dir, "config.json", config.at, config.n, error);
    ok = ok && write_text(io, dir, "levels.csv", levels.at, levels.n, error);
    tensor_arena_free(arena);
    return ok;
}

/* ---- probes ---- */

static bool write_circuit(const train_io *io, const data_spec *s, const train_circuits *c,
                          train_circuit i, const char *dir, const char *when, train_text *out,
                          char *error) {
    char name[64], row[DATA_SYMBOL], col[DATA_SYMBOL];
    out->n = 0;
    train_text_add(out, "row,col,value,row_label,col_label\n");
    for (int r = 0; r < c->rows[i]; r++)
        for (int k = 0; k < c->cols[i]; k++) {
            train_text_add(out, "%d,%d,", r, k);
            train_text_number(out, (double)c->map[i][r * c->cols[i] + k]);
            train_text_add(out, ",\"%s\",\"%s\"\n", data_symbol(train_circuit_rows(s, i), r, row),
                           data_symbol(train_circuit_cols(s, i), k, col));
        }
    snprintf(name, sizeof name, "%s-%s.csv", train_circuit_names[i], when);
    return !out->failed && write_text(io, dir, name, out->at, out->n, error);
}

static bool write_attention(const train_io *io, train_trainer *t, train_map_change change,
                            const char *dir, const char *name, train_text *out, char *error) {
    out->n = 0;
    return train_attention_map(t, change, out) && write_text(io, dir, name, out->at, out->n, error);
}

bool train_write_probes(const train_io *io, train_trainer *t, const train_circuits *circuits,
                        const char *run, const char *when, char *error) {
    char dir[TRAIN_PATH];
    const data_spec *s = train_trainer_spec(t);
    if (s->roles.key < 0 || s->entries < 2 || !train_has_attention(t) ||
        !train_trainer_worker(t)->out.logits[0])
        return true;
    if (!train_path(dir, run, "probe", error) || !train_make_directory(io, dir, error))
        return false;
    tensor_arena *arena = tensor_arena_new(NULL);
    train_text text = {.arena = arena, .failed = !arena};
    bool after = strcmp(when, "after") == 0;
    snprintf(error, TRAIN_ERROR, "out of memory");
    bool ok = arena &&
              write_attention(io, t, TRAIN_MAP_PLAIN, dir,
                              after ? "attention-after.csv" : "attention-before.csv", &text, error);
    if (after) {
        ok = ok && write_attention(io, t, TRAIN_MAP_KEYS_SWAPPED, dir, "attention-keys-swapped.csv",
                                   &text, error);
        ok = ok && write_attention(io, t, TRAIN_MAP_VALUES_SWAPPED, dir,
                                   "attention-values-swapped.csv", &text, error);
    }
    for (train_circuit i = 0; ok && circuits && i < TRAIN_CIRCUITS; i++)
        ok = write_circuit(io, s, circuits, i, dir, when, &text, error);
    tensor_arena_free(arena);
    return ok;
}

bool train_write_example(const train_io *io, train_trainer *t, const char *run, uint64_t example,
                         char *error) {
    enum { MOST = 16 };
    char dir[TRAIN_PATH], path[TRAIN_PATH], name[32];
    train_text map[MOST];
    if (!train_path(dir, run, "probe", error) || !train_make_directory(io, dir, error))
        return false;
    for (int k = 0; k < MOST; k++) {
        snprintf(name, sizeof name, "example-%d.csv", k);
        if (train_path(path, dir, name, error)) io->unlink(io->ctx, path);
    }
    tensor_arena *arena = tensor_arena_new(NULL);
    int n = arena ? train_example_maps(t, example, MOST, arena, map) : -1;
    bool ok = n > 0;
    if (!ok)
        snprintf(error, TRAIN_ERROR,
                 n == 0 ? "this model has no attention weights to be drawn" : "out of memory");
    for (int k = 0; ok && k < n; k++) {
        snprintf(name, sizeof name, "example-%d.csv", k);
        ok = !map[k].failed && write_text(io, dir, name, map[k].at, map[k].n, error);
    }
    tensor_arena_free(arena);
    return ok;
}
