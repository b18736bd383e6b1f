/* cmd_sweep.c - qkv sweep: all combinations of options, each trained once, a row each. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/cli/json.h"
#include "train/cli/progress.h"
#include "train/cli/settings.h"
#include "train/cli/stop.h"
#include "train/cli/sweep_lists.h"
#include "train/cli/sweep_runs.h"
#include "train/cli/sweep_slurm.h"
#include "train/io/words.h"
#include "train/trainer/pool.h"

typedef struct {
    cli_settings settings;
    cli_sweep_lists lists;
    const char *out, *run;
    long jobs, threads, slurm;
    cli_part part;
    bool plan, merge, keep_runs, quiet, json;
    qkv_study_sweep *sweep;
    qkv_study_results results;
} request;

static const cli_option options[] = {
    CLI_HEADING(
        "And every option of qkv train (qkv train --help). Each takes a list 0.1,0.01, a "
        "range 1..20 or\n1e-4..1e-1:13log (:13 is linear), or so many values at random, "
        "1e-4..1e-1:random:13log. Options\nwhose values are texts, as --rates, are repeated "
        "instead."),
    CLI_DIRECTORY(request, out, "out",
                  "the sweep's folder; the same command goes on, longer lists add cells"),
    CLI_OWN(request, lists, cli_sweep_pair, "pair", "NAME,NAME",
            "these options' lists walk together, instead of all combinations"),
    CLI_OWN(request, lists, cli_sweep_probe, "probe", "NAME",
            "measure what this probe finds, too (qkv list probes); may be repeated"),
    CLI_FLAG(request, plan, "plan",
             "say how many cells there are, how long they take and how much disk; train none"),
    CLI_INT(request, jobs, "jobs", "N", 0, 0, 256,
            "trainings at once; 0: one for each processor it may use"),
    CLI_INT(request, threads, "threads", "N", 1, 1, 64, "threads of each training"),
    CLI_OWN(request, part, cli_take_part, "part", "I/N",
            "only the I-th of N parts of the cells (to be merged afterwards)"),
    CLI_FLAG(request, merge, "merge", "operands: the folders of parts; adds their cells to --out"),
    CLI_TEXT(request, run, "run", "CELL",
             "train this cell, by its number in cells.csv, as a run: DIR/runs/CELL"),
    CLI_FLAG(request, keep_runs, "keep-runs",
             "once all are trained, train each again as a run, with its files: DIR/runs/CELL",
             .without = "plan|merge|run"),
    CLI_INT(request, slurm, "slurm", "N", 0, 1, 100000,
            "submit N parts to Slurm, which are merged when all are done; options of sbatch "
            "follow after --",
            .def = "", .without = "plan|merge|run|part|keep-runs|json"),
    CLI_OPTION_PLUGIN_LOADED(request, "your own tasks and blocks"),
    CLI_FLAG(request, quiet, "quiet", "no progress, no text"),
    CLI_FLAG(request, json, "json", "one line of JSON on stdout"),
    CLI_END};

static int fail(int code, const char *error) { return cli_error(code, "sweep", "%s", error); }

/* ---- which cells ---- */

/* The sweep of the options, or where none is given that of a folder. */
static int define(request *r, const char *dir) {
    char error[QKV_IO_ERROR];
    const struct qkv_config_plugin *plugin = r->settings.plugin;
    if (!r->settings.n_given && !r->lists.probes) {
        switch (qkv_study_sweep_read(&cli_files, dir, plugin, &r->sweep, error)) {
            case QKV_IO_OK: return CLI_OK;
            case QKV_IO_DAMAGED: return fail(CLI_DAMAGED, error);
            case QKV_IO_ABSENT:
                return cli_error(CLI_USAGE, "sweep",
                                 "'%s' has no sweep.json. Give the lists to train, as in "
                                 "qkv sweep --lr 0.001,0.01 --seed 1..5 --out DIR",
                                 dir);
            default: return fail(CLI_FAILED, error);
        }
    }
    json_t *definition = NULL;
    int code = cli_sweep_define(&r->lists, &r->settings, &definition);
    if (code != CLI_OK) return code;
    r->sweep = qkv_study_sweep_new(definition, plugin, error);
    json_decref(definition);
    return r->sweep ? CLI_OK : fail(CLI_USAGE, error);
}

