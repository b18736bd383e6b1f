/* Elementary functions of one number, beside libm's; and where they end. */
#include "tensor/scalar.h"

#include <math.h>
#include <string.h>

#include "tensor/rng.h"
#include "tests/lib/check.h"

static const double EPS = 0x1p-52;

static void assert_near(const char *what, double x, double got, double expected, double units) {
    if (got == expected) return;
    const double place = fabs(expected) * EPS + 0x1p-1074;
    if (!(fabs(got - expected) <= (units + 1) * place))  // libm's own last digit
        fail_msg("%s(%.17g) is %.17g, libm's %.17g", what, x, got, expected);
}

static void as_exact_as_said(void **state) {
    (void)state;
    rng r = rng_stream(1, "scalar", 0);
    for (int i = 0; i < 200000; i++) {
        const double u = 2 * rng_double(&r) - 1, x = u * (i % 2 ? 745 : 3), y = fabs(u) * 20;
        const double size = ldexp(0.5 + fabs(u) / 2, (int)rng_below(&r, 2000) - 1040);
        const double base = i % 2 ? 0.9 + y / 200 : 1e4, exponent = i % 3 ? -fabs(u) : 2000 * u;
        assert_near("exp", x, tensor_exp(x), exp(x), 2);
        assert_near("log", size, tensor_log(size), log(size), 2);
        assert_near("log", 1 + u / 1e3, tensor_log(1 + u / 1e3), log(1 + u / 1e3), 2);
        assert_near("log1p", u, tensor_log1p(u), log1p(u), 4);
        assert_near("log1p", u * 1e-17, tensor_log1p(u * 1e-17), log1p(u * 1e-17), 4);
        if (fabs(exponent * log(base)) < 700)
            assert_near("pow", base, tensor_pow(base, exponent), pow(base, exponent), 3);
        const double angle = u * (i % 3 ? 10 : 0x1p20);
        assert_close(tensor_sin(angle), sin(angle), 2 * EPS);
        assert_close(tensor_cos(angle), cos(angle), 2 * EPS);
    }
}

static void ends(void **state) {
    (void)state;
    assert_true(tensor_exp(0) == 1 && tensor_exp(-INFINITY) == 0 && tensor_exp(-1e300) == 0);
    assert_true(isinf(tensor_exp(INFINITY)) && isinf(tensor_exp(1e9)) && isnan(tensor_exp(NAN)));
    assert_true(tensor_log(1) == 0 && tensor_log(0) == -INFINITY && isinf(tensor_log(INFINITY)));
    assert_true(isnan(tensor_log(-1)) && isnan(tensor_log(NAN)));
    assert_true(tensor_pow(0, 3) == 0 && tensor_pow(0, 0) == 1 && tensor_pow(1, 1e9) == 1);
    assert_true(tensor_sin(0) == 0 && tensor_cos(0) == 1 && tensor_pow(10000, -0.0) == 1);
    assert_close(tensor_exp(1), 2.718281828459045235, 2 * EPS);
}

/* The bits, whatever the compiler and the processor. */
static void bits(void **state) {
    (void)state;
    uint64_t hash = 14695981039346656037u;
    for (int i = 1; i < 2000; i++) {
        const double x = i * 0.37;
        const double y[] = {tensor_exp(-x), tensor_log(x), tensor_pow(0.999, i), tensor_sin(x),
                            tensor_cos(x)};
        unsigned char bytes[sizeof y];
        memcpy(bytes, y, sizeof y);
        for (size_t k = 0; k < sizeof y; k++) hash = (hash ^ bytes[k]) * 1099511628211u;
    }
    if (hash != 0xf92244af497d1dc9u) fail_msg("%016llx", (unsigned long long)hash);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(as_exact_as_said),
    cmocka_unit_test(ends),
    cmocka_unit_test(bits),
};
CHECK_MAIN(tests)
