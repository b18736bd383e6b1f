/* cmd_export.c - qkv export: weights, attention and circuits for other programs. */
#include <stdio.h>
#include <string.h>

#include "train/cli/cli.h"
#include "train/io/number.h"
#include "train/run/export.h"

static const cli_option options[] = {
    {"npy", "DIR", "write .npy files, for numpy, into this directory", NULL},
    {"csv", "DIR", "write .csv files, with labels, into this directory", NULL},
    {"example", "I", "the test example whose attention is written", "0"},
    {"force", NULL, "write into a directory that is not empty", NULL},
    {"plugin", "FILE", "the plugin with the run's task or block", NULL},
    {NULL, NULL, NULL, NULL}};

typedef struct {
    qkv_run_export_options o;
    const struct qkv_config_plugin *plugin;
} request;

static int take_option(void *ctx, const char *name, const char *value) {
    request *r = ctx;
    long example;
    if (strcmp(name, "npy") == 0) return r->o.npy = value, CLI_OK;
    if (strcmp(name, "csv") == 0) return r->o.csv = value, CLI_OK;
    if (strcmp(name, "force") == 0) return r->o.force = true, CLI_OK;
    if (strcmp(name, "plugin") == 0) return cli_load_plugin("export", value, &r->plugin);
    int code = cli_whole_number("export", name, value, 0, 1000000000, &example);
    if (code == CLI_OK) r->o.example = (int)example;
    return code;
}

static void report(const request *r, const qkv_run_exported *e) {
    const char *dirs[] = {r->o.npy, r->o.csv};
    char shown[QKV_IO_PATH];
    for (int i = 0; i < 2; i++)
        if (dirs[i])
            printf("%s: %d parameters, attention of %d heads in test example %d, %d circuits\n",
                   qkv_io_printable(dirs[i], shown, sizeof shown), e->weights, e->attention,
                   r->o.example, e->circuits);
}

int cli_export(int argc, char **argv) {
    char error[QKV_IO_ERROR];
    request r = {.plugin = NULL};
    qkv_run_exported exported;
    qkv_run_progress progress;
    qkv_run_status status;
    int first = 0;
    bool done;
    int code = cli_parse(argc, argv, options, take_option, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    if (argc - first != 1)
        return cli_error(CLI_USAGE, "export", "one run directory is needed, %d are given",
                         argc - first);
    if (!r.o.npy && !r.o.csv)
        return cli_error(CLI_USAGE, "export", "--npy DIR or --csv DIR is needed");
    qkv_trainer *t =
        qkv_run_open(&qkv_io_posix, argv[first], r.plugin, 1, &progress, &status, error);
    if (!t) return cli_error(cli_code(status), "export", "%s", error);
    if (qkv_run_export(&qkv_io_posix, t, &r.o, &exported, error))
        report(&r, &exported);
    else
        code = cli_error(CLI_FAILED, "export", "%s", error);
    qkv_trainer_free(t);
    return code;
}
