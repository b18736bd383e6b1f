/* sweep.c - all combinations of options: which there are, and whether they can be trained. */
#include "train/study/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/config/version.h"
#include "train/io/crc32.h"
#include "train/io/given.h"
#include "train/study/members.h"

/* ---- names of cells ---- */

/* What the task has by itself, with what it recommends. */
static bool plain_config(const char *task, const struct qkv_config_plugin *plugin, qkv_config *c,
                         char *error) {
    qkv_config_default(c);
    qkv_config_use_plugin(c, plugin);
    return qkv_config_set(c, qkv_config_option_find(c, "task"), task, error) &&
           (qkv_config_task(c) || qkv_config_no_task(c, error)) && qkv_config_recommend(c, error);
}

static bool is_usual(const qkv_config *plain, const char *field, const char *text) {
    char usual[QKV_STUDY_VALUE];
    const data_option *o = qkv_config_option_find(plain, field);
    return o && strcmp(field, "task") != 0 &&
           strcmp(qkv_config_get(plain, o, usual, sizeof usual), text) == 0;
}

/* "d_k=4 lr=0.1 task=pairs", sorted, of what is not usual. NULL: out of memory. */
static const char *name_of(qkv_study_sweep *w, const json_t *set, const qkv_config *plain) {
    qkv_io_text name = {.arena = w->arena};
    char *sorted = json_dumps(set, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_t *o = sorted ? json_loads(sorted, 0, NULL) : NULL, *value;
    const char *field;
    char text[QKV_STUDY_VALUE];
    json_object_foreach(o, field, value) {
        qkv_study_grid_text(value, text);
        if (is_usual(plain, field, text)) continue;
        qkv_io_text_add(&name, "%s%s=", name.at ? " " : "", field);
        qkv_io_text_put(&name, text, strlen(text));
    }
    free(sorted);
    if (!o || name.failed) name.at = NULL;
    json_decref(o);
    return name.at;
}

/* ---- variants and cells, each once ---- */

static uint64_t hash_of(const char *text) {
    uint64_t h = 14695981039346656037u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h ^ h >> 29;
}

/* The slot of a variant's name, or the free one where it belongs: 1 + its index, or 0. */
static int *slot_of_name(const qkv_study_sweep *w, const char *name) {
    for (size_t i = (size_t)hash_of(name);; i++) {
        int *slot = &w->slot[i % w->slots];
        if (!*slot || strcmp(w->study->variant[*slot - 1].name, name) == 0) return slot;
    }
}

static int *slot_of_cell(const qkv_study_sweep *w, const qkv_study_cell *cell) {
    for (size_t i = (size_t)qkv_study_cell_id(w->study, cell);; i++) {
        int *slot = &w->slot[w->slots + i % w->slots];
        const qkv_study_cell *other = &w->cell[*slot ? *slot - 1 : 0];
        if (!*slot || (other->variant == cell->variant && other->seed == cell->seed)) return slot;
    }
}

static bool add_variant(qkv_study_sweep *w, const char *name, json_t *set, char *error) {
    qkv_study_variant *v = &w->study->variant[w->study->n_variants++], *first = w->study->variant;
    char *json = json_dumps(set, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    *v = (qkv_study_variant){.group = "", .name = name};
    v->json = json ? qkv_study_member_copy(w->study, json) : NULL;
    free(json);
    v->key = qkv_io_crc32(0, QKV_NUMBERS, strlen(QKV_NUMBERS));
    v->key = qkv_io_crc32(v->key, name, strlen(name));
    if (v == first) return v->json || qkv_io_fail(error, "out of memory");
    v->probe = first->probe;
    v->n_probes = first->n_probes;
    return v->json || qkv_io_fail(error, "out of memory");
}

static bool find_probes(qkv_study_sweep *w, json_t *probes, char *error) {
    qkv_study_variant *v = w->study->variant;
    const size_t n = json_array_size(probes);
    v->probe = tensor_arena_take(w->arena, n + 1, sizeof *v->probe);
    if (!v->probe) return qkv_io_fail(error, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(probes, i));
        v->probe[i] = qkv_study_probe_find(name);
        if (!v->probe[i])
            return qkv_io_fail(error, "there is no probe '%.60s' (qkv list probes)",
                               name ? name : "");
    }
    for (int k = 0; k < w->study->n_variants; k++) {
        v[k].probe = v->probe;
        v[k].n_probes = (int)n;
        for (size_t i = 0; i < n; i++)
            v[k].key = qkv_io_crc32(v[k].key, v->probe[i]->name, strlen(v->probe[i]->name));
    }
    return true;
}

/* Of the options of a cell: its seed, taken out of them. */
static int take_seed(json_t *set) {
    const json_t *seed = json_object_get(set, "seed");
    const int out = seed ? (int)json_integer_value(seed) : 1;
    json_object_del(set, "seed");
    return out;
}

static bool add_cell(qkv_study_sweep *w, json_t *set, qkv_config *plain,
                     const struct qkv_config_plugin *plugin, char *error) {
    const char *task = json_string_value(json_object_get(set, "task"));
    if (!task) return qkv_io_fail(error, "'task' must be a name");
    if (strcmp(plain->task, task) != 0 && !plain_config(task, plugin, plain, error)) return false;
    const json_t *given = json_object_get(set, "seed");
    const json_int_t number = json_integer_value(given);
    if (given && (!json_is_integer(given) || number < 0 || number > 2147483647))
        return qkv_io_fail(error, "'seed' must be a whole number from 0 to 2147483647");
    qkv_study_cell cell = {.seed = take_seed(set)};
    const char *name = name_of(w, set, plain);
    if (!name) return qkv_io_fail(error, "out of memory");
    int *slot = slot_of_name(w, name);
    if (!*slot && !add_variant(w, name, set, error)) return false;
    if (!*slot) *slot = w->study->n_variants;
    cell.variant = *slot - 1;
    slot = slot_of_cell(w, &cell);
    if (*slot) return w->repeated++, true;
    w->cell[w->n++] = cell;
    *slot = w->n;
    return true;
}

static bool add_cells(qkv_study_sweep *w, const struct qkv_config_plugin *plugin, char *error) {
    json_t *base = json_object_get(w->definition, "base"),
           *grid = json_object_get(w->definition, "grid");
    qkv_config plain = {.task = ""};
    int n;
    if (!qkv_study_grid_count(grid, &n, error)) return false;
    w->slots = 2 * (size_t)n + 1;
    w->slot = tensor_arena_take(w->arena, 2 * w->slots, sizeof *w->slot);
    w->cell = tensor_arena_take(w->arena, (size_t)n, sizeof *w->cell);
    w->study->variant = tensor_arena_take(w->arena, (size_t)n, sizeof *w->study->variant);
    if (!w->slot || !w->cell || !w->study->variant) return qkv_io_fail(error, "out of memory");
    for (int i = 0; i < n; i++) {
        json_t *set = json_copy(base), *cell = qkv_study_grid_cell(grid, i);
        if (!json_object_get(set, "task")) json_object_set_new(set, "task", json_string("pairs"));
        json_object_update(set, cell);
        const bool ok = set && cell && add_cell(w, set, &plain, plugin, error);
        if (!set || !cell) qkv_io_fail(error, "out of memory");
        json_decref(cell);
        json_decref(set);
        if (!ok) return false;
    }
    return true;
}

qkv_study_sweep *qkv_study_sweep_new(json_t *definition, const struct qkv_config_plugin *plugin,
                                     char *error) {
    if (!QKV_IO_GIVEN(error, definition)) return NULL;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_study_sweep *w = arena ? tensor_arena_take(arena, 1, sizeof *w) : NULL;
    qkv_study *s = w ? tensor_arena_take(arena, 1, sizeof *s) : NULL;
    if (!s) {
        qkv_io_fail(error, "out of memory");
        tensor_arena_free(arena);
        return NULL;
    }
    *s = (qkv_study){.arena = arena, .name = "sweep", .ends_only = true, .first_seed = 1};
    *w = (qkv_study_sweep){.arena = arena, .study = s, .definition = json_incref(definition)};
    if (add_cells(w, plugin, error) &&
        find_probes(w, json_object_get(definition, "probes"), error) &&
        qkv_study_find_data(s, "", plugin, error))
        return w;
    qkv_study_sweep_free(w);
    return NULL;
}

void qkv_study_sweep_free(qkv_study_sweep *w) {
    if (!w) return;
    json_decref(w->definition);
    tensor_arena_free(w->arena);
}

int qkv_study_sweep_find(const qkv_study_sweep *w, const char *number) {
    int found = -1;
    char text[QKV_STUDY_NUMBER];
    for (int i = 0; i < w->n && *number; i++) {
        qkv_study_cell_number(w->study, &w->cell[i], text);
        if (strncmp(text, number, strlen(number)) != 0) continue;
        if (found >= 0) return -2;
        found = i;
    }
    return found;
}

/* ---- can it be trained? ---- */

bool qkv_study_sweep_check(const qkv_study_sweep *w, const struct qkv_config_plugin *plugin,
                           int *unfit, char *why, char *error) {
    if (!QKV_IO_GIVEN(error, w, unfit, why)) return false;
    json_t *idle = json_object();  // options without an effect so far, and why
    const char *field;
    json_t *value;
    bool ok = true;
    *unfit = 0;
    *why = '\0';
    for (int v = 0; v < w->study->n_variants && ok; v++) {
        char sentence[QKV_IO_ERROR];
        const char *json = w->study->variant[v].json;
        const qkv_config_parts parts = {.plugin = plugin, .json = json, .n = strlen(json)};
        qkv_config c;
        data_spec spec;
        const qkv_config_status status = qkv_config_make(&parts, &c, &spec, sentence);
        ok = status == QKV_CONFIG_OK || status == QKV_CONFIG_UNFIT ||
             qkv_io_fail(error, "%s", sentence);
        if (status == QKV_CONFIG_UNFIT && !(*unfit)++) snprintf(why, QKV_IO_ERROR, "%s", sentence);
        if (status != QKV_CONFIG_OK) continue;
        json_t *set = json_loads(json, 0, NULL);
        json_object_foreach(set, field, value) {
            const data_option *o = qkv_config_option_find(&c, field);
            const json_t *was = json_object_get(idle, field);
            if (!o || qkv_config_is_used(&c, &spec, o, sentence))
                json_object_set_new(idle, field, json_true());
            else if (!was)
                json_object_set_new(idle, field, json_string(sentence));
        }
        json_decref(set);
        data_release(&spec);
    }
    if (ok && *unfit == w->study->n_variants) ok = qkv_io_fail(error, "%s", why);
    json_object_foreach(idle, field, value) {
        if (ok && json_is_string(value)) ok = qkv_io_fail(error, "%s", json_string_value(value));
    }
    json_decref(idle);
    return ok;
}
