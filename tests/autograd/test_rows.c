/* Ops that take some rows, or a block of numbers, at a time: shapes that fill such blocks, and end within
 * them, against one number at a time. */
#include "autograd/op.h"
#include "tensor/rng.h"
#include "tests/lib/check.h"
#include "tests/lib/fixture.h"

static int below(rng *r, int n) { return (int)rng_below(r, (uint32_t)n); }

static tensor_shape any_shape(rng *r) {
    static const int most[] = {0, 100, 70, 40, 19, 9};
    tensor_shape s = {.rank = 1 + below(r, 5)};
    for (int i = 0; i < s.rank; i++) s.dim[i] = 1 + below(r, most[s.rank]);
    return s;
}

/* Where element i of y, whose dimension k is x's axes[k], stands in x. */
static size_t origin(size_t i, tensor_shape x, const int *axes) {
    size_t at = 0;
    for (int k = x.rank - 1; k >= 0; k--) {
        const size_t dim = (size_t)x.dim[axes[k]];
        at += i % dim * ag_inner(x, axes[k]);
        i /= dim;
    }
    return at;
}

static void permute_moves_every_number(void **state) {
    (void)state;
    rng r = rng_seed(5, 1);
    for (int trial = 0; trial < 100; trial++) {
        ag_graph_reset(g);
        const tensor_shape s = any_shape(&r);
        int axes[TENSOR_MAXRANK] = {0}, scratch[TENSOR_MAXRANK];
        rng_choose(&r, s.rank, s.rank, axes, scratch);
        ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, s), *y = ag_permute(x, s.rank, axes);
        ag_node *twice = ag_add(ag_permute(x, s.rank, axes), ag_mul(y, y));
        real *dy = ag_take(g, y->val.n, sizeof *dy);
        for (size_t i = 0; i < y->val.n; i++) dy[i] = (real)(i % 7);
        assert_true(ag_backward(twice, dy));
        for (size_t i = 0; i < y->val.n; i++) {
            const size_t at = origin(i, s, axes);
            assert_true(y->val.x[i] == x->val.x[at]);
            const real want = dy[i] * y->val.x[i];
            assert_true(real_abs(x->grad[at] - (want + want + dy[i])) <= 64 * REAL_EPSILON);
        }
    }
}

static void rows_are_added_up_in_order(void **state) {
    (void)state;
    rng r = rng_seed(6, 1);
    for (int trial = 0; trial < 100; trial++) {
        ag_graph_reset(g);
        const int rows = 1 + below(&r, 50), n = 1 + below(&r, 70);
        ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, rows, n));
        ag_node *sum = ag_sum(x, 1, (int[]){-1}), *mean = ag_mean(x, 1, (int[]){1});
        for (int i = 0; i < rows; i++) {
            real expected = 0;
            for (int k = 0; k < n; k++) expected += x->val.x[i * n + k];
            assert_true(sum->val.x[i] == expected);
            assert_true(mean->val.x[i] == expected / (real)n);
        }
    }
}

static void squared_error_sees_every_number(void **state) {
    (void)state;
    for (int n = 1; n < 40; n++) {
        ag_graph_reset(g);
        static const real one = 1;
        ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, n));
        ag_node *y = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, n));
        for (int i = 0; i < n; i++) x->val.x[i] = (real)i, y->val.x[i] = (real)(3 * i - 1);
        ag_node *error = ag_squared_error(x, y, &one);
        assert_true(ag_backward(error, NULL));
        real expected = 0;
        for (int i = 0; i < n; i++) {
            const real d = x->val.x[i] - y->val.x[i];
            expected += d * d;
            assert_true(x->grad[i] == 2 * d && y->grad[i] == -2 * d);
        }
        assert_true(error->val.x[0] == expected);  // whole numbers
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(permute_moves_every_number, begin, end),
    cmocka_unit_test_setup_teardown(rows_are_added_up_in_order, begin, end),
    cmocka_unit_test_setup_teardown(squared_error_sees_every_number, begin, end),
};
CHECK_MAIN(tests)
