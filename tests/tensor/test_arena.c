/* Arenas: alignment, zeroes, separate pieces, refusals, reuse without allocation, and running out
 * of memory. */
#include "tensor/arena.h"

#include <string.h>

#include "tests/lib/check.h"

static const size_t SIZES[] = {1,     63, 64,     65, 0,       1000, 16384,
                               16385, 7,  100000, 3,  1 << 20, 8,    40000};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES };

static bool is_aligned(const void *p) { return (uintptr_t)p % 64 == 0; }

static bool is_filled(const void *p, size_t n, unsigned char byte) {
    const unsigned char *x = p;
    for (size_t i = 0; i < n; i++)
        if (x[i] != byte) return false;
    return true;
}

/* Takes a piece of each size, in turn from the front or from the back of the list. Fills piece i
 * with the byte i + 1, and finds all as they were left when the last is filled: they do not
 * overlap. False when memory ran out. */
static bool take_all(tensor_arena *a, bool backwards) {
    unsigned char *piece[N_SIZES];
    for (int i = 0; i < N_SIZES; i++) {
        size_t size = SIZES[backwards ? N_SIZES - 1 - i : i];
        piece[i] = tensor_arena_take(a, size, 1);
        if (!piece[i]) return false;
        assert_true(is_aligned(piece[i]));
        assert_true(is_filled(piece[i], size, 0));
        memset(piece[i], i + 1, size);
    }
    for (int i = 0; i < N_SIZES; i++) {
        size_t size = SIZES[backwards ? N_SIZES - 1 - i : i];
        assert_true(is_filled(piece[i], size, (unsigned char)(i + 1)));
    }
    return true;
}

static void pieces_are_aligned_zeroed_and_apart(void **state) {
    (void)state;
    check_allocator c;
    check_allocator_init(&c, 0, false);  // whose blocks are full of rubbish
    tensor_arena *a = tensor_arena_new(&c.mem);
    for (int round = 0; round < 4; round++) {
        assert_true(take_all(a, round % 2));
        assert_true(take_all(a, round % 2));
        tensor_arena_reset(a);
    }
    assert_non_null(tensor_arena_take(a, (size_t)1 << 25, 1));  // more than any kept block has
    assert_true(take_all(a, false));
    tensor_arena_free(a);
    assert_int_equal(c.live, 0);
}

static void default_allocator_serves(void **state) {
    (void)state;
    tensor_arena *a = tensor_arena_new(NULL);
    assert_non_null(a);
    assert_true(take_all(a, false));
    tensor_arena_free(a);
    tensor_arena_free(NULL);
}

static void malloc_table_keeps_its_contract(void **state) {
    (void)state;
    for (size_t size = 1; size < 300; size++) {
        void *p = tensor_malloc.alloc(tensor_malloc.ctx, size);
        assert_non_null(p);
        assert_true(is_aligned(p));
        memset(p, 1, size);
        tensor_malloc.release(tensor_malloc.ctx, p);
    }
    for (size_t off = 0; off < 64; off++)  // rounded up to the alignment these would be nearly 0
        assert_null(tensor_malloc.alloc(tensor_malloc.ctx, SIZE_MAX - off));
}

static void reals_have_their_size(void **state) {
    (void)state;
    tensor_arena *a = tensor_arena_new(NULL);
    for (size_t n = 0; n < 200; n++) {
        real *x = tensor_arena_reals(a, n), *next = tensor_arena_reals(a, 1);
        assert_non_null(x);
        assert_non_null(next);
        assert_true(is_aligned(x));
        for (size_t i = 0; i < n; i++) assert_true(x[i] == 0);
        for (size_t i = 0; i < n; i++) x[i] = 1;
        assert_true(*next == 0);
    }
    tensor_arena_free(a);
}

static void nothing_is_a_valid_pointer(void **state) {
    (void)state;
    check_allocator c;
    check_allocator_init(&c, 0, false);
    tensor_arena *a = tensor_arena_new(&c.mem);
    for (int i = 0; i < 3; i++) {
        assert_non_null(tensor_arena_take(a, 0, 0));
        assert_non_null(tensor_arena_take(a, 0, 8));
        assert_non_null(tensor_arena_take(a, SIZE_MAX, 0));
        assert_non_null(tensor_arena_take(a, 0, SIZE_MAX));
        assert_non_null(tensor_arena_reals(a, 0));
        assert_non_null(tensor_arena_take(a, 16384, 1));  // a block that is full to its end
        tensor_arena_reset(a);
    }
    tensor_arena_free(a);
    assert_int_equal(c.live, 0);
}

