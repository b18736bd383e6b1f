/* parse.c - a study from its JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/config/version.h"
#include "train/io/crc32.h"
#include "train/io/given.h"
#include "train/study/grid.h"
#include "train/study/members.h"

/* ---- variants ---- */

/* Adds the options in o's "base" or "set" to *all. */
static bool add_options(json_t *all, json_t *o, const char *key, char *error) {
    json_t *set = json_object_get(o, key);
    if (!set) return true;
    if (!json_is_object(set)) return qkv_io_fail(error, "'%s' must be an object", key);
    if (json_object_get(set, "seed"))
        return qkv_io_fail(
            error,
            "'seed' in '%s' would be the same in every training: the study's 'seeds' "
            "and 'first_seed' say which there are",
            key);
    const char *from = json_string_value(json_object_get(set, "from"));
    if (from && *from)
        return qkv_io_fail(error, "'from' in '%s': a study's trainings begin at the start", key);
    return json_object_update(all, set) == 0 || qkv_io_fail(error, "out of memory");
}

/* base, then the group's set, then the variant's, as one object's text; NULL with an error. */
static const char *merge(qkv_study *s, json_t *root, json_t *group, json_t *v, char *error) {
    json_t *all = json_object();
    const char *kept = NULL;
    if (add_options(all, root, "base", error) && add_options(all, group, "set", error) &&
        add_options(all, v, "set", error)) {
        char *text = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
        kept = text ? qkv_study_member_copy(s, text) : NULL;
        free(text);
        if (!kept) qkv_io_fail(error, "out of memory");
    }
    json_decref(all);
    return kept;
}

static bool add_probes(qkv_study *s, qkv_study_variant *out, json_t *o, char *error) {
    json_t *probes, *v;
    size_t i;
    if (!qkv_study_member_list(o, "probes", &probes, error)) return false;
    size_t n = (size_t)out->n_probes + json_array_size(probes);
    const qkv_study_probe **all = qkv_study_member_take(s, n, sizeof *all, error);
    if (!all) return false;
    for (int k = 0; k < out->n_probes; k++) all[k] = out->probe[k];
    out->probe = all;
    json_array_foreach(probes, i, v) {
        const char *name = json_is_string(v) ? json_string_value(v) : "?";
        if (!(all[out->n_probes] = qkv_study_probe_find(name)))
            return qkv_io_fail(error, "there is no probe '%.60s'", name);
        out->n_probes++;
    }
    return true;
}

static int find_variant(const qkv_study *s, const char *group, const char *name) {
    for (int i = 0; i < s->n_variants; i++)
        if (strcmp(s->variant[i].name, name) == 0 &&
            (!*group || strcmp(s->variant[i].group, group) == 0))
            return i;
    return -1;
}

/* Are these names of groups, at least one? */
static bool are_groups(json_t *root, json_t *in, const char *variant, char *error) {
    json_t *groups = json_object_get(root, "groups"), *name;
    size_t i;
    json_array_foreach(in, i, name) {
        const char *text = json_is_string(name) ? json_string_value(name) : "?";
        bool known = false;
        for (size_t g = 0; g < json_array_size(groups); g++) {
            json_t *one = json_object_get(json_array_get(groups, g), "name");
            known = known || json_equal(one, name);
        }
        if (!known)
            return qkv_io_fail(error, "the variant '%.60s' is in '%.60s', which is no group",
                               variant, text);
    }
    return json_array_size(in) > 0 ||
           qkv_io_fail(error, "the variant '%.60s' is in no group", variant);
}

static bool add_variant(qkv_study *s, json_t *root, json_t *group, json_t *v, char *error) {
    qkv_study_variant *out = &s->variant[s->n_variants];
    *out = (qkv_study_variant){
        .group = group ? qkv_study_member_text(s, group, "name", NULL, error) : "",
        .name = qkv_study_member_text(s, v, "name", NULL, error)};
    json_t *in;
    if (!out->group || !out->name || !qkv_study_member_list(v, "in", &in, error)) return false;
    if (in && !are_groups(root, in, out->name, error)) return false;
    if (in && !qkv_study_member_listed(in, out->group)) return true;
    if (find_variant(s, out->group, out->name) >= 0)
        return qkv_io_fail(error, "there are two variants '%.60s'", out->name);
    out->json = merge(s, root, group, v, error);
    if (!out->json || !add_probes(s, out, root, error) || !add_probes(s, out, group, error) ||
        !add_probes(s, out, v, error))
        return false;
    out->key =
        qkv_io_crc32(0, QKV_NUMBERS, strlen(QKV_NUMBERS));  // of other numbers: trained again
    out->key = qkv_io_crc32(out->key, out->json, strlen(out->json));
    for (int i = 0; i < out->n_probes; i++)
        out->key = qkv_io_crc32(out->key, out->probe[i]->name, strlen(out->probe[i]->name));
    s->n_variants++;
    return true;
}

