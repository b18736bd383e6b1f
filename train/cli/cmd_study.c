/* cmd_study.c - qkv study: claims put to a test over variants and seeds. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/cli/cli.h"
#include "train/cli/json.h"
#include "train/cli/part.h"
#include "train/cli/progress.h"
#include "train/cli/stop.h"
#include "train/cli/style.h"
#include "train/io/words.h"
#include "train/run/files.h"
#include "train/study/study.h"
#include "train/trainer/pool.h"

typedef struct {
    long seeds, first_seed, jobs, threads;
    cli_part part;
    const char *out;
    const struct qkv_config_plugin *plugin;
    bool merge, quiet, json;
    qkv_plot_style style;
} request;

static const cli_option options[] = {
    CLI_INT(request, seeds, "seeds", "N", 0, 1, 100000, "trainings of each variant",
            .def = "the study's own"),
    CLI_INT(request, first_seed, "first-seed", "N", -1, 0, 2000000000, "the first of them",
            .def = "the study's own"),
    CLI_INT(request, jobs, "jobs", "N", 0, 0, 256,
            "trainings at once; 0: one for each processor it may use"),
    CLI_INT(request, threads, "threads", "N", 1, 1, 64, "threads of each training"),
    CLI_DIRECTORY(request, out, "out", "where results, tables and pictures go",
                  .def = "runs/study/NAME"),
    CLI_OWN(request, part, cli_take_part, "part", "I/N",
            "only the I-th of N parts of the trainings (to be merged afterwards)"),
    CLI_FLAG(request, merge, "merge",
             "operands: a study, then directories; adds their results to --out and judges them"),
    CLI_OPTION_PLUGIN(request, plugin, "your own tasks and blocks"),
    CLI_OPTIONS_STYLE(request, style),
    CLI_FLAG(request, quiet, "quiet", "no progress, no text"),
    CLI_FLAG(request, json, "json", "one line of JSON on stdout"),
    CLI_END};

/* ---- finding the study ---- */

static char *joined(const char *const *lines) {
    size_t n = 1;
    for (int i = 0; lines[i]; i++) n += strlen(lines[i]);
    char *text = malloc(n);
    if (text) *text = '\0';
    for (int i = 0; text && lines[i]; i++) strcat(text, lines[i]);
    return text;
}

/* A built-in study, or a file whose name ends in .json. NULL with an exit code in *code. */
static qkv_study *open_study(const char *name, const struct qkv_config_plugin *plugin, int *code) {
    char error[QKV_IO_ERROR];
    const char *names[64] = {NULL};
    size_t length = strlen(name), n;
    for (int i = 0; i < 63 && qkv_study_files[i].name; i++) {
        names[i] = qkv_study_files[i].name;
        if (strcmp(names[i], name) != 0) continue;
        char *text = joined(qkv_study_files[i].lines);
        qkv_study *s = text ? qkv_study_parse(text, strlen(text), error) : NULL;
        if (!s) *code = cli_error(CLI_FAILED, "study", "the built-in study '%s': %s", name, error);
        free(text);
        return s;
    }
    if (length < 6 || strcmp(name + length - 5, ".json") != 0) {
        *code = cli_unknown("study", "there is no study", name, names,
                            "qkv study list; a file's name ends in .json");
        return NULL;
    }
    void *text;
    qkv_io_status read = qkv_io_read_file(&cli_files, NULL, name, 1 << 22, &text, &n, error);
    if (read != QKV_IO_OK) {
        *code = cli_error(cli_code(read), "study", "%s", error);
        return NULL;
    }
    qkv_study *s = qkv_study_parse(text, n, error);
    char why[QKV_IO_ERROR];
    const bool json = s || qkv_config_is_object(text, n, why);
    tensor_malloc.release(NULL, text);
    if (!s) *code = cli_error(json ? CLI_USAGE : CLI_DAMAGED, "study", "'%s': %s", name, error);
    if (s && !qkv_study_find_data(s, name, plugin, error)) {
        *code = cli_error(CLI_USAGE, "study", "'%s': %s", name, error);
        qkv_study_free(s);
        s = NULL;
    }
    return s;
}

