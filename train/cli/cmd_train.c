/* cmd_train.c - qkv train: options into a configuration, the run, and what it learned in words. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "train/cli/settings.h"
#include "train/cli/train_summary.h"
#include "train/io/number.h"
#include "train/trainer/pool.h"

enum { DEFAULT_KEEP = 2 };

/* The options that are no part of the configuration. */
static const cli_option own[] = {
    {"", NULL, "Run", NULL},
    {"out", "DIR", "the run's directory", "runs/TASK-N"},
    {"force", NULL, "replace an earlier run in it", NULL},
    {"resume", NULL, "go on with the run in --out", NULL},
    {"plugin", "FILE", "your own tasks and blocks: a .c file or a shared object", NULL},
    {"config", "FILE", "start from a config.json", NULL},
    {"save-every", "N", "steps between checkpoints; 0: only at the end", "0"},
    {"keep", "N", "checkpoints that stay, at least 2", "2"},
    {"threads", "N", "threads; 0: one for each processor it may use. Never changes a result", "0"},
    {"detect-anomaly", NULL,
     "look for numbers that are not finite at every node of every step; slower", NULL},
    {"quiet", NULL, "no progress, no summary", NULL},
    {"json", NULL, "the summary as one line of JSON on stdout", NULL},
    {NULL, NULL, NULL, NULL}};

typedef struct {
    cli_settings settings;
    const char *out, *config_file;
    bool force, resume, detect_anomaly, quiet, json;
    long threads, save_every, keep;
} request;

/* ---- the options ---- */

static int take_option(void *ctx, const char *name, const char *value) {
    request *r = ctx;
    if (strcmp(name, "out") == 0) return r->out = value, CLI_OK;
    if (strcmp(name, "config") == 0) return r->config_file = value, CLI_OK;
    if (strcmp(name, "plugin") == 0) return CLI_OK;  // cli_settings_begin() has loaded it
    if (strcmp(name, "force") == 0) return r->force = true, CLI_OK;
    if (strcmp(name, "resume") == 0) return r->resume = true, CLI_OK;
    if (strcmp(name, "detect-anomaly") == 0) return r->detect_anomaly = true, CLI_OK;
    if (strcmp(name, "quiet") == 0) return r->quiet = true, CLI_OK;
    if (strcmp(name, "json") == 0) return r->json = true, CLI_OK;
    if (strcmp(name, "threads") == 0)
        return cli_whole_number("train", name, value, 0, 256, &r->threads);
    if (strcmp(name, "save-every") == 0)
        return cli_whole_number("train", name, value, 0, 1000000000, &r->save_every);
    if (strcmp(name, "keep") == 0)
        return cli_whole_number("train", name, value, 2, 1000000, &r->keep);
    return cli_settings_take(&r->settings, name, value);
}

static int read_config(const char *path, qkv_config *c, int code_if_bad) {
    char error[QKV_IO_ERROR];
    void *text;
    size_t n;
    qkv_io_status s = qkv_io_read_file(&qkv_io_posix, NULL, path, 1 << 20, &text, &n, error);
    if (s != QKV_IO_OK)
        return cli_error(s == QKV_IO_DAMAGED ? CLI_DAMAGED : CLI_FAILED, "train", "%s", error);
    bool ok = qkv_config_from_json(c, text, n, error);
    tensor_malloc.release(NULL, text);
    int code = qkv_config_task(c) ? code_if_bad : CLI_USAGE;  // a plugin's task, most likely
    return ok ? CLI_OK : cli_error(code, "train", "'%s': %s", path, error);
}

/* What the chosen task recommends. */
static int recommend(const request *r, qkv_config *c) {
    char error[QKV_IO_ERROR];
    const char *task = cli_settings_task(&r->settings);
    if ((task && !qkv_config_set(c, qkv_config_option_find(c, "task"), task, error)) ||
        !qkv_config_recommend(c, error))
        return cli_error(CLI_FAILED, "train", "%s", error);
    return CLI_OK;
}

/* Defaults; what the task recommends, or the resumed run's or a file's configuration; then the
 * options. */
