/* Standard normal numbers: pinned bits, the C library's opinion, and their moments. */
#include "tensor/rng.h"

#include <math.h>
#include <string.h>

#include "tests/lib/check.h"

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Computed by an independent implementation of the same formulas in Python. The last bits are the
 * first to move when a compiler fuses or reorders. */
static void pinned_normals(void **state) {
    (void)state;
    static const uint64_t want[] = {0x3f92e64ab1f6a96a, 0x3fe48c5e9e01d5f5, 0x3fdf02a1bfc9617d,
                                    0x3fef937175a38988, 0x3ff3b6eec01be642, 0xbff78df5690e236c,
                                    0x3ff6f4cd088f2d7b, 0xbff01e2330448d30};
    rng r = rng_stream(1, "normal", 0);
    for (int i = 0; i < 8; i++) assert_int_equal(bits_of(rng_normal(&r)), want[i]);

    uint64_t sum = 0;
    r = rng_stream(1, "normal", 1);
    for (int i = 0; i < 20000; i++) sum = sum * 0x100000001b3 ^ bits_of(rng_normal(&r));
    assert_int_equal(sum, 0x50ea2607a13f2476);
}

/* The polar method with the C library's logarithm, from the same draws. */
static double normal_by_libm(rng *r) {
    for (;;) {
        double u = 2 * rng_double(r) - 1;
        double v = 2 * rng_double(r) - 1;
        // A fused sum would be another s, and near 1 its logarithm is sensitive.
        volatile double uu = u * u, vv = v * v;
        double s = uu + vv;
        if (s > 0 && s < 1) return u * sqrt(-2 * log(s) / s);
    }
}

static void normals_agree_with_libm(void **state) {
    (void)state;
    rng r = rng_stream(4, "normal", 0), other = r;
    for (int i = 0; i < 100000; i++) {
        double want = normal_by_libm(&other);
        assert_close(rng_normal(&r), want, 2e-15 * fabs(want));
        assert_same_bits(&r, &other, 1);  // nothing is kept for the next call
    }
}

static void normals_have_their_moments(void **state) {
    (void)state;
    enum { DRAWS = 400000 };
    rng r = rng_stream(4, "normal", 1);
    double power[5] = {0}, lag = 0, previous = 0, beyond[4] = {0};
    for (int i = 0; i < DRAWS; i++) {
        double x = rng_normal(&r), y = 1;
        for (int p = 0; p < 5; p++, y *= x) power[p] += y / DRAWS;
        for (int sigma = 1; sigma < 4; sigma++) beyond[sigma] += fabs(x) > sigma ? 1. / DRAWS : 0;
        lag += x * previous / DRAWS;
        previous = x;
    }
    // Five standard deviations of the mean of something whose variance is 1.
    const double five = 5 / sqrt(DRAWS);
    assert_close(power[1], 0, five);
    assert_close(power[2], 1, five * sqrt(2));
    assert_close(power[3], 0, five * sqrt(15));
    assert_close(power[4], 3, five * sqrt(96));
    assert_close(lag, 0, five);
    for (int sigma = 1; sigma < 4; sigma++) {
        double p = erfc(sigma / sqrt(2));
        assert_close(beyond[sigma], p, five * sqrt(p * (1 - p)));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(pinned_normals),
    cmocka_unit_test(normals_agree_with_libm),
    cmocka_unit_test(normals_have_their_moments),
};
CHECK_MAIN(tests)