static void overflow_is_refused(void **state) {
    (void)state;
    check_allocator c;
    check_allocator_init(&c, 0, false);
    tensor_arena *a = tensor_arena_new(&c.mem);
    for (size_t off = 0; off < 400; off++) {  // where rounding up or a header would pass the end
        assert_null(tensor_arena_take(a, SIZE_MAX - off, 1));
        assert_null(tensor_arena_take(a, 1, SIZE_MAX - off));
    }
    for (size_t size = 2; size < 100;
         size++) {  // count * size is 0 to 99 modulo the size of a size_t
        assert_null(tensor_arena_take(a, SIZE_MAX / size + 1, size));
        assert_null(tensor_arena_take(a, size, SIZE_MAX / size + 1));
    }
    const size_t root = (size_t)1 << (sizeof(size_t) * 4);
    assert_null(tensor_arena_take(a, root, root));
    assert_null(tensor_arena_reals(a, SIZE_MAX / sizeof(real) + 2));
    assert_null(tensor_arena_reals(a, SIZE_MAX));
    assert_true(take_all(a, false));
    tensor_arena_free(a);
    assert_int_equal(c.live, 0);
}

static void blocks_stay_until_the_end(void **state) {
    (void)state;
    check_allocator c;
    check_allocator_init(&c, 0, false);
    tensor_arena *a = tensor_arena_new(&c.mem);
    for (int i = 0; i < 40; i++) assert_non_null(tensor_arena_take(a, (size_t)i * 1000, 1));
    const size_t full = c.bytes;
    assert_true(full >= 40 * 39 / 2 * 1000);
    tensor_arena_reset(a);
    assert_int_equal(c.bytes, full);
    tensor_arena_free(a);
    assert_int_equal(c.bytes, 0);
}

/* Small pieces share blocks, whose number grows with the logarithm of the whole. */
static void small_pieces_share_blocks(void **state) {
    (void)state;
    check_allocator c;
    check_allocator_init(&c, 0, false);
    tensor_arena *a = tensor_arena_new(&c.mem);
    long calls[2];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100000; i++) assert_non_null(tensor_arena_take(a, 1, 1));
        calls[round] = c.calls;
        tensor_arena_reset(a);
    }
    assert_true(calls[0] < 20);
    assert_int_equal(calls[1], calls[0]);  // all blocks are used again, not only the last
    assert_true(c.bytes < 4 * 64 * 100000);
    tensor_arena_free(a);
}

/* What makes a training step free of allocation: a repeated pattern of takes finds its blocks
 * again, also when another pattern ran in between (a validation batch). */
static void repeated_patterns_do_not_allocate(void **state) {
    (void)state;
    check_allocator c;
    check_allocator_init(&c, 0, false);
    tensor_arena *a = tensor_arena_new(&c.mem);
    long calls = 0;
    for (int round = 0; round < 10; round++) {
        if (round == 2) calls = c.calls;  // both patterns have been seen
        assert_true(take_all(a, round % 2));
        tensor_arena_reset(a);
    }
    assert_int_equal(c.calls, calls);
    tensor_arena_free(a);

    check_allocator_init(&c, 0, false);
    a = tensor_arena_new(&c.mem);
    assert_true(take_all(a, false));
    calls = c.calls;
    tensor_arena_reset(a);
    assert_true(take_all(a, false));  // a single pattern is at home after its first run
    assert_int_equal(c.calls, calls);
    tensor_arena_free(a);
}

static bool scenario(const tensor_allocator *mem, void *ctx) {
    (void)ctx;
    tensor_arena *a = tensor_arena_new(mem);
    if (!a) return false;
    bool ok = true;
    for (int round = 0; round < 3; round++) {
        ok = take_all(a, round % 2) && ok;
        if (round) tensor_arena_reset(a);
    }
    tensor_arena_free(a);
    return ok;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    check_every_failure(scenario, NULL);
}

static void failure_leaves_the_arena_whole(void **state) {
    (void)state;
    check_allocator c;
    check_allocator_init(&c, 3, false);
    tensor_arena *a = tensor_arena_new(&c.mem);
    unsigned char *before = tensor_arena_take(a, 100, 1);
    memset(before, 9, 100);
    const size_t bytes = c.bytes;
    assert_null(tensor_arena_take(a, 1 << 20, 1));  // the third call
    assert_int_equal(c.bytes, bytes);
    unsigned char *after = tensor_arena_take(a, 1 << 20, 1);
    assert_non_null(after);
    assert_true(is_filled(after, 1 << 20, 0));
    assert_true(is_filled(before, 100, 9));
    tensor_arena_free(a);
    assert_int_equal(c.live, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(pieces_are_aligned_zeroed_and_apart),
    cmocka_unit_test(default_allocator_serves),
    cmocka_unit_test(malloc_table_keeps_its_contract),
    cmocka_unit_test(reals_have_their_size),
    cmocka_unit_test(nothing_is_a_valid_pointer),
    cmocka_unit_test(overflow_is_refused),
    cmocka_unit_test(blocks_stay_until_the_end),
    cmocka_unit_test(small_pieces_share_blocks),
    cmocka_unit_test(repeated_patterns_do_not_allocate),
    cmocka_unit_test(every_allocation_may_fail),
    cmocka_unit_test(failure_leaves_the_arena_whole),
};
CHECK_MAIN(tests)
