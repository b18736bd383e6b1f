/* cmd_view.c - qkv view: a run, the map of a sweep or a lesson, as one HTML file, the page with it inside. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/cli/lesson.h"
#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/study/rows.h"

/* Checkpoints that go into the page: as many as fit into so many bytes, the newest always. */
enum { MOST_BYTES = 48 << 20, MOST_STATES = 64, MOST_PAGE = 64 << 20 };

typedef struct {
    const char *out, *page, *lesson;
    cli_state state;  // its newest; where its data are
    long at;          // -1: the newest
} request;

#ifdef QKV_PAGE  // of the Makefile's PAGE_INSIDE
#define PAGE_PLACE "inside the program"
extern const char cli_page[];
__asm__(".pushsection .rodata\n.global cli_page\ncli_page: .incbin \"" QKV_PAGE
        "\"\n.byte 0\n.popsection");
static const char *const inside = cli_page;
#else
#define PAGE_PLACE "beside the program"
static const char *const inside = "";
#endif

static const cli_option options[] = {
    CLI_FILE(request, out, "out", "the file to write", .def = "RUN/view.html, or lesson.html"),
    CLI_FILE(request, lesson, "lesson", "a lesson of your own: the page opens with it"),
    CLI_INT(request, at, "at", "STEP", -1, 0, 1000000000, "the step at which it opens",
            .def = "the newest"),
    CLI_OPTION_DATA(request, state),
    CLI_FILE(request, page, "page", "the page without a run, as `make page` builds it",
             .def = PAGE_PLACE),
    CLI_END};

/* ---- the page without a run ---- */

/* Where it lies: beside the program, as in a build directory, or in PREFIX/share/qkv. */
static bool find_page(char path[QKV_IO_PATH]) {
    static const char *const places[] = {"qkv.html", "../share/qkv/qkv.html"};
    char program[QKV_IO_PATH];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0) return false;
    program[n] = '\0';
    *(strrchr(program, '/') + 1) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int length = snprintf(path, QKV_IO_PATH, "%s%s", program, places[i]);
        if (length < QKV_IO_PATH && access(path, R_OK) == 0) return true;
    }
    return false;
}

/* Its text; *at: where the run goes in the place of "null", NULL if it fails, with a sentence. */
static int read_page(const request *r, char **text, char **at) {
    static const char mark[] = "<script type=\"application/json\" id=\"run\">";
    char path[QKV_IO_PATH], error[QKV_IO_ERROR], shown[200];
    void *data = NULL;
    size_t n;
    if (!r->page && !*inside && !find_page(path))
        return cli_error(CLI_FAILED, "view",
                         "the page is not there: `make page` builds it beside the program, `make "
                         "install` puts it into share/qkv, --page names another");
    if (r->page || !*inside) {
        if (r->page) snprintf(path, sizeof path, "%s", r->page);
        if (qkv_io_read_file(&cli_files, NULL, path, MOST_PAGE, &data, &n, error) != QKV_IO_OK)
            return cli_error(CLI_FAILED, "view", "%s", error);
    } else if (!(data = strdup(inside)))
        return cli_error(CLI_FAILED, "view", "out of memory");
    *text = data;
    *at = strstr(*text, mark);
    if (*at && strncmp(*at + strlen(mark), "null<", 5) == 0) {
        *at += strlen(mark);
        return CLI_OK;
    }
    tensor_malloc.release(NULL, data);
    *at = NULL;
    return cli_error(CLI_DAMAGED, "view", "'%s' is not the page that qkv builds",
                     qkv_io_printable(path, shown, sizeof shown));
}

/* ---- the run ---- */

/* n bytes in base64, as a JSON string; NULL: memory is out. */
static json_t *base64(const unsigned char *x, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((n + 2) / 3 * 4 + 1), *to = text;
    for (size_t i = 0; text && i < n; i += 3) {
        unsigned long three = (unsigned long)x[i] << 16;
        if (i + 1 < n) three |= (unsigned long)x[i + 1] << 8;
        if (i + 2 < n) three |= x[i + 2];
        for (int k = 0; k < 4; k++) *to++ = digits[three >> (18 - 6 * k) & 63];
        if (i + 2 >= n) to[-1] = '=';
        if (i + 1 >= n) to[-2] = '=';
    }
    json_t *string = text ? json_stringn(text, (size_t)(to - text)) : NULL;
    free(text);
    return string;
}

