/* picture.c - what a study's picture shows, as CSV for bars.gp and lines.gp. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/words.h"
#include "train/study/words.h"

/* What the picture lists are groups, and variants: one has to be of a listed group, if one is listed, and
 * to be a listed variant, if one is. */
bool qkv_study_is_shown(const qkv_study *s, int variant) {
    const qkv_study_variant *one = &s->variant[variant];
    bool groups = false, variants = false, in_group = false, named = false;
    for (int i = 0; i < s->picture.n_groups; i++) {
        const char *name = s->picture.group[i];
        bool group = false;
        for (int v = 0; v < s->n_variants; v++)
            group = group || strcmp(name, s->variant[v].group) == 0;
        groups = groups || group;
        variants = variants || !group;
        in_group = in_group || (group && strcmp(name, one->group) == 0);
        named = named || (!group && strcmp(name, one->name) == 0);
    }
    return (in_group || !groups) && (named || !variants);
}

static void add_title(const qkv_study *s, qkv_io_text *out) {
    const char *label = s->picture.label;
    qkv_io_text_add(out, ",");
    qkv_io_text_label(out, s->picture.title);
    qkv_io_text_add(out, ",");
    qkv_io_text_label(out, *label ? label : s->picture.shown[0].as);
}

/* ---- bars: y,name,mean,sd,least,most,band_least,band_most,title,label[,axis] ---- */

static void band_of(const qkv_study *s, int variant, const char *measure, double *least,
                    double *most) {
    *least = *most = (double)NAN;
    for (int i = 0; i < s->n_bands; i++) {
        const qkv_study_band *b = &s->band[i];
        if (strcmp(b->measure, measure) || strcmp(b->variant, s->variant[variant].name)) continue;
        if (*b->group && strcmp(b->group, s->variant[variant].group)) continue;
        if (isfinite(b->least)) *least = b->least;
        if (isfinite(b->most)) *most = b->most;
    }
}

static void add_heading(const qkv_study *s, double y, const char *name, qkv_io_text *out) {
    qkv_io_text_number(out, y);
    qkv_io_text_add(out, ",");
    qkv_io_text_label(out, name);
    qkv_io_text_add(out, ",,,,,,,,%s\n", s->picture.log ? "," : "");
}

static void add_bar(const qkv_study *s, const qkv_study_results *r, int variant,
                    const qkv_study_shown *shown, double y, const char *name, qkv_io_text *out) {
    qkv_study_summary m = qkv_study_summarise(s, r, variant, shown->measure);
    double least, most,
        x[] = {m.mean, m.sd, m.n ? m.least : (double)NAN, m.n ? m.most : (double)NAN};
    band_of(s, variant, shown->measure, &least, &most);
    if (shown->counted)
        least = most = (double)NAN;  // a band is about the measure, not about a share
    char full[240];
    snprintf(full, sizeof full, "%.200s", name);
    if (m.n && m.n < s->seeds)  // a mean over those that have it
        snprintf(full, sizeof full, "%.200s (%d of %d)", name, m.n, s->seeds);
    qkv_io_text_number(out, y);
    qkv_io_text_add(out, ",");
    qkv_io_text_label(out, full);
    for (int i = 0; i < 6; i++) {
        qkv_io_text_add(out, ",");
        qkv_io_text_number(out, i < 4 ? x[i] : i == 4 ? least : most);
    }
    add_title(s, out);
    qkv_io_text_add(out, "%s\n", s->picture.log ? ",log" : "");
}

/* Was it measured, or is it a step that may not have been reached? A probe of another variant's is no
 * bar of this one. */
static bool has_bar(const qkv_study *s, const qkv_study_results *r, int variant,
                    const char *measure) {
    static const char *const steps[] = {"steps99", "qk90", "ov90"};
    const qkv_study_summary m = qkv_study_summarise(s, r, variant, measure);
    bool step = false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        step = step || strcmp(measure, steps[i]) == 0;
    return m.n || m.failed || step;
}

/* One row a bar from the top down; before each group (of several measures: each variant) a row with
 * its name alone. */
