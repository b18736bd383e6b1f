/* run.c - the trainings of a study, several at once, each result written down as soon as it is
 * there. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "train/pool.h"
#include "train/study/study.h"

typedef struct {
    int variant, seed;
} job;

typedef struct {
    const train_study *s;
    const train_study_options *o;
    job *jobs;
    int n, done;
    train_results *out;
    train_appender file;
    pthread_mutex_t mutex;  // of out, file, done and error
    bool failed;
    double began;
    char *error;
} crew;

static double clock_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Notes a finished training; called with the mutex held. */
static bool note(crew *c, const train_result *r, const train_measures *measured) {
    train_result kept = *r;
    char why[TRAIN_ERROR];
    kept.measures = (train_measures){.arena = c->out->arena};
    for (int i = 0; i < measured->n; i++)
        train_measure_add(&kept.measures, measured->at[i].x, "%s", measured->at[i].name);
    if (r->error) {
        kept.error = tensor_arena_take(c->out->arena, strlen(r->error) + 1, 1);
        if (kept.error) strcpy(kept.error, r->error);
    }
    char *line = train_result_line(c->s, r);
    bool ok = line && !kept.measures.failed && train_results_add(c->out, &kept);
    if (!ok) snprintf(c->error, TRAIN_ERROR, "out of memory");
    if (ok && !train_append(&c->file, line, strlen(line), why)) {
        ok = false;
        snprintf(c->error, TRAIN_ERROR, "%s", why);
    }
    free(line);
    return ok;
}

static void work(void *ctx, int item, int worker) {
    crew *c = ctx;
    char error[TRAIN_ERROR] = "";
    (void)worker;
    if (c->failed || (c->o->stop && *c->o->stop)) return;
    tensor_arena *arena = tensor_arena_new(NULL);
    train_measures measures = {.arena = arena, .failed = !arena};
    train_result r = {.variant = c->jobs[item].variant, .seed = c->jobs[item].seed};
    double began = clock_seconds();
    if (!arena || !train_study_job(c->s, r.variant, r.seed, c->o->plugin, c->o->threads, c->o->stop,
                                   &measures, error))
        r.error = error;
    train_measure_add(&measures, clock_seconds() - began, "seconds");
    r.measures = measures;
    bool stopped = c->o->stop && *c->o->stop;
    pthread_mutex_lock(&c->mutex);
    if (!stopped && !note(c, &r, &measures)) c->failed = true;
    c->done += !stopped;
    if (c->o->progress && !stopped)
        c->o->progress(c->o->ctx, c->done, c->n, clock_seconds() - c->began);
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
        if (i % c->o->parts != c->o->part || train_results_find(c->out, j.variant, j.seed))
            continue;
        c->jobs[total++] = j;
    }
    c->n = total;
    return c->jobs != NULL;
}

train_status train_study_run(const train_io *io, const train_study *s, const train_study_options *o,
                             train_results *out, char *error) {
    crew c = {.s = s, .o = o, .out = out, .error = error, .began = clock_seconds()};
    char path[TRAIN_PATH], ignored[TRAIN_ERROR];
    *error = '\0';
    if (!train_make_directory(io, o->dir, error) ||
        !train_path(path, o->dir, "results.jsonl", error))
        return TRAIN_FAILED;
    train_file_status read = train_results_read(io, path, s, out, error);
    if (read != TRAIN_FILE_OK) return read == TRAIN_FILE_DAMAGED ? TRAIN_DAMAGED : TRAIN_FAILED;
    if (!list_jobs(&c)) return snprintf(error, TRAIN_ERROR, "out of memory"), TRAIN_FAILED;
    if (c.n == 0) return TRAIN_DONE;
    if (!train_append_open(&c.file, io, path, UINT64_MAX, error)) return TRAIN_FAILED;
    train_pool *pool = train_pool_new(NULL, o->jobs < c.n ? o->jobs : c.n);
    if (pool) {
        pthread_mutex_init(&c.mutex, NULL);
        train_pool_run(pool, work, &c, c.n);
        pthread_mutex_destroy(&c.mutex);
    } else {
        snprintf(error, TRAIN_ERROR, "out of memory");
    }
    train_pool_free(pool);
    bool closed = train_append_close(&c.file, c.failed ? ignored : error);
    if (!pool || c.failed || !closed) return TRAIN_FAILED;
    if (c.done == c.n) return TRAIN_DONE;
    snprintf(error, TRAIN_ERROR, "stopped after %d of %d trainings; the same command goes on",
             c.done, c.n);
    return TRAIN_STOPPED;
}