/* The steps of the checkpoints in a run directory, rising. */
typedef struct {
    int step[MOST_STATES], n;
} steps;

static bool add_step(void *ctx, const char *name) {
    steps *s = ctx;
    const long step = qkv_run_checkpoint_step(name);
    if (step < 0 || s->n == MOST_STATES) return true;
    int at = s->n++;
    for (; at > 0 && s->step[at - 1] > step; at--) s->step[at] = s->step[at - 1];
    s->step[at] = (int)step;
    return true;
}

/* The checkpoints up to `latest` that are whole, from the oldest that has room. */
static json_t *checkpoints(const char *dir, int latest) {
    char path[QKV_IO_PATH], error[QKV_IO_ERROR];
    steps s = {.n = 0};
    size_t total = 0;
    json_t *list = json_array();
    if (cli_files.list(cli_files.ctx, dir, add_step, &s) < 0) s.n = 0;
    for (int i = s.n - 1; i >= 0; i--) {
        void *data;
        size_t n;
        if (s.step[i] > latest || !qkv_run_checkpoint_path(path, dir, s.step[i], error) ||
            qkv_run_checkpoint_check(&cli_files, NULL, path, error) != QKV_IO_OK ||
            qkv_io_read_file(&cli_files, NULL, path, SIZE_MAX / 4, &data, &n, error) != QKV_IO_OK)
            continue;
        total += n;
        bool room = total <= MOST_BYTES || s.step[i] == latest;
        if (room) json_array_insert_new(list, 0, base64(data, n));
        tensor_malloc.release(NULL, data);
        if (!room) break;
    }
    return list;
}

/* Options that name the files which a task reads. */
static const char *const named_by[] = {"data", "data_valid", "data_test"};
enum { NAMED = sizeof named_by / sizeof *named_by };

/* Adds a file, as text, by its name; false, having said why. */
static bool add_file(json_t *all, const char *name) {
    char error[QKV_IO_ERROR];
    void *text;
    size_t n;
    if (json_object_get(all, name)) return true;
    const qkv_io_status s = qkv_io_read_file(&cli_files, NULL, name, MOST_BYTES, &text, &n, error);
    json_t *whole = s == QKV_IO_OK ? json_stringn(text, n) : NULL;
    if (s == QKV_IO_OK) tensor_malloc.release(NULL, text);
    if (whole) return json_object_set_new(all, name, whole) == 0;
    cli_error(CLI_FAILED, "view", "the page holds the run's data, as text: %s",
              s == QKV_IO_OK ? "they are no UTF-8" : error);
    return false;
}

/* The files that the task reads, by the names which the configuration has: without one of them the page
 * could not begin. NULL, having said why. */
static json_t *files(const qkv_config *c) {
    char name[QKV_CONFIG_TEXT_SIZE + 64];
    json_t *all = json_object();
    for (size_t i = 0; i < NAMED; i++) {
        const data_option *o = qkv_config_option_find(c, named_by[i]);
        if (!o || !*qkv_config_get(c, o, name, sizeof name) || add_file(all, name)) continue;
        json_decref(all);
        return NULL;
    }
    return all;
}

/* A CSV of the folder, as text; empty where there is none. NULL, having said why. */
static json_t *csv_of(const char *dir, const char *file) {
    char path[QKV_IO_PATH], error[QKV_IO_ERROR], shown[QKV_IO_PATH];
    void *text = NULL;
    size_t n = 0;
    qkv_io_status s = QKV_IO_FAILED;
    if (qkv_io_path(path, dir, file, error))
        s = qkv_io_read_file(&cli_files, NULL, path, (size_t)1 << 28, &text, &n, error);
    if (s == QKV_IO_ABSENT) return json_string("");
    json_t *whole = s == QKV_IO_OK ? json_stringn(text, n) : NULL;
    if (text) tensor_malloc.release(NULL, text);
    if (s != QKV_IO_OK)
        cli_error(cli_code(s), "view", "%s", error);
    else if (!whole)
        cli_error(CLI_FAILED, "view", "'%s' is no UTF-8 text",
                  qkv_io_printable(path, shown, sizeof shown));
    return whole;
}

