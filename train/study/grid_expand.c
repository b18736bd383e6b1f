/* grid_expand.c - variants and groups of a study that are given as a grid. */
#include <stdio.h>
#include <string.h>

#include "train/io/text.h"
#include "train/study/grid.h"

/* "lr = 0.1, d_k = 4" */
static void say_cell(json_t *cell, qkv_io_text *out) {
    const char *key;
    json_t *value;
    char text[QKV_STUDY_VALUE];
    json_object_foreach(cell, key, value) {
        qkv_io_text_add(out, "%s%s = ", out->at ? ", " : "", key);
        qkv_study_grid_text(value, text);
        qkv_io_text_put(out, text, strlen(text));
    }
}

/* The name with the cell's values for {lr}. */
static bool fill_in(const char *name, json_t *cell, qkv_io_text *out, char *error) {
    for (const char *open; (open = strchr(name, '{')); name = strchr(open, '}') + 1) {
        char field[80], text[QKV_STUDY_VALUE];
        const char *close = strchr(open, '}');
        snprintf(field, sizeof field, "%.*s", close ? (int)(close - open - 1) : 0, open + 1);
        const json_t *value = json_object_get(cell, field);
        if (!value)
            return qkv_io_fail(error, "the name '%.80s': '{%.40s}' is no option of its grid", name,
                               field);
        qkv_study_grid_text(value, text);
        qkv_io_text_put(out, name, (size_t)(open - name));
        qkv_io_text_put(out, text, strlen(text));
    }
    qkv_io_text_put(out, name, strlen(name));
    return true;
}

static json_t *expanded(json_t *one, json_t *cell, tensor_arena *arena, char *error) {
    qkv_io_text text = {.arena = arena};
    const char *name = json_string_value(json_object_get(one, "name"));
    if (name ? !fill_in(name, cell, &text, error) : (say_cell(cell, &text), false)) return NULL;
    json_t *out = json_copy(one), *set = json_object_get(one, "set");
    set = set ? json_copy(set) : json_object();
    json_object_del(out, "grid");
    if (json_object_update(set, cell) == 0 && json_object_set_new(out, "set", set) == 0 &&
        json_object_set_new(out, "name", json_string(text.at ? text.at : "")) == 0)
        return out;
    json_decref(out);
    return qkv_io_fail(error, "out of memory"), NULL;
}

/* Adds the object, or what its grid makes of it. */
static bool add(json_t *all, json_t *one, tensor_arena *arena, char *error) {
    json_t *grid = json_object_get(one, "grid");
    int n = 0;
    if (!grid) return json_array_append(all, one) == 0 || qkv_io_fail(error, "out of memory");
    if (!qkv_study_grid_count(grid, &n, error)) return false;
    for (int i = 0; i < n; i++) {
        json_t *cell = qkv_study_grid_cell(grid, i);
        json_t *made = expanded(one, cell, arena, error);
        json_decref(cell);
        if (!made || json_array_append_new(all, made) != 0) return false;
    }
    return true;
}

json_t *qkv_study_grid_expand(json_t *list, char *error) {
    json_t *all = list ? json_array() : NULL, *one;
    tensor_arena *arena = tensor_arena_new(NULL);
    size_t i;
    bool ok = arena || qkv_io_fail(error, "out of memory");
    json_array_foreach(list, i, one) ok = ok && add(all, one, arena, error);
    tensor_arena_free(arena);
    if (ok) return all;
    json_decref(all);
    return NULL;
}
