/* Matrix products: the product by definition against one done by hand, gemm_mul against it for every
 * small size and every kind of view, and what neither may do: write outside C, or skip a zero. */
#include "tensor/gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/rng.h"
#include "tests/lib/check.h"

static const int SIZES[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES };

/* How an operand lies in memory. HEAD is the middle one of three packed side by side, as the heads
 * in [T, H*E] are. */
typedef enum { PLAIN, TURNED, HEAD, HEAD_TURNED, SPREAD, N_LAYOUTS } layout;

typedef struct {
    real *block;     // on the heap and not one element longer than the view, for the sanitizer
    gemm_view view;  // into the block; what lies between its elements is NaN
} operand;

static gemm_view view_of(layout how, int rows, int cols) {
    switch (how) {
        case PLAIN: return (gemm_view){NULL, cols + 3, 1};
        case TURNED: return (gemm_view){NULL, 1, rows + 3};
        case HEAD: return (gemm_view){NULL, 3 * cols, 1};
        case HEAD_TURNED: return (gemm_view){NULL, 1, 3 * rows};
        default: return (gemm_view){NULL, 2 * cols + 1, 2};
    }
}

/* A rows x cols operand. Its elements, uniform in [-1, 1), depend on the seed, not the layout. */
static operand operand_new(layout how, int rows, int cols, uint64_t seed) {
    operand o = {.view = view_of(how, rows, cols)};
    ptrdiff_t first = how == HEAD ? cols : how == HEAD_TURNED ? rows : 0, length = first;
    if (rows && cols) length += (rows - 1) * o.view.row + (cols - 1) * o.view.col + 1;
    o.block = malloc(((size_t)length + !length) * sizeof(real));
    for (ptrdiff_t i = 0; i < length; i++) o.block[i] = (real)NAN;
    rng r = rng_stream(seed, "operand", 0);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            o.block[first + i * o.view.row + j * o.view.col] = (real)(2 * rng_double(&r) - 1);
    o.view.x = o.block + first;
    return o;
}

/* The absolute values, as a plain operand. */
static operand operand_abs(operand from, int rows, int cols) {
    operand o = operand_new(PLAIN, rows, cols, 0);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            o.block[i * o.view.row + j] =
                (real)fabs((double)from.view.x[i * from.view.row + j * from.view.col]);
    return o;
}

/* C with a border: rows are GAP longer than n, and GAP elements stand before and after. */
enum { GAP = 5 };
static const real GUARD = (real)-12345.678;

typedef struct {
    real *block;
    size_t length;
    ptrdiff_t ld;
    real *x;  // element (0,0)
} target;

/* The inside is NaN, which GEMM_SET must not read, or numbers for GEMM_ADD to start from. */
static target target_new(gemm_mode mode, int m, int n) {
    target t = {.length = (size_t)(2 * GAP + m * (n + GAP)), .ld = n + GAP};
    t.block = malloc(t.length * sizeof(real));
    t.x = t.block + GAP;
    for (size_t i = 0; i < t.length; i++) t.block[i] = GUARD;
    rng r = rng_stream(3, "target", 0);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            t.x[i * t.ld + j] = mode == GEMM_SET ? (real)NAN : (real)(2 * rng_double(&r) - 1);
    return t;
}

/* What stands before the rows, behind each and after the last. */
static void assert_border_untouched(target t, int n) {
    real guards[GAP];
    for (int i = 0; i < GAP; i++) guards[i] = GUARD;
    const real *end = t.block + t.length - GAP;
    assert_same_bits(t.block, guards, GAP);
    assert_same_bits(end, guards, GAP);
    for (const real *row = t.x; row < end; row += t.ld) assert_same_bits(row + n, guards, GAP);
}