static void add_bars(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out) {
    const char *heading = "";
    double y = 0;
    qkv_io_text_add(out, "y,name,mean,sd,least,most,band_least,band_most,title,label%s\n",
                    s->picture.log ? ",axis" : "");
    for (int v = 0; v < s->n_variants; v++) {
        const qkv_study_variant *one = &s->variant[v];
        if (!qkv_study_is_shown(s, v)) continue;
        char name[200];
        snprintf(name, sizeof name, "%s%s%s", one->group,
                 *one->group && s->picture.n_shown > 1 ? ", " : "",
                 s->picture.n_shown > 1 ? one->name : "");
        if (strcmp(heading, name) != 0 && (s->picture.n_shown == 1 || s->n_variants > 1)) {
            y += y > 0 ? 1.6 : 0;
            add_heading(s, y, name, out);
        }
        heading = s->picture.n_shown > 1 ? "" : one->group;
        for (int i = 0; i < s->picture.n_shown; i++)
            if (s->picture.n_shown == 1 || has_bar(s, r, v, s->picture.shown[i].measure))
                add_bar(s, r, v, &s->picture.shown[i], ++y,
                        s->picture.n_shown > 1 ? s->picture.shown[i].as : one->name, out);
    }
}

/* ---- lines: x,title,label,curves, then of each mean,least,most; then of each its seeds ---- */

/* A curve: one measure of one variant over what stands for its #, or of a group over an option. */
typedef struct {
    const char *name;
    const qkv_study_shown *shown;
    int variant;  // the curve's only one, or the first of its group
    bool inside;  // x is in the measure's name
} curve;

/* The measure's name with x for its #. */
static void at_x(const char *measure, double x, char out[QKV_PROBE_MEASURE]) {
    const char *hash = strchr(measure, '#');
    qkv_io_words(out, QKV_PROBE_MEASURE, "%.*s%.0f%s", (int)(hash - measure), measure, x, hash + 1);
}

/* The variant's value of an option, as its JSON says, or of a measure. */
static double x_of(const qkv_study *s, const qkv_study_results *r, int variant) {
    json_t *o = json_loads(s->variant[variant].json, 0, NULL);
    json_t *x = json_object_get(o, s->picture.x);
    double value = json_is_number(x) ? json_number_value(x)
                                     : qkv_study_summarise(s, r, variant, s->picture.x).mean;
    json_decref(o);
    return value;
}

/* Which variant, and which measure of it, are the curve's point at x; -1: it has none there. */
static int variant_at(const qkv_study *s, const qkv_study_results *r, const curve *c, double x,
                      char measure[QKV_PROBE_MEASURE]) {
    int found = c->inside ? c->variant : -1;
    if (c->inside) return at_x(c->shown->measure, x, measure), found;
    snprintf(measure, QKV_PROBE_MEASURE, "%s", c->shown->measure);
    for (int v = c->variant; v < s->n_variants; v++)
        if (strcmp(s->variant[v].group, s->variant[c->variant].group) == 0 && x_of(s, r, v) == x)
            found = v;
    return found;
}

/* The curve's mean, least and most at x; NaN where it has no point. */
static void point(const qkv_study *s, const qkv_study_results *r, const curve *c, double x,
                  double out[3]) {
    char measure[QKV_PROBE_MEASURE];
    const int v = variant_at(s, r, c, x, measure);
    qkv_study_summary m = {.n = 0};
    if (v >= 0) m = qkv_study_summarise(s, r, v, measure);
    out[0] = m.n ? m.mean : (double)NAN;
    out[1] = m.n ? m.least : (double)NAN;
    out[2] = m.n ? m.most : (double)NAN;
}

/* What each of the curve's seeds has at x. */
static void add_seeds(const qkv_study *s, const qkv_study_results *r, const curve *c, double x,
                      qkv_io_text *out) {
    char measure[QKV_PROBE_MEASURE];
    const int v = variant_at(s, r, c, x, measure);
    for (int i = 0; i < s->seeds; i++) {
        const qkv_study_result *one =
            v < 0 ? NULL : qkv_study_results_find(r, v, s->first_seed + i);
        qkv_io_text_add(out, ",");
        qkv_io_text_number(out, one ? qkv_study_result_value(one, measure) : (double)NAN);
    }
}

