/* cmd_probe.c - qkv probe: any probe of a study, on any run. */
#include <stdio.h>
#include <string.h>

#include "train/cli/json.h"
#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/study/probe.h"

enum {
#define QKV_STUDY_PROBE(name, when, finds) PROBE_##name,
#include "train/study/probes.def"
#undef QKV_STUDY_PROBE
    PROBES
};

typedef struct {
    const char *csv;
    bool json;
    cli_state state;
    bool named[PROBES];
    int n_named;  // 0: all that fit
} request;

static const cli_option options[] = {CLI_FILE(request, csv, "csv", "the numbers as a table, too"),
                                     CLI_OPTIONS_STATE(request, state),
                                     CLI_FLAG(request, json, "json", "one line of JSON"), CLI_END};

/* What came of one probe: some of the numbers, or why there are none. */
typedef struct {
    const qkv_study_probe *probe;
    int first, end;
    char why[QKV_IO_ERROR];
} finding;

typedef struct {
    finding of[PROBES];
    int n, step;
    qkv_probe_measures found;
} findings;

static int take_name(request *r, const char *name) {
    const char *names[PROBES + 1] = {NULL};
    for (int i = 0; i < PROBES; i++) {
        names[i] = qkv_study_probe_table[i].name;
        if (strcmp(name, names[i]) != 0) continue;
        r->n_named += !r->named[i];
        r->named[i] = true;
        return CLI_OK;
    }
    return cli_unknown("probe", "there is no probe", name, names, "qkv list probes");
}

/* ---- looking ---- */

/* The step with which the run began. */
static int beginning(const qkv_trainer *t) {
    size_t length;
    const char *from = qkv_trainer_config(t)->from;
    return *from ? qkv_config_from_step(from, &length) : 0;
}

static void run_probe(const request *r, qkv_trainer *t, const qkv_study_probe *p, findings *all) {
    finding *f = &all->of[all->n++];
    *f = (finding){.probe = p, .first = all->found.n};
    const bool late = p->when == QKV_STUDY_BEFORE && all->step > beginning(t) && !r->state.weights;
    if (late && r->n_named)
        cli_error(CLI_OK, "probe", "note: studies run '%s' before the first step: see --at %d",
                  p->name, beginning(t));
    if (late && !r->n_named)
        snprintf(f->why, sizeof f->why, "studies run it before the first step: name it, or --at %d",
                 beginning(t));
    else if (p->when == QKV_STUDY_AGAIN && !r->n_named)
        snprintf(f->why, sizeof f->why, "it trains the run once more: name it to have it");
    else if (!p->run(t, &all->found, f->why))
        all->found.n = f->first;
    f->end = all->found.n;
}

static int look(const request *r, qkv_trainer *t, findings *all) {
    for (int i = 0; i < PROBES; i++) {
        const qkv_study_probe *p = &qkv_study_probe_table[i];
        if (r->n_named && !r->named[i]) continue;
        cli_progress_at(all->n, r->n_named ? r->n_named : PROBES, "probes");
        run_probe(r, t, p, all);
        const finding *f = &all->of[all->n - 1];
        if (r->n_named && *f->why)
            return cli_error(CLI_USAGE, "probe", "'%s' does not fit this run: %s", p->name, f->why);
    }
    return all->found.failed ? cli_error(CLI_FAILED, "probe", "out of memory") : CLI_OK;
}

/* ---- showing ---- */

static void print_numbers(const findings *all, const finding *f) {
    char name[QKV_PROBE_MEASURE * 4];
    printf("\n%s: %s\n", f->probe->name, f->probe->finds);
    if (f->first == f->end) printf("  no number, since nothing was there to be counted\n");
    for (int i = f->first; i < f->end; i++) {
        printf("  %-44s", qkv_io_printable(all->found.at[i].name, name, sizeof name));
        cli_print(" %11.6g\n", all->found.at[i].x);
    }
}