/* The product by definition, accumulated in double. */
static void naive_product(gemm_mode mode, int m, int n, int k, gemm_view a, gemm_view b, real *c,
                          ptrdiff_t ldc) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = mode == GEMM_ADD ? (double)c[i * ldc + j] : 0;
            for (int p = 0; p < k; p++)
                sum += (double)a.x[i * a.row + p * a.col] * (double)b.x[p * b.row + j * b.col];
            c[i * ldc + j] = (real)sum;
        }
}

/* What naive_product makes of two operands, and how far another product may be from it:
 * 2 sqrt(terms) u sum|terms|, where GEMM_ADD has C itself as one more term. */
typedef struct {
    target want, allowed;
} reference;

static reference reference_of(gemm_mode mode, int m, int n, int k, operand a, operand b) {
    reference r = {target_new(mode, m, n), target_new(mode, m, n)};
    operand abs_a = operand_abs(a, m, k), abs_b = operand_abs(b, k, n);
    target size = r.allowed;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            size.x[i * size.ld + j] = (real)fabs((double)size.x[i * size.ld + j]);
    naive_product(mode, m, n, k, a.view, b.view, r.want.x, r.want.ld);
    naive_product(mode, m, n, k, abs_a.view, abs_b.view, size.x, size.ld);
    assert_border_untouched(r.want, n);
    free(abs_a.block);
    free(abs_b.block);
    return r;
}

static void reference_free(reference r) {
    free(r.want.block);
    free(r.allowed.block);
}

typedef void product(gemm_mode, int m, int n, int k, gemm_view a, gemm_view b, real *c,
                     ptrdiff_t ldc);

static void compare_with(reference r, product *multiply, const char *what, gemm_mode mode, int m,
                         int n, int k, operand a, operand b) {
    target got = target_new(mode, m, n);
    multiply(mode, m, n, k, a.view, b.view, got.x, got.ld);
    assert_border_untouched(got, n);
    double relative = 2 * sqrt(k + (mode == GEMM_ADD)) * (REAL_EPSILON / 2);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            ptrdiff_t at = i * got.ld + j;
            double want = (double)r.want.x[at], error = fabs((double)got.x[at] - want);
            double allowed = relative * (double)r.allowed.x[at];
            if (!(error <= allowed))
                fail_msg("%s, mode %d, m %d n %d k %d: c[%d,%d] is %.9g, expected %.9g +- %.3g",
                         what, mode, m, n, k, i, j, (double)got.x[at], want, allowed);
        }
    free(got.block);
}

static void compare(const char *what, gemm_mode mode, int m, int n, int k, operand a, operand b) {
    reference r = reference_of(mode, m, n, k, a, b);
    compare_with(r, gemm_mul, what, mode, m, n, k, a, b);
    reference_free(r);
}

/* A product of one size, in both modes, with operands laid out in those of the N_LAYOUTS * N_LAYOUTS
 * ways that are wanted, as bits. Numbers do not depend on the layout: one reference serves all.
 * `naive`: naive_product is asked in each of them, too. */
static void compare_layouts(unsigned long ways, int m, int n, int k, bool naive) {
    operand plain_a = operand_new(PLAIN, m, k, 1), plain_b = operand_new(PLAIN, k, n, 2);
    for (gemm_mode mode = GEMM_SET; mode <= GEMM_ADD; mode++) {
        reference r = reference_of(mode, m, n, k, plain_a, plain_b);
        for (int how = 0; how < N_LAYOUTS * N_LAYOUTS; how++) {
            if (!(ways >> how & 1)) continue;
            char what[40];
            layout how_a = (layout)(how / N_LAYOUTS), how_b = (layout)(how % N_LAYOUTS);
            snprintf(what, sizeof what, "layouts %d and %d", how_a, how_b);
            operand a = operand_new(how_a, m, k, 1), b = operand_new(how_b, k, n, 2);
            compare_with(r, gemm_mul, what, mode, m, n, k, a, b);
            if (naive) compare_with(r, naive_product, what, mode, m, n, k, a, b);
            free(a.block);
            free(b.block);
        }
        reference_free(r);
    }
    free(plain_a.block);
    free(plain_b.block);
}

