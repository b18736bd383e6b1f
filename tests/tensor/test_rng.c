/* Raw, bounded and fractional numbers, choices and jumps. Here as in the other tests of rng.h the
 * seeds are fixed, so that a bound of five standard deviations is met for good or not at all. */
#include "tensor/rng.h"

#include <math.h>
#include <stdlib.h>

#include "tests/lib/check.h"

static bool same_state(rng a, rng b) { return a.state == b.state && a.inc == b.inc; }

/* Pearson's chi square of `cells` counts which should all be equal; then it is near cells - 1, with
 * variance 2 (cells - 1). */
static void assert_uniform(const long *count, int cells) {
    double total = 0, chi = 0, free = cells - 1;
    for (int i = 0; i < cells; i++) total += (double)count[i];
    for (int i = 0; i < cells; i++)
        chi += pow((double)count[i] - total / cells, 2) / (total / cells);
    assert_close(chi, free, 5 * sqrt(2 * free));
}

static void published_vectors(void **state) {
    (void)state;
    static const uint32_t want[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330,
                                    0x83d2f293, 0xbfa4784b, 0xcbed606e};
    rng r = rng_seed(42, 54);
    for (int i = 0; i < 6; i++) assert_int_equal(rng_u32(&r), want[i]);
}

/* Bounded numbers by definition: raw ones below 2^32 mod bound are passed over, the others are
 * taken modulo the bound. Of `draws` numbers, counts the raw ones which were passed over. */
static long check_below(rng *r, uint32_t bound, int draws) {
    rng raw = *r;
    long passed_over = 0;
    for (int i = 0; i < draws; i++) {
        uint64_t x = rng_u32(&raw);
        for (; x < (UINT64_C(1) << 32) % bound; passed_over++) x = rng_u32(&raw);
        assert_int_equal(rng_below(r, bound), x % bound);
        assert_true(same_state(*r, raw));
    }
    return passed_over;
}

static void bounded_numbers_reject(void **state) {
    (void)state;
    static const uint32_t bounds[] = {1,          2,          3,         6,          10,
                                      1000,       65537,      1 << 30,   0x7fffffff, 0x80000000,
                                      0x80000001, 0xc0000000, UINT32_MAX};
    enum { DRAWS = 20000 };
    rng r = rng_stream(2, "below", 0);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        long rejected = check_below(&r, bounds[i], DRAWS);
        // The number of rejections before a success is geometric.
        double p = (double)((UINT64_C(1) << 32) % bounds[i]) / 0x1p32;
        assert_close((double)rejected / DRAWS, p / (1 - p), 1e-9 + 5 * sqrt(p / DRAWS) / (1 - p));
    }
}

/* A raw number x below 2^31 is the threshold of the bound 2^32 - x: the first which is taken. For a
 * bound less by one it is the last which is passed over. */
static void rejection_ends_at_the_threshold(void **state) {
    (void)state;
    rng r = rng_stream(2, "below", 2);
    for (int i = 0; i < 100; i++) {
        rng taken = r, passed_over = r;
        uint32_t x = rng_u32(&r);
        if (x >> 31) continue;
        assert_int_equal(rng_below(&taken, 0 - x), x);
        assert_true(same_state(taken, r));
        rng_below(&passed_over, 0 - (x + 1));
        assert_false(same_state(passed_over, r));
    }
}

static void bounded_numbers_are_unbiased(void **state) {
    (void)state;
    static const uint32_t bounds[] = {2, 3, 6, 7, 10, 24};
    rng r = rng_stream(2, "below", 1);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        long count[24] = {0};
        for (int k = 0; k < 100000; k++) count[rng_below(&r, bounds[i])]++;
        assert_uniform(count, (int)bounds[i]);
    }
    long third[3] = {0};  // a plain remainder would fall into the first third twice as often
    for (int k = 0; k < 100000; k++) third[rng_below(&r, 0xc0000000) >> 30]++;
    assert_uniform(third, 3);
}

static void bound_0_draws_nothing(void **state) {
    (void)state;
    rng r = rng_seed(42, 54), before = r;
    assert_int_equal(rng_below(&r, 0), UINT32_MAX);
    assert_true(same_state(r, before));
}

/* A state whose output is 0xffffffff: rotation 0, and bits 27..58 of s ^ s >> 18 all set. Its low
 * 27 bits are free, so the increment can be chosen such that the next state has the same output. */
static rng two_outputs_of_all_ones(void) {
    uint64_t s = (uint64_t)0x3ffff << 41, next = s | 1;
    return (rng){.state = s, .inc = next - s * 6364136223846793005u};
}

static void fractions_are_below_one(void **state) {
    (void)state;
    rng r = two_outputs_of_all_ones();
    assert_true(r.inc & 1);
    assert_int_equal(rng_u32(&r), UINT32_MAX);
    assert_int_equal(rng_u32(&r), UINT32_MAX);
    r = two_outputs_of_all_ones();
    assert_true(rng_double(&r) == 1 - 0x1p-53);
    r = (rng){.state = 0, .inc = 1};
    assert_true(rng_double(&r) == 0);
}

