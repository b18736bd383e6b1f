/* parse.c - a study from its JSON. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/crc32.h"
#include "train/study/study.h"

static const char *copy(train_study *s, const char *text) {
    size_t n = strlen(text) + 1;
    char *p = tensor_arena_take(s->arena, n, 1);
    return p ? memcpy(p, text, n) : NULL;
}

/* A text member, or `otherwise`; NULL with an error if it is no text or (otherwise NULL) missing. */
static const char *text_of(train_study *s, json_t *o, const char *key, const char *otherwise, char *error) {
    json_t *v = json_object_get(o, key);
    if (!v && otherwise) return otherwise;
    const char *text = json_is_string(v) ? copy(s, json_string_value(v)) : NULL;
    if (!text) snprintf(error, TRAIN_ERROR, "'%s' must be a text", key);
    return text;
}

static bool known_members(json_t *o, const char *where, const char *const *names, char *error) {
    const char *key;
    json_t *value;
    json_object_foreach(o, key, value) {
        bool found = false;
        for (int i = 0; names[i]; i++) found |= strcmp(names[i], key) == 0;
        if (!found) return snprintf(error, TRAIN_ERROR, "%s has no member '%.60s'", where, key), false;
    }
    return true;
}

/* base, then the group's set, then the variant's, as one object's text. */
static const char *merge(train_study *s, json_t *base, json_t *group, json_t *variant) {
    json_t *all = base ? json_deep_copy(base) : json_object();
    if (group) json_object_update(all, group);
    if (variant) json_object_update(all, variant);
    char *text = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    const char *kept = text ? copy(s, text) : NULL;
    free(text);
    json_decref(all);
    return kept;
}

static bool listed(json_t *list, const char *name) {
    size_t i;
    json_t *v;
    if (!list) return true;
    json_array_foreach(list, i, v) if (json_is_string(v) && strcmp(json_string_value(v), name) == 0) return true;
    return false;
}

static bool add_variant(train_study *s, json_t *root, json_t *group, json_t *v, char *error) {
    static const char *const members[] = {"name", "set", "in", NULL};
    if (!json_is_object(v)) return snprintf(error, TRAIN_ERROR, "a variant must be an object"), false;
    if (!known_members(v, "a variant", members, error)) return false;
    train_variant *out = &s->variant[s->n_variants];
    out->group = group ? text_of(s, group, "name", NULL, error) : "";
    out->name = text_of(s, v, "name", NULL, error);
    if (!out->group || !out->name) return false;
    if (!listed(json_object_get(v, "in"), out->group)) return true;
    out->json = merge(s, json_object_get(root, "base"), json_object_get(group, "set"), json_object_get(v, "set"));
    if (!out->json) return snprintf(error, TRAIN_ERROR, "out of memory"), false;
    out->key = train_crc32(0, out->json, strlen(out->json));
    for (int i = 0; i < s->n_probes; i++) out->key = train_crc32(out->key, s->probe[i]->name, strlen(s->probe[i]->name));
    s->n_variants++;
    return true;
}

static bool parse_variants(train_study *s, json_t *root, char *error) {
    json_t *groups = json_object_get(root, "groups"), *variants = json_object_get(root, "variants");
    size_t n_groups = groups ? json_array_size(groups) : 1, n = json_array_size(variants);
    if (!json_is_array(variants) || n == 0 || n_groups == 0)
        return snprintf(error, TRAIN_ERROR, "'variants' must be a list with at least one variant"), false;
    s->variant = tensor_arena_take(s->arena, n * n_groups, sizeof *s->variant);
    if (!s->variant) return snprintf(error, TRAIN_ERROR, "out of memory"), false;
    for (size_t g = 0; g < n_groups; g++)
        for (size_t i = 0; i < n; i++)
            if (!add_variant(s, root, json_array_get(groups, g), json_array_get(variants, i), error)) return false;
    return true;
}

static bool parse_names(train_study *s, json_t *root, char *error) {
    json_t *probes = json_object_get(root, "probes"), *columns = json_object_get(root, "columns"), *v;
    size_t i;
    s->probe = tensor_arena_take(s->arena, json_array_size(probes), sizeof *s->probe);
    s->column = tensor_arena_take(s->arena, json_array_size(columns), sizeof *s->column);
    if (!s->probe || !s->column) return snprintf(error, TRAIN_ERROR, "out of memory"), false;
    json_array_foreach(probes, i, v) {
        const train_probe *p = json_is_string(v) ? train_probe_find(json_string_value(v)) : NULL;
        if (!p) return snprintf(error, TRAIN_ERROR, "there is no probe '%.60s'", json_is_string(v) ? json_string_value(v) : "?"), false;
        s->probe[s->n_probes++] = p;
    }
    json_array_foreach(columns, i, v) {
        const char *name = json_is_string(v) ? copy(s, json_string_value(v)) : NULL;
        if (!name) return snprintf(error, TRAIN_ERROR, "'columns' must be a list of measures"), false;
        s->column[s->n_columns++] = name;
    }
    return true;
}