#define WAY(a, b) (1ul << ((a)*N_LAYOUTS + (b)))
static const unsigned long EVERY_WAY = (1ul << N_LAYOUTS * N_LAYOUTS) - 1,
                           TRANSPOSES = WAY(PLAIN, PLAIN) | WAY(PLAIN, TURNED) |
                                        WAY(TURNED, PLAIN) | WAY(TURNED, TURNED);

/* By hand: [1 2 3; 4 5 6] [7 8; 9 10; 11 12], the same added twice, and the transposes of both. */
static void naive_is_the_definition(void **state) {
    (void)state;
    const real a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9, 10, 11, 12};
    const real set[] = {58, 64, 139, 154}, added[] = {116, 128, 278, 308};
    const real turned[] = {39, 49, 59, 54, 68, 82, 69, 87, 105};
    real c[9];
    naive_product(GEMM_SET, 2, 2, 3, (gemm_view){a, 3, 1}, (gemm_view){b, 2, 1}, c, 2);
    assert_same_bits(c, set, 4);
    naive_product(GEMM_ADD, 2, 2, 3, (gemm_view){a, 3, 1}, (gemm_view){b, 2, 1}, c, 2);
    assert_same_bits(c, added, 4);
    naive_product(GEMM_SET, 3, 3, 2, (gemm_view){a, 1, 3}, (gemm_view){b, 1, 2}, c, 3);
    assert_same_bits(c, turned, 9);

    // A sum kept in float would drop the ones.
    const real wide[] = {16777216, 1, 1}, ones[] = {1, 1, 1}, sum = 16777218;
    naive_product(GEMM_SET, 1, 1, 3, (gemm_view){wide, 3, 1}, (gemm_view){ones, 1, 1}, c, 1);
    assert_same_bits(c, &sum, 1);
}

static void every_size_and_transpose(void **state) {
    (void)state;
    for (int m = 0; m < N_SIZES; m++)
        for (int n = 0; n < N_SIZES; n++)
            for (int k = 0; k < N_SIZES; k++)
                compare_layouts(TRANSPOSES, SIZES[m], SIZES[n], SIZES[k], true);
}

static void every_pair_of_layouts(void **state) {
    (void)state;
    static const int sizes[] = {1, 5, 8, 13, 16, 34};
    for (int i = 0; i < 6 * 6 * 6; i++)
        compare_layouts(EVERY_WAY, sizes[i / 36], sizes[i / 6 % 6], sizes[i % 6], true);
}

/* Longer sums than the fast product takes in one go. */
static void long_sums(void **state) {
    (void)state;
    static const int lengths[] = {64, 255, 256, 257, 511, 512, 513, 600, 1025};
    static const int sizes[] = {1, 7, 16, 37};
    const unsigned long heads =
        WAY(HEAD, HEAD) | WAY(HEAD, TURNED) | WAY(TURNED, HEAD) | WAY(TURNED, TURNED);
    for (int k = 0; k < 9; k++)
        for (int i = 0; i < 16; i++)
            compare_layouts(heads, sizes[i / 4], sizes[i % 4], lengths[k], false);
}

static void large_and_flat(void **state) {
    (void)state;
    compare_layouts(WAY(PLAIN, PLAIN), 129, 131, 260, true);
    compare_layouts(WAY(TURNED, TURNED), 1, 700, 3, true);
    compare_layouts(WAY(HEAD, TURNED), 700, 1, 3, true);
    compare_layouts(WAY(HEAD_TURNED, HEAD), 65, 130, 32, true);
}

/* What is cut into blocks and copied because its rows lie far apart, in each layout; and one less of
 * each size. */
