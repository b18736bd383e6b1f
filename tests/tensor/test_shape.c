/* Shapes: counting, refusals, rows, broadcasting, text. */
#include "tensor/shape.h"

#include <limits.h>
#include <string.h>

#include "tests/lib/check.h"

static size_t count_of(tensor_shape s) {
    size_t n = 999;
    assert_true(tensor_count(s, &n));
    return n;
}

static bool refused(tensor_shape s) {
    size_t n;
    return !tensor_count(s, &n);
}

static void dims_keep_order_and_rank(void **state) {
    (void)state;
    tensor_shape s = tensor_dims(5, 2, 3, 5, 7, 11);
    assert_int_equal(s.rank, 5);
    const int want[] = {2, 3, 5, 7, 11};
    assert_same_bits(s.dim, want, 5);
    assert_int_equal(tensor_dims(0).rank, 0);
    assert_int_equal(tensor_dims(1, 0).rank, 1);
}

static void bad_rank_or_dimension_is_refused(void **state) {
    (void)state;
    assert_int_equal(tensor_dims(-1).rank, -1);
    assert_int_equal(tensor_dims(TENSOR_MAXRANK + 1, 1, 1, 1, 1, 1, 1).rank, -1);
    assert_int_equal(tensor_dims(INT_MIN).rank, -1);
    for (int at = 0; at < 3; at++)
        assert_int_equal(tensor_dims(3, at == 0 ? -1 : 2, at == 1 ? -1 : 2, at == 2 ? -1 : 0).rank,
                         -1);

    assert_true(refused(tensor_dims(-1)));
    assert_true(refused((tensor_shape){.rank = INT_MIN}));
    assert_true(refused((tensor_shape){.rank = TENSOR_MAXRANK + 1}));
    assert_true(refused((tensor_shape){.rank = INT_MAX}));
    assert_true(refused((tensor_shape){.rank = 2, .dim = {0, -1}}));
    assert_true(refused((tensor_shape){.rank = 2, .dim = {INT_MIN, INT_MIN}}));
}

static void count_is_the_product(void **state) {
    (void)state;
    assert_int_equal(count_of(tensor_dims(0)), 1);
    assert_int_equal(count_of(tensor_dims(1, 7)), 7);
    assert_int_equal(count_of(tensor_dims(3, 2, 3, 5)), 30);
    assert_int_equal(count_of(tensor_dims(5, 2, 3, 5, 7, 11)), 2310);
    assert_int_equal(count_of(tensor_dims(1, 0)), 0);
    assert_int_equal(count_of(tensor_dims(2, 3, 0)), 0);
    assert_int_equal(count_of(tensor_dims(2, 0, 4)), 0);
    assert_int_equal(count_of(tensor_dims(5, 0, 0, 0, 0, 0)), 0);
    // Dimensions beyond the rank are not looked at.
    assert_int_equal(count_of((tensor_shape){.rank = 1, .dim = {4, -9, 0, INT_MAX, 3}}), 4);
}

/* The largest sizes are refused by elements times sizeof(double) in both builds: the limit is 2^61
 * elements. */
static void overflow_is_refused(void **state) {
    (void)state;
    if (sizeof(size_t) != 8) skip();
    const int half = 1 << 30;
    assert_int_equal(count_of(tensor_dims(2, half, half)), (size_t)1 << 60);
    assert_int_equal(count_of(tensor_dims(2, half, INT_MAX)), ((size_t)1 << 61) - (size_t)half);
    assert_true(refused(tensor_dims(3, half, half, 2)));
    assert_true(refused(tensor_dims(3, 2, half, half)));
    assert_true(refused(tensor_dims(2, INT_MAX, INT_MAX)));
    assert_true(refused(tensor_dims(4, half, half, half, half)));  // 2^120 is 0 modulo 2^64
    assert_true(refused(tensor_dims(5, INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX)));
    for (int zero = 0; zero < 5; zero++) {
        tensor_shape s = tensor_dims(5, half, half, half, half, half);
        s.dim[zero] = 0;
        assert_true(refused(s));
    }
    assert_int_equal(count_of(tensor_dims(3, half, 0, half)), 0);
}

static void same_shape_compares_what_counts(void **state) {
    (void)state;
    assert_true(tensor_same_shape(tensor_dims(0), tensor_dims(0)));
    assert_true(tensor_same_shape(tensor_dims(2, 3, 4), tensor_dims(2, 3, 4)));
    assert_false(tensor_same_shape(tensor_dims(2, 3, 4), tensor_dims(2, 4, 3)));
    assert_false(tensor_same_shape(tensor_dims(2, 3, 4), tensor_dims(2, 3, 5)));
    assert_false(tensor_same_shape(tensor_dims(2, 5, 4), tensor_dims(2, 3, 4)));
    assert_false(tensor_same_shape(tensor_dims(1, 1), tensor_dims(0)));
    assert_false(tensor_same_shape(tensor_dims(1, 3), tensor_dims(2, 3, 0)));
    tensor_shape rubbish_behind = {.rank = 1, .dim = {3, 8}};
    assert_true(tensor_same_shape(rubbish_behind, tensor_dims(1, 3)));
}