/* Puts a list with the cells of grids in the place of that member. */
static bool expand(json_t *root, const char *key, char *error) {
    json_t *list = json_object_get(root, key);
    if (!list) return true;
    list = qkv_study_grid_expand(list, error);
    return list &&
           (json_object_set_new(root, key, list) == 0 || qkv_io_fail(error, "out of memory"));
}

/* The study's own grid is one more variant, a grid of it. */
static bool expand_all(json_t *root, char *error) {
    json_t *grid = json_object_get(root, "grid"), *variants = json_object_get(root, "variants");
    if (grid && !variants) json_object_set_new(root, "variants", variants = json_array());
    if (grid && json_array_append_new(variants, json_pack("{s:O}", "grid", grid)) != 0)
        return qkv_io_fail(error, "'variants' must be a list");
    return expand(root, "groups", error) && expand(root, "variants", error);
}

static bool parse_variants(qkv_study *s, json_t *root, char *error) {
    static const char *const group_members[] = {"name", "set", "probes", NULL};
    static const char *const members[] = {"name", "set", "in", "probes", NULL};
    json_t *groups, *variants;
    if (!qkv_study_member_list(root, "groups", &groups, error) ||
        !qkv_study_member_list(root, "variants", &variants, error) || !expand_all(root, error))
        return false;
    groups = json_object_get(root, "groups");
    variants = json_object_get(root, "variants");
    size_t n_groups = groups ? json_array_size(groups) : 1, n = json_array_size(variants);
    if (n == 0 || n_groups == 0)
        return qkv_io_fail(error, "'%s' must not be empty", n == 0 ? "variants" : "groups");
    if (!(s->variant = qkv_study_member_take(s, n * n_groups, sizeof *s->variant, error)))
        return false;
    for (size_t g = 0; groups && g < n_groups; g++)
        if (!qkv_study_member_object(json_array_get(groups, g), "a group", group_members, error))
            return false;
    for (size_t g = 0; g < n_groups; g++)
        for (size_t i = 0; i < n; i++) {
            json_t *group = json_array_get(groups, g), *v = json_array_get(variants, i);
            if (!qkv_study_member_object(v, "a variant", members, error)) return false;
            if (!add_variant(s, root, group, v, error)) return false;
        }
    return s->n_variants > 0 || qkv_io_fail(error, "%s", "no variant is in a group");
}

/* ---- bands, the whole ---- */

/* "before" or "after" under the key; otherwise what it is without. */
static bool parse_set(qkv_study *s, json_t *o, const char *key, qkv_study_set otherwise,
                      qkv_study_set *out, char *error) {
    const char *word = qkv_study_member_text(s, o, key, "", error);
    if (!word) return false;
    *out = !*word                        ? otherwise
           : strcmp(word, "before") == 0 ? QKV_STUDY_SET_BEFORE
                                         : QKV_STUDY_SET_AFTER;
    return *out != QKV_STUDY_SET_AFTER || !*word || strcmp(word, "after") == 0 ||
           qkv_io_fail(error, "'%s' must be 'before' or 'after' the numbers were seen", key);
}

/* What keeps a band from ever failing, or from ever holding; or NULL. */
static const char *wrong_band(const qkv_study_band *b) {
    if (isinf(b->least) && isinf(b->most)) return "has neither 'least' nor 'most'";
    if (b->least > b->most) return "has a 'least' above its 'most'";
    if (b->seeds_least < 0 || b->seeds_most > 1 || b->seeds_least > b->seeds_most)
        return "needs 'seeds_least' <= 'seeds_most', shares from 0 to 1";
    if (b->seeds_least == 0 && b->seeds_most == 1) return "holds whatever its seeds say";
    return NULL;
}

static bool parse_clauses(qkv_study *s, json_t *root, char *error) {
    json_t *clauses, *v;
    size_t i;
    if (!qkv_study_member_list(root, "clauses", &clauses, error)) return false;
    if (!(s->clause = qkv_study_member_take(s, json_array_size(clauses), sizeof *s->clause, error)))
        return false;
    json_array_foreach(clauses, i, v) {
        if (!json_is_string(v) || !*json_string_value(v))
            return qkv_io_fail(error, "%s", "a clause of the claim must be a text");
        s->clause[s->n_clauses] = qkv_study_member_copy(s, json_string_value(v));
        if (!s->clause[s->n_clauses++]) return qkv_io_fail(error, "out of memory");
    }
    return true;
}

static bool is_clause(const qkv_study *s, const char *text) {
    for (int i = 0; i < s->n_clauses; i++)
        if (strcmp(s->clause[i], text) == 0) return true;
    return false;
}

