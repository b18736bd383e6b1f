/* cmd_train.c - qkv train: options into a configuration, the run, and what it learned in words. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/cli/settings.h"
#include "train/cli/stop.h"
#include "train/cli/train_source.h"
#include "train/cli/train_summary.h"
#include "train/io/words.h"
#include "train/plot/plot.h"
#include "train/trainer/pool.h"

enum { MAX_PICTURES = 64 };

typedef struct {
    cli_settings settings;
    const char *out, *config_file, *from;
    bool force, resume, detect_anomaly, quiet, json;
    long threads;
    cli_saving saving;
} request;

/* ---- the options ---- */

static int take_saving(const char *command, const cli_option *o, const char *value, void *field) {
    long *every = field;
    if (strcmp(value, "log") == 0) return *every = QKV_RUN_SAVE_LOG, CLI_OK;
    return cli_whole_number(command, o->name, value, 0, 1000000000, every);
}

/* Those that are no part of the configuration. */
const cli_option cli_train_options[] = {
    CLI_HEADING("Run"),
    CLI_DIRECTORY(request, out, "out", "the run's directory", .def = "runs/TASK-N"),
    CLI_FLAG(request, force, "force", "replace an earlier run in it"),
    CLI_FLAG(request, resume, "resume",
             "go on with the run in --out; of what it is only --steps may grow, and --data move"),
    CLI_OPTION_PLUGIN_LOADED(request, "your own tasks and blocks: a .c file or a shared object"),
    CLI_FILE(request, config_file, "config", "start from a config.json"),
    CLI_OWN(request, saving.every, take_saving, "save-every", "N|log",
            "steps between checkpoints; 0: only at the end; log: 1, 2, 4, 8 ...",
            .def = "0; of --resume and --config the run's"),
    CLI_INT(request, saving.keep, "keep", "N", 0, 2, 1000000, "checkpoints that stay, at least 2",
            .def = "2; all of log; or the run's"),
    CLI_INT(request, threads, "threads", "N", 0, 0, 256,
            "threads; 0: one for each processor it may use. Never changes a result"),
    CLI_FLAG(request, detect_anomaly, "detect-anomaly",
             "look for numbers that are not finite at every node of every step; slower"),
    CLI_FLAG(request, quiet, "quiet", "no progress, no summary"),
    CLI_FLAG(request, json, "json", "the summary as one line of JSON on stdout"),
    CLI_END};

static const char *given(const request *r, const char *option) {
    const char *value = NULL;
    for (int i = 0; i < r->settings.n_given; i++)
        if (strcmp(r->settings.given[i].name, option) == 0) value = r->settings.given[i].value;
    return value;
}

/* What a resumed run may be given: more steps, and where its files are now. */
static int check_resume(const request *r) {
    if (!r->out) return cli_error(CLI_USAGE, "train", "--resume needs --out");
    if (r->force) return cli_error(CLI_USAGE, "train", "--resume and --force exclude each other");
    const char *other = r->config_file ? "config" : NULL;
    for (int i = 0; i < r->settings.n_given && !other; i++) {
        const char *name = r->settings.given[i].name;
        if (data_choice_index("steps|data|data-valid|data-test", name) < 0) other = name;
    }
    if (other && strcmp(other, "from") == 0)
        return cli_error(CLI_USAGE, "train", "--resume and --from exclude each other");
    if (other)
        return cli_error(CLI_USAGE, "train",
                         "--%s: a resumed run stays what it is, only its --steps may change; "
                         "--from %s starts a new one with other options",
                         other, r->out);
    return CLI_OK;
}

/* The configuration on which the options are put: the resumed run's, the other run's with --from, or
 * a file's. Its text in *json, and how it is called. */
