/* check.c - can a study be had as it is written? Asked before it is trained: a name that nobody has
 * would be an empty column, and a band about nothing.
 *
 * What a variant's training will measure is found by its rehearsal: the same without a step. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/given.h"
#include "train/study/words.h"

/* An option that a variant sets, and whether any variant has a use for it. */
typedef struct {
    const char *field;
    bool used;
    int variant;
    char why[QKV_IO_ERROR];
} option_use;

typedef struct {
    const qkv_study *s;
    const qkv_study_results *known;
    const qkv_study_options *o;
    tensor_arena *arena;
    qkv_probe_measures *names;  // of each variant
    bool *rehearsed;
    int *steps, *every;  // of each variant
    option_use *use;
    int n_uses;
    size_t room;
    char *error;
} checker;

static bool fail_about(checker *c, int variant, const char *why) {
    const qkv_study_variant *v = &c->s->variant[variant];
    return qkv_io_fail(c->error, "the variant '%.60s%s%.60s': %.400s", v->group,
                       *v->group ? "/" : "", v->name, why);
}

/* ---- options ---- */

/* Has the option another value than it has by itself? */
static bool differs(const qkv_config *c, const data_option *o) {
    char set[QKV_CONFIG_TEXT_SIZE + 64], otherwise[QKV_CONFIG_TEXT_SIZE + 64];
    qkv_config by_itself = *c;
    qkv_config_reset(&by_itself, o);
    return strcmp(qkv_config_get(c, o, set, sizeof set),
                  qkv_config_get(&by_itself, o, otherwise, sizeof otherwise)) != 0;
}

static bool note_use(checker *k, int variant, const qkv_config *c, const data_spec *spec,
                     const data_option *o) {
    int i = 0;
    char why[QKV_IO_ERROR] = "";
    while (i < k->n_uses && strcmp(k->use[i].field, o->field) != 0) i++;
    const bool used = !differs(c, o) || qkv_config_is_used(c, spec, o, why);
    if (i == k->n_uses) {
        option_use *at =
            tensor_arena_grow(k->arena, k->use, (size_t)k->n_uses, 1, &k->room, sizeof *at);
        if (!at) return qkv_io_fail(k->error, "out of memory");
        k->use = at;
        k->use[k->n_uses++] = (option_use){.field = o->field, .variant = variant};
        snprintf(k->use[i].why, sizeof k->use[i].why, "%s", why);
    }
    k->use[i].used = k->use[i].used || used;
    return true;
}

/* Are they options, do they fit together, and have they an effect in some variant? */
static bool options_are_right(checker *k, int variant) {
    char why[QKV_IO_ERROR];
    qkv_config c;
    data_spec spec;
    if (!qkv_study_config(k->s, variant, k->s->first_seed, k->o->plugin, &c, &spec, why))
        return fail_about(k, variant, why);
    k->steps[variant] = c.steps;
    k->every[variant] = c.eval_every;
    json_t *set = json_loads(k->s->variant[variant].json, 0, NULL), *value;
    const char *field;
    bool ok = true;
    json_object_foreach(set, field, value) {
        const data_option *o = qkv_config_option_find(&c, field);
        ok = ok && (!o || note_use(k, variant, &c, &spec, o));
    }
    json_decref(set);
    data_release(&spec);
    return ok;
}

static bool options_are_used(checker *k) {
    for (int i = 0; i < k->n_uses; i++)
        if (!k->use[i].used) return fail_about(k, k->use[i].variant, k->use[i].why);
    return true;
}

/* ---- measures ---- */

static bool rehearse(checker *k, int variant) {
    char why[QKV_IO_ERROR];
    k->rehearsed[variant] = true;
    k->names[variant] = (qkv_probe_measures){.arena = k->arena};
    return qkv_study_rehearse(k->s, variant, k->o, &k->names[variant], why) ||
           fail_about(k, variant, why);
}

/* What a training of it has measured, or else would. */
static bool names_of(checker *k, int variant) {
    for (int i = 0; k->known && i < k->known->n; i++) {
        const qkv_study_result *r = &k->known->at[i];
        if (r->variant != variant || r->error) continue;
        k->names[variant] = r->measures;
        return true;
    }
    return rehearse(k, variant);
}

