/* pool.c - a few threads that share out numbered items. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // sched_getaffinity
#endif

#include "train/trainer/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "tensor/flush.h"

enum { MAX_THREADS = 256, SPINS = 4000 };

typedef struct {
    qkv_trainer_pool *pool;
    int index;
    pthread_t thread;
} worker;

struct qkv_trainer_pool {
    const tensor_allocator *mem;
    int size, spins;
    qkv_trainer_pool_fn *fn;
    void *ctx;
    atomic_ullong ticket;  // run << 32 | items not yet taken: a late worker takes no old item
    atomic_uint round;     // counts runs; a change wakes the workers
    atomic_int undone;     // items not yet done: who takes none is not waited for
    atomic_bool stop;
    pthread_mutex_t mutex;  // for those who sleep
    pthread_cond_t wake, done;
    worker workers[MAX_THREADS];
};

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Takes items until there are none. What fn and ctx are is read only while an item is held: until it is
 * done, the run they belong to cannot end. */
static void take_items(qkv_trainer_pool *p, int index) {
    unsigned long long ticket = atomic_load(&p->ticket);
    while ((ticket & UINT32_MAX) > 0) {
        if (!atomic_compare_exchange_weak(&p->ticket, &ticket, ticket - 1)) continue;
        p->fn(p->ctx, (int)(ticket & UINT32_MAX) - 1, index);
        if (atomic_fetch_sub(&p->undone, 1) == 1) {
            pthread_mutex_lock(&p->mutex);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->mutex);
        }
        ticket = atomic_load(&p->ticket);
    }
}

/* Waits for a round other than `seen`. */
static unsigned await_round(qkv_trainer_pool *p, unsigned seen) {
    for (int i = 0; i < p->spins; i++) {
        if (atomic_load(&p->round) != seen) return atomic_load(&p->round);
        relax();
    }
    pthread_mutex_lock(&p->mutex);
    while (atomic_load(&p->round) == seen) pthread_cond_wait(&p->wake, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
    return atomic_load(&p->round);
}

static void *work(void *arg) {
    worker *w = arg;
    qkv_trainer_pool *p = w->pool;
    tensor_flush_begin();  // the thread is the pool's own, and ends with it
    for (unsigned seen = 0;;) {
        seen = await_round(p, seen);
        if (atomic_load(&p->stop)) return NULL;
        take_items(p, w->index);
    }
}

static void announce(qkv_trainer_pool *p) {
    pthread_mutex_lock(&p->mutex);
    atomic_fetch_add(&p->round, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
}

int qkv_trainer_processors(void) {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) > 0)
        return CPU_COUNT(&mine);
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    return all > 0 && all <= MAX_THREADS ? (int)all : all > 0 ? MAX_THREADS : 1;
}

qkv_trainer_pool *qkv_trainer_pool_new(const tensor_allocator *mem, int threads) {
    if (!mem) mem = &tensor_malloc;
    qkv_trainer_pool *p = mem->alloc(mem->ctx, sizeof *p);
    if (!p) return NULL;
    *p = (qkv_trainer_pool){.mem = mem, .size = 1};
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    p->spins = threads <= qkv_trainer_processors() ? SPINS : 0;  // or it steals from whom it awaits
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    for (int i = 1; i < threads; i++) {
        p->workers[i] = (worker){.pool = p, .index = i};
        if (pthread_create(&p->workers[i].thread, NULL, work, &p->workers[i]) != 0) break;
        p->size++;
    }
    return p;
}

void qkv_trainer_pool_free(qkv_trainer_pool *p) {
    if (!p) return;
    atomic_store(&p->stop, true);
    announce(p);
    for (int i = 1; i < p->size; i++) pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->mutex);
    p->mem->release(p->mem->ctx, p);
}

int qkv_trainer_pool_size(const qkv_trainer_pool *p) { return p->size; }

static void share_out(qkv_trainer_pool *p, qkv_trainer_pool_fn *fn, void *ctx, int n) {
    if (p->size == 1 || n <= 1) {
        for (int i = 0; i < n; i++) fn(ctx, i, 0);
        return;
    }
    p->fn = fn;
    p->ctx = ctx;
    atomic_store(&p->undone, n);
    atomic_store(&p->ticket, ((atomic_load(&p->ticket) >> 32) + 1) << 32 | (unsigned)n);
    announce(p);
    take_items(p, 0);
    for (int i = 0; i < p->spins; i++) {
        if (atomic_load(&p->undone) == 0) return;
        relax();
    }
    pthread_mutex_lock(&p->mutex);
    while (atomic_load(&p->undone) > 0) pthread_cond_wait(&p->done, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

void qkv_trainer_pool_run(qkv_trainer_pool *p, qkv_trainer_pool_fn *fn, void *ctx, int n) {
    const tensor_flush before = tensor_flush_begin();
    share_out(p, fn, ctx, n);
    tensor_flush_end(before);
}
