/* run.c - the trainings of a study, several at once, each result written down as soon as it is
 * there. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/io/given.h"
#include "train/run/files.h"
#include "train/study/study.h"
#include "train/trainer/pool.h"

typedef struct {
    int variant, seed;
} job;

typedef struct {
    const qkv_study *s;
    const qkv_study_options *o;
    job *jobs;
    int n, done;
    qkv_study_results *out;
    qkv_io_appender file;
    pthread_mutex_t mutex;  // of out, file, done and error
    bool failed;
    qkv_io_watch watch;
    char *error;
} crew;

/* A training that failed: its error, for the texts. */
static bool add_failed(qkv_study_results *out, const qkv_study_result *r) {
    qkv_study_result failed = {.variant = r->variant, .seed = r->seed};
    char *why = tensor_arena_take(out->arena, strlen(r->error) + 1, 1);
    if (!why) return false;
    failed.error = strcpy(why, r->error);
    return qkv_study_results_add(out, &failed);
}

/* Notes a finished training; called with the mutex held. What is known of it is what its line says: the same
 * digits now as when it is read again. */
static bool note(crew *c, const qkv_study_result *r) {
    char why[QKV_IO_ERROR];
    char *line = qkv_study_result_line(c->s, r);
    bool ok = line && (r->error ? add_failed(c->out, r)
                                : qkv_study_results_add_line(c->s, line, strlen(line), c->out));
    if (!ok) qkv_io_fail(c->error, "out of memory");
    if (ok && !qkv_io_append(&c->file, line, strlen(line), why)) {
        ok = false;
        qkv_io_fail(c->error, "%s", why);
    }
    free(line);
    return ok;
}

static void work(void *ctx, int item, int worker) {
    crew *c = ctx;
    char error[QKV_IO_ERROR] = "";
    (void)worker;
    if (c->failed || (c->o->stop && *c->o->stop)) return;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_probe_measures measures = {.arena = arena, .failed = !arena};
    qkv_study_result r = {.variant = c->jobs[item].variant, .seed = c->jobs[item].seed};
    qkv_io_watch watch = qkv_io_watch_start();
    if (!arena || !qkv_study_job(c->s, r.variant, r.seed, c->o->plugin, c->o->threads, c->o->stop,
                                 &measures, error))
        r.error = error;
    qkv_probe_measure_add(&measures, qkv_io_watch_read(&watch), "seconds");
    r.measures = measures;
    bool stopped = c->o->stop && *c->o->stop;
    pthread_mutex_lock(&c->mutex);
    if (!stopped && !note(c, &r)) c->failed = true;
    c->done += !stopped;
    if (c->o->progress && !stopped)
        c->o->progress(c->o->ctx, c->done, c->n, qkv_io_watch_read(&c->watch));
    pthread_mutex_unlock(&c->mutex);
    tensor_arena_free(arena);
}

/* This part's trainings that have no result yet: all variants' first seed, then their second ... so
 * that an early look shows something of each. */
static bool list_jobs(crew *c) {
    int total = 0, all = c->s->n_variants * c->s->seeds;
    c->jobs = tensor_arena_take(c->out->arena, (size_t)all, sizeof *c->jobs);
    for (int i = 0; c->jobs && i < all; i++) {
        job j = {i % c->s->n_variants, c->s->first_seed + i / c->s->n_variants};
        if (i % c->o->parts != c->o->part || qkv_study_results_find(c->out, j.variant, j.seed))
            continue;
        c->jobs[total++] = j;
    }
    c->n = total;
    return c->jobs != NULL;
}

/* With the directory locked. */
static qkv_io_status run_in(const qkv_io *io, const qkv_study *s, const qkv_study_options *o,
                            qkv_study_results *out, char *error) {
    crew c = {.s = s, .o = o, .out = out, .error = error, .watch = qkv_io_watch_start()};
    char path[QKV_IO_PATH], ignored[QKV_IO_ERROR];
    *error = '\0';
    if (!qkv_io_path(path, o->dir, "results.jsonl", error)) return QKV_IO_FAILED;
    qkv_io_status read = qkv_study_results_read(io, path, s, out, error);
    if (read != QKV_IO_OK) return read;
    if (!list_jobs(&c)) return qkv_io_fail(error, "out of memory"), QKV_IO_FAILED;
    if (c.n == 0) return QKV_IO_OK;
    if (!qkv_io_append_open(&c.file, io, path, UINT64_MAX, error)) return QKV_IO_FAILED;
    qkv_trainer_pool *pool = qkv_trainer_pool_new(NULL, o->jobs < c.n ? o->jobs : c.n);
    if (pool) {
        pthread_mutex_init(&c.mutex, NULL);
        qkv_trainer_pool_run(pool, work, &c, c.n);
        pthread_mutex_destroy(&c.mutex);
    } else {
        qkv_io_fail(error, "out of memory");
    }
    qkv_trainer_pool_free(pool);
    bool closed = qkv_io_append_close(&c.file, c.failed ? ignored : error);
    if (!pool || c.failed || !closed) return QKV_IO_FAILED;
    if (c.done == c.n) return QKV_IO_OK;
    qkv_io_fail(error, "stopped after %d of %d trainings; the same command goes on", c.done, c.n);
    return QKV_IO_STOPPED;
}

qkv_io_status qkv_study_run(const qkv_io *io, const qkv_study *s, const qkv_study_options *o,
                            qkv_study_results *out, char *error) {
    if (!QKV_IO_GIVEN(error, s, o, out)) return QKV_IO_FAILED;
    int lock;
    if (!qkv_io_make_directory(io, o->dir, error) ||
        !qkv_run_lock(io, o->dir, "study", &lock, error))
        return QKV_IO_FAILED;
    qkv_io_status status = run_in(io, s, o, out, error);
    qkv_run_close_directory(io, lock);
    return status;
}