/* The least x of the curve beyond `last`; infinity at the end. */
static double next_x(const qkv_study *s, const qkv_study_results *r, const curve *c, double last) {
    double next = (double)INFINITY;
    for (int v = c->variant; !c->inside && v < s->n_variants; v++) {
        double x = x_of(s, r, v);
        if (strcmp(s->variant[v].group, s->variant[c->variant].group) == 0 && x > last && x < next)
            next = x;
    }
    const char *hash = strchr(c->shown->measure, '#');
    for (int i = 0; c->inside && i < r->n; i++) {
        const qkv_probe_measures *m = &r->at[i].measures;
        if (r->at[i].error || r->at[i].variant != c->variant) continue;
        for (int k = 0; k < m->n; k++) {
            size_t before = (size_t)(hash - c->shown->measure);
            char *end, *from = m->at[k].name + before;
            if (strncmp(m->at[k].name, c->shown->measure, before) ||
                !(*from >= '0' && *from <= '9'))
                continue;
            double x = (double)strtol(from, &end, 10);
            if (strcmp(end, hash + 1) == 0 && x > last && x < next) next = x;
        }
    }
    return next;
}

/* "variant: measure" for curves of several measures of several variants. */
static const char *full_name(const curve *c, tensor_arena *arena) {
    qkv_io_text text = {.arena = arena};
    qkv_io_text_add(&text, "%s: %s", c->name, c->shown->as);
    return text.failed ? c->name : text.at;
}

/* Has the curve a point anywhere? */
static bool has_point(const qkv_study *s, const qkv_study_results *r, const curve *c) {
    double x = -(double)INFINITY, y[3];
    while (isfinite(x = next_x(s, r, c, x))) {
        point(s, r, c, x, y);
        if (!isnan(y[0])) return true;
    }
    return false;
}

/* The curves that have a point. */
static int list_curves(const qkv_study *s, const qkv_study_results *r, tensor_arena *arena,
                       curve *out) {
    int n = 0, variants = 0;
    for (int v = 0; v < s->n_variants; v++) {
        bool first = v == 0 || strcmp(s->variant[v].group, s->variant[v - 1].group) != 0;
        int before = n;
        for (int i = 0; i < s->picture.n_shown && qkv_study_is_shown(s, v); i++) {
            const qkv_study_shown *shown = &s->picture.shown[i];
            bool inside = strchr(shown->measure, '#') != NULL;
            const char *name = inside ? s->variant[v].name : s->variant[v].group;
            curve c = {*name ? name : shown->as, shown, v, inside};
            if ((inside || first) && has_point(s, r, &c)) out[n++] = c;
        }
        variants += n > before;
    }
    for (int i = 0; i < n && variants == 1; i++) out[i].name = out[i].shown->as;
    for (int i = 0; i < n && variants > 1 && s->picture.n_shown > 1; i++)
        if (out[i].inside) out[i].name = full_name(&out[i], arena);
    return n;
}

static void add_lines(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out) {
    size_t room = (size_t)s->n_variants * (size_t)s->picture.n_shown;
    curve *curves = tensor_arena_take(out->arena, room, sizeof *curves);
    if (!curves) {
        out->failed = true;
        return;
    }
    int n = list_curves(s, r, out->arena, curves);
    qkv_io_text_label(out, s->picture.x_label);
    qkv_io_text_add(out, ",title,label,curves");
    for (int i = 0; i < n; i++) {
        qkv_io_text_add(out, ",");
        qkv_io_text_label(out, curves[i].name);
        qkv_io_text_add(out, ",least,most");
    }
    for (int i = 0; i < n && s->picture.seeds; i++)
        for (int k = 0; k < s->seeds; k++) qkv_io_text_add(out, ",seed %d", s->first_seed + k);
    for (double x = -(double)INFINITY;;) {
        double next = (double)INFINITY, y[3];
        qkv_io_text_add(out, "\n");
        for (int i = 0; i < n; i++) next = fmin(next, next_x(s, r, &curves[i], x));
        if (isinf(next)) return;
        qkv_io_text_number(out, x = next);
        add_title(s, out);
        qkv_io_text_add(out, ",%d", n);
        for (int i = 0; i < 3 * n; i++) {
            if (i % 3 == 0) point(s, r, &curves[i / 3], x, y);
            qkv_io_text_add(out, ",");
            qkv_io_text_number(out, y[i % 3]);
        }
        for (int i = 0; i < n && s->picture.seeds; i++) add_seeds(s, r, &curves[i], x, out);
    }
}

void qkv_study_picture_data(const qkv_study *s, const qkv_study_results *r, qkv_io_text *out) {
    if (strcmp(s->picture.kind, "bars") == 0)
        add_bars(s, r, out);
    else
        add_lines(s, r, out);
}