/* Can it be trained, and there? What will be rows that failed is said. */
static int check(request *r) {
    char error[QKV_IO_ERROR], why[QKV_IO_ERROR];
    int unfit = 0;
    if (!qkv_study_sweep_belongs(&cli_files, r->sweep, r->out, error) ||
        !qkv_study_sweep_check(r->sweep, r->settings.plugin, &unfit, why, error))
        return fail(CLI_USAGE, error);
    if (unfit && !r->quiet)
        cli_error(CLI_OK, "sweep",
                  "note: %d of %d combinations do not fit together and become rows that failed; "
                  "the first: %s",
                  unfit, r->sweep->study->n_variants, why);
    if (r->sweep->repeated && !r->quiet)
        cli_error(CLI_OK, "sweep",
                  "note: %d combinations are the same as others; each cell is "
                  "trained once",
                  r->sweep->repeated);
    return CLI_OK;
}

static bool is_known(const request *r, int i) {
    const qkv_study_cell *c = &r->sweep->cell[i];
    return qkv_study_results_find(&r->results, c->variant, c->seed) != NULL;
}

static bool is_mine(const request *r, int i) { return i % r->part.n == r->part.i - 1; }

/* What a folder has. */
static int read_results(request *r, const char *dir) {
    char error[QKV_IO_ERROR], path[QKV_IO_PATH];
    if (!qkv_io_path(path, dir, "results.jsonl", error)) return fail(CLI_FAILED, error);
    switch (qkv_study_results_read(&cli_files, path, r->sweep->study, &r->results, error)) {
        case QKV_IO_OK: return CLI_OK;
        case QKV_IO_DAMAGED: return fail(CLI_DAMAGED, error);
        default: return fail(CLI_FAILED, error);
    }
}

/* ---- what is said ---- */

static void show_progress(void *ctx, int done, int total, double seconds) {
    (void)ctx, (void)seconds;
    cli_progress_at(done, total, "cells");
}

/* An exit code: a sweep of which every cell failed has failed. */
static int summarise(const request *r) {
    const qkv_study_sweep *w = r->sweep;
    int known = 0, failed = 0;
    const char *why = NULL;
    for (int i = 0; i < w->n; i++) {
        const qkv_study_cell *c = &w->cell[i];
        const qkv_study_result *one = qkv_study_results_find(&r->results, c->variant, c->seed);
        known += one != NULL;
        failed += one && one->error;
        if (one && one->error && !why) why = one->error;
    }
    if (r->json) {
        json_t *o = json_pack("{s:i,s:i,s:i}", "cells", w->n, "rows", known, "failed", failed);
        json_object_set_new(o, "out", cli_json_text(r->out));
        cli_print_json(o);
    }
    const int code = known && failed == known ? CLI_FAILED : CLI_OK;
    if (r->quiet || r->json) return code;
    cli_print("%d of %d cells are in %s/cells.csv, their times in %s/times.csv.\n", known, w->n,
              r->out, r->out);
    if (failed) cli_print("%d failed; the first: %s\n", failed, why);
    cli_print("qkv table %s compares them.\n", r->out);
    return code;
}

/* ---- --plan ---- */

static void say_duration(double seconds, char *out, size_t size) {
    if (seconds < 120)
        qkv_io_words(out, size, "%.0f s", seconds);
    else if (seconds < 7200)
        qkv_io_words(out, size, "%.0f min", seconds / 60);
    else
        qkv_io_words(out, size, "%.1f h", seconds / 3600);
}