static void rows_times_width_is_count(void **state) {
    (void)state;
    static const struct {
        tensor_shape shape;
        int width;
        size_t rows;
    } table[] = {
        {{0, {0}}, 1, 1},
        {{1, {7}}, 7, 1},
        {{1, {0}}, 0, 1},
        {{2, {3, 4}}, 4, 3},
        {{2, {3, 0}}, 0, 3},
        {{2, {0, 4}}, 4, 0},
        {{3, {2, 3, 5}}, 5, 6},
        {{3, {2, 0, 5}}, 5, 0},
        {{5, {2, 3, 5, 7, 11}}, 11, 210},
        {{4, {1 << 20, 1 << 20, 2, 3}}, 3, (size_t)1 << 41},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tensor_shape s = table[i].shape;
        assert_int_equal(tensor_width(s), table[i].width);
        assert_int_equal(tensor_rows(s), table[i].rows);
        assert_int_equal(tensor_rows(s) * (size_t)tensor_width(s), count_of(s));
    }
}

/* numpy's rule, both ways round; no `out`: the shapes do not fit. */
static void broadcast_is_numpys(void **state) {
    (void)state;
    static const struct {
        const char *out;
        tensor_shape a, b;
    } table[] = {
        {"[]", {0, {0}}, {0, {0}}},
        {"[7]", {0, {0}}, {1, {7}}},
        {"[0]", {0, {0}}, {1, {0}}},
        {"[3,4]", {2, {3, 4}}, {2, {3, 4}}},
        {"[3,4]", {2, {3, 4}}, {1, {4}}},
        {"[3,4]", {2, {3, 4}}, {1, {1}}},
        {"[3,4]", {2, {3, 1}}, {2, {1, 4}}},
        {"[3,4]", {2, {3, 1}}, {1, {4}}},
        {"[2,3,5]", {3, {2, 3, 5}}, {2, {3, 1}}},
        {"[2,3,5]", {3, {2, 1, 5}}, {2, {3, 1}}},
        {"[2,3,5,7,11]", {5, {2, 1, 5, 1, 11}}, {4, {3, 1, 7, 1}}},
        {"[1,1,4]", {3, {1, 1, 1}}, {1, {4}}},
        {"[0]", {1, {0}}, {1, {1}}},
        {"[0,4]", {2, {0, 4}}, {2, {1, 4}}},
        {"[3,0]", {2, {3, 0}}, {2, {1, 1}}},
        {"[3,0]", {2, {3, 1}}, {1, {0}}},
        {NULL, {1, {3}}, {1, {4}}},
        {NULL, {2, {3, 4}}, {1, {3}}},
        {NULL, {2, {3, 4}}, {2, {4, 4}}},
        {NULL, {3, {2, 3, 4}}, {3, {2, 2, 4}}},
        {NULL, {1, {0}}, {1, {2}}},
        {NULL, {2, {0, 4}}, {2, {3, 4}}},
        {NULL, {5, {2, 3, 5, 7, 11}}, {4, {3, 5, 7, 12}}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int swap = 0; swap <= 1; swap++) {
            tensor_shape a = swap ? table[i].b : table[i].a, b = swap ? table[i].a : table[i].b,
                         out;
            char text[TENSOR_SHAPE_TEXT];
            bool fits = tensor_broadcast(a, b, &out);
            if (fits != (table[i].out != NULL))
                fail_msg("row %zu (swapped: %d): fits is %d", i, swap, fits);
            if (fits) assert_string_equal(tensor_shape_text(out, text), table[i].out);
        }
}

static void text_of_every_rank_fits(void **state) {
    (void)state;
    char text[TENSOR_SHAPE_TEXT];
    assert_ptr_equal(tensor_shape_text(tensor_dims(0), text), text);
    assert_string_equal(text, "[]");
    assert_string_equal(tensor_shape_text(tensor_dims(1, 7), text), "[7]");
    assert_string_equal(tensor_shape_text(tensor_dims(3, 2, 0, 40), text), "[2,0,40]");
    tensor_shape largest = tensor_dims(5, INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX);
    assert_string_equal(tensor_shape_text(largest, text),
                        "[2147483647,2147483647,2147483647,2147483647,2147483647]");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(dims_keep_order_and_rank),
    cmocka_unit_test(bad_rank_or_dimension_is_refused),
    cmocka_unit_test(count_is_the_product),
    cmocka_unit_test(overflow_is_refused),
    cmocka_unit_test(same_shape_compares_what_counts),
    cmocka_unit_test(rows_times_width_is_count),
    cmocka_unit_test(broadcast_is_numpys),
    cmocka_unit_test(text_of_every_rank_fits),
};
CHECK_MAIN(tests)
