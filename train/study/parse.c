/* parse.c - a study from its JSON. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/crc32.h"
#include "train/study/study.h"

/* ---- members of any object ---- */

static bool refuse(char *error, const char *format, const char *what) {
    snprintf(error, TRAIN_ERROR, format, what);
    return false;
}

static const char *copy(train_study *s, const char *text) {
    size_t n = strlen(text) + 1;
    char *p = tensor_arena_take(s->arena, n, 1);
    return p ? memcpy(p, text, n) : NULL;
}

static void *take(train_study *s, size_t n, size_t size, char *error) {
    void *p = tensor_arena_take(s->arena, n, size);
    if (!p) refuse(error, "%s", "out of memory");
    return p;
}

/* A text member, or `otherwise`; NULL with an error if it is no text or (otherwise NULL) missing.
 */
static const char *text_of(train_study *s, json_t *o, const char *key, const char *otherwise,
                           char *error) {
    json_t *v = json_object_get(o, key);
    if (!v && otherwise) return otherwise;
    const char *text = json_is_string(v) ? copy(s, json_string_value(v)) : NULL;
    if (!text) refuse(error, "'%s' must be a text", key);
    return text;
}

/* A member that may be missing, as a list; false with an error if it is something else. */
static bool list_of(json_t *o, const char *key, json_t **list, char *error) {
    *list = json_object_get(o, key);
    if (*list && !json_is_array(*list)) return refuse(error, "'%s' must be a list", key);
    return true;
}

/* Is it an object, with members of these names only? */
static bool is_object(json_t *o, const char *where, const char *const *names, char *error) {
    const char *key;
    json_t *value;
    if (!json_is_object(o)) return refuse(error, "%s must be an object", where);
    json_object_foreach (o, key, value) {
        bool found = false;
        for (int i = 0; names[i]; i++) found |= strcmp(names[i], key) == 0;
        if (!found)
            return snprintf(error, TRAIN_ERROR, "%s has no member '%.60s'", where, key), false;
    }
    return true;
}

static bool listed(json_t *list, const char *name) {
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v) {
        if (json_is_string(v) && strcmp(json_string_value(v), name) == 0) return true;
    }
    return false;
}

/* A list of measures, each a name or {"measure": name, "as": what people read}. */
static bool shown_of(train_study *s, json_t *o, const char *key, train_shown **out, int *n,
                     char *error) {
    static const char *const members[] = {"measure", "as", NULL};
    json_t *list, *v;
    size_t i;
    if (!list_of(o, key, &list, error)) return false;
    if (!(*out = take(s, json_array_size(list), sizeof **out, error))) return false;
    json_array_foreach(list, i, v) {
        train_shown *one = &(*out)[(*n)++];
        if (json_is_string(v)) {
            one->measure = one->as = copy(s, json_string_value(v));
            if (!one->measure) return refuse(error, "%s", "out of memory");
            continue;
        }
        if (!is_object(v, "a measure that is no text", members, error)) return false;
        if (!(one->measure = text_of(s, v, "measure", NULL, error))) return false;
        if (!(one->as = text_of(s, v, "as", one->measure, error))) return false;
    }
    return true;
}

/* ---- variants ---- */

/* Adds the options in o's "base" or "set" to *all. */
static bool add_options(json_t *all, json_t *o, const char *key, char *error) {
    json_t *set = json_object_get(o, key);
    if (!set) return true;
    if (!json_is_object(set)) return refuse(error, "'%s' must be an object", key);
    return json_object_update(all, set) == 0 || refuse(error, "%s", "out of memory");
}

/* base, then the group's set, then the variant's, as one object's text; NULL with an error. */
static const char *merge(train_study *s, json_t *root, json_t *group, json_t *v, char *error) {
    json_t *all = json_object();
    const char *kept = NULL;
    if (add_options(all, root, "base", error) && add_options(all, group, "set", error) &&
        add_options(all, v, "set", error)) {
        char *text = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
        kept = text ? copy(s, text) : NULL;
        free(text);
        if (!kept) refuse(error, "%s", "out of memory");
    }
    json_decref(all);
    return kept;
}

