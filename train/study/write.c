/* write.c - a study's numbers as CSV: means, seeds, and what the picture shows. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/study/study.h"

static bool write_text(const train_io *io, const char *dir, const char *name, const train_text *text, char *error) {
    char path[TRAIN_PATH];
    if (text->failed) return snprintf(error, TRAIN_ERROR, "out of memory"), false;
    return train_path(path, dir, name, error) && train_write_file(io, path, text->at, text->n, error);
}

static void add_numbers(train_text *out, const double *x, int n) {
    for (int i = 0; i < n; i++) {
        train_text_add(out, ",");
        train_text_number(out, x[i]);
    }
}

static void add_names(train_text *out, const train_variant *v) {
    train_text_label(out, v->group);
    train_text_add(out, ",");
    train_text_label(out, v->name);
}

static void add_means(const train_study *s, const train_results *r, train_text *out) {
    train_text_add(out, "group,variant,measure,n,mean,sd,least,most\n");
    for (int v = 0; v < s->n_variants; v++)
        for (int c = 0; c < s->n_columns; c++) {
            train_summary_of m = train_summarise(s, r, v, s->column[c]);
            add_names(out, &s->variant[v]);
            train_text_add(out, ",");
            train_text_label(out, s->column[c]);
            train_text_add(out, ",%d", m.n);
            add_numbers(out, (double[]){m.mean, m.sd, m.n ? m.least : (double)NAN, m.n ? m.most : (double)NAN}, 4);
            train_text_add(out, "\n");
        }
}

static void add_seeds(const train_study *s, const train_results *r, train_text *out) {
    train_text_add(out, "group,variant,seed,measure,value\n");
    for (int i = 0; i < r->n; i++)
        for (int k = 0; k < r->at[i].measures.n && !r->at[i].error; k++) {
            add_names(out, &s->variant[r->at[i].variant]);
            train_text_add(out, ",%d,", r->at[i].seed);
            train_text_label(out, r->at[i].measures.at[k].name);
            add_numbers(out, &r->at[i].measures.at[k].x, 1);
            train_text_add(out, "\n");
        }
}

/* The variant's value of an option, as its JSON says. */
static double option_value(const train_variant *v, const char *option) {
    json_t *o = json_loads(v->json, 0, NULL), *x = json_object_get(o, option);
    double value = json_is_number(x) ? json_number_value(x) : (double)NAN;
    json_decref(o);
    return value;
}

static void band_of(const train_study *s, int variant, double *least, double *most) {
    *least = *most = (double)NAN;
    for (int i = 0; i < s->n_bands; i++) {
        const train_band *b = &s->band[i];
        if (strcmp(b->measure, s->picture.measure) || strcmp(b->variant, s->variant[variant].name)) continue;
        if (*b->group && strcmp(b->group, s->variant[variant].group)) continue;
        if (isfinite(b->least)) *least = b->least;
        if (isfinite(b->most)) *most = b->most;
    }
}

/* One row a variant from the top down, y its place; before each group a row with the group's name alone. */
static void add_bars(const train_study *s, const train_results *r, train_text *out) {
    const char *group = "";
    double y = 0;
    train_text_add(out, "y,name,mean,sd,least,most,band_least,band_most,title,label\n");
    for (int v = 0; v < s->n_variants; v++) {
        double least, most;
        train_summary_of m = train_summarise(s, r, v, s->picture.measure);
        band_of(s, v, &least, &most);
        if (strcmp(group, s->variant[v].group) != 0) {
            group = s->variant[v].group;
            y += v ? 1.4 : 0;
            train_text_number(out, y);
            train_text_add(out, ",");
            train_text_label(out, group);
            train_text_add(out, ",,,,,,,,\n");
        }
        train_text_number(out, ++y);
        train_text_add(out, ",");
        train_text_label(out, s->variant[v].name);
        add_numbers(out, (double[]){m.mean, m.sd, m.n ? m.least : (double)NAN, m.n ? m.most : (double)NAN, least, most}, 6);
        train_text_add(out, ",");
        train_text_label(out, s->picture.title);
        train_text_add(out, ",");
        train_text_label(out, *s->picture.label ? s->picture.label : s->picture.measure);
        train_text_add(out, "\n");
    }
}

/* A group is a curve: a row for each value of the option, two columns a group. */
static void add_lines(const train_study *s, const train_results *r, train_text *out) {
    train_text_label(out, s->picture.x);
    for (int v = 0; v < s->n_variants; v++) {
        if (v && strcmp(s->variant[v].group, s->variant[v - 1].group) == 0) continue;
        train_text_add(out, ",");
        train_text_label(out, s->variant[v].group);
        train_text_add(out, ",\"sd\"");
    }
    train_text_add(out, ",\"title\",\"label\"\n");
    double last = -(double)INFINITY;
    for (;;) {
        double x = (double)INFINITY;  // the next greater value
        for (int v = 0; v < s->n_variants; v++) {
            double here = option_value(&s->variant[v], s->picture.x);
            if (here > last && here < x) x = here;
        }
        if (isinf(x)) return;
        train_text_number(out, last = x);
        for (int v = 0; v < s->n_variants;) {
            int end = v, at = -1;
            for (; end < s->n_variants && strcmp(s->variant[end].group, s->variant[v].group) == 0; end++)
                if (option_value(&s->variant[end], s->picture.x) == x) at = end;
            train_summary_of m = {.mean = (double)NAN, .sd = (double)NAN};
            if (at >= 0) m = train_summarise(s, r, at, s->picture.measure);
            add_numbers(out, (double[]){m.mean, m.sd}, 2);
            v = end;
        }
        train_text_add(out, ",");
        train_text_label(out, s->picture.title);
        train_text_add(out, ",");
        train_text_label(out, *s->picture.label ? s->picture.label : s->picture.measure);
        train_text_add(out, "\n");
    }
}

bool train_study_write(const train_io *io, const train_study *s, const train_results *r, const char *dir, char *error) {
    tensor_arena *arena = tensor_arena_new(NULL);
    train_text means = {.arena = arena, .failed = !arena}, seeds = means, picture = means;
    add_means(s, r, &means);
    add_seeds(s, r, &seeds);
    bool ok = write_text(io, dir, "table.csv", &means, error) && write_text(io, dir, "seeds.csv", &seeds, error);
    bool bars = strcmp(s->picture.kind, "bars") == 0;
    if (ok && *s->picture.kind) {
        (bars ? add_bars : add_lines)(s, r, &picture);
        ok = write_text(io, dir, bars ? "bars.csv" : "lines.csv", &picture, error);
    }
    tensor_arena_free(arena);
    return ok;
}