static void blocks_of_large_matrices(void **state) {
    (void)state;
    static const int sizes[][3] = {
        {64, 256, 257}, {63, 255, 300}, {130, 320, 140}, {300, 70, 300}, {227, 258, 257}};
    for (int s = 0; s < 5; s++)
        compare_layouts(EVERY_WAY, sizes[s][0], sizes[s][1], sizes[s][2], false);
    // more columns than a block has
    compare_layouts(TRANSPOSES, 65, 2049 + 17, 257, false);
}

/* c = bias + a b; and c = or += -1/2 a b, which is the product of -1/2 a. */
static void bias_and_factor(void **state) {
    (void)state;
    static const int sizes[] = {1, 7, 16, 37, 64, 130, 300};
    for (int i = 0; i < 7 * 7 * 7; i++) {
        int m = sizes[i / 49], n = sizes[i / 7 % 7], k = sizes[i % 7];
        operand a = operand_new(PLAIN, m, k, 1), b = operand_new(HEAD, k, n, 2);
        operand bias = operand_new(PLAIN, 1, n, 3), half = operand_new(PLAIN, m, k, 1);
        for (int r = 0; r < m; r++)
            for (int p = 0; p < k; p++) half.block[r * half.view.row + p] *= (real)-0.5;
        for (int how = 0; how < 3; how++) {
            gemm_mode mode = how == 1 ? GEMM_SET : GEMM_ADD;
            target got = target_new(mode, m, n), want = target_new(mode, m, n);
            for (int r = 0; how == 2 && r < m; r++)
                memcpy(want.x + r * want.ld, bias.view.x, (size_t)n * sizeof(real));
            if (how == 2)
                gemm_mul_bias(m, n, k, a.view, b.view, bias.view.x, got.x, got.ld);
            else
                gemm_mul_scaled(mode, (real)-0.5, m, n, k, a.view, b.view, got.x, got.ld);
            naive_product(mode, m, n, k, how == 2 ? a.view : half.view, b.view, want.x, want.ld);
            assert_border_untouched(got, n);
            for (int r = 0; r < m; r++)
                for (int j = 0; j < n; j++)
                    assert_close(got.x[r * got.ld + j], want.x[r * want.ld + j],
                                 2 * (k + 1.0) * REAL_EPSILON);
            free(got.block);
            free(want.block);
        }
        free(a.block);
        free(b.block);
        free(bias.block);
        free(half.block);
    }
}

/* A view is a formula: rows may run backwards, or all be the same. */
static void any_strides(void **state) {
    (void)state;
    enum { M = 9, N = 18, K = 11 };
    operand a = operand_new(PLAIN, M, K, 1), b = operand_new(PLAIN, K, N, 2);
    operand up = {.view = {a.view.x + (M - 1) * a.view.row, -a.view.row, 1}};
    operand back = {.view = {b.view.x + (N - 1), b.view.row, -1}};
    operand same_row = {.view = {b.view.x, 0, 1}}, same_col = {.view = {a.view.x, a.view.row, 0}};
    for (gemm_mode mode = GEMM_SET; mode <= GEMM_ADD; mode++) {
        compare("upside down", mode, M, N, K, up, back);
        compare("repeated", mode, M, N, K, same_col, same_row);
        compare("repeated and plain", mode, M, N, K, a, same_row);
    }
    free(a.block);
    free(b.block);
}

static void no_terms_give_zeros(void **state) {
    (void)state;
    real some[64 * 256], none = 0;
    for (int i = 0; i < 64 * 256; i++) some[i] = 1;
    gemm_mul(GEMM_SET, 64, 256, 0, (gemm_view){&none, 1, 512}, (gemm_view){&none, 512, 1}, some,
             256);
    for (int i = 0; i < 64 * 256; i++) assert_true(some[i] == 0);
    for (int m = 1; m <= 17; m++)
        for (int n = 1; n <= 40; n++) {
            real zero = 0;
            gemm_view nothing = {&zero, 1, 1};
            target set = target_new(GEMM_SET, m, n), add = target_new(GEMM_ADD, m, n);
            target same = target_new(GEMM_ADD, m, n);
            gemm_mul(GEMM_SET, m, n, 0, nothing, nothing, set.x, set.ld);
            gemm_mul(GEMM_ADD, m, n, 0, nothing, nothing, add.x, add.ld);
            for (int i = 0; i < m; i++)
                for (int j = 0; j < n; j++) assert_same_bits(&set.x[i * set.ld + j], &zero, 1);
            assert_same_bits(add.block, same.block, same.length);
            free(set.block);
            free(add.block);
            free(same.block);
        }
}