static bool add_probes(train_study *s, train_variant *out, json_t *o, char *error) {
    json_t *probes, *v;
    size_t i;
    if (!list_of(o, "probes", &probes, error)) return false;
    size_t n = (size_t)out->n_probes + json_array_size(probes);
    const train_probe **all = take(s, n, sizeof *all, error);
    if (!all) return false;
    for (int k = 0; k < out->n_probes; k++) all[k] = out->probe[k];
    out->probe = all;
    json_array_foreach(probes, i, v) {
        const char *name = json_is_string(v) ? json_string_value(v) : "?";
        if (!(all[out->n_probes] = train_probe_find(name)))
            return refuse(error, "there is no probe '%.60s'", name);
        out->n_probes++;
    }
    return true;
}

static int find_variant(const train_study *s, const char *group, const char *name) {
    for (int i = 0; i < s->n_variants; i++)
        if (strcmp(s->variant[i].name, name) == 0 &&
            (!*group || strcmp(s->variant[i].group, group) == 0))
            return i;
    return -1;
}

static bool add_variant(train_study *s, json_t *root, json_t *group, json_t *v, char *error) {
    train_variant *out = &s->variant[s->n_variants];
    *out = (train_variant){.group = group ? text_of(s, group, "name", NULL, error) : "",
                           .name = text_of(s, v, "name", NULL, error)};
    json_t *in;
    if (!out->group || !out->name || !list_of(v, "in", &in, error)) return false;
    if (in && !listed(in, out->group)) return true;
    if (find_variant(s, out->group, out->name) >= 0)
        return refuse(error, "there are two variants '%.60s'", out->name);
    out->json = merge(s, root, group, v, error);
    if (!out->json || !add_probes(s, out, root, error) || !add_probes(s, out, group, error) ||
        !add_probes(s, out, v, error))
        return false;
    out->key = train_crc32(0, out->json, strlen(out->json));
    for (int i = 0; i < out->n_probes; i++)
        out->key = train_crc32(out->key, out->probe[i]->name, strlen(out->probe[i]->name));
    s->n_variants++;
    return true;
}

static bool parse_variants(train_study *s, json_t *root, char *error) {
    static const char *const group_members[] = {"name", "set", "probes", NULL};
    static const char *const members[] = {"name", "set", "in", "probes", NULL};
    json_t *groups, *variants;
    if (!list_of(root, "groups", &groups, error) || !list_of(root, "variants", &variants, error))
        return false;
    size_t n_groups = groups ? json_array_size(groups) : 1, n = json_array_size(variants);
    if (n == 0 || n_groups == 0)
        return refuse(error, "'%s' must not be empty", n == 0 ? "variants" : "groups");
    if (!(s->variant = take(s, n * n_groups, sizeof *s->variant, error))) return false;
    for (size_t g = 0; groups && g < n_groups; g++)
        if (!is_object(json_array_get(groups, g), "a group", group_members, error)) return false;
    for (size_t g = 0; g < n_groups; g++)
        for (size_t i = 0; i < n; i++) {
            json_t *group = json_array_get(groups, g), *v = json_array_get(variants, i);
            if (!is_object(v, "a variant", members, error)) return false;
            if (!add_variant(s, root, group, v, error)) return false;
        }
    return s->n_variants > 0 || refuse(error, "%s", "no variant is in a group");
}

/* ---- bands, the picture, the whole ---- */

static bool limit_of(json_t *o, const char *key, double otherwise, double *out, char *error) {
    json_t *v = json_object_get(o, key);
    *out = v ? json_number_value(v) : otherwise;
    return !v || json_is_number(v) || refuse(error, "'%s' must be a number", key);
}

static bool parse_bands(train_study *s, json_t *root, char *error) {
    static const char *const members[] = {"variant", "group", "measure", "least", "most", NULL};
    json_t *bands, *v;
    size_t i;
    if (!list_of(root, "bands", &bands, error)) return false;
    if (!(s->band = take(s, json_array_size(bands), sizeof *s->band, error))) return false;
    json_array_foreach(bands, i, v) {
        train_band *b = &s->band[s->n_bands++];
        if (!is_object(v, "a band", members, error)) return false;
        b->group = text_of(s, v, "group", "", error);
        b->variant = text_of(s, v, "variant", NULL, error);
        b->measure = text_of(s, v, "measure", NULL, error);
        if (!b->group || !b->variant || !b->measure ||
            !limit_of(v, "least", -(double)INFINITY, &b->least, error) ||
            !limit_of(v, "most", (double)INFINITY, &b->most, error))
            return false;
        if (find_variant(s, b->group, b->variant) < 0)
            return refuse(error, "a band is about '%.60s', which is no variant", b->variant);
    }
    return true;
}

