/* cmd_plot.c - qkv plot: the pictures of a run, or several runs in one picture. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/cli/style.h"
#include "train/io/number.h"
#include "train/plot/plot.h"
#include "train/probe/sample.h"
#include "train/run/files.h"

enum { FRAMES = 40, MOST_FRAMES = 500 };

static const cli_option options[] = {
    CLI_OPTION_FORMAT,
    CLI_OPTION_SIZE,
    CLI_OPTION_DPI,
    CLI_OPTION_FONT,
    {"only", "NAME", "one of the pictures of qkv list plots (not with --attention)", NULL},
    {"animate", NULL, "attention and circuits over the steps, as one moving picture (a gif)", NULL},
    {"frames", "N", "of so many steps, evenly apart (with --animate)", "40"},
    {"attention", NULL, "one example's attention, every layer and head", NULL},
    {"tape", NULL, "one example's graph: every node's value and gradient", NULL},
    {"example", "I", "which held-out example (with --attention, --tape)", "0"},
    {"prompt", "TEXT", "this text instead, of a run on text (with --attention)", NULL},
    {"change", "CHANGE",
     "I,J exchanges what stands at two positions, I=WORD puts a word at one; the last layer before "
     "and after (with --attention)",
     NULL},
    {"at", "STEP", "its state after so many steps; of an animation the last", "the newest"},
    {"answer", "NAME", "which of several answers is framed (with --attention)", NULL},
    {"data", "FILE",
     "where the file is now that the run read; a directory: all of them (with --attention, "
     "--animate, --tape)",
     "where it was"},
    CLI_OPTION_PLUGIN,
    {"out", "DIR", "where the pictures go", "RUN/plots; of several runs runs/compare"},
    {NULL, NULL, NULL, NULL}};

typedef struct {
    qkv_plot_style style;
    const char *only, *out, *answer, *prompt, *change, *format_name;
    bool attention, animate, tape;
    long example, frames;  // -1: not given
    cli_state state;
    bool said_no_gnuplot;  // one line is enough
} request;

static int take_option(void *ctx, const char *name, const char *value) {
    request *r = ctx;
    if (strcmp(name, "only") == 0) {
        const char *names[32] = {NULL};
        int n = 0;
        for (const qkv_plot_info *p = qkv_plot_list(); p->name && n < 31; p++) {
            names[n++] = p->name;
            if (strcmp(p->name, value) == 0) return r->only = value, CLI_OK;
        }
        const char *near = cli_nearest(value, names);
        return near ? cli_error(CLI_USAGE, "plot", "no picture is called '%s'; did you mean '%s'?",
                                value, near)
                    : cli_error(CLI_USAGE, "plot", "no picture is called '%s' (qkv list plots)",
                                value);
    }
    if (strcmp(name, "out") == 0) return r->out = value, CLI_OK;
    if (strcmp(name, "prompt") == 0) return r->prompt = value, CLI_OK;
    if (strcmp(name, "change") == 0) return r->change = value, CLI_OK;
    if (strcmp(name, "answer") == 0) return r->answer = value, CLI_OK;
    if (strcmp(name, "attention") == 0) return r->attention = true, CLI_OK;
    if (strcmp(name, "tape") == 0) return r->tape = true, CLI_OK;
    if (strcmp(name, "animate") == 0) return r->animate = true, CLI_OK;
    if (strcmp(name, "frames") == 0) {
        if (qkv_io_parse_int(value, &r->frames) && r->frames >= 2 && r->frames <= MOST_FRAMES)
            return CLI_OK;
        return cli_error(CLI_USAGE, "plot", "--frames: '%s' is not between 2 and %d", value,
                         MOST_FRAMES);
    }
    bool taken;
    int code = cli_take_state("plot", &r->state, name, value, &taken);
    if (taken) return code;
    if (strcmp(name, "example") == 0) {
        if (qkv_io_parse_int(value, &r->example) && r->example >= 0) return CLI_OK;
        return cli_error(CLI_USAGE, "plot", "--example: '%s' is no number of an example", value);
    }
    if (strcmp(name, "format") == 0) r->format_name = value;
    return cli_take_style("plot", &r->style, name, value, &taken);
}

/* Do the options go together with n runs? An exit code. */
static int check_options(const request *r, int n) {
    static const char *const need[] = {
        [QKV_PLOT_OF_RUN] = "is of one run; several are drawn in 'compare'",
        [QKV_PLOT_OF_RUNS] = "is of several runs, one is given",
        [QKV_PLOT_OF_STUDY] = "is drawn by qkv study",
        [QKV_PLOT_OF_EXAMPLE] = "is drawn with --attention",
        [QKV_PLOT_OF_GRAPH] = "is drawn with --tape",
        [QKV_PLOT_OF_STEPS] = "is drawn with --animate"};
    if (n < 1) return cli_error(CLI_USAGE, "plot", "at least one run directory is needed");
    if (n > 32)
        return cli_error(CLI_USAGE, "plot", "at most 32 runs can be compared, %d are given", n);
    if (r->attention && n > 1)
        return cli_error(CLI_USAGE, "plot", "--attention is of one run, %d are given", n);
    if (r->tape && (n > 1 || r->attention || r->animate || r->only))
        return cli_error(CLI_USAGE, "plot", "--tape %s",
                         n > 1     ? "is of one run"
                         : r->only ? "is one picture, --only has no say"
                                   : "is a picture of its own, ask for one");
    if (r->animate && (n > 1 || r->attention || r->only || r->format_name))
        return cli_error(CLI_USAGE, "plot", "--animate %s",
                         n > 1            ? "is of one run"
                         : r->attention   ? "and --attention are two pictures, ask for one"
                         : r->format_name ? "makes a gif, --format is for stills"
                                          : "is one picture, --only has no say");
    if (r->frames >= 0 && !r->animate)
        return cli_error(CLI_USAGE, "plot", "--frames goes with --animate");
    if (r->state.at != QKV_RUN_NEWEST && !r->attention && !r->animate && !r->tape)
        return cli_error(CLI_USAGE, "plot", "--at goes with --attention, --animate or --tape");
    if (r->example >= 0 && !r->attention && !r->tape)
        return cli_error(CLI_USAGE, "plot", "--example goes with --attention or --tape");
    if (r->example >= 0 && r->prompt)
        return cli_error(CLI_USAGE, "plot", "--example and --prompt are two examples, ask for one");
    const qkv_plot_info *p = qkv_plot_list();
    while (r->only && p->name && strcmp(p->name, r->only)) p++;
    qkv_plot_of drawn = r->attention ? QKV_PLOT_OF_EXAMPLE
                        : n > 1      ? QKV_PLOT_OF_RUNS
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

static void report(void *ctx, const char *name, qkv_plot_status status, const char *text) {
    request *r = ctx;
    char shown[1024];
    cli_progress_end();
    qkv_io_printable(text, shown, sizeof shown);
    if (status == QKV_PLOT_NO_GNUPLOT && r->said_no_gnuplot) return;
    r->said_no_gnuplot |= status == QKV_PLOT_NO_GNUPLOT;
    if (status == QKV_PLOT_OK && r->style.format == QKV_PLOT_TXT)
        copy_to_stdout(text);
    else if (status == QKV_PLOT_OK)
        printf("%s\n", shown);
    else
        fprintf(stderr, "qkv plot: %s%s: %s\n", name, status == QKV_PLOT_SKIPPED ? " skipped" : "",
                shown);
    fflush(stdout);
    begin_drawing();  // the next one
}

static int code_of(qkv_plot_status s) {
    return s == QKV_PLOT_NO_GNUPLOT ? CLI_NO_GNUPLOT
           : s == QKV_PLOT_FAILED   ? CLI_FAILED
           : s == QKV_PLOT_DAMAGED  ? CLI_DAMAGED
                                    : CLI_OK;
}

/* Loads the prompt, or a held-out example. */
static bool load_example(const request *r, qkv_trainer *t, char *error) {
    if (r->prompt) return qkv_probe_load_prompt(t, qkv_trainer_any_worker(t), r->prompt, error);
    qkv_trainer_load(t, qkv_trainer_any_worker(t), "test",
                     r->example < 0 ? 0 : (uint64_t)r->example, 1, 1);
    return true;
}

/* The attention of one example of a run. */
static int plot_example(request *r, const char *run) {
    char error[QKV_IO_ERROR];
    qkv_run_progress progress;
    int code;
    qkv_trainer *t = cli_open_run("plot", run, &r->state, true, &progress, &code);
    if (!t) return code;
    int readout = cli_readout("plot", qkv_trainer_spec(t), r->answer);
    code = readout < 0 ? CLI_USAGE : cli_has_example("plot", "example", t, r->example);
    bool written =
        code == CLI_OK && load_example(r, t, error) &&
        qkv_run_write_example(&cli_files, t, r->out ? r->out : run, readout, r->change, error);
    qkv_trainer_free(t);
    if (code != CLI_OK) return code;
    if (!written) return cli_error(CLI_FAILED, "plot", "%s", error);
    return code_of(qkv_plot_example(r->out ? r->out : run, r->out, &r->style, report, r));
}

/* The graph of one example of a run. */
static int plot_tape(request *r, const char *run) {
    char error[QKV_IO_ERROR], title[300], shown[200];
    qkv_run_progress progress;
    qkv_probe_tape tape;
    int code;
    const long example = r->example < 0 ? 0 : r->example;
    qkv_trainer *t = cli_open_run("plot", run, &r->state, true, &progress, &code);
    if (!t) return code;
    tensor_arena *arena = tensor_arena_new(NULL);
    code = cli_has_example("plot", "example", t, r->example);
    snprintf(title, sizeof title, "%s after %d steps, held-out example %ld",
             qkv_io_printable(run, shown, sizeof shown), progress.step, example);
    const bool written = code == CLI_OK && qkv_probe_tape_new(t, false, arena, &tape, error) &&
                         qkv_probe_tape_load(&tape, "test", (uint64_t)example, error) &&
                         qkv_probe_tape_run(&tape, true, error) &&
                         qkv_run_write_tape(&cli_files, &tape, title, r->out ? r->out : run, error);
    tensor_arena_free(arena);
    qkv_trainer_free(t);
    if (code != CLI_OK) return code;
    if (!written) return cli_error(CLI_FAILED, "plot", "%s", error);
    return code_of(qkv_plot_tape(r->out ? r->out : run, r->out, &r->style, report, r));
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
    qkv_run_status status = qkv_run_write_frames(
        &cli_files, &o, r->frames < 0 ? FRAMES : (int)r->frames, to, say_frames, NULL, error);
    if (status != QKV_RUN_DONE) return cli_error(cli_code(status), "plot", "%s", error);
    if (*error) cli_error(CLI_OK, "plot", "note: %s", error);
    begin_drawing();
    return code_of(qkv_plot_animation(to, r->out, &r->style, report, r));
}

/* Several runs in one picture. */
static int plot_comparison(request *r, const char *const *runs, int n) {
    char error[QKV_IO_ERROR];
    const char *out = r->out ? r->out : "runs/compare";
    if (!qkv_io_make_directory(&cli_files, out, error))
        return cli_error(CLI_FAILED, "plot", "%s", error);
    begin_drawing();
    return code_of(qkv_plot_compare(runs, n, out, &r->style, report, r));
}

/* Is it the directory of a run, and its config.json whole? The task may be one of a plugin that is not
 * there: pictures do not need it. */
static int check_run(const char *run, bool curves) {
    char path[QKV_IO_PATH], error[QKV_IO_ERROR], shown[QKV_IO_PATH];
    char *json;
    size_t n;
    if (!qkv_io_path(path, run, "metrics.csv", error))
        return cli_error(CLI_USAGE, "plot", "%s", error);
    qkv_run_status s = qkv_run_config_text(&cli_files, run, &json, &n, error);
    if (s != QKV_RUN_DONE) return cli_error(cli_code(s), "plot", "%s", error);
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
    request r = {.example = -1, .frames = -1, .state = CLI_STATE_NEWEST};
    int first = 0;
    bool done;
    int code = cli_parse(argc, argv, options, take_option, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    int n = argc - first;
    const char *const *runs = (const char *const *)argv + first;
    code = check_options(&r, n);
    if (code == CLI_OK) code = cli_check_style("plot", &r.style);
    if (code != CLI_OK) return code;
    const bool curves = !r.animate && !r.attention && !r.tape;
    for (int i = 0; i < n && code == CLI_OK; i++) code = check_run(runs[i], curves);
    if (code != CLI_OK) return code;
    if (r.animate) return plot_animation(&r, runs[0]);
    if (r.attention) return plot_example(&r, runs[0]);
    if (r.tape) return plot_tape(&r, runs[0]);
    if (n > 1) return plot_comparison(&r, runs, n);
    begin_drawing();
    qkv_plot_status s = qkv_plot_run(runs[0], r.out, &r.style, r.only, report, &r);
    if (s == QKV_PLOT_OK && r.style.format != QKV_PLOT_TXT && !r.only && isatty(STDOUT_FILENO)) {
        r.style = (qkv_plot_style){QKV_PLOT_TXT, 0, 0, 0, NULL};  // a first look in the terminal
        qkv_plot_run(runs[0], r.out, &r.style, "loss", report, &r);
        qkv_plot_run(runs[0], r.out, &r.style, "learning", report, &r);
    }
    return code_of(s);
}
