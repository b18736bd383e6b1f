/* plot.c - a picture from data to its place. */
#include "train/plot/plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/plot/data.h"
#include "train/plot/draft.h"
#include "train/plot/gnuplot.h"
#include "train/plot/scripts.h"

enum { SERIES, MAPS, RUNS, TABLE, ONE, FRAMES, LEDGER, GRAPH, MOST_RUNS = 32, STEM = 32 };

typedef struct {
    int kind;
    const char *source;
} origin;

#define PLOT(name, kind, source, shows)       \
    {#name, shows,                            \
     (kind) == RUNS     ? QKV_PLOT_OF_RUNS    \
     : (kind) == TABLE  ? QKV_PLOT_OF_STUDY   \
     : (kind) == ONE    ? QKV_PLOT_OF_EXAMPLE \
     : (kind) == GRAPH  ? QKV_PLOT_OF_GRAPH   \
     : (kind) == FRAMES ? QKV_PLOT_OF_STEPS   \
     : (kind) == LEDGER ? QKV_PLOT_OF_LEDGER  \
                        : QKV_PLOT_OF_RUN},
static const qkv_plot_info list[] = {
#include "train/plot/plots.def"
    {NULL, NULL, QKV_PLOT_OF_RUN}};
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
    qkv_plot_style style;
    char *gnuplot;  // NULL: there is none
    qkv_plot_report *report;
    void *ctx;
} job;

static const char *const formats[] = {"png", "svg", "pdf", "txt", "gif"};

const qkv_plot_info *qkv_plot_list(void) { return list; }

const char *qkv_plot_format_name(qkv_plot_format format) { return formats[format]; }

