/* pool.c - train/trainer/pool.h where there are no threads: the caller takes all items, in order. */
#include "train/trainer/pool.h"

struct qkv_trainer_pool {
    const tensor_allocator *mem;
};

qkv_trainer_pool *qkv_trainer_pool_new(const tensor_allocator *mem, int threads) {
    qkv_trainer_pool *p = mem->alloc(mem->ctx, sizeof *p);
    (void)threads;
    if (p) p->mem = mem;
    return p;
}

void qkv_trainer_pool_free(qkv_trainer_pool *p) {
    if (p) p->mem->release(p->mem->ctx, p);
}

int qkv_trainer_pool_size(const qkv_trainer_pool *p) { return p ? 1 : 0; }

void qkv_trainer_pool_run(qkv_trainer_pool *p, qkv_trainer_pool_fn *fn, void *ctx, int n) {
    (void)p;
    for (int i = 0; i < n; i++) fn(ctx, i, 0);
}
