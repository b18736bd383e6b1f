/* Short vectors: loads and stores of every length, choosing, folding, and e^x everywhere. */
#include "tensor/vec.h"

#include <stdlib.h>

#include "tensor/exp.h"
#include "tensor/rng.h"
#include "tests/lib/check.h"

#ifdef QKV_DOUBLE
#define REAL_MAX     DBL_MAX
#define REAL_DIGITS  DBL_MANT_DIG
#define REAL_MIN_EXP DBL_MIN_EXP
#define next_real    nextafter
#else
#define REAL_MAX     FLT_MAX
#define REAL_DIGITS  FLT_MANT_DIG
#define REAL_MIN_EXP FLT_MIN_EXP
#define next_real    nextafterf
#endif

static void loads_and_stores(void **state) {
    (void)state;
    real from[3 * VEC], to[3 * VEC], lanes[VEC];
    for (int i = 0; i < 3 * VEC; i++) from[i] = (real)(i + 1);
    for (int at = 0; at < 2 * VEC; at++) {  // at any alignment
        memset(to, 0, sizeof to);
        vec_store(to + at, vec_load(from + at));
        for (int i = 0; i < 3 * VEC; i++)
            assert_true(to[i] == (i >= at && i < at + VEC ? from[i] : 0));
    }
    static const real values[] = {0,         -0.0,        1, (real)INFINITY, (real)-INFINITY,
                                  (real)NAN, REAL_MIN / 4};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        vec_store(lanes, vec_set(values[v]));
        for (int i = 0; i < VEC; i++) assert_same_bits(lanes + i, values + v, 1);
    }
}

/* n elements on the heap: a sanitizer sees the first one too many. */
static void partial_loads_and_stores(void **state) {
    (void)state;
    for (int n = 1; n < VEC; n++) {
        real *from = malloc((size_t)n * sizeof(real)), *to = malloc((size_t)n * sizeof(real));
        real lanes[VEC], all[VEC];
        for (int i = 0; i < n; i++) from[i] = (real)(i + 1);
        vec_store(lanes, vec_load_part(from, n, -5));
        for (int i = 0; i < VEC; i++) assert_true(lanes[i] == (i < n ? from[i] : -5));
        vec_store_part(to, n, vec_load(lanes));
        assert_same_bits(to, from, (size_t)n);

        for (int i = 0; i < VEC; i++) all[i] = 99;
        vec_store_part(all, n, vec_load(lanes));
        for (int i = 0; i < VEC; i++) assert_true(all[i] == (i < n ? from[i] : 99));
        free(from);
        free(to);
    }
}

static void select_and_max_by_lane(void **state) {
    (void)state;
    real a[VEC], b[VEC], chosen[VEC], larger[VEC], smaller[VEC];
    for (int odd = 0; odd <= 1; odd++) {
        for (int i = 0; i < VEC; i++) {
            a[i] = i % 2 == odd ? (real)(i + 1) : (real)-INFINITY;
            b[i] = (real)0.5;
        }
        vec_store(chosen, vec_select(vec_load(a) > vec_load(b), vec_set(7), vec_set(-7)));
        vec_store(larger, vec_max(vec_load(a), vec_load(b)));
        vec_store(smaller, vec_min(vec_load(a), vec_load(b)));
        for (int i = 0; i < VEC; i++) {
            assert_true(chosen[i] == (i % 2 == odd ? 7 : -7));
            assert_true(larger[i] == (i % 2 == odd ? a[i] : b[i]));
            assert_true(smaller[i] == (i % 2 == odd ? b[i] : a[i]));
        }
    }
    // Of two, one of them NaN, the second.
    for (int i = 0; i < VEC; i++) a[i] = (real)NAN;
    vec_store(larger, vec_max(vec_load(a), vec_load(b)));
    vec_store(smaller, vec_min(vec_load(a), vec_load(b)));
    assert_same_bits(larger, b, VEC);
    assert_same_bits(smaller, b, VEC);
    assert_true(isnan((double)vec_max(vec_load(b), vec_load(a))[0]));
    assert_true(isnan((double)vec_min(vec_load(b), vec_load(a))[0]));
    // What is not chosen does not matter, be it NaN.
    vec_store(chosen, vec_select(vec_load(b) > 0, vec_load(b), vec_set((real)NAN)));
    assert_same_bits(chosen, b, VEC);
}