/* JSON as it may stand in a script: no text in it ends the script, or begins a comment that hides its end.
 * The old text is freed; NULL: out of memory. */
static char *without_tags(char *text) {
    size_t n = text ? strlen(text) + 1 : 0, tags = 0;
    for (size_t i = 0; i < n; i++) tags += text[i] == '<';
    char *safe = n ? malloc(n + 5 * tags) : NULL, *to = safe;
    for (size_t i = 0; safe && i < n; i++)
        if (text[i] == '<')
            to = (char *)memcpy(to, "\\u003c", 6) + 6;
        else
            *to++ = text[i];
    free(text);
    return safe;
}

/* What goes into the page, of a reference that it takes. */
static char *text_of(json_t *root) {
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    return without_tags(text);
}

/* {name, at, config, files, metrics, checkpoints, lesson} */
static char *describe(const char *dir, qkv_trainer *t, json_t *data, json_t *metrics, int latest,
                      long at, json_t *lesson) {
    char shown[QKV_IO_PATH];
    char *config = qkv_config_to_json(qkv_trainer_config(t));
    json_t *root = json_pack(
        "{s:s, s:I, s:o, s:o, s:o, s:o}", "name", qkv_io_printable(dir, shown, sizeof shown), "at",
        (json_int_t)(at < 0 ? latest : at), "config", config ? json_loads(config, 0, NULL) : NULL,
        "files", data, "metrics", metrics, "checkpoints", checkpoints(dir, latest));
    if (lesson) json_object_set(root, "lesson", lesson);
    free(config);
    return text_of(root);
}

/* ---- a sweep ---- */

/* The files that its cells read. NULL, having said why. */
static json_t *files_of_cells(const char *dir) {
    char error[QKV_IO_ERROR], ignored[QKV_IO_ERROR];
    qkv_study_rows rows;
    json_t *all = json_object();
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_status s = QKV_IO_FAILED;
    if (!arena)
        qkv_io_fail(error, "out of memory");
    else
        s = qkv_study_rows_read(&rows, &cli_files, arena, &dir, 1, error);
    bool ok = s == QKV_IO_OK || (cli_error(cli_code(s), "view", "%s", error), false);
    for (size_t k = 0; k < NAMED && ok; k++) {
        const int column = qkv_study_rows_column(&rows, named_by[k], ignored);
        for (int i = 0; i < rows.n && column >= 0 && ok; i++) {
            const char *name = qkv_study_rows_text(&rows, i, column);
            ok = !*name || add_file(all, name);
        }
    }
    tensor_arena_free(arena);
    if (!ok) json_decref(all);
    return ok ? all : NULL;
}

/* {"sweep": {name, cells, files}}; NULL, having said why. */
static char *describe_sweep(const char *dir) {
    char shown[QKV_IO_PATH];
    json_t *cells = csv_of(dir, "cells.csv");
    const bool any = json_string_length(cells) > 0;
    json_t *data = any ? files_of_cells(dir) : NULL;
    if (cells && !any)
        cli_error(CLI_FAILED, "view", "'%s' has no cells.csv yet: qkv sweep trains its cells",
                  qkv_io_printable(dir, shown, sizeof shown));
    if (!data) return json_decref(cells), NULL;
    char *text = text_of(json_pack("{s:{s:s, s:o, s:o}}", "sweep", "name",
                                   qkv_io_printable(dir, shown, sizeof shown), "cells", cells,
                                   "files", data));
    if (!text) cli_error(CLI_FAILED, "view", "out of memory");
    return text;
}

/* ---- the file ---- */

static int write_view(const char *path, const char *page, const char *at, const char *what,
                      const char *run) {
    char error[QKV_IO_ERROR], shown[QKV_IO_PATH];
    size_t before = (size_t)(at - page), n = strlen(run);
    const char *rest = at + strlen("null");
    size_t after = strlen(rest);
    char *all = malloc(before + n + after);
    if (!all) return cli_error(CLI_FAILED, "view", "out of memory");
    memcpy(all, page, before);
    memcpy(all + before, run, n);
    memcpy(all + before + n, rest, after);
    bool device;
    bool ok = qkv_io_write_output(&cli_files, path, all, before + n + after, &device, error);
    free(all);
    if (!ok) return cli_error(CLI_FAILED, "view", "%s", error);
    cli_progress_end();
    fprintf(device ? stderr : stdout, "The %s is in %s; any browser opens it.\n", what,
            qkv_io_printable(path, shown, sizeof shown));  // stdout may be where it went
    return CLI_OK;
}

