/* run.c - the trainings of a study, several at once, each result written down as soon as it is
 * there. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "train/io/given.h"
#include "train/run/files.h"
#include "train/study/store.h"
#include "train/trainer/pool.h"

typedef struct {
    const qkv_study *s;
    const qkv_study_options *o;
    qkv_study_cell *cell;  // those of this round
    int n, done, total;
    qkv_study_results *out;
    qkv_study_store store;
    pthread_mutex_t mutex;  // of out, store, done and error
    bool failed;
    qkv_io_watch watch;
    char *error;
} crew;

static bool is_stopped(const crew *c) { return c->o->stop && *c->o->stop; }

/* A training that failed: its error, for the texts. */
static bool add_failed(qkv_study_results *out, const qkv_study_result *r) {
    qkv_study_result failed = {.variant = r->variant, .seed = r->seed};
    const char *error = r->error ? r->error : "";
    char *why = tensor_arena_take(out->arena, strlen(error) + 1, 1);
    if (!why) return false;
    failed.error = strcpy(why, error);
    return qkv_study_results_add(out, &failed);
}

/* Notes a finished training; called with the mutex held. A machine that was out of memory says nothing about
 * a cell whose failures are kept. */
static bool note(crew *c, const qkv_study_result *r) {
    if (r->error && c->out->keep_failed && strstr(r->error, "out of memory"))
        return qkv_io_fail(c->error, "%s", r->error);
    if (!qkv_study_store_add(&c->store, r, c->error)) return false;
    return qkv_study_results_find(c->out, r->variant, r->seed) || add_failed(c->out, r) ||
           qkv_io_fail(c->error, "out of memory");
}

/* Is the cell this process' to train? Then it is claimed. */
static bool take(crew *c, const qkv_study_cell *cell) {
    pthread_mutex_lock(&c->mutex);
    bool mine = !c->failed && !is_stopped(c) && qkv_study_store_claim(&c->store, cell);
    if (mine) {
        c->failed = !qkv_study_store_read(&c->store, c->error);
        const bool known = qkv_study_results_find(c->out, cell->variant, cell->seed) != NULL;
        if (c->failed || known) {
            qkv_study_store_release(&c->store, cell);
            mine = false;
        }
    }
    pthread_mutex_unlock(&c->mutex);
    return mine;
}

static void work(void *ctx, int item, int worker) {
    crew *c = ctx;
    char error[QKV_IO_ERROR] = "";
    const qkv_study_cell *cell = &c->cell[item];
    (void)worker;
    if (!take(c, cell)) return;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_probe_measures measures = {.arena = arena, .failed = !arena};
    qkv_study_result r = {.variant = cell->variant, .seed = cell->seed};
    qkv_io_watch watch = qkv_io_watch_start();
    if (!arena) qkv_io_fail(error, "out of memory");
    if (!arena || !qkv_study_job(c->s, r.variant, r.seed, c->o->plugin, c->o->threads, c->o->stop,
                                 &measures, error))
        r.error = error;
    qkv_probe_measure_add(&measures, qkv_io_watch_read(&watch), "seconds");
    r.measures = measures;
    const bool stopped = is_stopped(c);
    pthread_mutex_lock(&c->mutex);
    if (!stopped && !c->failed && !note(c, &r)) c->failed = true;
    qkv_study_store_release(&c->store, cell);
    c->done += !stopped;
    if (c->o->progress && !stopped)
        c->o->progress(c->o->ctx, c->done, c->total, qkv_io_watch_read(&c->watch));
    pthread_mutex_unlock(&c->mutex);
    tensor_arena_free(arena);
}

/* This part's trainings that have no result yet. */
static void list_open(crew *c, const qkv_study_cell *all, int n) {
    c->n = 0;
    for (int i = 0; i < n; i++)
        if (i % c->o->parts == c->o->part &&
            !qkv_study_results_find(c->out, all[i].variant, all[i].seed))
            c->cell[c->n++] = all[i];
}

/* Round after round: what was left out had been claimed by others, who may have been killed since. */
static bool run_rounds(crew *c, const qkv_study_cell *all, int n) {
    const struct timespec while_others_work = {.tv_nsec = 200000000};
    qkv_trainer_pool *pool =
        qkv_trainer_pool_new(NULL, c->o->jobs < c->total ? c->o->jobs : c->total);
    if (!pool) return qkv_io_fail(c->error, "out of memory");
    while (c->n && !c->failed && !is_stopped(c)) {
        const int before = c->done;
        qkv_trainer_pool_run(pool, work, c, c->n);
        if (c->failed || is_stopped(c)) break;
        if (c->done == before) nanosleep(&while_others_work, NULL);
        c->failed = !qkv_study_store_read(&c->store, c->error);
        list_open(c, all, n);
    }
    qkv_trainer_pool_free(pool);
    return !c->failed;
}

static qkv_io_status run_open(crew *c, const qkv_study_cell *all, int n) {
    c->cell = tensor_arena_take(c->out->arena, (size_t)n, sizeof *c->cell);
    if (!c->cell) return qkv_io_fail(c->error, "out of memory"), QKV_IO_FAILED;
    list_open(c, all, n);
    c->total = c->n;
    if (c->n == 0) return QKV_IO_OK;
    pthread_mutex_init(&c->mutex, NULL);
    const bool ok = run_rounds(c, all, n);
    pthread_mutex_destroy(&c->mutex);
    if (!ok) return QKV_IO_FAILED;
    if (c->n == 0) return QKV_IO_OK;
    qkv_io_fail(c->error, "stopped after %d of %d trainings; the same command goes on", c->done,
                c->total);
    return QKV_IO_STOPPED;
}

qkv_io_status qkv_study_run_cells(const qkv_io *io, const qkv_study *s, const qkv_study_cell *cells,
                                  int n, const qkv_study_options *o, qkv_study_results *out,
                                  char *error) {
    if (!QKV_IO_GIVEN(error, s, cells, o, out)) return QKV_IO_FAILED;
    crew c = {.s = s, .o = o, .out = out, .error = error, .watch = qkv_io_watch_start()};
    char ignored[QKV_IO_ERROR];
    *error = '\0';
    if (!qkv_io_make_directory(io, o->dir, error) ||
        !qkv_study_store_open(&c.store, io, s, o->dir, out, error))
        return QKV_IO_FAILED;
    const qkv_io_status status = run_open(&c, cells, n);
    const bool failed = status != QKV_IO_OK;
    return qkv_study_store_close(&c.store, failed ? ignored : error) ? status : QKV_IO_FAILED;
}

qkv_io_status qkv_study_run(const qkv_io *io, const qkv_study *s, const qkv_study_options *o,
                            qkv_study_results *out, char *error) {
    if (!QKV_IO_GIVEN(error, s, o, out)) return QKV_IO_FAILED;
    const int n = s->n_variants * s->seeds;
    qkv_study_cell *all = tensor_arena_take(out->arena, (size_t)n, sizeof *all);
    int lock;
    if (!all) return qkv_io_fail(error, "out of memory"), QKV_IO_FAILED;
    // all variants' first seed, then their second ... so that an early look shows something of each
    for (int i = 0; i < n; i++)
        all[i] = (qkv_study_cell){i % s->n_variants, s->first_seed + i / s->n_variants};
    if (!qkv_io_make_directory(io, o->dir, error) ||
        !qkv_run_lock(io, o->dir, "study", &lock, error))
        return QKV_IO_FAILED;
    const qkv_io_status status = qkv_study_run_cells(io, s, all, n, o, out, error);
    qkv_run_close_directory(io, lock);
    return status;
}