/* One cell, from the middle of those to be trained, is tried. */
static int plan(request *r) {
    enum { ROW = 260 };  // bytes beside what is measured
    const qkv_study_sweep *w = r->sweep;
    int left = 0, mine = 0, at = -1, code = read_results(r, r->out);
    if (code != CLI_OK) return code;
    for (int i = 0; i < w->n; i++) mine += is_mine(r, i), left += is_mine(r, i) && !is_known(r, i);
    for (int i = 0, k = 0; i < w->n && at < 0; i++)
        if (is_mine(r, i) && !is_known(r, i) && k++ == left / 2) at = i;
    char error[QKV_IO_ERROR] = "", number[QKV_STUDY_NUMBER] = "", time[40];
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_probe_measures measures = {.arena = arena, .failed = !arena};
    double seconds = 0;
    if (at >= 0) {
        const qkv_study_cell *c = &w->cell[at];
        qkv_io_watch watch = qkv_io_watch_start();
        qkv_study_job(w->study, c->variant, c->seed, r->settings.plugin, (int)r->threads, &cli_stop,
                      &measures, error);
        seconds = qkv_io_watch_read(&watch);
        qkv_study_cell_number(w->study, c, number);
    }
    const double all = seconds * left / (double)r->jobs,
                 disk = (double)mine * (ROW + 28 * measures.n);
    tensor_arena_free(arena);
    if (cli_stop) return cli_error(CLI_SIGNAL + cli_stop, "sweep", "stopped");
    if (r->json) {
        json_t *o =
            json_pack("{s:i,s:i,s:i}", "cells", mine, "trainings", left, "jobs", (int)r->jobs);
        json_object_set_new(o, "seconds", cli_json_number(all));
        json_object_set_new(o, "bytes", cli_json_number(disk));
        cli_print_json(o);
        return CLI_OK;
    }
    say_duration(all, time, sizeof time);
    cli_print("%d cells, %d of them still to be trained, %d at once.\n", mine, left, (int)r->jobs);
    if (left)
        cli_print("Cell %s took %.2f s%s%s: all take about %s.\n", number, seconds,
                  *error ? " and failed: " : "", error, time);
    cli_print("The folder takes about %.1f MB.\n", disk / 1e6);
    return CLI_OK;
}

/* ---- training, merging ---- */

static int write_tables(request *r, int code) {
    char error[QKV_IO_ERROR];
    if (qkv_study_sweep_write(&cli_files, r->sweep, &r->results, r->settings.plugin, r->out, error))
        return code;
    return code == CLI_OK ? fail(CLI_FAILED, error) : code;
}

static cli_sweep_runs runs_of(const request *r) {
    return (cli_sweep_runs){.sweep = r->sweep,
                            .results = &r->results,
                            .plugin = r->settings.plugin,
                            .dir = r->out,
                            .part = r->part,
                            .jobs = r->jobs,
                            .threads = r->threads,
                            .quiet = r->quiet || r->json};
}

static int train(request *r) {
    char error[QKV_IO_ERROR], who[QKV_IO_PATH];
    if (!qkv_study_sweep_begin(&cli_files, r->sweep, r->out, error)) return fail(CLI_FAILED, error);
    snprintf(who, sizeof who, "sweep %.200s", r->out);
    cli_progress_begin(who, r->quiet || r->json);
    const qkv_study_options o = {.dir = r->out,
                                 .jobs = (int)r->jobs,
                                 .threads = (int)r->threads,
                                 .part = (int)r->part.i - 1,
                                 .parts = (int)r->part.n,
                                 .plugin = r->settings.plugin,
                                 .stop = &cli_stop,
                                 .progress = show_progress};
    const qkv_io_status status = qkv_study_run_cells(&cli_files, r->sweep->study, r->sweep->cell,
                                                     r->sweep->n, &o, &r->results, error);
    cli_progress_end();
    int code = CLI_OK;
    if (status == QKV_IO_STOPPED)
        code = cli_error(CLI_SIGNAL + cli_stop, "sweep", "%s", error);
    else if (status != QKV_IO_OK)
        code = fail(cli_code(status), error);
    code = write_tables(r, code);
    const cli_sweep_runs runs = runs_of(r);
    if (code == CLI_OK && r->keep_runs) code = cli_sweep_keep(&runs);
    return code == CLI_OK ? summarise(r) : code;
}

/* Submits what is left to Slurm. */
static int submit(request *r, int n, char **of_sbatch) {
    char error[QKV_IO_ERROR];
    int left = 0, code = read_results(r, r->out);
    for (int i = 0; i < r->sweep->n; i++) left += !is_known(r, i);
    if (code != CLI_OK || !left) return code == CLI_OK ? train(r) : code;
    if (!qkv_study_sweep_begin(&cli_files, r->sweep, r->out, error)) return fail(CLI_FAILED, error);
    return cli_sweep_submit(&(cli_sweep_slurm){.dir = r->out,
                                               .plugin = r->settings.plugin_file,
                                               .parts = r->slurm < left ? r->slurm : left,
                                               .jobs = r->jobs ? r->jobs : 1,
                                               .threads = r->threads,
                                               .quiet = r->quiet,
                                               .options = of_sbatch,
                                               .n_options = n});
}

