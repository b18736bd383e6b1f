/* cmd_plot.c - qkv plot: the pictures of a run, or several runs in one picture. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/cli/style.h"
#include "train/plot/plot.h"
#include "train/probe/sample.h"
#include "train/run/files.h"
#include "train/study/rows_picture.h"

typedef struct {
    qkv_plot_style style;
    const char *only, *out, *answer, *prompt, *change;
    bool attention, animate, ledger, tape;
    qkv_study_view view;
    const char *where;
    long example, frames;
    cli_state state;
    bool said_no_gnuplot;  // one line is enough
} request;

static int take_picture(const char *command, const cli_option *o, const char *value, void *field) {
    const char *names[32] = {NULL};
    int n = 0;
    (void)o;
    for (const qkv_plot_info *p = qkv_plot_list(); p->name && n < 31; p++) {
        names[n++] = p->name;
        if (strcmp(p->name, value) == 0) return *(const char **)field = value, CLI_OK;
    }
    return cli_unknown(command, "--only: there is no picture", value, names, "qkv list plots");
}

static const cli_option options[] = {
    CLI_OPTIONS_STYLE(request, style),
    CLI_OWN(request, only, take_picture, "only", "NAME", "one of the pictures of qkv list plots",
            .without = "attention|animate|tape"),
    CLI_FLAG(request, animate, "animate",
             "attention and circuits over the steps, as one moving picture (a gif)",
             .without = "format"),
    CLI_INT(request, frames, "frames", "N", 40, 2, 500, "of so many steps, evenly apart",
            .needs = "animate"),
    CLI_FLAG(request, ledger, "ledger", "who took the loss down, from the table of qkv ledger",
             .without = "animate|attention|tape"),
    CLI_FLAG(request, attention, "attention", "one example's attention, every layer and head",
             .without = "animate"),
    CLI_FLAG(request, tape, "tape", "one example's graph: every node's value and gradient",
             .without = "animate|attention"),
    CLI_INT(request, example, "example", "I", 0, 0, 2000000000, "which held-out example",
            .needs = "attention|tape", .without = "prompt"),
    CLI_TEXT(request, prompt, "prompt", "TEXT", "this text instead, of a run on text",
             .needs = "attention"),
    CLI_TEXT(
        request, change, "change", "CHANGE",
        "I,J swaps two positions, NAME:I,J their symbols of one stream, I=WORD puts a word at one; "
        "draws the last layer before and after",
        .needs = "attention"),
    CLI_INT(request, state.at, "at", "STEP", QKV_RUN_NEWEST, 0, 1000000000,
            "its state after so many steps; of an animation the last",
            .needs = "attention|animate|tape", .def = "the newest"),
    CLI_TEXT(request, answer, "answer", "NAME", "which of several answers is framed",
             .needs = "attention"),
    CLI_FILE(request, state.data, "data",
             "where the file is now that the run read; a directory: all of them",
             .needs = "attention|animate|tape", .def = "where it was"),
    CLI_TEXT(request, view.x, "x", "NAME",
             "of a sweep, a study or a folder of runs: this option or measure from left to right",
             .needs = "y", .without = "animate|attention|tape|ledger|only"),
    CLI_TEXT(request, view.y, "y", "NAME",
             "an option: a map of cells; a measure: curves over an option, points over a measure",
             .needs = "x"),
    CLI_TEXT(request, view.colour, "colour", "NAME",
             "the measure of a map; the option that tells curves or points apart", .needs = "x",
             .def = "accuracy, of a map"),
    CLI_TEXT(request, view.panel, "panel", "NAME", "a panel for each value of this option",
             .needs = "x"),
    CLI_TEXT(request, where, "where", "TEXT",
             "only rows for which this is true: \"optimizer=adam lr<=0.01\"", .needs = "x"),
    CLI_FLAG(request, view.scatter, "scatter",
             "a point for each training, instead of curves or a map", .needs = "x"),
    CLI_OPTION_PLUGIN(request, state.plugin, "the plugin with the run's task or block"),
    CLI_DIRECTORY(request, out, "out", "where the pictures go",
                  .def = "RUN/plots; of several runs runs/compare"),
    CLI_END};

/* Can that many runs be drawn so? An exit code. */
static int check_runs(const request *r, int n) {
    static const char *const need[] = {
        [QKV_PLOT_OF_RUN] = "is of one run; several are drawn in 'compare'",
        [QKV_PLOT_OF_RUNS] = "is of several runs, one is given",
        [QKV_PLOT_OF_STUDY] = "is drawn by qkv study",
        [QKV_PLOT_OF_EXAMPLE] = "is drawn with --attention",
        [QKV_PLOT_OF_GRAPH] = "is drawn with --tape",
        [QKV_PLOT_OF_STEPS] = "is drawn with --animate",
        [QKV_PLOT_OF_LEDGER] = "is drawn with --ledger"};
    if (n < 1) return cli_error(CLI_USAGE, "plot", "at least one run directory is needed");
    if (n > 32)
        return cli_error(CLI_USAGE, "plot", "at most 32 runs can be compared, %d are given", n);
    const char *one = r->attention ? "attention"
                      : r->ledger  ? "ledger"
                      : r->tape    ? "tape"
                      : r->animate ? "animate"
                                   : NULL;
    if (n > 1 && one)
        return cli_error(CLI_USAGE, "plot", "--%s is of one run, %d are given", one, n);
    const qkv_plot_info *p = qkv_plot_list();
    while (r->only && p->name && strcmp(p->name, r->only)) p++;
    const qkv_plot_of drawn = r->ledger ? QKV_PLOT_OF_LEDGER
                              : n > 1   ? QKV_PLOT_OF_RUNS
                                        : QKV_PLOT_OF_RUN;
    if (!r->only || p->of == drawn) return CLI_OK;
    return cli_error(CLI_USAGE, "plot", "--only: '%s' %s", p->name, need[p->of]);
}