static void fractions_are_uniform(void **state) {
    (void)state;
    enum { DRAWS = 100000, CELLS = 64 };
    rng r = rng_stream(3, "fraction", 0), raw = r;
    long doubles[CELLS] = {0}, low_bits[CELLS] = {0};
    for (int i = 0; i < DRAWS; i++) {
        double d = rng_double(&r);
        rng_advance(&raw, 2);
        assert_true(d >= 0 && d < 1);
        doubles[(int)(d * CELLS)]++;
        low_bits[(uint64_t)(d * 0x1p53) % CELLS]++;  // the second word counts too
    }
    assert_true(same_state(r, raw));
    assert_uniform(doubles, CELLS);
    assert_uniform(low_bits, CELLS);
}

static void advance_equals_drawing(void **state) {
    (void)state;
    for (uint64_t delta = 0; delta < 300; delta++) {
        rng start = rng_stream(5, "advance", delta), drawn = start, jumped = start;
        for (uint64_t i = 0; i < delta; i++) rng_u32(&drawn);
        rng_advance(&jumped, delta);
        assert_true(same_state(drawn, jumped));
        rng_advance(&jumped, -delta);
        assert_true(same_state(jumped, start));
    }
}

/* Any number at once, in any pieces, is what one after the other gives. */
static void filling_equals_drawing(void **state) {
    (void)state;
    rng one = rng_stream(7, "fill", 1), many = one;
    uint32_t out[100];
    for (size_t n = 0; n <= 100; n++) {
        rng_fill(&many, out, n);
        for (size_t i = 0; i < n; i++) assert_int_equal(out[i], rng_u32(&one));
        assert_true(one.state == many.state && one.inc == many.inc);
    }
}

static void advance_adds_up_modulo_2_to_64(void **state) {
    (void)state;
    rng random = rng_stream(5, "delta", 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t a = (uint64_t)rng_u32(&random) << 32 | rng_u32(&random);
        uint64_t b = (uint64_t)rng_u32(&random) << 32 | rng_u32(&random);
        rng start = rng_seed(a, b), twice = start, once = start;
        rng_advance(&twice, a);
        rng_advance(&twice, b);
        rng_advance(&once, a + b);
        assert_true(same_state(twice, once));
        rng_advance(&once, 0 - (a + b));
        assert_true(same_state(once, start));
    }
}

static void chosen_are_distinct(void **state) {
    (void)state;
    rng r = rng_stream(6, "choose", 0);
    for (int n = 0; n <= 20; n++)
        for (int k = 0; k <= n; k++) {
            int *out = calloc((size_t)k + 1, sizeof *out);
            int *scratch = calloc((size_t)n + 1, sizeof *scratch);
            bool seen[20] = {false};
            out[k] = scratch[n] = 12345;
            rng before = r;
            rng_choose(&r, n, k, out, scratch);
            for (int i = 0; i < k; i++) {
                assert_in_range(out[i], 0, n - 1);
                assert_false(seen[out[i]]);
                seen[out[i]] = true;
            }
            assert_int_equal(out[k], 12345);
            assert_int_equal(scratch[n], 12345);
            assert_true(k > 0 || same_state(r, before));
            free(out);
            free(scratch);
        }
}

/* All n (n-1) ... ordered choices are equally likely: 2 of 5, and the 24 orders of 4. */
static void choices_are_uniform(void **state) {
    (void)state;
    rng r = rng_stream(6, "choose", 1);
    long pairs[25] = {0}, off_diagonal[20], orders[256] = {0}, valid[24];
    int out[4], scratch[5], n = 0;
    for (int i = 0; i < 100000; i++) {
        rng_choose(&r, 5, 2, out, scratch);
        pairs[out[0] * 5 + out[1]]++;
        rng_choose(&r, 4, 4, out, scratch);
        orders[out[0] * 64 + out[1] * 16 + out[2] * 4 + out[3]]++;
    }
    for (int i = 0; i < 25; i++)
        if (i / 5 != i % 5) off_diagonal[n++] = pairs[i];
    assert_uniform(off_diagonal, 20);
    n = 0;
    for (int i = 0; i < 256; i++)
        if (orders[i] && n < 24) valid[n++] = orders[i];
    assert_int_equal(n, 24);
    assert_uniform(valid, 24);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(published_vectors),
    cmocka_unit_test(bounded_numbers_reject),
    cmocka_unit_test(rejection_ends_at_the_threshold),
    cmocka_unit_test(bounded_numbers_are_unbiased),
    cmocka_unit_test(bound_0_draws_nothing),
    cmocka_unit_test(fractions_are_below_one),
    cmocka_unit_test(fractions_are_uniform),
    cmocka_unit_test(filling_equals_drawing),
    cmocka_unit_test(advance_equals_drawing),
    cmocka_unit_test(advance_adds_up_modulo_2_to_64),
    cmocka_unit_test(chosen_are_distinct),
    cmocka_unit_test(choices_are_uniform),
};
CHECK_MAIN(tests)
