/* frames.c - a run's attention and circuits over its steps, for an animation. */
#include <stdio.h>
#include <string.h>

#include "train/probe/attention_map.h"
#include "train/run/files.h"
#include "train/trainer/loop.h"

enum { HEADS = 3 };  // maps of an example

typedef struct {
    qkv_trainer *t;
    tensor_arena *maps;  // of one frame
    qkv_io_text *out;
    int step, last, panel;
    double accuracy;
    char *error;
    void (*progress)(void *ctx, int done, int total);
    void *ctx;
} frame;

/* A map's rows, each behind what is the same for all of them. */
static bool add_map(frame *f, const char *kind, const qkv_io_text *map) {
    if (map->failed) return qkv_io_fail(f->error, "out of memory");
    const char *row = strchr(map->at, '\n') + 1;  // behind the header
    bool titled = strncmp(row - strlen("title\n"), "title", 5) == 0;
    for (const char *end; (end = strchr(row, '\n')); row = end + 1) {
        qkv_io_text_add(f->out, "%d,%d,", f->step, f->last);
        qkv_io_text_number(f->out, f->accuracy);
        qkv_io_text_add(f->out, ",%s,%d,", kind, f->panel);
        qkv_io_text_put(f->out, row, (size_t)(end - row));
        qkv_io_text_add(f->out, titled ? "\n" : ",\n");
    }
    f->panel++;
    return true;
}

static bool add_attention(frame *f) {
    qkv_io_text map[HEADS] = {{.arena = f->maps}};
    if (!qkv_probe_attention_missing(f->t))
        return qkv_probe_attention_map(f->t, QKV_PROBE_MAP_PLAIN, map)
                   ? add_map(f, "attention", map)
                   : qkv_trainer_fail(f->t, f->error);
    qkv_trainer_load(f->t, qkv_trainer_any_worker(f->t), "test", 0, 1, 1);
    int n = qkv_probe_example_maps(f->t, &(qkv_probe_maps_of){.most = HEADS}, f->maps, map);
    for (int i = 0; i < n; i++)
        if (!add_map(f, "attention", &map[i])) return false;
    return n >= 0 || qkv_trainer_fail(f->t, f->error);
}

static bool add_circuits(frame *f) {
    static const struct {
        qkv_probe_circuit circuit;
        const char *kind;
    } shown[] = {{QKV_PROBE_QK_KEY, "qk"}, {QKV_PROBE_OV_VALUE, "ov"}};
    qkv_probe_circuits c;
    if (!qkv_probe_circuits_new(f->maps, f->t, &c)) return true;  // the model has none
    qkv_probe_circuits_read(f->t, 0, 0, &c);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        qkv_io_text map = {.arena = f->maps};
        qkv_probe_circuit_map(&c, shown[i].circuit, &map);
        if (!add_map(f, shown[i].kind, &map)) return false;
    }
    return true;
}

static bool add_frame(frame *f) {
    qkv_trainer_scores s;
    qkv_trainer_at_step(f->t, f->step);
    if (!qkv_trainer_evaluate(f->t, "valid", 0, qkv_trainer_config(f->t)->eval_examples, &s,
                              f->error))
        return false;
    f->accuracy = s.accuracy;
    f->panel = 0;
    tensor_arena_reset(f->maps);
    if (!add_attention(f) || !add_circuits(f)) return false;
    if (!f->panel)
        return qkv_io_fail(f->error, "this model has no attention and no circuits to be drawn");
    return !f->out->failed || qkv_io_fail(f->error, "out of memory");
}

/* Trains from step to step, and adds a frame at each. */
static qkv_io_status add_all(frame *f, int first, int frames) {
    const qkv_trainer_calls none = {.updated = NULL};
    f->step = first;
    qkv_io_text_add(f->out,
                    "step,last,accuracy,kind,panel,row,col,value,target,row_label,col_label,"
                    "title\n");
    for (int i = 0; i < frames; i++) {
        const int at = first + (int)((long long)(f->last - first) * i / (frames - 1));
        if (i && at == f->step) continue;  // fewer steps than frames
        qkv_trainer_outcome end = qkv_trainer_train(f->t, &f->step, at, NULL, &none, f->error);
        if (end != QKV_TRAINER_ENDED)
            return end == QKV_TRAINER_DIVERGED ? QKV_IO_DIVERGED : QKV_IO_FAILED;
        if (!add_frame(f)) return QKV_IO_FAILED;
        if (f->progress) f->progress(f->ctx, i + 1, frames);
    }
    return QKV_IO_OK;
}

static qkv_io_status write_frames(const qkv_io *io, const char *run, const qkv_io_text *text,
                                  char *error) {
    char dir[QKV_IO_PATH], path[QKV_IO_PATH];
    bool ok = qkv_io_path(dir, run, "probe", error) && qkv_io_make_directory(io, dir, error) &&
              qkv_io_path(path, dir, "frames.csv", error) &&
              qkv_io_write_file(io, path, text->at, text->n, error);
    return ok ? QKV_IO_OK : QKV_IO_FAILED;
}

qkv_io_status qkv_run_write_frames(const qkv_io *io, const qkv_run_opening *o, int frames,
                                   const char *to, void (*told)(void *ctx, int done, int total),
                                   void *ctx, char *error) {
    qkv_run_opening at = *o;
    qkv_run_progress progress;
    qkv_io_status status;
    char note[QKV_IO_ERROR];
    frame f = {.error = error, .progress = told, .ctx = ctx};
    f.t = qkv_run_open_at(io, &at, &progress, &status, error);
    if (!f.t) return status;
    snprintf(note, sizeof note, "%s", error);
    f.last = progress.step;
    size_t length;
    const char *from = qkv_trainer_config(f.t)->from;
    const int first = *from ? qkv_config_from_step(from, &length) : 0;
    qkv_trainer_free(f.t);
    at.at = first;
    f.t = qkv_run_open_at(io, &at, &progress, &status, error);
    if (!f.t) return status;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text text = {.arena = arena, .failed = !arena};
    f.maps = tensor_arena_new(NULL);
    f.out = &text;
    status = QKV_IO_FAILED;
    qkv_io_fail(error, "out of memory");
    if (arena && f.maps) status = add_all(&f, first, frames);
    qkv_trainer_free(f.t);
    tensor_arena_free(f.maps);
    if (status == QKV_IO_OK) status = write_frames(io, to, &text, error);
    tensor_arena_free(arena);
    if (status == QKV_IO_OK) snprintf(error, QKV_IO_ERROR, "%s", note);
    return status;
}
