/* write.c - a study's numbers as CSV: means, seeds, and what the picture shows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/io/given.h"
#include "train/study/sweep.h"
#include "train/study/words.h"

static bool write_text(const qkv_io *io, const char *dir, const char *name, const qkv_io_text *text,
                       char *error) {
    char path[QKV_IO_PATH];
    if (text->failed) return qkv_io_fail(error, "out of memory");
    return qkv_io_path(path, dir, name, error) &&
           qkv_io_write_file(io, path, text->at, text->n, error);
}

static void add_numbers(qkv_io_text *out, const double *x, int n) {
    for (int i = 0; i < n; i++) {
        qkv_io_text_add(out, ",");
        qkv_io_text_number(out, x[i]);
    }
}

static void add_names(qkv_io_text *out, const qkv_study_variant *v) {
    qkv_io_text_label(out, v->group);
    qkv_io_text_add(out, ",");
    qkv_io_text_label(out, v->name);
}

static void add_means(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out) {
    qkv_io_text_add(out, "group,variant,measure,n,mean,sd,least,most\n");
    for (int v = 0; v < s->n_variants; v++)
        for (int c = 0; c < s->n_columns; c++) {
            qkv_study_summary m = qkv_study_summarise(s, r, v, s->column[c].measure);
            add_names(out, &s->variant[v]);
            qkv_io_text_add(out, ",");
            qkv_io_text_label(out, s->column[c].measure);
            qkv_io_text_add(out, ",%d", m.n);
            add_numbers(
                out,
                (double[]){m.mean, m.sd, m.n ? m.least : (double)NAN, m.n ? m.most : (double)NAN},
                4);
            qkv_io_text_add(out, "\n");
        }
}

static void add_seeds(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out) {
    qkv_io_text_add(out, "group,variant,seed,measure,value\n");
    for (int i = 0; i < r->n; i++)
        for (int k = 0; k < r->at[i].measures.n && !r->at[i].error; k++) {
            add_names(out, &s->variant[r->at[i].variant]);
            qkv_io_text_add(out, ",%d,", r->at[i].seed);
            qkv_io_text_label(out, r->at[i].measures.at[k].name);
            add_numbers(out, &r->at[i].measures.at[k].x, 1);
            qkv_io_text_add(out, "\n");
        }
}

/* All trainings that have a result, as the rows of a sweep. */
static bool add_cells(const qkv_study *s, const qkv_study_results *r,
                      const struct qkv_config_plugin *plugin, qkv_io_text *out, char *error) {
    qkv_study_cell *cell = tensor_arena_take(out->arena, (size_t)r->n + 1, sizeof *cell);
    if (!cell) return qkv_io_fail(error, "out of memory");
    for (int i = 0; i < r->n; i++) cell[i] = (qkv_study_cell){r->at[i].variant, r->at[i].seed};
    return qkv_study_cells_csv(s, cell, r->n, r, plugin, true, out, error);
}

bool qkv_study_write(const qkv_io *io, const qkv_study *s, const qkv_study_results *r,
                     const struct qkv_config_plugin *plugin, const char *dir, char *error) {
    if (!QKV_IO_GIVEN(error, s, r, dir)) return false;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text means = {.arena = arena, .failed = !arena}, seeds = means, picture = means,
                cells = means;
    add_means(s, r, &means);
    add_seeds(s, r, &seeds);
    bool ok = arena && add_cells(s, r, plugin, &cells, error) &&
              write_text(io, dir, "cells.csv", &cells, error) &&
              write_text(io, dir, "table.csv", &means, error) &&
              write_text(io, dir, "seeds.csv", &seeds, error);
    if (ok && *s->picture.kind) {
        qkv_study_picture_data(s, r, &picture);
        ok = write_text(io, dir, strcmp(s->picture.kind, "bars") ? "lines.csv" : "bars.csv",
                        &picture, error);
    }
    tensor_arena_free(arena);
    return ok;
}
