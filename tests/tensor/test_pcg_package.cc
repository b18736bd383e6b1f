// Our PCG32 against the C++ package by its author (Debian: libpcg-cpp-dev), millions of numbers
// long; skipped where the package is missing. Being C++, this file also proves that the public
// headers of tensor/ are usable from it.

// This one stands before cmocka, whose macro fail() would rewrite the streams' method of that name.
#if __has_include(<pcg_random.hpp>)
#include <pcg_random.hpp>
#define HAVE_PACKAGE 1
#else
#define HAVE_PACKAGE 0
#endif

#include "tensor/arena.h"
#include "tensor/gemm.h"
#include "tensor/real.h"
#include "tensor/rng.h"
#include "tensor/shape.h"
#include "tests/lib/check.h"

static void headers_are_usable_from_cxx(void **) {
    std::size_t n = 0;
    assert_true(tensor_count(tensor_dims(2, 2, 2), &n));
    tensor_arena *arena = tensor_arena_new(&tensor_malloc);
    real *a = tensor_arena_reals(arena, n), *c = tensor_arena_reals(arena, n);
    for (std::size_t i = 0; i < n; i++) a[i] = real(i + 1);  // [1 2; 3 4]
    gemm_view view = {a, 2, 1};
    gemm_mul(GEMM_SET, 2, 2, 2, view, view, c, 2);
    const real square[] = {7, 10, 15, 22};  // by hand
    assert_same_bits(c, square, 4);
    tensor_arena_free(arena);
    assert_true(sizeof REAL_NAME > 0 && real(1) + REAL_EPSILON > real(1));
}

#if HAVE_PACKAGE
struct seeding {
    std::uint64_t state, sequence;
};
static const seeding SEEDINGS[] = {
    {42, 54}, {0, 0}, {1, 1u << 31}, {~0ull, ~0ull >> 1}, {0x123456789abcdef, 99}};

static void draws_are_the_packages(void **) {
    for (seeding s : SEEDINGS) {
        rng ours = rng_seed(s.state, s.sequence);
        pcg32 theirs(s.state, s.sequence);
        for (int i = 0; i < 1000000; i++)
            if (rng_u32(&ours) != theirs()) fail_msg("number %d differs", i);
    }
}

// The package's own bounded draw, operator()(bound), rejects from below as ours does. That both
// also used up equally many raw numbers shows in the plain draw which follows each.
static void bounded_draws_are_the_packages(void **) {
    static const std::uint32_t bounds[] = {
        1, 2, 3, 6, 10, 1000, 0x7fffffff, 0x80000000, 0x80000001, 0xc0000000, 0xffffffff};
    for (seeding s : SEEDINGS) {
        rng ours = rng_seed(s.state, s.sequence);
        pcg32 theirs(s.state, s.sequence);
        for (std::uint32_t bound : bounds)
            for (int i = 0; i < 50000; i++) {
                if (rng_below(&ours, bound) != theirs(bound))
                    fail_msg("bound %u, number %d differs", bound, i);
                if (rng_u32(&ours) != theirs())
                    fail_msg("bound %u: out of step after number %d", bound, i);
            }
    }
}

static void jumps_are_the_packages(void **) {
    for (seeding s : SEEDINGS) {
        rng ours = rng_seed(s.state, s.sequence), deltas = rng_stream(1, "jumps", s.sequence);
        pcg32 theirs(s.state, s.sequence);
        for (int i = 0; i < 50000; i++) {
            std::uint64_t delta = std::uint64_t(rng_u32(&deltas)) << 32 | rng_u32(&deltas);
            delta >>= rng_below(&deltas, 64);  // of every length
            rng_advance(&ours, i % 2 ? delta : -delta);
            if (i % 2)
                theirs.advance(delta);
            else
                theirs.backstep(delta);
            if (rng_u32(&ours) != theirs())
                fail_msg("jump %d by %ju differs", i, std::uintmax_t(delta));
        }
    }
}
#else
static void missing() {
    print_message("pcg_random.hpp is not installed (Debian: libpcg-cpp-dev); not compared\n");
    skip();
}
static void draws_are_the_packages(void **) { missing(); }
static void bounded_draws_are_the_packages(void **) { missing(); }
static void jumps_are_the_packages(void **) { missing(); }
#endif

static const CMUnitTest tests[] = {
    cmocka_unit_test(headers_are_usable_from_cxx),
    cmocka_unit_test(draws_are_the_packages),
    cmocka_unit_test(bounded_draws_are_the_packages),
    cmocka_unit_test(jumps_are_the_packages),
};
CHECK_MAIN(tests)