static bool parse_picture_groups(train_study *s, json_t *p, char *error) {
    json_t *groups, *v;
    size_t i;
    if (!list_of(p, "groups", &groups, error)) return false;
    s->picture.group = take(s, json_array_size(groups), sizeof *s->picture.group, error);
    if (!s->picture.group) return false;
    json_array_foreach(groups, i, v) {
        bool known = false;
        for (int k = 0; k < s->n_variants; k++)
            known |= json_is_string(v) && strcmp(s->variant[k].group, json_string_value(v)) == 0;
        if (!known) return refuse(error, "%s", "the picture shows a group that is none");
        s->picture.group[s->picture.n_groups] = copy(s, json_string_value(v));
        if (!s->picture.group[s->picture.n_groups++]) return refuse(error, "%s", "out of memory");
    }
    return true;
}

static bool parse_picture(train_study *s, json_t *root, char *error) {
    static const char *const members[] = {"kind",  "measures", "x",      "x_label",
                                          "title", "label",    "groups", NULL};
    json_t *o = json_object_get(root, "picture");
    train_study_picture *p = &s->picture;
    *p = (train_study_picture){.kind = "", .x = "", .x_label = "", .title = "", .label = ""};
    if (!o) return true;
    if (!is_object(o, "the picture", members, error)) return false;
    p->kind = text_of(s, o, "kind", NULL, error);
    p->x = text_of(s, o, "x", "", error);
    p->x_label = p->x ? text_of(s, o, "x_label", p->x, error) : NULL;
    p->title = text_of(s, o, "title", "", error);
    p->label = text_of(s, o, "label", "", error);
    if (!p->kind || !p->x_label || !p->title || !p->label) return false;
    if (!shown_of(s, o, "measures", &p->shown, &p->n_shown, error)) return false;
    bool bars = strcmp(p->kind, "bars") == 0, lines = strcmp(p->kind, "lines") == 0;
    if (p->n_shown == 0 || !(bars || (lines && *p->x)))
        return refuse(error, "%s",
                      "a picture has measures and is of the kind 'bars', or 'lines' over an x");
    return parse_picture_groups(s, o, error);
}

static bool number_of(json_t *o, const char *key, int least, int otherwise, int *out, char *error) {
    json_t *v = json_object_get(o, key);
    json_int_t x = v ? json_integer_value(v) : otherwise;
    *out = (int)x;
    if ((!v || json_is_integer(v)) && x >= least && x <= 100000) return true;
    snprintf(error, TRAIN_ERROR, "'%s' must be a whole number from %d to 100000", key, least);
    return false;
}

static bool parse_root(train_study *s, json_t *root, char *error) {
    static const char *const members[] = {"name",    "claim",    "seeds",  "first_seed", "base",
                                          "groups",  "variants", "probes", "columns",    "bands",
                                          "picture", "seen",     "holds",  "fails",      NULL};
    if (!is_object(root, "a study", members, error)) return false;
    s->name = text_of(s, root, "name", NULL, error);
    s->claim = text_of(s, root, "claim", "", error);
    s->seen = text_of(s, root, "seen", "", error);
    s->holds = text_of(s, root, "holds", "", error);
    s->fails = text_of(s, root, "fails", "", error);
    return s->name && s->claim && s->seen && s->holds && s->fails &&
           number_of(root, "seeds", 1, 3, &s->seeds, error) &&
           number_of(root, "first_seed", 0, 1, &s->first_seed, error) &&
           shown_of(s, root, "columns", &s->column, &s->n_columns, error) &&
           parse_variants(s, root, error) && parse_bands(s, root, error) &&
           parse_picture(s, root, error);
}

train_study *train_study_parse(const char *text, size_t n, char *error) {
    json_error_t where;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
    if (!root) return snprintf(error, TRAIN_ERROR, "line %d: %.200s", where.line, where.text), NULL;
    tensor_arena *arena = tensor_arena_new(NULL);
    train_study *s = arena ? tensor_arena_take(arena, 1, sizeof *s) : NULL;
    if (s) s->arena = arena;
    if (!s) refuse(error, "%s", "out of memory");
    bool ok = s && parse_root(s, root, error);
    json_decref(root);
    if (ok) return s;
    tensor_arena_free(arena);
    return NULL;
}

void train_study_free(train_study *s) {
    if (s) tensor_arena_free(s->arena);
}