/* Is the name the pattern, digits standing where it has a #? */
static bool fits(const char *name, const char *pattern) {
    const char *hash = strchr(pattern, '#');
    if (!hash) return strcmp(name, pattern) == 0;
    const size_t before = (size_t)(hash - pattern);
    if (strncmp(name, pattern, before) != 0) return false;
    const size_t digits = strspn(name + before, "0123456789");
    return digits > 0 && strcmp(name + before + digits, hash + 1) == 0;
}

static bool is_there(const qkv_probe_measures *names, const char *pattern) {
    for (int i = 0; i < names->n; i++)
        if (fits(names->at[i].name, pattern)) return true;
    return false;
}

/* "X@N" is there if X is evaluated at all, and at step N. */
static bool is_evaluated(const checker *k, int variant, const char *name) {
    const char *at = strrchr(name, '@');
    char first[QKV_PROBE_MEASURE], *end;
    if (!at || at[1] < '0' || at[1] > '9' || at - name > QKV_PROBE_MEASURE - 8) return false;
    const long step = strtol(at + 1, &end, 10);
    const bool looked =
        step <= k->steps[variant] && (step % k->every[variant] == 0 || step == k->steps[variant]);
    snprintf(first, sizeof first, "%.*s@0", (int)(at - name), name);
    return !*end && looked && is_there(&k->names[variant], first);
}

static bool one_name(const checker *k, int variant, const char *name) {
    const qkv_probe_measures *names = &k->names[variant];
    if (strcmp(name, "steps99") == 0 || strcmp(name, "steps50") == 0 ||
        strcmp(name, "seconds") == 0)
        return true;
    if (strcmp(name, "qk90") == 0) return is_there(names, "qk_diag");
    if (strcmp(name, "ov90") == 0) return is_there(names, "ov_diag");
    return is_there(names, name) || is_evaluated(k, variant, name);
}

/* Has the variant every part of "A + B - C"? */
static bool all_parts(const checker *k, int variant, const char *measure) {
    for (;;) {
        char name[QKV_PROBE_MEASURE];
        const size_t n = strcspn(measure, " ");
        if (n == 0 || n >= sizeof name) return false;
        snprintf(name, sizeof name, "%.*s", (int)n, measure);
        if (!one_name(k, variant, name)) return false;
        measure += n;
        if (!*measure) return true;
        if (strncmp(measure, " + ", 3) && strncmp(measure, " - ", 3)) return false;
        measure += 3;
    }
}

/* The same; what a finished training left out, as it was no number, a rehearsal knows. */
static bool measures(checker *k, int variant, const char *measure) {
    if (all_parts(k, variant, measure)) return true;
    if (k->rehearsed[variant] || !rehearse(k, variant)) return false;
    return all_parts(k, variant, measure);
}

/* Where it stands, what nobody measures, and the probe that would. */
static bool fail_measure(checker *k, const char *where, const char *measure) {
    char probe[32];
    snprintf(probe, sizeof probe, "%.*s", (int)strcspn(measure, ". "), measure);
    const bool of_probe = qkv_study_probe_find(probe) != NULL;
    return qkv_io_fail(k->error, "%s: '%.60s' is not measured%s%s%s", where, measure,
                       of_probe ? "; it needs \"probes\": [\"" : "", of_probe ? probe : "",
                       of_probe ? "\"] in its variants, if that finds such a number" : "");
}

static bool in_some(checker *k, const char *where, const char *measure, bool shown) {
    for (int v = 0; v < k->s->n_variants; v++)
        if ((!shown || qkv_study_is_shown(k->s, v)) && measures(k, v, measure)) return true;
    return fail_measure(k, where, measure);
}

/* ---- what the study says ---- */

static bool columns_are_right(checker *k) {
    for (int i = 0; i < k->s->n_columns; i++)
        if (!in_some(k, "columns", k->s->column[i].measure, false)) return false;
    return true;
}

