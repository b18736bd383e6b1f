/* sweep_runs.h - cells of a sweep as runs, each in a directory of its own: DIR/runs/CELL. */
#ifndef QKV_CLI_SWEEP_RUNS_H
#define QKV_CLI_SWEEP_RUNS_H

#include "train/cli/part.h"
#include "train/study/store.h"
#include "train/study/sweep.h"

typedef struct {
    const qkv_study_sweep *sweep;
    const qkv_study_results *results;
    const struct qkv_config_plugin *plugin;
    const char *dir;
    cli_part part;
    long jobs, threads;
    bool quiet;
} cli_sweep_runs;

/* The cell whose number begins so; a run that is there goes on where it stopped. An exit code, with a
 * message. */
int cli_sweep_run(const cli_sweep_runs *s, const char *number);

/* All cells of the part that have a row with numbers, `jobs` at once. */
int cli_sweep_keep(const cli_sweep_runs *s);

#endif