static void sum_and_greatest_see_every_lane(void **state) {
    (void)state;
    real lanes[VEC];
    for (int at = 0; at < VEC; at++) {
        for (int i = 0; i < VEC; i++) lanes[i] = i == at ? 1000 : (real)-i;
        assert_true(vec_sum(vec_load(lanes)) == (real)(1000 - VEC * (VEC - 1) / 2 + at));
        assert_true(vec_greatest(vec_load(lanes)) == 1000);
        for (int i = 0; i < VEC; i++) lanes[i] = i == at ? -3 : (real)-INFINITY;
        assert_true(vec_greatest(vec_load(lanes)) == -3);
        for (int i = 0; i < VEC; i++) lanes[i] = i == at ? (real)NAN : 1;
        assert_true(vec_any(vec_load(lanes) != vec_load(lanes)));
        assert_false(vec_any(vec_load(lanes) < 0));
        assert_true(isnan((double)vec_sum(vec_load(lanes))));
    }
}

/* Rounded as one vector's are: the order in which lanes are folded is the same. */
static void many_folded_at_once_are_each_folded_alone(void **state) {
    (void)state;
    rng r = rng_seed(3, 1);
    for (int trial = 0; trial < 1000; trial++) {
        vreal row[VEC];
        real sum[VEC], most[VEC], sums[VEC], greatests[VEC];
        for (int i = 0; i < VEC; i++) {
            for (int k = 0; k < VEC; k++) row[i][k] = (real)rng_normal(&r);
            sum[i] = vec_sum(row[i]);
            most[i] = vec_greatest(row[i]);
        }
        vec_store(sums, vec_sums(row));
        vec_store(greatests, vec_greatests(row));
        assert_same_bits(sums, sum, VEC);
        assert_same_bits(greatests, most, VEC);
    }
}

static real exp_of(real x) { return vec_exp(vec_set(x))[0]; }

/* |e^x - vec_exp(x)| in units of the last place of e^x. */
static double ulps_off(real x) {
    long double exact = expl((long double)x);
    int exponent;
    frexpl(exact, &exponent);
    return (double)(fabsl((long double)exp_of(x) - exact) / ldexpl(1, exponent - REAL_DIGITS));
}

static void assert_exact_to_2_ulp(real x) {
    double off = ulps_off(x);
    if (!(off <= 2))
        fail_msg("exp(%.17g) is %.17g: off by %.3g ulp", (double)x, (double)exp_of(x), off);
}

static real lowest_x(void) { return (real)logl((long double)REAL_MIN); }
static real highest_x(void) { return (real)logl((long double)REAL_MAX); }

static void exp_is_within_2_ulp(void **state) {
    (void)state;
    rng r = rng_stream(1, "exp", 0);
    const double low = (double)lowest_x() * 0.999999, high = (double)highest_x() * 0.999999;
    for (int i = 0; i < 500000; i++)
        assert_exact_to_2_ulp((real)(low + (high - low) * rng_double(&r)));
    for (int i = 0; i < 200000; i++) {  // near 0, where e^x is near 1
        double x = ldexp(rng_double(&r), -(int)rng_below(&r, 60));
        assert_exact_to_2_ulp((real)x);
        assert_exact_to_2_ulp((real)-x);
    }
    const double ln2 = 0.69314718055994530942;
    for (int n = -(int)(-low / ln2); n <= (int)(high / ln2); n++)  // where the power of two changes
        for (int half = 0; half <= 1; half++) {
            real x = (real)((n + half * 0.5) * ln2);
            if ((double)x > high) break;
            assert_exact_to_2_ulp(x);
            assert_exact_to_2_ulp(next_real(x, -1000));
            assert_exact_to_2_ulp(next_real(x, 1000));
        }
}

/* The 1000 numbers on either side of both ends of the range: 0 as soon as e^x is no normal number,
 * infinity as soon as it is beyond the largest, and 2 ulp up to there. */
static void exp_keeps_its_ends(void **state) {
    (void)state;
    real below = lowest_x(), above = below;
    real under = highest_x(), over = under;
    for (int i = 0; i < 1000; i++) {
        const real near_ends[] = {below, above, under, over};
        for (int k = 0; k < 4; k++) {
            long double exact = expl((long double)near_ends[k]);
            if (exact < (long double)REAL_MIN)
                assert_true(exp_of(near_ends[k]) == 0);
            else if (exact > (long double)REAL_MAX)
                assert_true(isinf((double)exp_of(near_ends[k])));
            else
                assert_exact_to_2_ulp(near_ends[k]);
        }
        below = next_real(below, -1000);
        above = next_real(above, 0);
        under = next_real(under, 0);
        over = next_real(over, 1000);
    }
}