static int list_studies(void) {
    for (int i = 0; qkv_study_files[i].name; i++) {
        int code = CLI_OK;
        qkv_study *s = open_study(qkv_study_files[i].name, NULL, &code);
        if (!s) return code;
        printf("%-14s %s\n", qkv_study_files[i].name, s->claim);
        qkv_study_free(s);
    }
    return CLI_OK;
}

/* ---- showing ---- */

static void show_progress(void *ctx, int done, int total, double seconds) {
    (void)ctx, (void)seconds;
    cli_progress_at(done, total, "trainings");
}

static json_t *held(qkv_study_band_verdict verdict) {
    return verdict == QKV_STUDY_BAND_HOLDS   ? json_true()
           : verdict == QKV_STUDY_BAND_FAILS ? json_false()
                                             : json_null();
}

/* The clauses of the claim that no band tests. */
static json_t *untested(const qkv_study *s) {
    json_t *list = json_array();
    for (int i = 0; i < s->n_clauses; i++)
        if (!qkv_study_tests(s, i)) json_array_append_new(list, cli_json_text(s->clause[i]));
    return list;
}

static void warn_untested(const qkv_study *s) {
    for (int i = 0; i < s->n_clauses; i++)
        if (!qkv_study_tests(s, i))
            cli_error(CLI_OK, "study",
                      "warning: no band of '%s' tests the clause '%s' of its claim", s->name,
                      s->clause[i]);
}

static void print_json(const qkv_study *s, const qkv_study_results *r, const char *dir) {
    json_t *o = json_object(), *table = json_array(), *bands = json_array();
    for (int v = 0; v < s->n_variants; v++)
        for (int c = 0; c < s->n_columns; c++) {
            qkv_study_summary m = qkv_study_summarise(s, r, v, s->column[c].measure);
            json_t *row = json_pack("{s:s,s:s,s:s,s:i,s:i}", "group", s->variant[v].group,
                                    "variant", s->variant[v].name, "measure", s->column[c].measure,
                                    "n", m.n, "failed", m.failed);
            json_object_set_new(row, "mean", cli_json_number(m.mean));
            json_object_set_new(row, "sd", cli_json_number(m.sd));
            json_object_set_new(row, "least", cli_json_number(m.least));
            json_object_set_new(row, "most", cli_json_number(m.most));
            json_array_append_new(table, row);
        }
    for (int i = 0; i < s->n_bands; i++) {
        const qkv_study_band *b = &s->band[i];
        json_t *row =
            json_pack("{s:s,s:s,s:s,s:o}", "group", b->group, "variant", b->variant, "measure",
                      b->measure, "holds", held(qkv_study_band_judge(s, r, b)));
        if (isfinite(b->least)) json_object_set_new(row, "least", cli_json_number(b->least));
        if (isfinite(b->most)) json_object_set_new(row, "most", cli_json_number(b->most));
        json_array_append_new(bands, row);
    }
    json_object_set_new(o, "study", json_string(s->name));
    const qkv_study_verdict verdict = qkv_study_judge(s, r);
    json_object_set_new(o, "holds",
                        verdict == QKV_STUDY_HOLDS   ? json_true()
                        : verdict == QKV_STUDY_FAILS ? json_false()
                                                     : json_null());
    json_object_set_new(o, "seeds", json_integer(s->seeds));
    json_object_set_new(o, "out", cli_json_text(dir));
    json_object_set_new(o, "table", table);
    json_object_set_new(o, "bands", bands);
    json_object_set_new(o, "untested", untested(s));
    json_object_set_new(o, "failed", json_integer(qkv_study_failed(s, r)));
    json_object_set_new(o, "missing", json_integer(qkv_study_missing(s, r)));
    cli_print_json(o);
}

static void report_picture(void *ctx, const char *name, qkv_io_status status, const char *text) {
    const request *r = ctx;
    char shown[1024];
    qkv_io_printable(text, shown, sizeof shown);
    if (status == QKV_IO_OK && !r->quiet && !r->json) printf("Picture  %s\n", shown);
    if (status != QKV_IO_OK && status != QKV_IO_SKIPPED)
        fprintf(stderr, "qkv study: %s: %s\n", name, shown);
}