static int read_base(const request *r, char **json, size_t *n, char path[QKV_IO_PATH]) {
    char error[QKV_IO_ERROR], shown[QKV_IO_PATH];
    void *text = NULL;
    size_t length;
    qkv_io_status status = QKV_IO_OK;
    if (r->resume) {
        snprintf(path, QKV_IO_PATH, "%s/config.json", r->out);
        status = qkv_run_config_text(&cli_files, r->out, json, n, error);
        if (status == QKV_IO_OK && !qkv_config_same_numbers(*json, *n))
            return cli_error(CLI_USAGE, "train",
                             "the run was trained by a version whose gradients differ in the last "
                             "bit: resumed, it would not be what its config.json says. Begin a new "
                             "run from its state: --from %s --out DIR",
                             qkv_io_printable(r->out, shown, sizeof shown));
    } else if (r->config_file) {
        snprintf(path, QKV_IO_PATH, "%s", r->config_file);
        status = qkv_io_read_file(&cli_files, NULL, path, 1 << 20, &text, n, error);
        *json = text;
    } else if (r->from) {
        qkv_config_from_step(r->from, &length);
        if (qkv_config_from_is_file(r->from))
            snprintf(path, QKV_IO_PATH, "%s", r->from);
        else
            snprintf(path, QKV_IO_PATH, "%.*s/config.json", (int)length, r->from);
        status = qkv_run_source_config(&cli_files, r->from, json, n, error);
    }
    return status == QKV_IO_OK ? CLI_OK : cli_error(cli_code(status), "train", "%s", error);
}

static int damaged(const char *path, const char *why) {
    char shown[QKV_IO_PATH];
    return cli_error(CLI_DAMAGED, "train", "'%s': %s", qkv_io_printable(path, shown, sizeof shown),
                     why);
}

static int make_config(const request *r, const char *json, size_t n, const char *path,
                       qkv_config *c, data_spec *spec) {
    char error[QKV_IO_ERROR];
    // a run --from another is not itself from where that one was
    qkv_config_setting given[CLI_MAXOPTIONS + 4] = {
        {"from", ""}, {"from-checksum", ""}, {"moments", NULL}, {"swap-matrix", ""}};
    int anew = r->from != NULL ? 4 : 0;
    memcpy(given + anew, r->settings.given, (size_t)r->settings.n_given * sizeof *given);
    qkv_config_parts parts = {.plugin = r->settings.plugin,
                              .json = json,
                              .n = n,
                              .whole = json && (r->resume || (r->from && !r->config_file)),
                              .given = given,
                              .n_given = r->settings.n_given + anew};
    switch (qkv_config_make(&parts, c, spec, error)) {
        case QKV_CONFIG_OK: return cli_settings_used(&r->settings, c, spec);
        case QKV_CONFIG_NO_TASK: return cli_unknown_task("train", c->task, c->plugin);
        case QKV_CONFIG_BAD_JSON: return damaged(path, error);
        case QKV_CONFIG_NO_BLOCK: return cli_unknown_block("train", c->block, c->plugin);
        case QKV_CONFIG_UNFIT:  // a resumed run's options did fit
            if (r->resume) return damaged(path, error);
            break;
        case QKV_CONFIG_BAD_OPTION: break;
    }
    return cli_error(CLI_USAGE, "train", "%s", error);
}

static int configure(request *r, qkv_config *c, data_spec *spec) {
    char path[QKV_IO_PATH] = "", *json = NULL;
    size_t n = 0;
    int code = r->resume ? check_resume(r) : CLI_OK;
    if (code == CLI_OK) code = read_base(r, &json, &n, path);
    if (code == CLI_OK)
        code = cli_choose_saving(r->resume || r->config_file ? json : NULL, n, path, r->resume,
                                 &r->saving);
    if (code == CLI_OK) code = make_config(r, json, n, path, c, spec);
    if (code == CLI_OK && json && !r->resume && !r->config_file && qkv_config_from_is_file(r->from))
        cli_note_source(&r->settings, r->from, c);
    if (json) tensor_malloc.release(NULL, json);
    return code;
}

/* ---- progress ---- */

typedef struct {
    const qkv_config *config;
    const data_spec *spec;
    bool shown, on_terminal;
    qkv_io_watch watch;         // since its first step
    double last;                // read when it was drawn
    int first;                  // steps that an earlier leg had done
    char warned[QKV_IO_ERROR];  // the last warning
    int repeated;               // how often it came again
} bar;

static void say_facts(void *ctx) {
    const bar *b = ctx;
    cli_facts_words(b->config, b->spec);
    fflush(stdout);
}

static void show_progress(void *ctx, int step, int steps, double loss, double accuracy) {
    enum { WIDTH = 24 };
    bar *b = ctx;
    if (b->first < 0) b->first = step - 1, b->watch = qkv_io_watch_start();
    double now = qkv_io_watch_read(&b->watch);
    if (!b->on_terminal || (now - b->last < 0.1 && step < steps)) return;
    b->last = now;
    b->shown = true;
    double rate = (step - b->first) / (now + 1e-9);
    char done[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++) done[i] = i < (int)((double)step / steps * WIDTH) ? '#' : '.';
    done[WIDTH] = '\0';
    char score[32] = "", line[160];
    if (isfinite(accuracy)) qkv_io_words(score, sizeof score, "  accuracy %.3f", accuracy);
    qkv_io_words(line, sizeof line, "\r[%s] %d/%d  loss %.4f%s  %.0f steps/s  %.0f s left \033[K",
                 done, step, steps, loss, score, rate, (steps - step) / rate);
    fputs(line, stderr);
}