static void copy_to_stdout(const char *path) {
    char error[QKV_IO_ERROR];
    void *text;
    size_t n;
    if (qkv_io_read_file(&cli_files, NULL, path, 1 << 20, &text, &n, error) != QKV_IO_OK) return;
    for (size_t i = 0; i < n; i++)
        if (((char *)text)[i] != '\f') putchar(((char *)text)[i]);  // gnuplot's end of a page
    tensor_malloc.release(NULL, text);
}

static void begin_drawing(void) {
    cli_progress_begin("plot", false);
    cli_progress_at(0, 0, "drawing");
}

static void report(void *ctx, const char *name, qkv_io_status status, const char *text) {
    request *r = ctx;
    char shown[1024];
    cli_progress_end();
    qkv_io_printable(text, shown, sizeof shown);
    if (status == QKV_IO_NO_GNUPLOT && r->said_no_gnuplot) return;
    r->said_no_gnuplot |= status == QKV_IO_NO_GNUPLOT;
    if (status == QKV_IO_OK && r->style.format == QKV_PLOT_TXT)
        copy_to_stdout(text);
    else if (status == QKV_IO_OK)
        printf("%s\n", shown);
    else
        fprintf(stderr, "qkv plot: %s%s: %s\n", name, status == QKV_IO_SKIPPED ? " skipped" : "",
                shown);
    fflush(stdout);
    begin_drawing();  // the next one
}

/* Loads the prompt, or a held-out example. */
static bool load_example(const request *r, qkv_trainer *t, char *error) {
    if (r->prompt) return qkv_probe_load_prompt(t, qkv_trainer_any_worker(t), r->prompt, error);
    qkv_trainer_load(t, qkv_trainer_any_worker(t), "test", (uint64_t)r->example, 1, 1);
    return true;
}

/* Writes the attention of one example of a run. */
static int write_example(void *asked, const cli_opened *run) {
    const request *r = asked;
    char error[QKV_IO_ERROR];
    const int readout = cli_readout("plot", qkv_trainer_spec(run->t), r->answer);
    const int code =
        readout < 0 ? CLI_USAGE : cli_has_example("plot", "example", run->t, r->example);
    if (code != CLI_OK) return code;
    const bool written = load_example(r, run->t, error) &&
                         qkv_run_write_example(&cli_files, run->t, r->out ? r->out : run->run,
                                               readout, r->change, error);
    return written ? CLI_OK : cli_error(CLI_FAILED, "plot", "%s", error);
}