// Written and told as usual, but a band failed or trainings are missing; a training failed.
enum { NOT_HELD = -1, TRAINING_FAILED = -2 };

static int conclude(const request *r, const qkv_study *s, const qkv_study_results *results,
                    const char *dir) {
    char error[QKV_IO_ERROR];
    if (!qkv_study_write(&cli_files, s, results, r->plugin, dir, error))
        return cli_error(CLI_FAILED, "study", "%s", error);
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text text = {.arena = arena, .failed = !arena};
    qkv_study_text(s, results, &text);
    if (r->json)
        print_json(s, results, dir);
    else if (!r->quiet && text.at)
        fputs(text.at, stdout);
    tensor_arena_free(arena);
    if (*s->picture.kind)
        qkv_plot_draw(QKV_PLOT_OF_STUDY, dir, NULL, &r->style, s->picture.kind, report_picture,
                      (void *)(size_t)r);
    if (!r->json && !r->quiet) printf("\n");
    const qkv_study_verdict verdict = qkv_study_judge(s, results);
    if (qkv_study_failed(s, results)) return TRAINING_FAILED;
    return verdict == QKV_STUDY_HOLDS || verdict == QKV_STUDY_WITHOUT_BANDS ? CLI_OK : NOT_HELD;
}

static int refuse(qkv_io_status status, const char *study, const char *error) {
    return status == QKV_IO_USAGE ? cli_error(CLI_USAGE, "study", "'%s': %s", study, error)
                                  : cli_error(cli_code(status), "study", "%s", error);
}

/* Can it be had as it is written? What was measured already need not be looked for. */
static qkv_io_status check(const qkv_study *s, const qkv_study_options *o, char *error) {
    char path[QKV_IO_PATH];
    qkv_study_results known = {.arena = tensor_arena_new(NULL)};
    qkv_io_status status = known.arena && qkv_io_path(path, o->dir, "results.jsonl", error)
                               ? qkv_study_results_read(&cli_files, path, s, &known, error)
                               : QKV_IO_FAILED;
    if (status == QKV_IO_OK) status = qkv_study_check(s, &known, o, error);
    if (!known.arena) qkv_io_fail(error, "out of memory");
    tensor_arena_free(known.arena);
    return status;
}

static int run_study(const request *r, const char *name) {
    char error[QKV_IO_ERROR], dir[QKV_IO_PATH];
    int code = CLI_OK;
    qkv_study *s = open_study(name, r->plugin, &code);
    if (!s) return code;
    if (r->seeds) s->seeds = (int)r->seeds;
    if (r->first_seed >= 0) s->first_seed = (int)r->first_seed;
    warn_untested(s);
    snprintf(dir, sizeof dir, "runs/study/%s", s->name);
    char who[QKV_IO_PATH];
    snprintf(who, sizeof who, "study %s", s->name);
    cli_progress_begin(who, r->quiet || r->json);
    qkv_study_options o = {.dir = r->out ? r->out : dir,
                           .jobs = r->jobs ? (int)r->jobs : qkv_trainer_processors(),
                           .threads = (int)r->threads,
                           .part = (int)r->part.i - 1,
                           .parts = (int)r->part.n,
                           .plugin = r->plugin,
                           .stop = &cli_stop,
                           .progress = show_progress};
    qkv_study_results results = {.arena = tensor_arena_new(NULL)};
    qkv_io_status status = check(s, &o, error);
    if (status == QKV_IO_OK)
        status = results.arena ? qkv_study_run(&cli_files, s, &o, &results, error) : QKV_IO_FAILED;
    cli_progress_end();
    if (status == QKV_IO_STOPPED && cli_stop)
        code = cli_error(CLI_SIGNAL + cli_stop, "study", "%s", error);
    else if (status != QKV_IO_OK)
        code = refuse(status, name, error);
    else
        code = conclude(r, s, &results, o.dir);
    if (o.parts > 1 && code == NOT_HELD) code = CLI_OK;  // a part is nothing to judge by
    tensor_arena_free(results.arena);
    qkv_study_free(s);
    return code;
}

