/* cmd_export.c - qkv export: weights, attention and circuits for other programs. */
#include <stdio.h>

#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/run/export.h"

typedef struct {
    qkv_run_export_options o;
    long example;
    cli_state state;
} request;

static const cli_option options[] = {
    CLI_DIRECTORY(request, o.npy, "npy", "write .npy files, for numpy, into this directory"),
    CLI_DIRECTORY(request, o.csv, "csv", "write .csv files, with labels, into this directory"),
    CLI_INT(request, example, "example", "I", 0, 0, 1000000000,
            "the test example whose attention is written"),
    CLI_TEXT(request, o.change, "change", "CHANGE",
             "of that example: I,J swaps two positions, NAME:I,J their symbols of one stream, "
             "I=WORD puts a word at one"),
    CLI_FLAG(request, o.force, "force", "write into a directory that is not empty"),
    CLI_OPTIONS_STATE(request, state),
    CLI_END};

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
    request r = {0};
    qkv_run_exported exported;
    qkv_run_progress progress;
    const char *run;
    bool done;
    int code = cli_read_run(argc, argv, options, &r, &run, &done);
    if (code != CLI_OK || done) return code;
    if (!r.o.npy && !r.o.csv)
        return cli_error(CLI_USAGE, "export", "--npy DIR or --csv DIR is needed");
    r.o.example = (int)r.example;
    qkv_trainer *t = cli_open_run("export", run, &r.state, false, &progress, &code);
    if (!t) return code;
    code = cli_has_example("export", "example", t, r.o.example);
    if (code == CLI_OK) code = cli_has_change("export", t, r.o.example, r.o.change);
    if (code == CLI_OK && !qkv_run_export(&cli_files, t, &r.o, &exported, error))
        code = cli_error(CLI_FAILED, "export", "%s", error);
    if (code == CLI_OK) report(&r, &exported);
    qkv_trainer_free(t);
    return code;
}