/* 0 * inf is NaN wherever the zero stands, in exactly the row or column it belongs to. */
static void zero_times_infinity_is_nan(void **state) {
    (void)state;
    enum { M = 9, K = 5, MOST = 35 };
    real a[M * K], b[K * MOST], c[M * MOST];
    for (int n = 1; n <= MOST; n++)
        for (int at = 0; at < n * K; at++) {
            int bad_row = at % M, bad_col = at % n, p = at % K;
            for (int i = 0; i < M * K; i++) a[i] = 1;
            for (int i = 0; i < K * n; i++) b[i] = 1;
            bool inf_in_b = at % 2;
            a[bad_row * K + p] = inf_in_b ? 0 : (real)INFINITY;
            b[p * n + bad_col] = inf_in_b ? (real)INFINITY : 0;
            gemm_mul(GEMM_SET, M, n, K, (gemm_view){a, K, 1}, (gemm_view){b, n, 1}, c, n);
            for (int i = 0; i < M; i++)
                for (int j = 0; j < n; j++) {
                    bool row = i == bad_row, col = j == bad_col, infinite = inf_in_b ? col : row;
                    double x = (double)c[i * n + j];
                    assert_true(row && col ? isnan(x) : infinite ? isinf(x) : isfinite(x));
                }
        }
}

/* The layout, the alignment and the row length of C change no bit. */
static void place_does_not_matter(void **state) {
    (void)state;
    static const int sizes[] = {1, 6, 16, 37};
    for (int s = 0; s < 65; s++) {
        int m = sizes[s / 16 % 4], n = sizes[s / 4 % 4], k = s % 4 == 3 ? 300 : sizes[s % 4];
        if (s == 64) m = 130, n = 270, k = 140;  // in blocks, some copied
        real *first = malloc((size_t)(m * n) * sizeof(real));
        real *block = malloc((size_t)(m * (n + 3) + 8) * sizeof(real));
        for (int how = 0; how < N_LAYOUTS * N_LAYOUTS; how++) {
            operand a = operand_new((layout)(how / N_LAYOUTS), m, k, 1);
            operand b = operand_new((layout)(how % N_LAYOUTS), k, n, 2);
            real *c = block + how % 8;
            ptrdiff_t ldc = n + how % 4;
            gemm_mul(GEMM_SET, m, n, k, a.view, b.view, c, ldc);
            for (int i = 0; i < m; i++) {
                if (how == 0) memcpy(first + i * n, c + i * ldc, (size_t)n * sizeof(real));
                assert_same_bits(c + i * ldc, first + i * n, (size_t)n);
            }
            free(a.block);
            free(b.block);
        }
        free(first);
        free(block);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(naive_is_the_definition), cmocka_unit_test(every_size_and_transpose),
    cmocka_unit_test(every_pair_of_layouts),   cmocka_unit_test(long_sums),
    cmocka_unit_test(large_and_flat),          cmocka_unit_test(any_strides),
    cmocka_unit_test(no_terms_give_zeros),     cmocka_unit_test(zero_times_infinity_is_nan),
    cmocka_unit_test(place_does_not_matter),   cmocka_unit_test(blocks_of_large_matrices),
    cmocka_unit_test(bias_and_factor),
};
CHECK_MAIN(tests)