int qkv_plot_format_parse(const char *text, qkv_plot_format *format) {
    for (int i = 0; text && format && i < (int)(sizeof formats / sizeof *formats); i++) {
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

/* Writes a text as a file of the draft, if there was nothing wrong before. */
static qkv_io_status put(qkv_plot_draft *d, const char *stem, const char *extension,
                         const qkv_io_text *text, qkv_io_status status, char *why) {
    char name[STEM];
    if (status != QKV_IO_OK) return status;
    return qkv_plot_draft_write(d, file_name(name, stem, extension), text, why);
}

/* The maps of a run as NAME.csv and, where text is wanted, as the picture itself. */
static qkv_io_status write_maps(qkv_plot_draft *d, const job *j, int plot, qkv_io_text *csv,
                                char *why) {
    qkv_plot_maps maps;
    qkv_io_text text = {.arena = csv->arena};
    qkv_io_status status =
        qkv_plot_maps_read(&maps, csv->arena, j->runs[0], origins[plot].source, why);
    if (status != QKV_IO_OK) return status;
    qkv_plot_maps_write(csv, &maps);
    if (j->style.format != QKV_PLOT_TXT) return QKV_IO_OK;
    qkv_plot_maps_text(&text, &maps);
    return put(d, list[plot].name, "txt", &text, status, why);
}

static qkv_io_status write_data(qkv_plot_draft *d, const job *j, int plot, char *why) {
    const origin *o = &origins[plot];
    char probe[QKV_IO_PATH];
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text csv = {.arena = arena};
    if (!arena) return qkv_io_fail(why, "out of memory"), QKV_IO_FAILED;
    qkv_io_status status = QKV_IO_OK;
    switch (o->kind) {
        case SERIES: status = qkv_plot_series(&csv, j->runs[0], o->source, why); break;
        case ONE:
        case MAPS: status = write_maps(d, j, plot, &csv, why); break;
        case TABLE: status = qkv_plot_copy(&csv, j->runs[0], o->source, why); break;
        case GRAPH:
            status = qkv_io_path(probe, j->runs[0], "probe", why)
                         ? qkv_plot_copy(&csv, probe, o->source, why)
                         : QKV_IO_FAILED;
            break;
        case FRAMES: status = qkv_plot_frames(&csv, j->runs[0], o->source, why); break;
        case LEDGER: status = qkv_plot_ledger_data(&csv, j->runs[0], why); break;
        case RUNS: status = qkv_plot_several(&csv, j->runs, j->n, o->source, why); break;
    }
    status = put(d, list[plot].name, "csv", &csv, status, why);
    tensor_arena_free(arena);
    return status;
}

static qkv_io_status write_script(qkv_plot_draft *d, const char *plot, char *why) {
    const struct qkv_plot_script *s = qkv_plot_scripts;
    while (s->name && strcmp(s->name, plot)) s++;
    if (!s->name)
        return qkv_io_fail(why, "there is no script %s.gp in the program", plot), QKV_IO_FAILED;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text text = {.arena = arena, .failed = !arena};
    for (const char *const *line = qkv_plot_common; *line; line++)
        qkv_io_text_put(&text, *line, strlen(*line));
    qkv_io_text_put(&text, "\n", 1);
    for (const char *const *line = s->lines; *line; line++)
        qkv_io_text_put(&text, *line, strlen(*line));
    qkv_io_status status = put(d, plot, "gp", &text, QKV_IO_OK, why);
    tensor_arena_free(arena);
    return status;
}

/* Runs a script with what common.gp takes: format, size, pixels an inch, font. */
static qkv_io_status run_script(const qkv_plot_draft *d, const job *j, const char *script,
                                char *why) {
    const qkv_plot_style *s = &j->style;
    char size[32] = "", dpi[16] = "";
    if (s->width) snprintf(size, sizeof size, "%dx%d", s->width, s->height);
    if (s->dpi) snprintf(dpi, sizeof dpi, "%d", s->dpi);
    const char *const arguments[] = {script, formats[s->format],     size,
                                     dpi,    s->font ? s->font : "", NULL};
    return qkv_plot_gnuplot_run(j->gnuplot, d->fd, arguments, why);
}

/* Has gnuplot draw, unless the picture is there already. Sets the picture's name. */
static qkv_io_status make_picture(qkv_plot_draft *d, const job *j, const char *plot, char *picture,
                                  char *why) {
    char script[STEM];
    qkv_plot_format format = j->style.format;
    file_name(script, plot, "gp");
    file_name(picture, plot, formats[format]);
    if (qkv_plot_draft_has(d, picture)) return QKV_IO_OK;
    if (!j->gnuplot) {
        qkv_io_fail(
            why,
            "gnuplot is not on PATH; %.200s/%s and its data are ready to be drawn by it (maps and "
            "attention are drawn without it, as text, with --format txt)",
            j->dir, script);
        return QKV_IO_NO_GNUPLOT;
    }
    qkv_io_status status = run_script(d, j, script, why);
    if (status != QKV_IO_OK) return status;
    if (format == QKV_PLOT_PNG &&
        !qkv_plot_draft_has(d, picture)) {  // no PNG terminal: see common.gp
        format = QKV_PLOT_SVG;
        file_name(picture, plot, formats[format]);
    }
    if (qkv_plot_picture_whole(d->fd, picture, format)) {
        return format == QKV_PLOT_TXT ? qkv_plot_draft_end_line(d, picture, why) : QKV_IO_OK;
    }
    char complaint[200];
    snprintf(complaint, sizeof complaint, "%.199s", why);
    file_name(picture, plot, formats[j->style.format]);
    qkv_io_fail(why, "gnuplot left no whole %s%s%s", picture,
                *complaint ? ": " : " (is the disk full?)", complaint);
    return QKV_IO_FAILED;
}

/* One picture, from data to its place. On OK `picture` is its file name. */
static qkv_io_status draw(const job *j, int plot, char *picture, char *why) {
    char name[STEM];
    qkv_plot_draft d;
    qkv_io_status status = qkv_plot_draft_open(&d, j->dir, why), drawn = QKV_IO_OK;
    if (status == QKV_IO_OK) status = write_data(&d, j, plot, why);
    if (status == QKV_IO_OK) status = write_script(&d, list[plot].name, why);
    if (status == QKV_IO_OK) status = drawn = make_picture(&d, j, list[plot].name, picture, why);
    if (status == QKV_IO_OK || status == QKV_IO_NO_GNUPLOT) {
        status = qkv_plot_draft_keep(&d, file_name(name, list[plot].name, "csv"), false, why);
        if (status == QKV_IO_OK) {
            status = qkv_plot_draft_keep(&d, file_name(name, list[plot].name, "gp"), true, why);
        }
        if (status == QKV_IO_OK && drawn == QKV_IO_OK)
            status = qkv_plot_draft_keep(&d, picture, false, why);
        if (status == QKV_IO_OK) status = drawn;
    }
    qkv_plot_draft_close(&d);
    return status;
}

static qkv_io_status draw_and_report(const job *j, int plot) {
    char picture[STEM] = "", why[QKV_IO_ERROR] = "", path[QKV_IO_PATH], ignored[QKV_IO_ERROR];
    qkv_io_status status = draw(j, plot, picture, why);
    const char *text = *why ? why : "it could not be drawn, and nothing says why";
    if (status == QKV_IO_OK) text = qkv_io_path(path, j->dir, picture, ignored) ? path : picture;
    if (j->report) j->report(j->ctx, list[plot].name, status, text);
    return status;
}

/* Draws those of the wanted kind: the one called `only`, or (NULL) all. The worst status counts:
 * they stand in that order, but for SKIPPED, which any other outweighs. */
static qkv_io_status draw_all(job *j, qkv_plot_of of, const char *only) {
    qkv_io_status worst = QKV_IO_SKIPPED;
    j->gnuplot = qkv_plot_gnuplot_find();
    for (int i = 0; list[i].name; i++) {
        if (list[i].of != of || (only && strcmp(only, list[i].name))) continue;
        qkv_io_status status = draw_and_report(j, i);
        if (worst == QKV_IO_SKIPPED || (status != QKV_IO_SKIPPED && status > worst)) worst = status;
    }
    free(j->gnuplot);
    return worst;
}

qkv_io_status qkv_plot_draw(qkv_plot_of of, const char *run, const char *out,
                            const qkv_plot_style *style, const char *only, qkv_plot_report *report,
                            void *ctx) {
    char dir[QKV_IO_PATH], why[QKV_IO_ERROR];
    job j = {out ? out : dir, &run, 1, *style, NULL, report, ctx};
    if (of == QKV_PLOT_OF_STEPS) j.style.format = QKV_PLOT_GIF;
    bool there =
        out ? qkv_io_make_directory(&qkv_io_posix, out, why) : qkv_io_path(dir, run, "plots", why);
    if (there) return draw_all(&j, of, only);
    if (report) report(ctx, only ? only : "all", QKV_IO_FAILED, why);
    return QKV_IO_FAILED;
}

qkv_io_status qkv_plot_compare(const char *const *runs, int n, const char *dir,
                               const qkv_plot_style *style, qkv_plot_report *report, void *ctx) {
    job j = {dir, runs, n, *style, NULL, report, ctx};
    if (n >= 1 && n <= MOST_RUNS) return draw_all(&j, QKV_PLOT_OF_RUNS, NULL);
    if (report) report(ctx, "compare", QKV_IO_FAILED, "from 1 to 32 runs can be compared");
    return QKV_IO_FAILED;
}