static void end_bar(bar *b) {
    if (b->shown) fprintf(stderr, "\r\033[K");
    b->shown = false;
}

/* Do two sentences differ in nothing but numbers, such as a step's? */
static bool alike(const char *a, const char *b) {
    for (;; a++, b++) {
        a += strspn(a, "0123456789");
        b += strspn(b, "0123456789");
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

static void end_warnings(bar *b) {
    if (b->repeated) cli_error(0, "train", "warning: the same %d times more", b->repeated);
    b->repeated = 0;
}

/* A full disk says the same at every save: once is enough, and a count. */
static void warn(void *ctx, const char *sentence) {
    bar *b = ctx;
    if (alike(b->warned, sentence)) {
        b->repeated++;
        return;
    }
    end_bar(b);
    end_warnings(b);
    cli_error(0, "train", "warning: %s", sentence);
    snprintf(b->warned, sizeof b->warned, "%s", sentence);
}

/* Every picture that there may be of a run. */
static void list_pictures(const char *names[MAX_PICTURES]) {
    int n = 0;
    for (const qkv_plot_info *p = qkv_plot_list(); p->name && n < MAX_PICTURES - 1; p++)
        names[n++] = p->name;
    names[n] = NULL;
}

static int train(const request *r, const qkv_config *c, const data_spec *spec) {
    char error[QKV_IO_ERROR], prefix[QKV_CONFIG_TEXT_SIZE + 8];
    const char *pictures[MAX_PICTURES];
    qkv_run_summary summary = {0};
    bar progress = {.config = c,
                    .spec = spec,
                    .on_terminal = cli_terminal(STDERR_FILENO) && !r->quiet && !r->json,
                    .first = -1,
                    .last = -1};
    snprintf(prefix, sizeof prefix, "runs/%s", c->task);
    list_pictures(pictures);
    qkv_run_options o = {.dir = r->out,
                         .prefix = prefix,
                         .pictures = pictures,
                         .threads = r->threads ? (int)r->threads : qkv_trainer_processors(),
                         .force = r->force,
                         .resume = r->resume,
                         .save_every = (int)r->saving.every,
                         .keep = (int)r->saving.keep,
                         .detect_anomaly = r->detect_anomaly,
                         .stop = &cli_stop,
                         .begun = r->quiet || r->json ? NULL : say_facts,
                         .progress = show_progress,
                         .warn = warn,
                         .ctx = &progress};
    cli_catch_signals();
    qkv_io_status status = qkv_run_train(&cli_files, c, spec, &o, &summary, error);
    cli_release_signals();
    end_bar(&progress);
    end_warnings(&progress);
    if (status == QKV_IO_STOPPED) return cli_error(CLI_SIGNAL + cli_stop, "train", "%s", error);
    if (status != QKV_IO_OK) return cli_error(cli_code(status), "train", "%s", error);
    if (r->json)
        cli_summary_json(&summary, c, spec);
    else if (!r->quiet && summary.nothing_to_do)
        printf("Nothing to do: the run %s %d steps.\n",
               summary.ended_early ? "ended, as it was told to, after" : "has all its",
               summary.steps);
    else if (!r->quiet)
        cli_summary_words(&summary, c, spec);
    return CLI_OK;
}

int cli_train(int argc, char **argv) {
    request r = {.saving = {.every = CLI_AS_BEFORE}};
    qkv_config c;
    data_spec spec;
    int first = 0;
    bool done = false;
    int code = cli_settings_begin(&r.settings, argc, argv, true, cli_train_options);
    if (code == CLI_OK) code = cli_read(argc, argv, r.settings.option, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    r.from = given(&r, "from");
    if (first < argc)
        return cli_error(CLI_USAGE, "train", "'%s' is no option; qkv train takes none but options",
                         argv[first]);
    code = configure(&r, &c, &spec);
    if (code != CLI_OK) return code;
    code = train(&r, &c, &spec);
    data_release(&spec);
    return code;
}
