/* cmd_export.c - qkv export: weights, attention and circuits for other programs. */
#include <stdio.h>
#include <string.h>

#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/io/number.h"
#include "train/run/export.h"

static const cli_option options[] = {
    {"npy", "DIR", "write .npy files, for numpy, into this directory", NULL},
    {"csv", "DIR", "write .csv files, with labels, into this directory", NULL},
    {"example", "I", "the test example whose attention is written", "0"},
    {"force", NULL, "write into a directory that is not empty", NULL},
    CLI_OPTION_AT,
    CLI_OPTION_WEIGHTS,
    CLI_OPTION_DATA,
    CLI_OPTION_PLUGIN,
    {NULL, NULL, NULL, NULL}};

typedef struct {
    qkv_run_export_options o;
    cli_state state;
} request;

static int take_option(void *ctx, const char *name, const char *value) {
    request *r = ctx;
    long example;
    if (strcmp(name, "npy") == 0) return r->o.npy = value, CLI_OK;
    if (strcmp(name, "csv") == 0) return r->o.csv = value, CLI_OK;
    if (strcmp(name, "force") == 0) return r->o.force = true, CLI_OK;
    bool taken;
    int code = cli_take_state("export", &r->state, name, value, &taken);
    if (taken) return code;
    code = cli_whole_number("export", name, value, 0, 1000000000, &example);
    if (code == CLI_OK) r->o.example = (int)example;
    return code;
}

static void report(const request *r, const qkv_run_exported *e) {
    const char *dirs[] = {r->o.npy, r->o.csv};
    char shown[QKV_IO_PATH];
    cli_progress_end();
    for (int i = 0; i < 2; i++)
        if (dirs[i])
            printf("%s: %d parameters, attention of %d heads in test example %d, %d circuits\n",
                   qkv_io_printable(dirs[i], shown, sizeof shown), e->weights, e->attention,
                   r->o.example, e->circuits);
}

int cli_export(int argc, char **argv) {
    char error[QKV_IO_ERROR];
    request r = {.state = CLI_STATE_NEWEST};
    qkv_run_exported exported;
    qkv_run_progress progress;
    const char *run;
    bool done;
    int code = cli_parse_run(argc, argv, options, take_option, &r, &run, &done);
    if (code != CLI_OK || done) return code;
    if (!r.o.npy && !r.o.csv)
        return cli_error(CLI_USAGE, "export", "--npy DIR or --csv DIR is needed");
    qkv_trainer *t = cli_open_run("export", run, &r.state, false, &progress, &code);
    if (!t) return code;
    code = cli_has_example("export", "example", t, r.o.example);
    if (code == CLI_OK && !qkv_run_export(&cli_files, t, &r.o, &exported, error))
        code = cli_error(CLI_FAILED, "export", "%s", error);
    if (code == CLI_OK) report(&r, &exported);
    qkv_trainer_free(t);
    return code;
}