static bool bands_are_right(checker *k) {
    for (int i = 0; i < k->s->n_bands; i++) {
        const qkv_study_band *b = &k->s->band[i];
        char where[200];
        snprintf(where, sizeof where, "the band about '%.60s%s%.60s'", b->group,
                 *b->group ? "/" : "", b->variant);
        for (int v = 0; v < k->s->n_variants; v++)
            if (qkv_study_about(k->s, b, v) && !measures(k, v, b->measure))
                return fail_measure(k, where, b->measure);
    }
    return true;
}

/* Without a # a curve is over an option that is a number, or over a measure. */
static bool has_x(checker *k, int variant) {
    json_t *set = json_loads(k->s->variant[variant].json, 0, NULL);
    const bool number = json_is_number(json_object_get(set, k->s->picture.x));
    json_decref(set);
    return number || measures(k, variant, k->s->picture.x);
}

static bool picture_is_right(checker *k) {
    const qkv_study_picture *p = &k->s->picture;
    bool over_x = false, has = false;
    for (int i = 0; i < p->n_shown; i++) {
        if (!in_some(k, "the picture", p->shown[i].measure, true)) return false;
        over_x = over_x || (strcmp(p->kind, "lines") == 0 && !strchr(p->shown[i].measure, '#'));
    }
    for (int v = 0; over_x && !has && v < k->s->n_variants; v++)
        has = qkv_study_is_shown(k->s, v) && has_x(k, v);
    return !over_x || has ||
           qkv_io_fail(k->error,
                       "the picture: its x, '%.60s', is no option set to a number, and no measure",
                       p->x);
}

/* Every {variant|measure|format} of a text. */
static bool text_is_right(checker *k, const char *where, const char *text) {
    for (const char *open; (open = strchr(text, '{'));) {
        const char *close = strchr(open, '}');
        if (!close) return qkv_io_fail(k->error, "'%s' has a { without its }", where);
        qkv_study_place place = {.variant = -1};
        const char *wrong =
            qkv_study_place_read(k->s, open + 1, (size_t)(close - open - 1), &place);
        if (wrong)
            return qkv_io_fail(k->error, "'%s': in '%.*s' %s", where,
                               close - open < 120 ? (int)(close - open + 1) : 120, open, wrong);
        if (!measures(k, place.variant, place.measure))
            return fail_measure(k, where, place.measure);
        text = close + 1;
    }
    return true;
}

static bool all_is_right(checker *k) {
    for (int v = 0; v < k->s->n_variants; v++)
        if (!options_are_right(k, v)) return false;
    if (!options_are_used(k)) return false;
    for (int v = 0; v < k->s->n_variants; v++) {
        if (k->o->stop && *k->o->stop) return true;  // the run will say so
        if (!names_of(k, v)) return false;
    }
    return columns_are_right(k) && bands_are_right(k) && picture_is_right(k) &&
           text_is_right(k, "claim", k->s->claim) && text_is_right(k, "seen", k->s->seen) &&
           text_is_right(k, "holds", k->s->holds) && text_is_right(k, "fails", k->s->fails);
}

qkv_io_status qkv_study_check(const qkv_study *s, const qkv_study_results *known,
                              const qkv_study_options *o, char *error) {
    if (!QKV_IO_GIVEN(error, s, o)) return QKV_IO_FAILED;
    const size_t n = (size_t)s->n_variants;
    checker k = {.s = s, .known = known, .o = o, .error = error, .arena = tensor_arena_new(NULL)};
    if (k.arena) {
        k.names = tensor_arena_take(k.arena, n, sizeof *k.names);
        k.rehearsed = tensor_arena_take(k.arena, n, sizeof *k.rehearsed);
        k.steps = tensor_arena_take(k.arena, n, sizeof *k.steps);
        k.every = tensor_arena_take(k.arena, n, sizeof *k.every);
    }
    const bool room = k.names && k.rehearsed && k.steps && k.every;
    if (!room) qkv_io_fail(error, "out of memory");
    const bool ok = room && all_is_right(&k);
    tensor_arena_free(k.arena);
    return ok ? QKV_IO_OK : room ? QKV_IO_USAGE : QKV_IO_FAILED;
}