/* Adds what the parts have to --out. */
static int merge(request *r, int n, char **parts) {
    char error[QKV_IO_ERROR];
    qkv_study_store store;
    qkv_study_results there = {.arena = r->results.arena, .keep_failed = true};
    int code = CLI_OK;
    for (int i = 0; i < n && code == CLI_OK; i++) {
        char path[QKV_IO_PATH];
        if (!qkv_io_path(path, parts[i], "sweep.json", error) || access(path, F_OK) != 0)
            code = cli_error(CLI_USAGE, "sweep", "--merge: '%s' has no sweep.json", parts[i]);
        else
            code = qkv_study_sweep_belongs(&cli_files, r->sweep, parts[i], error)
                       ? read_results(r, parts[i])
                       : fail(CLI_USAGE, error);
    }
    if (code != CLI_OK) return code;
    if (!qkv_study_sweep_begin(&cli_files, r->sweep, r->out, error) ||
        !qkv_study_store_open(&store, &cli_files, r->sweep->study, r->out, &there, error))
        return fail(CLI_FAILED, error);
    for (int i = 0; i < r->results.n && code == CLI_OK; i++) {
        const qkv_study_result *one = &r->results.at[i];
        if (!qkv_study_results_find(&there, one->variant, one->seed) &&
            !qkv_study_store_add(&store, one, error))
            code = fail(CLI_FAILED, error);
    }
    if (!qkv_study_store_close(&store, error) && code == CLI_OK) code = fail(CLI_FAILED, error);
    r->results = there;
    code = code == CLI_OK ? write_tables(r, code) : code;
    return code == CLI_OK ? summarise(r) : code;
}

/* ---- the command ---- */

/* The folder: --out, or the first operand unless it is an option of sbatch; these are left in *operands. */
static int choose_folder(request *r, int *n, char ***operands) {
    if (r->merge && *n < 1)
        return cli_error(CLI_USAGE, "sweep", "--merge needs the folders of the parts");
    if (!r->merge && *n > 0 && !(r->slurm && ***operands == '-')) {
        if (r->out)
            return cli_error(CLI_USAGE, "sweep", "the folder is given twice: --out %s and %s",
                             r->out, **operands);
        r->out = *(*operands)++;
        (*n)--;
    }
    if (!r->merge && !r->slurm && *n > 0)
        return cli_error(CLI_USAGE, "sweep", "one folder at a time, %d are given", *n + 1);
    if (!r->out) return cli_error(CLI_USAGE, "sweep", "--out DIR is needed: where its tables go");
    return CLI_OK;
}

static int operate(request *r, int n, char **operands) {
    int code = choose_folder(r, &n, &operands);
    if (code == CLI_OK) code = define(r, r->merge ? operands[0] : r->out);
    if (code == CLI_OK) code = check(r);
    if (code != CLI_OK) return code;
    if (r->slurm) return submit(r, n, operands);
    if (!r->jobs) r->jobs = qkv_trainer_processors();
    const cli_sweep_runs runs = runs_of(r);
    if (r->run) return cli_sweep_run(&runs, r->run);
    if (r->plan) return plan(r);
    return r->merge ? merge(r, n, operands) : train(r);
}

int cli_sweep(int argc, char **argv) {
    request r = {.part = {1, 1}};
    int first = 0;
    bool done = false;
    int code = cli_sweep_options(&r.settings, argc, argv, options);
    if (code == CLI_OK) code = cli_read(argc, argv, r.settings.option, &r, &first, &done);
    if (code == CLI_OK && !done) {
        cli_catch_signals();
        r.results = (qkv_study_results){.arena = tensor_arena_new(NULL), .keep_failed = true};
        code = r.results.arena ? operate(&r, argc - first, argv + first)
                               : fail(CLI_FAILED, "out of memory");
    }
    qkv_study_sweep_free(r.sweep);
    tensor_arena_free(r.results.arena);
    cli_sweep_lists_free(&r.lists);
    return code;
}