static void print_text(const char *run, const findings *all) {
    char shown[QKV_IO_PATH], why[QKV_IO_ERROR];
    int without = 0;
    printf("%s after %d steps\n", qkv_io_printable(run, shown, sizeof shown), all->step);
    for (int i = 0; i < all->n; i++)
        if (!*all->of[i].why) print_numbers(all, &all->of[i]);
    for (int i = 0; i < all->n; i++) {
        const finding *f = &all->of[i];
        if (!*f->why) continue;
        if (!without++) printf("\nNot run:\n");
        printf("  %-16s %s\n", f->probe->name, qkv_io_printable(f->why, why, sizeof why));
    }
    printf("\n");
}

static void print_json(const findings *all) {
    json_t *o = json_object(), *found = json_array(), *not_run = json_array();
    for (int i = 0; i < all->found.n; i++) {
        const qkv_probe_measure *m = &all->found.at[i];
        json_array_append_new(found, json_pack("{s:o,s:o}", "measure", cli_json_text(m->name),
                                               "value", cli_json_number(m->x)));
    }
    for (int i = 0; i < all->n; i++)
        if (*all->of[i].why)
            json_array_append_new(not_run, json_pack("{s:s,s:o}", "probe", all->of[i].probe->name,
                                                     "why", cli_json_text(all->of[i].why)));
    json_object_set_new(o, "step", json_integer(all->step));
    json_object_set_new(o, "found", found);
    json_object_set_new(o, "not_run", not_run);
    cli_print_json(o);
}

static int write_csv(const char *path, const findings *all) {
    char error[QKV_IO_ERROR];
    qkv_io_text text = {.arena = all->found.arena};
    qkv_io_text_add(&text, "measure,value\n");
    for (int i = 0; i < all->found.n; i++) {
        qkv_io_text_label(&text, all->found.at[i].name);
        qkv_io_text_add(&text, ",");
        qkv_io_text_number(&text, all->found.at[i].x);
        qkv_io_text_add(&text, "\n");
    }
    if (text.failed) return cli_error(CLI_FAILED, "probe", "out of memory");
    return qkv_io_write_file(&cli_files, path, text.at, text.n, error)
               ? CLI_OK
               : cli_error(CLI_FAILED, "probe", "%s", error);
}

static int probe(const request *r, const char *run, int step, qkv_trainer *t, tensor_arena *arena) {
    findings *all = tensor_arena_take(arena, 1, sizeof *all);
    if (!all) return cli_error(CLI_FAILED, "probe", "out of memory");
    *all = (findings){.step = step, .found = {.arena = arena}};
    int code = look(r, t, all);
    cli_progress_end();
    if (code == CLI_OK && r->csv) code = write_csv(r->csv, all);
    if (code != CLI_OK) return code;
    if (r->json)
        print_json(all);
    else
        print_text(run, all);
    return all->found.n || r->n_named ? CLI_OK
                                      : cli_error(CLI_FAILED, "probe", "no probe fits this run");
}

int cli_probe(int argc, char **argv) {
    request r = {0};
    qkv_run_progress progress;
    int first = 0;
    bool done;
    int code = cli_read(argc, argv, options, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    if (first == argc) return cli_error(CLI_USAGE, "probe", "a run directory is needed");
    for (int i = first + 1; i < argc && code == CLI_OK; i++) code = take_name(&r, argv[i]);
    if (code != CLI_OK) return code;
    r.state.silent = r.json;
    qkv_trainer *t = cli_open_run("probe", argv[first], &r.state, true, &progress, &code);
    if (!t) return code;
    tensor_arena *arena = tensor_arena_new(NULL);
    code = arena ? probe(&r, argv[first], progress.step, t, arena)
                 : cli_error(CLI_FAILED, "probe", "out of memory");
    tensor_arena_free(arena);
    qkv_trainer_free(t);
    return code;
}