static bool has_variant(const train_study *s, const train_band *b) {
    for (int i = 0; i < s->n_variants; i++)
        if (strcmp(s->variant[i].name, b->variant) == 0 && (!*b->group || strcmp(s->variant[i].group, b->group) == 0)) return true;
    return false;
}

static bool parse_bands(train_study *s, json_t *root, char *error) {
    static const char *const members[] = {"variant", "group", "measure", "least", "most", NULL};
    json_t *bands = json_object_get(root, "bands"), *v;
    size_t i;
    s->band = tensor_arena_take(s->arena, json_array_size(bands), sizeof *s->band);
    if (!s->band) return snprintf(error, TRAIN_ERROR, "out of memory"), false;
    json_array_foreach(bands, i, v) {
        train_band *b = &s->band[s->n_bands++];
        json_t *least = json_object_get(v, "least"), *most = json_object_get(v, "most");
        if (!json_is_object(v) || !known_members(v, "a band", members, error)) return false;
        b->group = text_of(s, v, "group", "", error);
        b->variant = text_of(s, v, "variant", NULL, error);
        b->measure = text_of(s, v, "measure", NULL, error);
        if (!b->group || !b->variant || !b->measure) return false;
        b->least = json_is_number(least) ? json_number_value(least) : -(double)INFINITY;
        b->most = json_is_number(most) ? json_number_value(most) : (double)INFINITY;
        if (!has_variant(s, b)) return snprintf(error, TRAIN_ERROR, "a band is about '%.60s', which is no variant", b->variant), false;
    }
    return true;
}

static bool parse_picture(train_study *s, json_t *root, char *error) {
    static const char *const members[] = {"kind", "measure", "x", "title", "label", NULL};
    json_t *p = json_object_get(root, "picture");
    s->picture = (train_study_picture){"", "", "", "", ""};
    if (!p) return true;
    if (!json_is_object(p) || !known_members(p, "the picture", members, error)) return false;
    s->picture = (train_study_picture){text_of(s, p, "kind", NULL, error), text_of(s, p, "measure", NULL, error),
                                       text_of(s, p, "x", "", error), text_of(s, p, "title", "", error),
                                       text_of(s, p, "label", "", error)};
    const char *kind = s->picture.kind;
    if (kind && s->picture.measure && (strcmp(kind, "bars") == 0 || (strcmp(kind, "lines") == 0 && *s->picture.x))) return true;
    return snprintf(error, TRAIN_ERROR, "a picture has a measure and is of the kind 'bars', or 'lines' over an option x"), false;
}

static bool parse_root(train_study *s, json_t *root, char *error) {
    static const char *const members[] = {"name", "claim", "seeds", "first_seed", "base", "groups", "variants", "probes", "columns",
                                          "bands", "picture", "seen", "holds", "fails", NULL};
    if (!json_is_object(root) || !known_members(root, "a study", members, error)) {
        if (!json_is_object(root)) snprintf(error, TRAIN_ERROR, "not a JSON object");
        return false;
    }
    json_t *seeds = json_object_get(root, "seeds"), *first = json_object_get(root, "first_seed");
    s->seeds = seeds ? (int)json_integer_value(seeds) : 3;
    s->first_seed = first ? (int)json_integer_value(first) : 1;
    if (s->seeds < 1 || s->seeds > 100000 || s->first_seed < 0)
        return snprintf(error, TRAIN_ERROR, "'seeds' must be a number from 1 to 100000"), false;
    s->name = text_of(s, root, "name", NULL, error);
    s->claim = text_of(s, root, "claim", "", error);
    s->seen = text_of(s, root, "seen", "", error);
    s->holds = text_of(s, root, "holds", "", error);
    s->fails = text_of(s, root, "fails", "", error);
    return s->name && s->claim && s->seen && s->holds && s->fails && parse_names(s, root, error) &&
           parse_variants(s, root, error) && parse_bands(s, root, error) && parse_picture(s, root, error);
}

train_study *train_study_parse(const char *text, size_t n, char *error) {
    json_error_t where;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
    if (!root) return snprintf(error, TRAIN_ERROR, "line %d: %.200s", where.line, where.text), NULL;
    tensor_arena *arena = tensor_arena_new(NULL);
    train_study *s = arena ? tensor_arena_take(arena, 1, sizeof *s) : NULL;
    if (s) s->arena = arena;
    if (!s) snprintf(error, TRAIN_ERROR, "out of memory");
    bool ok = s && parse_root(s, root, error);
    json_decref(root);
    if (ok) return s;
    tensor_arena_free(arena);
    return NULL;
}

void train_study_free(train_study *s) {
    if (s) tensor_arena_free(s->arena);
}