static void exp_of_special_values(void **state) {
    (void)state;
    assert_true(exp_of(0) == 1);
    assert_true(exp_of((real)-0.0) == 1);
    assert_true(exp_of(REAL_MIN / 4) == 1);
    for (int payload = 0; payload < 1024; payload++) {  // bits that could be taken for an exponent
        vmask bits = (vmask)vec_set((real)NAN) | payload;
        assert_true(isnan((double)vec_exp((vreal)bits)[0]));
        assert_true(isnan((double)vec_exp(-(vreal)bits)[0]));
    }
    static const real far[] = {90, 1000, 10000, (real)1e30, REAL_MAX, (real)INFINITY};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        if (far[i] > highest_x()) assert_true(isinf((double)exp_of(far[i])) && exp_of(far[i]) > 0);
        if (-far[i] < lowest_x()) assert_true(exp_of(-far[i]) == 0);
    }
}

/* A lane's result depends neither on its place nor on its neighbours. */
static void exp_lanes_are_independent(void **state) {
    (void)state;
    static const real values[] = {
        (real)NAN, (real)INFINITY, (real)-INFINITY, 0, 1, -1, (real)0.3, -20, 1000, -1000};
    enum { COUNT = sizeof values / sizeof *values };
    real in[VEC], out[VEC];
    for (int shift = 0; shift < COUNT; shift++) {
        for (int i = 0; i < VEC; i++) in[i] = values[(i + shift) % COUNT];
        vec_store(out, vec_exp(vec_load(in)));
        for (int i = 0; i < VEC; i++) {
            real alone[VEC];
            vec_store(alone, vec_exp(vec_set(in[i])));
            assert_same_bits(out + i, alone, 1);
        }
    }
}

/* From e^x = 1 down to where it is 0, through all that are no normal numbers: within a unit of their
 * last place. */
static void gradual_exp_fades(void **state) {
    (void)state;
    const long double least = ldexpl(1, REAL_MIN_EXP - REAL_DIGITS);
    real before = 1;
    for (double x = -1; x > (double)lowest_x() - 60; x -= 0.0137) {
        const real y = vec_exp_gradual(vec_set((real)x))[0];
        const long double exact = expl((long double)(real)x);
        assert_true(fabsl((long double)y - exact) <= 2 * exact * (long double)REAL_EPSILON + least);
        assert_true(y <= before);
        before = y;
    }
    assert_true(before == 0);
    assert_true(vec_exp_gradual(vec_set((real)-INFINITY))[0] == 0);
    assert_true(isinf((double)vec_exp_gradual(vec_set((real)INFINITY))[0]));
    assert_true(isnan((double)vec_exp_gradual(vec_set((real)NAN))[0]));
}

/* A product and a sum of two are exact with what they were rounded by. */
static void pairs_are_exact(void **state) {
    (void)state;
    rng r = rng_stream(1, "pairs", 0);
    for (int i = 0; i < 100000; i++) {
        const real a = (real)ldexp(rng_double(&r) - 0.5, (int)rng_below(&r, 40)),
                   b = (real)ldexp(rng_double(&r) - 0.5, (int)rng_below(&r, 40));
        const vec_pair product = vec_product(vec_set(a), vec_set(b)),
                       sum = vec_added(vec_set(a), vec_set(b));
        const double error = fma((double)a, (double)b, -(double)product.high[0]);
        assert_close(product.low[0], error, fabs((double)(a * b)) * 1e-31);
        assert_true(sum.high[0] == a + b);
        if (sizeof(real) < sizeof(double))
            assert_true((double)sum.high[0] + (double)sum.low[0] == (double)a + (double)b);
    }
}

static void a_cotangent_of_0_is_cut(void **state) {
    (void)state;
    static const real slopes[] = {1, (real)INFINITY, (real)-INFINITY, (real)NAN};
    for (int i = 0; i < 4; i++) {
        assert_true(vec_cut(vec_set(0), vec_set(slopes[i]))[0] == 0);
        assert_true(vec_cut(vec_set((real)-0.0), vec_set(slopes[i]))[0] == 0);
    }
    assert_true(vec_cut(vec_set(3), vec_set(2))[0] == 6);
    assert_true(isnan((double)vec_cut(vec_set((real)NAN), vec_set(0))[0]));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(loads_and_stores),
    cmocka_unit_test(partial_loads_and_stores),
    cmocka_unit_test(select_and_max_by_lane),
    cmocka_unit_test(sum_and_greatest_see_every_lane),
    cmocka_unit_test(many_folded_at_once_are_each_folded_alone),
    cmocka_unit_test(exp_is_within_2_ulp),
    cmocka_unit_test(exp_keeps_its_ends),
    cmocka_unit_test(exp_of_special_values),
    cmocka_unit_test(exp_lanes_are_independent),
    cmocka_unit_test(gradual_exp_fades),
    cmocka_unit_test(pairs_are_exact),
    cmocka_unit_test(a_cotangent_of_0_is_cut),
};
CHECK_MAIN(tests)