/* Puts what is described into the page, into view.html of `dir`; without a directory into lesson.html. */
static int put(const char *dir, const request *r, const char *what, const char *described) {
    char path[QKV_IO_PATH] = "lesson.html", error[QKV_IO_ERROR], *page = NULL, *at = NULL;
    if (!described) return CLI_FAILED;
    if (!r->out && dir && !qkv_io_path(path, dir, "view.html", error))
        return cli_error(CLI_FAILED, "view", "%s", error);
    int code = read_page(r, &page, &at);
    if (!at) return code;
    code = write_view(r->out ? r->out : path, page, at, what, described);
    tensor_malloc.release(NULL, page);
    return code;
}

static int view(const char *dir, const request *r, json_t *lesson, qkv_trainer *t, int latest) {
    if (sizeof(real) != sizeof(float))
        return cli_error(CLI_FAILED, "view", "the page computes in single precision only");
    if (r->at > latest)
        return cli_error(CLI_USAGE, "view",
                         "--at: the run has %d steps, there is no state at step %ld", latest,
                         r->at);
    json_t *data = files(qkv_trainer_config(t));
    json_t *metrics = data ? csv_of(dir, "metrics.csv") : NULL;
    if (!metrics) return json_decref(data), CLI_FAILED;
    char *run = describe(dir, t, data, metrics, latest, r->at, lesson);
    if (!run) cli_error(CLI_FAILED, "view", "out of memory");
    const int code = put(dir, r, "run", run);
    free(run);
    return code;
}

static int view_sweep(const char *dir, const request *r) {
    if (r->at >= 0 || r->state.data || r->lesson)
        return cli_error(CLI_USAGE, "view", "--%s is for a run; '%s' is a sweep",
                         r->at >= 0      ? "at"
                         : r->state.data ? "data"
                                         : "lesson",
                         dir);
    char *sweep = describe_sweep(dir);
    const int code = put(dir, r, "sweep", sweep);
    free(sweep);
    return code;
}

/* The page with a lesson and without a run. */
static int view_lesson(const request *r, json_t *lesson) {
    char *text = text_of(json_pack("{s:O}", "lesson", lesson));
    if (!text) cli_error(CLI_FAILED, "view", "out of memory");
    const int code = put(NULL, r, "lesson", text);
    free(text);
    return code;
}

/* The page with a run, and a lesson if there is one. */
static int view_run(const char *run, const request *r, json_t *lesson) {
    char error[QKV_IO_ERROR];
    qkv_run_progress progress;
    qkv_io_status status;
    cli_progress_begin("view", false);
    const qkv_run_opening o = cli_opening(run, &r->state);
    qkv_trainer *t = qkv_run_open_at(&cli_files, &o, &progress, &status, error);
    if (!t) return cli_error(cli_code(status), "view", "%s", error);
    int code = view(run, r, lesson, t, progress.step);
    qkv_trainer_free(t);
    return code;
}

int cli_view(int argc, char **argv) {
    char error[QKV_IO_ERROR], path[QKV_IO_PATH];
    request r = {.state = {.at = QKV_RUN_NEWEST}};
    bool done;
    int first = 0, code = cli_read(argc, argv, options, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    const char *run = argv[first];
    if (argc - first > 1 || (argc == first && !r.lesson))
        return cli_error(CLI_USAGE, "view", "one run directory is needed, %d are given",
                         argc - first);
    if (run && qkv_io_path(path, run, "sweep.json", error) && access(path, F_OK) == 0)
        return view_sweep(run, &r);
    json_t *lesson = r.lesson ? cli_lesson_read(r.lesson, error) : NULL;
    if (r.lesson && !lesson) return cli_error(CLI_FAILED, "view", "%s", error);
    code = run ? view_run(run, &r, lesson) : view_lesson(&r, lesson);
    json_decref(lesson);
    return code;
}