static bool parse_bands(qkv_study *s, json_t *root, char *error) {
    static const char *const members[] = {"variant",     "group",      "measure", "least", "most",
                                          "seeds_least", "seeds_most", "set",     "tests", NULL};
    json_t *bands, *v;
    size_t i;
    qkv_study_set all;
    if (!parse_set(s, root, "bands_set", QKV_STUDY_SET_UNSAID, &all, error)) return false;
    if (!qkv_study_member_list(root, "bands", &bands, error)) return false;
    if (!(s->band = qkv_study_member_take(s, json_array_size(bands), sizeof *s->band, error)))
        return false;
    json_array_foreach(bands, i, v) {
        qkv_study_band *b = &s->band[s->n_bands++];
        if (!qkv_study_member_object(v, "a band", members, error)) return false;
        b->group = qkv_study_member_text(s, v, "group", "", error);
        b->variant = qkv_study_member_text(s, v, "variant", NULL, error);
        b->measure = qkv_study_member_text(s, v, "measure", NULL, error);
        if (!b->group || !b->variant || !b->measure ||
            !qkv_study_member_limit(v, "least", -(double)INFINITY, &b->least, error) ||
            !qkv_study_member_limit(v, "most", (double)INFINITY, &b->most, error) ||
            !qkv_study_member_limit(v, "seeds_most", 1, &b->seeds_most, error) ||
            !qkv_study_member_limit(v, "seeds_least", json_object_get(v, "seeds_most") ? 0 : 1,
                                    &b->seeds_least, error) ||
            !parse_set(s, v, "set", all, &b->set, error) ||
            !(b->tests = qkv_study_member_text(s, v, "tests", "", error)))
            return false;
        if (*b->tests && !is_clause(s, b->tests))
            return qkv_io_fail(error, "the band about '%.60s' tests '%.60s', which is no clause",
                               b->variant, b->tests);
        if (find_variant(s, b->group, b->variant) < 0)
            return qkv_io_fail(error, "a band is about '%.60s%s%.60s', which is no variant",
                               b->group, *b->group ? "/" : "", b->variant);
        const char *wrong = wrong_band(b);
        if (wrong) return qkv_io_fail(error, "the band about '%.60s' %s", b->variant, wrong);
    }
    return true;
}

/* Results go to runs/study/NAME: a name must not lead elsewhere. */
static bool is_file_name(const char *name) {
    return *name && *name != '.' && strlen(name) <= 200 && !strchr(name, '/');
}

static bool parse_root(qkv_study *s, json_t *root, char *error) {
    static const char *const members[] = {"name",      "claim",    "seeds",  "first_seed", "base",
                                          "groups",    "variants", "probes", "columns",    "bands",
                                          "bands_set", "picture",  "seen",   "holds",      "fails",
                                          "grid",      "clauses",  NULL};
    if (!qkv_study_member_object(root, "a study", members, error)) return false;
    s->name = qkv_study_member_text(s, root, "name", NULL, error);
    if (s->name && !is_file_name(s->name))
        return qkv_io_fail(error, "the name '%.60s' is none for a directory", s->name);
    s->claim = qkv_study_member_text(s, root, "claim", "", error);
    s->seen = qkv_study_member_text(s, root, "seen", "", error);
    s->holds = qkv_study_member_text(s, root, "holds", "", error);
    s->fails = qkv_study_member_text(s, root, "fails", "", error);
    return s->name && s->claim && s->seen && s->holds && s->fails &&
           qkv_study_member_number(root, "seeds", 1, 3, &s->seeds, error) &&
           qkv_study_member_number(root, "first_seed", 0, 1, &s->first_seed, error) &&
           qkv_study_member_shown(s, root, "columns", &s->column, &s->n_columns, error) &&
           parse_variants(s, root, error) && parse_clauses(s, root, error) &&
           parse_bands(s, root, error) && qkv_study_parse_picture(s, root, error);
}

qkv_study *qkv_study_parse(const char *text, size_t n, char *error) {
    if (!QKV_IO_GIVEN(error, text)) return NULL;
    json_error_t where;
    const char *wrong = qkv_io_begin_text(&text, &n);
    if (wrong) return qkv_io_fail(error, "the file %s", wrong), NULL;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
    if (!root) return qkv_io_fail(error, "line %d: %.200s", where.line, where.text), NULL;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_study *s = arena ? tensor_arena_take(arena, 1, sizeof *s) : NULL;
    if (s) s->arena = arena;
    if (!s) qkv_io_fail(error, "out of memory");
    bool ok = s && parse_root(s, root, error);
    json_decref(root);
    if (ok) return s;
    tensor_arena_free(arena);
    return NULL;
}

void qkv_study_free(qkv_study *s) {
    if (s) tensor_arena_free(s->arena);
}