/* Writes the graph of one example of a run. */
static int write_tape(void *asked, const cli_opened *run) {
    const request *r = asked;
    char error[QKV_IO_ERROR], title[300], shown[200];
    qkv_probe_tape tape;
    const int code = cli_has_example("plot", "example", run->t, r->example);
    if (code != CLI_OK) return code;
    snprintf(title, sizeof title, "%s after %d steps, held-out example %ld",
             qkv_io_printable(run->run, shown, sizeof shown), run->step, r->example);
    const bool written =
        qkv_probe_tape_new(run->t, false, run->arena, &tape, error) &&
        qkv_probe_tape_load(&tape, "test", (uint64_t)r->example, error) &&
        qkv_probe_tape_run(&tape, true, error) &&
        qkv_run_write_tape(&cli_files, &tape, title, r->out ? r->out : run->run, error);
    return written ? CLI_OK : cli_error(CLI_FAILED, "plot", "%s", error);
}

/* Draws what stands in the run's directory, or in --out. */
static int draw(request *r, qkv_plot_of of, const char *run) {
    return cli_code(qkv_plot_draw(of, r->out ? r->out : run, r->out, &r->style, NULL, report, r));
}

static void say_frames(void *ctx, int done, int total) {
    (void)ctx;
    cli_progress_at(done, total, "frames");
}

/* What the run looked like, step by step. */
static int plot_animation(request *r, const char *run) {
    char error[QKV_IO_ERROR];
    const qkv_run_opening o = cli_opening(run, &r->state);
    const char *to = r->out ? r->out : run;
    cli_progress_begin("plot", false);
    qkv_io_status status =
        qkv_run_write_frames(&cli_files, &o, (int)r->frames, to, say_frames, NULL, error);
    if (status != QKV_IO_OK) return cli_error(cli_code(status), "plot", "%s", error);
    if (*error) cli_error(CLI_OK, "plot", "note: %s", error);
    begin_drawing();
    return draw(r, QKV_PLOT_OF_STEPS, run);
}

/* What qkv ledger left. One that is not there is an error: it was asked for. */
static int plot_ledger(request *r, const char *run) {
    begin_drawing();
    const qkv_io_status s =
        qkv_plot_draw(QKV_PLOT_OF_LEDGER, run, r->out, &r->style, NULL, report, r);
    return s == QKV_IO_SKIPPED ? CLI_FAILED : cli_code(s);
}

/* Several runs in one picture. */
static int plot_comparison(request *r, const char *const *runs, int n) {
    char error[QKV_IO_ERROR];
    const char *out = r->out ? r->out : "runs/compare";
    if (!qkv_io_make_directory(&cli_files, out, error))
        return cli_error(CLI_FAILED, "plot", "%s", error);
    begin_drawing();
    return cli_code(qkv_plot_compare(runs, n, out, &r->style, report, r));
}

/* The rows of a sweep, of a study, or of runs in one picture. */
static int plot_rows(request *r, const char *const *dirs, int n) {
    char error[QKV_IO_ERROR], path[QKV_IO_PATH];
    const char *out = r->out ? r->out : dirs[0];
    qkv_study_rows rows;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text text = {.arena = arena, .failed = !arena};
    int code = arena ? CLI_OK : cli_error(CLI_FAILED, "plot", "out of memory");
    if (code == CLI_OK) {
        const qkv_io_status status = qkv_study_rows_read(&rows, &cli_files, arena, dirs, n, error);
        if (status != QKV_IO_OK) code = cli_error(cli_code(status), "plot", "%s", error);
    }
    if (code == CLI_OK && r->where && !qkv_study_rows_filter(&rows, r->where, error))
        code = cli_error(CLI_USAGE, "plot", "--where: %s", error);
    if (code == CLI_OK && !rows.n) code = cli_error(CLI_FAILED, "plot", "no row is left to draw");
    if (code == CLI_OK && !qkv_study_rows_picture(&rows, &r->view, &text, error))
        code = cli_error(CLI_USAGE, "plot", "%s", error);
    if (code == CLI_OK && (!qkv_io_make_directory(&cli_files, out, error) ||
                           !qkv_io_path(path, out, "sweep.csv", error) ||
                           !qkv_io_write_file(&cli_files, path, text.at, text.n, error)))
        code = cli_error(CLI_FAILED, "plot", "%s", error);
    tensor_arena_free(arena);
    if (code != CLI_OK) return code;
    begin_drawing();
    return cli_code(qkv_plot_draw(QKV_PLOT_OF_STUDY, out, NULL, &r->style, "sweep", report, r));
}

