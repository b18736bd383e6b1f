/* sweep_slurm.h - a sweep as an array of Slurm jobs. */
#ifndef QKV_CLI_SWEEP_SLURM_H
#define QKV_CLI_SWEEP_SLURM_H

#include <stdbool.h>

typedef struct {
    const char *dir;            // the sweep's folder, with its sweep.json
    const char *plugin;         // what --plugin named; NULL: nothing
    long parts, jobs, threads;  // jobs: trainings at once in each part
    bool quiet;
    char **options;  // of sbatch
    int n_options;
} cli_sweep_slurm;

/* Writes DIR/slurm/job.sh and submits it: an array whose jobs train a part each in DIR/slurm/part-I, then a
 * job that merges them into DIR and trains what is missing. An exit code, with a message. */
int cli_sweep_submit(const cli_sweep_slurm *s);

#endif