/* Adds the results in other directories to those in --out. */
static int merge(const request *r, int n, char **operands) {
    char error[QKV_IO_ERROR], path[QKV_IO_PATH];
    int code = CLI_OK;
    if (n < 2 || !r->out)
        return cli_error(CLI_USAGE, "study",
                         "--merge needs --out, a study and the directories of its parts");
    qkv_study *s = open_study(operands[0], r->plugin, &code);
    if (!s) return code;
    if (r->seeds) s->seeds = (int)r->seeds;
    if (r->first_seed >= 0) s->first_seed = (int)r->first_seed;
    warn_untested(s);
    qkv_study_results all = {.arena = tensor_arena_new(NULL)};
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text lines = {.arena = arena, .failed = !arena || !all.arena};
    int lock = -1;
    if (!qkv_io_make_directory(&cli_files, r->out, error) ||
        !qkv_run_lock(&cli_files, r->out, "study", &lock, error))
        code = cli_error(CLI_FAILED, "study", "%s", error);
    for (int i = 0; i < n && code == CLI_OK; i++) {
        const char *dir = i == 0 ? r->out : operands[i];
        qkv_io_status read = qkv_io_path(path, dir, "results.jsonl", error)
                                 ? qkv_study_results_read(&cli_files, path, s, &all, error)
                                 : QKV_IO_FAILED;
        if (read != QKV_IO_OK) code = cli_error(cli_code(read), "study", "%s", error);
    }
    const qkv_study_options o = {.plugin = r->plugin, .threads = 1, .stop = &cli_stop};
    if (code == CLI_OK) {
        qkv_io_status status = qkv_study_check(s, &all, &o, error);
        if (status != QKV_IO_OK) code = refuse(status, operands[0], error);
    }
    for (int i = 0; i < all.n && code == CLI_OK; i++) {
        char *line = qkv_study_result_line(s, &all.at[i]);
        qkv_io_text_add(&lines, "%s", line ? line : "");
        free(line);
    }
    if (code == CLI_OK &&
        (lines.failed || !qkv_io_path(path, r->out, "results.jsonl", error) ||
         !qkv_io_write_file(&cli_files, path, lines.at ? lines.at : "", lines.n, error)))
        code = cli_error(CLI_FAILED, "study", "%s", lines.failed ? "out of memory" : error);
    if (code == CLI_OK) code = conclude(r, s, &all, r->out);
    qkv_run_close_directory(&cli_files, lock);
    tensor_arena_free(arena);
    tensor_arena_free(all.arena);
    qkv_study_free(s);
    return code;
}

static int exit_code(int code) { return code < 0 ? CLI_FAILED : code; }

int cli_study(int argc, char **argv) {
    request r = {.part = {1, 1}};
    int first = 0;
    bool done;
    int code = cli_read(argc, argv, options, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    int n = argc - first;
    if (n < 1)
        return cli_error(CLI_USAGE, "study",
                         "a study is needed: a name (qkv study list), a .json file, or all");
    code = cli_check_style("study", &r.style);
    if (code != CLI_OK) return code;
    cli_catch_signals();
    if (r.merge) return exit_code(merge(&r, n, argv + first));
    if (n > 1) return cli_error(CLI_USAGE, "study", "one study at a time, %d are given", n);
    if (strcmp(argv[first], "list") == 0) return list_studies();
    if (strcmp(argv[first], "all") != 0) return exit_code(run_study(&r, argv[first]));
    if (r.out)
        return cli_error(CLI_USAGE, "study",
                         "--out is for one study; all of them go to runs/study/NAME");
    bool held = true;
    for (int i = 0; qkv_study_files[i].name && code == CLI_OK; i++) {
        code = run_study(&r, qkv_study_files[i].name);
        held = held && code >= 0;
        if (code < 0) code = CLI_OK;
    }
    return code == CLI_OK && !held ? CLI_FAILED : code;
}
