/* results.c - what the trainings of a study found, as lines of JSON. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/given.h"
#include "train/study/study.h"

char *qkv_study_result_line(const qkv_study *s, const qkv_study_result *r) {
    const qkv_study_variant *v = &s->variant[r->variant];
    json_t *o = json_object(), *measures = json_object();
    json_object_set_new(o, "group", json_string(v->group));
    json_object_set_new(o, "variant", json_string(v->name));
    json_object_set_new(o, "seed", json_integer(r->seed));
    json_object_set_new(o, "key", json_integer(v->key));
    if (r->error) json_object_set_new(o, "error", json_string(r->error));
    for (int i = 0; !r->error && i < r->measures.n; i++)
        if (isfinite(r->measures.at[i].x))
            json_object_set_new(measures, r->measures.at[i].name, json_real(r->measures.at[i].x));
    json_object_set_new(o, "measures", measures);
    char *line = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9)), *out = NULL;
    json_decref(o);
    if (line) out = malloc(strlen(line) + 2);
    if (out) sprintf(out, "%s\n", line);
    free(line);
    return out;
}

static bool is_before(const qkv_study_result *a, const qkv_study_result *b) {
    return a->variant != b->variant ? a->variant < b->variant : a->seed < b->seed;
}

/* Of how many results it comes behind. */
static int place_of(const qkv_study_results *r, const qkv_study_result *one) {
    int low = 0, high = r->n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (is_before(&r->at[middle], one))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool qkv_study_results_add(qkv_study_results *r, const qkv_study_result *one) {
    const int i = place_of(r, one);
    qkv_study_result *at =
        tensor_arena_grow(r->arena, r->at, (size_t)r->n, 1, &r->room, sizeof *at);
    if (!at) return false;
    memmove(&at[i + 1], &at[i], (size_t)(r->n++ - i) * sizeof *at);
    at[i] = *one;
    r->at = at;
    return true;
}

const qkv_study_result *qkv_study_results_find(const qkv_study_results *r, int variant, int seed) {
    const qkv_study_result one = {.variant = variant, .seed = seed};
    const int i = place_of(r, &one);
    return i < r->n && !is_before(&one, &r->at[i]) ? &r->at[i] : NULL;
}

static int variant_of(const qkv_study *s, json_t *o) {
    const char *group = json_string_value(json_object_get(o, "group")),
               *name = json_string_value(json_object_get(o, "variant"));
    json_int_t key = json_integer_value(json_object_get(o, "key"));
    for (int i = 0; group && name && i < s->n_variants; i++)
        if (s->variant[i].key == (uint32_t)key && strcmp(s->variant[i].group, group) == 0 &&
            strcmp(s->variant[i].name, name) == 0)
            return i;
    return -1;
}

bool qkv_study_results_add_line(const qkv_study *s, const char *line, size_t n,
                                qkv_study_results *out) {
    json_t *o = json_loadb(line, n, 0, NULL), *measures = json_object_get(o, "measures"), *value;
    const char *name;
    qkv_study_result r = {.variant = variant_of(s, o),
                          .seed = (int)json_integer_value(json_object_get(o, "seed"))};
    const char *why = json_string_value(json_object_get(o, "error"));
    bool ok = true;
    if (o && r.variant >= 0 && (!why || out->keep_failed) &&
        !qkv_study_results_find(out, r.variant, r.seed)) {
        r.measures.arena = out->arena;
        json_object_foreach(measures, name, value)
            qkv_probe_measure_add(&r.measures, json_number_value(value), "%s", name);
        if (why && (r.error = tensor_arena_take(out->arena, strlen(why) + 1, 1)))
            strcpy(r.error, why);
        ok = !why == !r.error && !r.measures.failed && qkv_study_results_add(out, &r);
    }
    json_decref(o);
    return ok;
}

qkv_io_status qkv_study_results_read(const qkv_io *io, const char *path, const qkv_study *s,
                                     qkv_study_results *out, char *error) {
    if (!QKV_IO_GIVEN(error, path, s, out)) return QKV_IO_FAILED;
    void *text;
    size_t n;
    qkv_io_status status = qkv_io_read_file(io, NULL, path, (size_t)1 << 30, &text, &n, error);
    if (status == QKV_IO_ABSENT) return QKV_IO_OK;
    if (status != QKV_IO_OK) return status;
    const char *line = text;
    qkv_io_begin_text(&line, &n);
    const char *end = line + n;
    bool ok = true;
    while (ok && line < end) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        if (!line_end) break;  // torn: its training comes again
        ok = qkv_study_results_add_line(s, line, (size_t)(line_end - line), out);
        line = line_end + 1;
    }
    tensor_malloc.release(NULL, text);
    if (!ok) qkv_io_fail(error, "out of memory");
    return ok ? QKV_IO_OK : QKV_IO_FAILED;
}
