/* arena.h - all memory of the library: an allocator table, and arenas on top of it.
 *
 * An arena hands out zeroed, 64-byte-aligned pieces and frees them all at once. Nothing is ever
 * freed alone: parameters live as long as their model, a graph until it is recorded again.
 *
 * An arena may be NULL, as tensor_arena_new() returns it when memory is out: it has none to give. */
#pragma once

#include <stddef.h>

#include "tensor/real.h"

TENSOR_C_BEGIN

/* Where memory comes from. alloc returns `size` (> 0) bytes aligned to 64, or NULL; release takes
 * them back. Tests pass a table whose n-th call fails. */
typedef struct {
    void *(*alloc)(void *ctx, size_t size);
    void (*release)(void *ctx, void *block);
    void *ctx;
} tensor_allocator;

extern const tensor_allocator tensor_malloc;  // aligned_alloc and free

typedef struct tensor_arena tensor_arena;

/* A new, empty arena over `mem` (NULL: tensor_malloc), or NULL when memory is out. The caller owns
 * it and `mem` must outlive it. */
tensor_arena *tensor_arena_new(const tensor_allocator *mem);
void tensor_arena_free(tensor_arena *a);  // frees everything taken from it; NULL is allowed

/* `count` zeroed elements of `size` bytes, aligned to 64; NULL when memory is out or the product
 * overflows. Zero bytes give a valid pointer which must not be read. */
void *tensor_arena_take(tensor_arena *a, size_t count, size_t size);
real *tensor_arena_reals(tensor_arena *a, size_t count);

/* An array that grows: at[n .. n+more-1] may be written in what is returned, which is `at` (NULL: as
 * yet none) or a zero-padded copy of its first n elements with at least twice the room. *room, at
 * first 0, is the elements there is room for. NULL, and all as it was, when memory is out. */
void *tensor_arena_grow(tensor_arena *a, void *at, size_t n, size_t more, size_t *room,
                        size_t size);

/* Forgets everything taken, keeps the blocks for the next takers. */
void tensor_arena_reset(tensor_arena *a);

TENSOR_C_END
