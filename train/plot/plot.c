#include "train/plot/plot.h"

#include <stdlib.h>
#include <string.h>

#include "train/plot/data.h"
#include "train/plot/draft.h"
#include "train/plot/gnuplot.h"
#include "train/plot/scripts.h"

enum { SERIES, MAPS, RUNS, TABLE, ONE, MOST_RUNS = 32, STEM = 32 };

typedef struct {
    int kind;
    const char *source;
} origin;

#define PLOT(name, kind, source, shows) \
    {#name, shows, (kind) == RUNS ? 1 : (kind) == TABLE ? 2 : (kind) == ONE ? 3 : 0},
static const qkv_plot_info list[] = {
#include "train/plot/plots.def"
    {NULL, NULL, 0}};
#undef PLOT

#define PLOT(name, kind, source, shows) {kind, source},
static const origin origins[] = {
#include "train/plot/plots.def"
};
#undef PLOT

/* What is the same for all pictures of one call. */
typedef struct {
    const char *dir;          // where pictures go
    const char *const *runs;  // what they show
    int n;
    qkv_plot_format format;
    char *gnuplot;  // NULL: there is none
    qkv_plot_report *report;
    void *ctx;
} job;

static const char *const formats[] = {"png", "svg", "pdf", "txt"};

const qkv_plot_info *qkv_plot_list(void) { return list; }

const char *qkv_plot_format_name(qkv_plot_format format) { return formats[format]; }

int qkv_plot_format_parse(const char *text, qkv_plot_format *format) {
    for (int i = 0; i < (int)(sizeof formats / sizeof *formats); i++) {
        if (strcmp(text, formats[i])) continue;
        *format = (qkv_plot_format)i;
        return 1;
    }
    return 0;
}

static const char *file_name(char name[STEM], const char *stem, const char *extension) {
    snprintf(name, STEM, "%s.%s", stem, extension);
    return name;
}

/* Closes a file of the draft; what went wrong before counts. */
static qkv_plot_status finish(FILE *f, const char *name, qkv_plot_status status, char *why) {
    if (status == QKV_PLOT_OK) return qkv_plot_draft_close_file(f, name, why);
    fclose(f);
    return status;
}

/* The maps of a run as NAME.csv and, where text is wanted, as the picture itself. */
static qkv_plot_status write_maps(qkv_plot_draft *d, const job *j, int plot, FILE *csv, char *why) {
    char name[STEM];
    qkv_plot_maps maps;
    qkv_plot_status status = qkv_plot_maps_read(&maps, j->runs[0], origins[plot].source, why);
    if (status == QKV_PLOT_OK) qkv_plot_maps_write(csv, &maps);
    if (status == QKV_PLOT_OK && j->format == QKV_PLOT_TXT) {
        FILE *f = qkv_plot_draft_file(d, file_name(name, list[plot].name, "txt"), why);
        status = f ? finish(f, name, qkv_plot_maps_text(f, &maps, why), why) : QKV_PLOT_FAILED;
    }
    qkv_plot_maps_free(&maps);
    return status;
}

static qkv_plot_status write_data(qkv_plot_draft *d, const job *j, int plot, char *why) {
    char name[STEM];
    const origin *o = &origins[plot];
    FILE *f = qkv_plot_draft_file(d, file_name(name, list[plot].name, "csv"), why);
    if (!f) return QKV_PLOT_FAILED;
    qkv_plot_status status = QKV_PLOT_OK;
    switch (o->kind) {
        case SERIES: status = qkv_plot_series(f, j->runs[0], o->source, why); break;
        case ONE:
        case MAPS: status = write_maps(d, j, plot, f, why); break;
        case TABLE: status = qkv_plot_copy(f, j->runs[0], o->source, why); break;
        case RUNS: status = qkv_plot_several(f, j->runs, j->n, o->source, why); break;
    }
    return finish(f, name, status, why);
}

static qkv_plot_status write_script(qkv_plot_draft *d, const char *plot, char *why) {
    char name[STEM];
    const struct qkv_plot_script *s = qkv_plot_scripts;
    while (s->name && strcmp(s->name, plot)) s++;
    if (!s->name) return qkv_plot_say(why, "there is no script %s.gp in the program", plot);
    FILE *f = qkv_plot_draft_file(d, file_name(name, plot, "gp"), why);
    if (!f) return QKV_PLOT_FAILED;
    for (const char *const *line = qkv_plot_common; *line; line++) fputs(*line, f);
    fputs("\n", f);
    for (const char *const *line = s->lines; *line; line++) fputs(*line, f);
    return qkv_plot_draft_close_file(f, name, why);
}

/* Has gnuplot draw, unless the picture is there already. Sets the picture's name. */
static qkv_plot_status make_picture(qkv_plot_draft *d, const job *j, const char *plot,
                                    char *picture, char *why) {
    char script[STEM];
    file_name(script, plot, "gp");
    file_name(picture, plot, formats[j->format]);
    if (qkv_plot_draft_has(d, picture)) return QKV_PLOT_OK;
    if (!j->gnuplot) {
        qkv_plot_say(why, "gnuplot is not on PATH; %s/%s and its data are ready to be drawn by it",
                     j->dir, script);
        return QKV_PLOT_NO_GNUPLOT;
    }
    qkv_plot_status status =
        qkv_plot_gnuplot_run(j->gnuplot, d->fd, script, formats[j->format], why);
    if (status != QKV_PLOT_OK) return status;
    qkv_plot_format format = j->format;
    if (format == QKV_PLOT_PNG &&
        !qkv_plot_draft_has(d, picture)) {  // no PNG terminal: see common.gp
        format = QKV_PLOT_SVG;
        file_name(picture, plot, formats[format]);
    }
    if (qkv_plot_picture_whole(d->fd, picture, format)) {
        return format == QKV_PLOT_TXT ? qkv_plot_draft_end_line(d, picture, why) : QKV_PLOT_OK;
    }
    char complaint[200];
    snprintf(complaint, sizeof complaint, "%s", why);
    file_name(picture, plot, formats[j->format]);
    return qkv_plot_say(why, "gnuplot left no whole %s%s%s", picture,
                        *complaint ? ": " : " (is the disk full?)", complaint);
}

/* One picture, from data to its place. On OK `picture` is its file name. */
static qkv_plot_status draw(const job *j, int plot, char *picture, char *why) {
    char name[STEM];
    qkv_plot_draft d;
    qkv_plot_status status = qkv_plot_draft_open(&d, j->dir, why), drawn = QKV_PLOT_OK;
    if (status == QKV_PLOT_OK) status = write_data(&d, j, plot, why);
    if (status == QKV_PLOT_OK) status = write_script(&d, list[plot].name, why);
    if (status == QKV_PLOT_OK) status = drawn = make_picture(&d, j, list[plot].name, picture, why);
    if (status == QKV_PLOT_OK || status == QKV_PLOT_NO_GNUPLOT) {
        status = qkv_plot_draft_keep(&d, file_name(name, list[plot].name, "csv"), false, why);
        if (status == QKV_PLOT_OK) {
            status = qkv_plot_draft_keep(&d, file_name(name, list[plot].name, "gp"), true, why);
        }
        if (status == QKV_PLOT_OK && drawn == QKV_PLOT_OK)
            status = qkv_plot_draft_keep(&d, picture, false, why);
        if (status == QKV_PLOT_OK) status = drawn;
    }
    qkv_plot_draft_close(&d);
    return status;
}

static qkv_plot_status draw_and_report(const job *j, int plot) {
    char picture[STEM] = "", why[QKV_PLOT_TEXT] = "";
    qkv_plot_status status = draw(j, plot, picture, why);
    if (!j->report) return status;
    char *path = status == QKV_PLOT_OK ? qkv_plot_path(j->dir, picture, "") : NULL;
    j->report(j->ctx, list[plot].name, status,
              status == QKV_PLOT_OK ? (path ? path : picture) : why);
    free(path);
    return status;
}

static qkv_plot_status refuse(qkv_plot_report *report, void *ctx, const char *name,
                              const char *why) {
    if (report) report(ctx, name, QKV_PLOT_FAILED, why);
    return QKV_PLOT_FAILED;
}

/* Draws those of the wanted kind. FAILED outweighs NO_GNUPLOT, that outweighs OK, and that SKIPPED.
 */
static qkv_plot_status draw_all(job *j, int of_runs, const char *only) {
    static const int weight[] = {[QKV_PLOT_SKIPPED] = 0,
                                 [QKV_PLOT_OK] = 1,
                                 [QKV_PLOT_NO_GNUPLOT] = 2,
                                 [QKV_PLOT_FAILED] = 3};
    qkv_plot_status worst = QKV_PLOT_SKIPPED;
    int known = 0;
    j->gnuplot = qkv_plot_gnuplot_find();
    for (int i = 0; list[i].name; i++) {
        if (list[i].runs != of_runs || (only && strcmp(only, list[i].name))) continue;
        known = 1;
        qkv_plot_status status = draw_and_report(j, i);
        if (weight[status] > weight[worst]) worst = status;
    }
    free(j->gnuplot);
    return known ? worst
                 : refuse(j->report, j->ctx, only, "there is no picture of that name of one run");
}

qkv_plot_status qkv_plot_run(const char *run, qkv_plot_format format, const char *only,
                             qkv_plot_report *report, void *ctx) {
    char *dir = qkv_plot_path(run, "plots", "");
    if (!dir) return refuse(report, ctx, only ? only : "all", "out of memory");
    job j = {dir, &run, 1, format, NULL, report, ctx};
    qkv_plot_status status = draw_all(&j, 0, only);
    free(dir);
    return status;
}

qkv_plot_status qkv_plot_example(const char *run, qkv_plot_format format, qkv_plot_report *report,
                                 void *ctx) {
    char *dir = qkv_plot_path(run, "plots", "");
    if (!dir) return refuse(report, ctx, "example", "out of memory");
    job j = {dir, &run, 1, format, NULL, report, ctx};
    qkv_plot_status status = draw_all(&j, 3, NULL);
    free(dir);
    return status;
}

qkv_plot_status qkv_plot_study(const char *dir, const char *name, qkv_plot_format format,
                               qkv_plot_report *report, void *ctx) {
    char *plots = qkv_plot_path(dir, "plots", "");
    if (!plots) return refuse(report, ctx, name, "out of memory");
    job j = {plots, &dir, 1, format, NULL, report, ctx};
    qkv_plot_status status = draw_all(&j, 2, name);
    free(plots);
    return status;
}

qkv_plot_status qkv_plot_compare(const char *const *runs, int n, const char *dir,
                                 qkv_plot_format format, qkv_plot_report *report, void *ctx) {
    if (n < 1 || n > MOST_RUNS)
        return refuse(report, ctx, "compare", "from 1 to 32 runs can be compared");
    job j = {dir, runs, n, format, NULL, report, ctx};
    return draw_all(&j, 1, NULL);
}