/* Is it the directory of a run, and its config.json whole? The task may be one of a plugin that is not
 * there: pictures do not need it. */
static int check_run(const char *run, bool curves) {
    char path[QKV_IO_PATH], error[QKV_IO_ERROR], shown[QKV_IO_PATH];
    char *json;
    size_t n;
    if (!qkv_io_path(path, run, "metrics.csv", error))
        return cli_error(CLI_USAGE, "plot", "%s", error);
    qkv_io_status s = qkv_run_config_text(&cli_files, run, &json, &n, error);
    if (s != QKV_IO_OK) return cli_error(cli_code(s), "plot", "%s", error);
    bool whole = qkv_config_is_object(json, n, error);
    tensor_malloc.release(NULL, json);
    if (!whole)
        return cli_error(CLI_DAMAGED, "plot", "'%s/config.json': %s",
                         qkv_io_printable(run, shown, sizeof shown), error);
    if (!curves || access(path, R_OK) == 0) return CLI_OK;
    return cli_error(CLI_FAILED, "plot",
                     "cannot read '%s': %s; without it there are no curves (--attention and "
                     "--animate draw without it)",
                     path, strerror(errno));
}

int cli_plot(int argc, char **argv) {
    request r = {0};
    int first = 0;
    bool done;
    int code = cli_read(argc, argv, options, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    int n = argc - first;
    const char *const *runs = (const char *const *)argv + first;
    const bool rows = r.view.x != NULL;
    if (rows && n < 1) return cli_error(CLI_USAGE, "plot", "--x needs the folder of a sweep");
    if (!rows) code = check_runs(&r, n);
    if (code == CLI_OK) code = cli_check_style("plot", &r.style);
    if (code != CLI_OK) return code;
    if (rows) return plot_rows(&r, runs, n);
    const bool curves = !r.animate && !r.attention && !r.ledger && !r.tape;
    for (int i = 0; i < n && code == CLI_OK; i++) code = check_run(runs[i], curves);
    if (code != CLI_OK) return code;
    if (r.animate) return plot_animation(&r, runs[0]);
    if (r.ledger) return plot_ledger(&r, runs[0]);
    if (r.attention || r.tape) {
        code = cli_look_at("plot", runs[0], &r.state, r.attention ? write_example : write_tape, &r);
        if (code != CLI_OK) return code;
        return draw(&r, r.attention ? QKV_PLOT_OF_EXAMPLE : QKV_PLOT_OF_GRAPH, runs[0]);
    }
    if (n > 1) return plot_comparison(&r, runs, n);
    begin_drawing();
    const qkv_plot_of of = QKV_PLOT_OF_RUN;
    qkv_io_status s = qkv_plot_draw(of, runs[0], r.out, &r.style, r.only, report, &r);
    if (s == QKV_IO_OK && r.style.format != QKV_PLOT_TXT && !r.only && isatty(STDOUT_FILENO)) {
        r.style = (qkv_plot_style){QKV_PLOT_TXT, 0, 0, 0, NULL};  // a first look in the terminal
        qkv_plot_draw(of, runs[0], r.out, &r.style, "loss", report, &r);
        qkv_plot_draw(of, runs[0], r.out, &r.style, "learning", report, &r);
    }
    return cli_code(s);
}
