/* Streams keyed by (seed, purpose, index): pinned bits, all different, and no two of them alike. */
#include "tensor/rng.h"

#include <math.h>
#include <stdlib.h>

#include "tests/lib/check.h"

/* Computed by an independent implementation of the same formulas in Python. Whoever changes these
 * changes every data set and every initial weight. */
static void pinned_streams(void **state) {
    (void)state;
    static const struct {
        const char *purpose;
        uint64_t seed, index;
        uint32_t want[4];
    } table[] = {
        {"", 0, 0, {0x190dfc97, 0x1e123126, 0x6c4d46dd, 0x23246b6e}},
        {"init", 1, 0, {0x51582bd2, 0x9bde06c3, 0x38bd1d13, 0x3cde960d}},
        {"init", 1, 1, {0x2280e415, 0x117af9f9, 0x370a0bbd, 0xe75e12e3}},
        {"dropout", UINT64_MAX, UINT64_MAX, {0x1d049bd7, 0xae5eb6bb, 0x5d8d3732, 0x83bb4481}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rng r = rng_stream(table[i].seed, table[i].purpose, table[i].index);
        for (int k = 0; k < 4; k++) assert_int_equal(rng_u32(&r), table[i].want[k]);
    }
    assert_int_equal(rng_hash(""), 0xf52a15e9a9b5e89b);
    assert_int_equal(rng_hash("layer0.attn.q.w"), 0x22202d8cc12357b);
    assert_int_equal(rng_hash("\xc3\xa9"), 0x233403617480019e);  // the same where char is unsigned
}

/* Two streams have nothing in common: not the numbers, not the bits, not the fractions. */
static void assert_independent(rng a, rng b) {
    enum { DRAWS = 4096 };
    long equal = 0, bits = 0;
    double product = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint32_t x = rng_u32(&a), y = rng_u32(&b);
        equal += x == y;
        bits += __builtin_popcount(x ^ y);
        product += (x * 0x1p-32 - 0.5) * (y * 0x1p-32 - 0.5) * 12 / DRAWS;
    }
    assert_true(equal <= 1);
    assert_close((double)bits, DRAWS * 16., 5 * sqrt(DRAWS * 8.));
    assert_close(product, 0, 5 / sqrt(DRAWS));
}

static void neighbouring_streams_are_independent(void **state) {
    (void)state;
    const uint64_t top = UINT64_C(1) << 63;
    for (uint64_t i = 0; i < 16; i++) {
        rng r = rng_stream(70, "batch", i);
        assert_independent(r, rng_stream(70, "batch", i + 1));
        assert_independent(r, rng_stream(70, "batch", i ^ top));  // a plain sequence loses this bit
        assert_independent(r, rng_stream(70, "batch", i ^ top >> 1));
        assert_independent(r, rng_stream(71, "batch", i));
        assert_independent(r, rng_stream(70 ^ top, "batch", i));
        assert_independent(r, rng_stream(70, "batcg", i));
        assert_independent(r, rng_stream(70, "", i));
        assert_independent(r, rng_stream(i, "batch", 70));
    }
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Seed, purpose and index all count: no two streams begin in one state, nor share a sequence. */
static void streams_are_all_different(void **state) {
    (void)state;
    static const char *const purposes[] = {"", "a", "b", "ab", "ba", "data.train", "data.valid"};
    enum { SIDE = 40, TOTAL = SIDE * SIDE * 7 };
    static uint64_t states[TOTAL], sequences[TOTAL];
    int n = 0;
    for (uint64_t seed = 0; seed < SIDE; seed++)
        for (uint64_t index = 0; index < SIDE; index++)
            for (int p = 0; p < 7; p++, n++) {
                rng r = rng_stream(seed, purposes[p], index);
                assert_true(r.inc & 1);
                states[n] = r.state;
                sequences[n] = r.inc;
            }
    qsort(states, TOTAL, sizeof *states, by_value);
    qsort(sequences, TOTAL, sizeof *sequences, by_value);
    for (int i = 1; i < TOTAL; i++)
        assert_true(states[i - 1] != states[i] && sequences[i - 1] != sequences[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(pinned_streams),
    cmocka_unit_test(neighbouring_streams_are_independent),
    cmocka_unit_test(streams_are_all_different),
};
CHECK_MAIN(tests)
