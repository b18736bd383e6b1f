/* pool.h - a few threads that share out numbered items.
 *
 * Which thread takes an item is left open, so an item's result must depend on its number only.
 * Waiting threads spin for some microseconds, then sleep: a step is short, and a busy neighbour
 * must not be made to wait for spinners. */
#pragma once

#include "tensor/arena.h"

typedef struct qkv_trainer_pool qkv_trainer_pool;
typedef void qkv_trainer_pool_fn(void *ctx, int item, int worker);

/* The processors on which this process may run (its affinity mask), at least 1. */
int qkv_trainer_processors(void);

/* A pool of `threads` >= 1, the caller's included. If the system refuses some, the pool is
 * smaller: see the size. NULL when memory is out. */
qkv_trainer_pool *qkv_trainer_pool_new(const tensor_allocator *mem, int threads);
void qkv_trainer_pool_free(qkv_trainer_pool *p);
int qkv_trainer_pool_size(const qkv_trainer_pool *p);

/* Runs fn for items 0..n-1, each once, and returns when all are done. worker is 0..size-1. Numbers
 * too small to be normal are 0 meanwhile (tensor/flush.h). */
void qkv_trainer_pool_run(qkv_trainer_pool *p, qkv_trainer_pool_fn *fn, void *ctx, int n);
