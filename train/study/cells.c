/* cells.c - the cells of a sweep or a study as a table: options as columns, then what was measured. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/given.h"
#include "train/study/sweep.h"

const char *qkv_study_cell_number(const qkv_study *s, const qkv_study_cell *cell,
                                  char out[QKV_STUDY_NUMBER]) {
    snprintf(out, QKV_STUDY_NUMBER, "c%011" PRIx64, qkv_study_cell_id(s, cell) >> 20);
    return out;
}

/* Names in the order in which they came. */
typedef struct {
    tensor_arena *arena;
    const char **at;
    int n;
    size_t room;
    bool failed;
} names;

static void add_name(names *l, const char *name) {
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->at[i], name) == 0) return;
    const char **at = tensor_arena_grow(l->arena, l->at, (size_t)l->n, 1, &l->room, sizeof *at);
    char *copy = tensor_arena_take(l->arena, strlen(name) + 1, 1);
    l->failed = l->failed || !at || !copy;
    if (l->failed) return;
    l->at = at;
    at[l->n++] = strcpy(copy, name);
}

static bool is_option_column(const char *field) {
    return strcmp(field, "seed") != 0 && strcmp(field, "data_checksum") != 0;
}

static void list_columns(const qkv_study *s, const qkv_study_cell *cells, int n,
                         const qkv_study_results *r, names *options, names *measures) {
    const char *field;
    json_t *value;
    for (int v = 0; v < s->n_variants; v++) {
        json_t *set = json_loads(s->variant[v].json, 0, NULL);
        json_object_foreach(set, field, value) {
            if (is_option_column(field)) add_name(options, field);
        }
        json_decref(set);
    }
    for (int i = 0; i < n; i++) {
        const qkv_study_result *one = qkv_study_results_find(r, cells[i].variant, cells[i].seed);
        for (int k = 0; one && k < one->measures.n; k++)
            if (!strchr(one->measures.at[k].name, '@') &&
                strcmp(one->measures.at[k].name, "seconds") != 0)
                add_name(measures, one->measures.at[k].name);
    }
    add_name(measures, "steps99");  // though no cell may have come so far
}

static void add_field(qkv_io_text *out, const char *text) {
    if (strpbrk(text, ",\"\n\r'") || *text == ' ')
        qkv_io_text_label(out, text);
    else
        qkv_io_text_add(out, "%s", text);
}

/* The options of a variant as fields, with a comma before each: as they were given, or else as they are
 * without. NULL: out of memory. */
static const char *options_of(const qkv_study *s, int variant, const names *options,
                              const struct qkv_config_plugin *plugin, tensor_arena *arena) {
    qkv_io_text out = {.arena = arena};
    json_t *set = json_loads(s->variant[variant].json, 0, NULL);
    char text[QKV_STUDY_VALUE], ignored[QKV_IO_ERROR];
    qkv_config c;
    data_spec spec;
    bool made = false, tried = false;
    for (int i = 0; i < options->n; i++) {
        const json_t *value = json_object_get(set, options->at[i]);
        const data_option *o = NULL;
        if (!value && !tried) {
            tried = true;
            made = qkv_study_config(s, variant, 1, plugin, &c, &spec, ignored);
            if (made) data_release(&spec);
        }
        if (!value && made) o = qkv_config_option_find(&c, options->at[i]);
        qkv_io_text_add(&out, ",");
        if (value) add_field(&out, qkv_study_grid_text(value, text));
        if (o) add_field(&out, qkv_config_get(&c, o, text, sizeof text));
    }
    json_decref(set);
    return out.failed ? NULL : out.at ? out.at : "";
}

static void add_row(const qkv_study *s, const qkv_study_result *r, const char *options,
                    const names *measures, bool named, qkv_io_text *out) {
    const qkv_study_cell cell = {r->variant, r->seed};
    char number[QKV_STUDY_NUMBER];
    qkv_io_text_add(out, "%s", qkv_study_cell_number(s, &cell, number));
    if (named) {
        qkv_io_text_add(out, ",");
        add_field(out, s->variant[r->variant].group);
        qkv_io_text_add(out, ",");
        add_field(out, s->variant[r->variant].name);
    }
    qkv_io_text_put(out, options, strlen(options));
    qkv_io_text_add(out, ",%d", r->seed);
    for (int k = 0; k < measures->n; k++) {
        qkv_io_text_add(out, ",");
        qkv_io_text_number(out, qkv_probe_measure_get(&r->measures, measures->at[k]));
    }
    qkv_io_text_add(out, ",");
    if (r->error) qkv_io_text_label(out, r->error);
    qkv_io_text_add(out, "\n");
}

bool qkv_study_cells_csv(const qkv_study *s, const qkv_study_cell *cells, int n,
                         const qkv_study_results *r, const struct qkv_config_plugin *plugin,
                         bool named, qkv_io_text *out, char *error) {
    if (!QKV_IO_GIVEN(error, s, cells, r, out)) return false;
    names options = {.arena = out->arena}, measures = options;
    const char **text = tensor_arena_take(out->arena, (size_t)s->n_variants, sizeof *text);
    if (!text) return qkv_io_fail(error, "out of memory");
    list_columns(s, cells, n, r, &options, &measures);
    qkv_io_text_add(out, named ? "cell,group,variant" : "cell");
    for (int i = 0; i < options.n; i++) qkv_io_text_add(out, ",%s", options.at[i]);
    qkv_io_text_add(out, ",seed");
    for (int i = 0; i < measures.n; i++) qkv_io_text_add(out, ",%s", measures.at[i]);
    qkv_io_text_add(out, ",failed\n");
    for (int i = 0; i < n; i++) {
        const int v = cells[i].variant;
        const qkv_study_result *one = qkv_study_results_find(r, v, cells[i].seed);
        if (!one) continue;
        if (!text[v]) text[v] = options_of(s, v, &options, plugin, out->arena);
        if (!text[v]) return qkv_io_fail(error, "out of memory");
        add_row(s, one, text[v], &measures, named, out);
    }
    return (!out->failed && !options.failed && !measures.failed) ||
           qkv_io_fail(error, "out of memory");
}

void qkv_study_times_csv(const qkv_study *s, const qkv_study_cell *cells, int n,
                         const qkv_study_results *r, qkv_io_text *out) {
    char number[QKV_STUDY_NUMBER];
    qkv_io_text_add(out, "cell,seconds\n");
    for (int i = 0; i < n; i++) {
        const qkv_study_result *one = qkv_study_results_find(r, cells[i].variant, cells[i].seed);
        if (!one) continue;
        qkv_io_text_add(out, "%s,", qkv_study_cell_number(s, &cells[i], number));
        qkv_io_text_number(out, qkv_probe_measure_get(&one->measures, "seconds"));
        qkv_io_text_add(out, "\n");
    }
}
