/* sweep_runs.c - cells of a sweep as runs: one of them, or all. */
#include "train/cli/sweep_runs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/cli/cli.h"
#include "train/cli/progress.h"
#include "train/cli/stop.h"
#include "train/trainer/pool.h"

static qkv_io_status train(const cli_sweep_runs *s, int i, qkv_run_summary *out, char *error) {
    char dir[QKV_IO_PATH], number[QKV_STUDY_NUMBER], name[40];
    const qkv_study_cell *cell = &s->sweep->cell[i];
    qkv_config c;
    data_spec spec;
    snprintf(name, sizeof name, "runs/%s", qkv_study_cell_number(s->sweep->study, cell, number));
    if (!qkv_io_path(dir, s->dir, name, error)) return QKV_IO_FAILED;
    if (!qkv_study_config(s->sweep->study, cell->variant, cell->seed, s->plugin, &c, &spec, error))
        return QKV_IO_USAGE;
    const qkv_run_options o = {
        .dir = dir, .threads = (int)s->threads, .resume = true, .keep = 2, .stop = &cli_stop};
    const qkv_io_status status = qkv_run_train(&cli_files, &c, &spec, &o, out, error);
    data_release(&spec);
    return status;
}

int cli_sweep_run(const cli_sweep_runs *s, const char *number) {
    char error[QKV_IO_ERROR];
    qkv_run_summary summary = {0};
    const int i = qkv_study_sweep_find(s->sweep, number);
    if (i < 0)
        return cli_error(CLI_USAGE, "sweep",
                         i == -1 ? "--run: the sweep has no cell '%s'; cells.csv lists them"
                                 : "--run: several cells begin with '%s'",
                         number);
    const qkv_io_status status = train(s, i, &summary, error);
    if (status == QKV_IO_STOPPED) return cli_error(CLI_SIGNAL + cli_stop, "sweep", "%s", error);
    if (status != QKV_IO_OK) return cli_error(cli_code(status), "sweep", "%s", error);
    if (!s->quiet)
        cli_print("%s: %d steps, accuracy %.4f\n", summary.dir, summary.steps,
                  summary.last.scores.accuracy);
    return CLI_OK;
}

/* ---- all of them ---- */

typedef struct {
    const cli_sweep_runs *s;
    int *cell, n, done;
    pthread_mutex_t mutex;  // of what follows
    qkv_io_status status;   // of the first that failed
    char error[QKV_IO_ERROR];
} crew;

/* Another process that is at the same run will finish it. */
static bool is_elsewhere(const char *error) {
    return strncmp(error, "another run is writing", 22) == 0;
}

static void work(void *ctx, int item, int worker) {
    crew *c = ctx;
    char error[QKV_IO_ERROR];
    qkv_run_summary summary = {0};
    (void)worker;
    pthread_mutex_lock(&c->mutex);
    const bool go = c->status == QKV_IO_OK && !cli_stop;
    pthread_mutex_unlock(&c->mutex);
    if (!go) return;
    const qkv_io_status status = train(c->s, c->cell[item], &summary, error);
    pthread_mutex_lock(&c->mutex);
    if (status != QKV_IO_OK && c->status == QKV_IO_OK && !is_elsewhere(error)) {
        c->status = status;
        snprintf(c->error, sizeof c->error, "%s", error);
    }
    cli_progress_at(++c->done, c->n, "runs");
    pthread_mutex_unlock(&c->mutex);
}

/* Those that have numbers: a combination that does not fit has no run. */
static void list_cells(crew *c) {
    const qkv_study_sweep *w = c->s->sweep;
    for (int i = 0; i < w->n; i++) {
        const qkv_study_cell *cell = &w->cell[i];
        const qkv_study_result *r =
            qkv_study_results_find(c->s->results, cell->variant, cell->seed);
        if (r && !r->error && i % c->s->part.n == c->s->part.i - 1) c->cell[c->n++] = i;
    }
}

int cli_sweep_keep(const cli_sweep_runs *s) {
    crew c = {.s = s, .status = QKV_IO_OK};
    c.cell = calloc((size_t)s->sweep->n + 1, sizeof *c.cell);
    qkv_trainer_pool *pool = c.cell ? qkv_trainer_pool_new(NULL, (int)s->jobs) : NULL;
    if (pool) {
        list_cells(&c);
        pthread_mutex_init(&c.mutex, NULL);
        cli_progress_begin("sweep --keep-runs", s->quiet);
        qkv_trainer_pool_run(pool, work, &c, c.n);
        cli_progress_end();
        pthread_mutex_destroy(&c.mutex);
    }
    const bool made = pool != NULL;
    qkv_trainer_pool_free(pool);
    free(c.cell);
    if (!made) return cli_error(CLI_FAILED, "sweep", "out of memory");
    if (cli_stop)
        return cli_error(CLI_SIGNAL + cli_stop, "sweep",
                         "stopped in the middle of the runs; the same command goes on");
    return c.status == QKV_IO_OK ? CLI_OK : cli_error(cli_code(c.status), "sweep", "%s", c.error);
}
