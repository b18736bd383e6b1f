/* plot.h - the pictures of a run directory, drawn by gnuplot.
 *
 * Each picture is NAME.png (or .svg, .pdf, .txt; an animation is a .gif) in the run's plots/ directory;
 * beside it stay NAME.gp, which drew it, and NAME.csv, the numbers in it: `gnuplot NAME.gp` draws it again. A
 * NAME.gp that was edited is kept as NAME.gp~ . A picture that fails leaves the one from before,
 * with its script and its data, as it was.
 *
 * Nothing here prints, exits, or changes the process: gnuplot runs as a child in a private
 * directory, without a shell, and reads names (of runs, tokens, matrices) only as data. gnuplot is
 * the first on PATH, absolute entries only. Paths and names must be given, NULL is none, unless said. */
#pragma once

#include "train/io/io.h"

TENSOR_C_BEGIN

typedef enum {
    QKV_PLOT_PNG,
    QKV_PLOT_SVG,
    QKV_PLOT_PDF,
    QKV_PLOT_TXT,
    QKV_PLOT_GIF  // of an animation, and of nothing else
} qkv_plot_format;

/* How it is drawn. What is 0 is as the script lays it out; a picture of another size is smaller or larger
 * as a whole, with its letters and lines. Of a TXT there is nothing to say. */
typedef struct {
    qkv_plot_format format;
    int width, height;  // pixels, of which 96 are an inch
    int dpi;            // how many an inch of a PNG or GIF has; 0: 96
    const char *font;   // "name", "name,points" or ",points"; NULL: sans-serif,13
} qkv_plot_style;

enum {
    QKV_PLOT_LEAST = 100,
    QKV_PLOT_MOST = 10000,
    QKV_PLOT_LEAST_DPI = 24,
    QKV_PLOT_MOST_DPI = 1200
};

/* "800x500" into width and height; a font. 0 for what is neither, or out of range. */
int qkv_plot_size_parse(const char *text, qkv_plot_style *style);
int qkv_plot_font_parse(const char *text, qkv_plot_style *style);

/* Told about each picture as it is done. `text` is the path of the picture, or one sentence that
 * says why there is none; it and `name` live until the function returns. */
typedef void qkv_plot_report(void *ctx, const char *name, qkv_io_status status, const char *text);

/* What there is to draw, in the order of drawing; a NULL name ends the list. */
typedef enum {
    QKV_PLOT_OF_RUN,      // from metrics.csv, levels.csv and probe/
    QKV_PLOT_OF_RUNS,     // of several, by qkv_plot_compare
    QKV_PLOT_OF_STUDY,    // from bars.csv, lines.csv or sweep.csv
    QKV_PLOT_OF_EXAMPLE,  // from probe/example-*.csv: an example's attention
    QKV_PLOT_OF_GRAPH,    // from probe/tape.csv: the graph of an example
    QKV_PLOT_OF_STEPS,    // from probe/frames.csv: attention and circuits over the steps
    QKV_PLOT_OF_LEDGER    // from ledger.csv
} qkv_plot_of;

typedef struct {
    const char *name;   // "loss": also the stem of its files
    const char *shows;  // half a sentence
    qkv_plot_of of;
} qkv_plot_info;
const qkv_plot_info *qkv_plot_list(void);

/* "png", "svg", "pdf", "txt" or "gif" into *format; 0 for anything else. And the name of a format. */
int qkv_plot_format_parse(const char *text, qkv_plot_format *format);
const char *qkv_plot_format_name(qkv_plot_format format);

/* Draws the pictures of one kind, but QKV_PLOT_OF_RUNS, of the directory `run` into `out`, or (NULL)
 * run/plots, which is made if need be; `only` names one of them, NULL means all. PNG becomes SVG if gnuplot
 * has no PNG terminal; the maps' TXT needs no gnuplot, and what is OF_STEPS is a gif. report may be NULL.
 * Returns the worst that was reported (DAMAGED, FAILED, NO_GNUPLOT), else OK if a picture was drawn, else
 * SKIPPED (also for an `only` that is none of them). */
qkv_io_status qkv_plot_draw(qkv_plot_of of, const char *run, const char *out,
                            const qkv_plot_style *style, const char *only, qkv_plot_report *report,
                            void *ctx);

/* Draws n runs (1 to 32) into one picture, compare.png and so on, in the directory `dir`, which is
 * made if need be. Runs whose config.json differs in the seed alone have one colour: a thin line each,
 * and their mean. The curves are named by what differs in config.json, or by the runs' paths as given.
 * One run without numbers fails the picture. */
qkv_io_status qkv_plot_compare(const char *const *runs, int n, const char *dir,
                               const qkv_plot_style *style, qkv_plot_report *report, void *ctx);

TENSOR_C_END
