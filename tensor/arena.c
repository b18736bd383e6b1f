/* arena.c - memory that is freed all at once. */
#include "tensor/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, FIRST_BLOCK = 1 << 14, LARGEST_STEP = 1 << 24 };

typedef struct block {
    struct block *next;
    size_t size, used;  // of the bytes after the header
} block;

struct tensor_arena {
    const tensor_allocator *mem;
    block *first, *last;
    size_t bytes;
};

static size_t round_up(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static void *malloc_alloc(void *ctx, size_t size) {
    (void)ctx;
    return size > SIZE_MAX - ALIGN ? NULL : aligned_alloc(ALIGN, round_up(size));
}

static void malloc_release(void *ctx, void *p) {
    (void)ctx;
    free(p);
}

const tensor_allocator tensor_malloc = {malloc_alloc, malloc_release, NULL};

tensor_arena *tensor_arena_new(const tensor_allocator *mem) {
    if (!mem) mem = &tensor_malloc;
    tensor_arena *a = mem->alloc(mem->ctx, sizeof *a);
    if (a) *a = (tensor_arena){.mem = mem, .bytes = sizeof *a};
    return a;
}

void tensor_arena_free(tensor_arena *a) {
    if (!a) return;
    for (block *b = a->first, *next; b; b = next) {
        next = b->next;
        a->mem->release(a->mem->ctx, b);
    }
    a->mem->release(a->mem->ctx, a);
}

/* The next block with room for `size` bytes, a kept one or a new one. Blocks double up to 16 MiB. */
static block *block_for(tensor_arena *a, size_t size) {
    for (block *b = a->last; b; b = b->next) {
        a->last = b;
        if (b->size - b->used >= size) return b;
    }
    size_t want = a->bytes < FIRST_BLOCK ? FIRST_BLOCK : a->bytes;
    if (want > LARGEST_STEP) want = LARGEST_STEP;
    if (want < size) want = size;
    block *b = a->mem->alloc(a->mem->ctx, ALIGN + want);
    if (!b) return NULL;
    *b = (block){.size = want};
    *(a->last ? &a->last->next : &a->first) = b;
    a->last = b;
    a->bytes += ALIGN + want;
    return b;
}

void *tensor_arena_take(tensor_arena *a, size_t count, size_t size) {
    if (size && count > (SIZE_MAX - 4 * ALIGN) / size) return NULL;
    size_t bytes = round_up(count * size);
    block *b = a ? block_for(a, bytes) : NULL;
    if (!b) return NULL;
    char *p = (char *)b + ALIGN + b->used;
    b->used += bytes;
    memset(p, 0, bytes);
    return p;
}

real *tensor_arena_reals(tensor_arena *a, size_t count) {
    return tensor_arena_take(a, count, sizeof(real));
}

void *tensor_arena_grow(tensor_arena *a, void *at, size_t n, size_t more, size_t *room,
                        size_t size) {
    enum { LEAST = 32 };
    if (!room) return NULL;
    if (more <= *room - n) return at;
    if (more > SIZE_MAX / 4 - n) return NULL;
    size_t want = 2 * (n + more) > LEAST ? 2 * (n + more) : LEAST;
    void *larger = tensor_arena_take(a, want, size);
    if (!larger) return NULL;
    if (n) memcpy(larger, at, n * size);
    *room = want;
    return larger;
}

void tensor_arena_reset(tensor_arena *a) {
    if (!a) return;
    for (block *b = a->first; b; b = b->next) b->used = 0;
    a->last = a->first;
}