static int configure(const request *r, qkv_config *c, data_spec *spec) {
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    struct stat there;
    int code = CLI_OK;
    qkv_config_default(c);
    qkv_config_use_plugin(c, r->settings.plugin);
    if (r->resume && !r->out) return cli_error(CLI_USAGE, "train", "--resume needs --out");
    if (r->resume && r->force)
        return cli_error(CLI_USAGE, "train", "--resume and --force exclude each other");
    if (r->resume && !qkv_io_path(path, r->out, "config.json", error))
        return cli_error(CLI_USAGE, "train", "%s", error);
    if (r->resume && stat(path, &there) != 0)
        return cli_error(CLI_FAILED, "train", "'%s' holds no run to resume: %s", r->out,
                         strerror(errno));
    if (r->resume) code = read_config(path, c, CLI_DAMAGED);
    if (code == CLI_OK && r->config_file) code = read_config(r->config_file, c, CLI_DAMAGED);
    if (code == CLI_OK && !r->config_file && !r->resume) code = recommend(r, c);
    if (code == CLI_OK) code = cli_settings_apply(&r->settings, c);
    if (code != CLI_OK) return code;
    if (!qkv_config_block(c)) return cli_unknown_block("train", c->block, c->plugin);
    if (!qkv_config_resolve(c, spec, error)) return cli_error(CLI_USAGE, "train", "%s", error);
    return cli_settings_used(&r->settings, c, spec);
}

/* ---- progress ---- */

typedef struct {
    bool shown, on_terminal;
    double began, last;
    char warned[QKV_IO_ERROR];  // the last warning
    int repeated;               // how often it came again
} bar;

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void show_progress(void *ctx, int step, int steps, double loss, double accuracy) {
    enum { WIDTH = 24 };
    bar *b = ctx;
    double now = seconds_now();
    if (!b->on_terminal || (now - b->last < 0.1 && step < steps)) return;
    b->last = now;
    b->shown = true;
    double rate = step / (now - b->began + 1e-9);
    char done[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++) done[i] = i < (int)((double)step / steps * WIDTH) ? '#' : '.';
    done[WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %d/%d  loss %.4f  accuracy %.3f  %.0f steps/s  %.0f s left \033[K",
            done, step, steps, loss, accuracy, rate, (steps - step) / rate);
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

static volatile sig_atomic_t caught;

static void on_signal(int number) {
    if (caught) _exit(CLI_SIGNAL + number);
    caught = number;
}

static void catch_signals(void) {
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction was;
        sigaction(numbers[i], NULL, &was);
        if (was.sa_handler != SIG_IGN)
            sigaction(numbers[i], &a, NULL);  // under nohup SIGHUP stays ignored
    }
}

/* "runs/TASK-N" with the first N that is not there yet. */
static const char *free_directory(const char *task, char path[QKV_IO_PATH]) {
    struct stat there;
    for (int n = 1; n < 1000000; n++) {
        snprintf(path, QKV_IO_PATH, "runs/%s-%d", task, n);
        if (stat(path, &there) != 0) break;
    }
    return path;
}

int cli_train(int argc, char **argv) {
    char dir[QKV_IO_PATH], error[QKV_IO_ERROR];
    request r = {.keep = DEFAULT_KEEP};
    qkv_config c;
    data_spec spec;
    qkv_run_summary summary = {0};
    int first = 0;
    bool done = false;
    int code = cli_settings_begin(&r.settings, argc, argv, true, own);
    if (code == CLI_OK)
        code = cli_parse(argc, argv, r.settings.option, take_option, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    if (first < argc)
        return cli_error(CLI_USAGE, "train", "'%s' is no option; qkv train takes none but options",
                         argv[first]);
    code = configure(&r, &c, &spec);
    if (code != CLI_OK) return code;
    bar progress = {.on_terminal = cli_terminal(STDERR_FILENO) && !r.quiet, .began = seconds_now()};
    qkv_run_options o = {.dir = r.out ? r.out : free_directory(c.task, dir),
                         .threads = r.threads ? (int)r.threads : qkv_trainer_processors(),
                         .force = r.force,
                         .resume = r.resume,
                         .save_every = (int)r.save_every,
                         .keep = (int)r.keep,
                         .detect_anomaly = r.detect_anomaly,
                         .stop = &caught,
                         .progress = show_progress,
                         .warn = warn,
                         .ctx = &progress};
    catch_signals();
    qkv_run_status status = qkv_run_train(&qkv_io_posix, &c, &spec, &o, &summary, error);
    end_bar(&progress);
    end_warnings(&progress);
    if (status == QKV_RUN_STOPPED) return cli_error(CLI_SIGNAL + caught, "train", "%s", error);
    if (status != QKV_RUN_DONE) return cli_error(cli_code(status), "train", "%s", error);
    if (r.json)
        cli_summary_json(&summary, &c, &spec, o.dir);
    else if (!r.quiet && summary.nothing_to_do)
        printf("Nothing to do: the run has all its %d steps.\n", summary.steps);
    else if (!r.quiet)
        cli_summary_words(&summary, &c, &spec, o.dir);
    data_release(&spec);
    return CLI_OK;
}
