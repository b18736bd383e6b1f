/* The task `pairs`: what an example holds, that it is drawn evenly, what is refused. */
#include <string.h>

#include "data/data.h"
#include "tests/lib/check.h"

enum { N = 8, EXAMPLES = 20000 };

/* The default task, and examples 0.. of a split that many. */
static data_spec spec;
static data_batch batch;
static tensor_arena *arena;

static int begin(void **state) {
    (void)state;
    char error[512] = "";
    arena = tensor_arena_new(NULL);
    bool ok = data_configure(&data_task_pairs, NULL, &spec, error, sizeof error);
    return !arena || !ok || !data_batch_new(arena, &spec, EXAMPLES, &batch);
}

static int end(void **state) {
    (void)state;
    tensor_arena_free(arena);
    return 0;
}

/* The keys, or the values, of example e. */
static const int *ids(int stream, int e) {
    return batch.rows.ids[DATA_SEQUENCE][stream] + e * (N + 1);
}
static int asked(int e) { return batch.rows.source[0][e * (N + 1) + N]; }
static int answer(int e) { return batch.rows.target[0][e * (N + 1) + N]; }

static bool distinct(const int *x, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (x[i] == x[k]) return false;
    return true;
}

static void pairs_are_as_described(void **state) {
    (void)state;
    assert_int_equal(spec.side[DATA_SEQUENCE].T, N + 1);
    assert_close(spec.chance, 1.0 / 32, 0);
    assert_close(spec.in_context, 1.0 / N, 0);
    data_fill(&batch, 3, "train", 0, EXAMPLES);
    for (int e = 0; e < EXAMPLES; e++) {
        const int *key = ids(0, e), *value = ids(1, e), t = asked(e);
        assert_in_range(t, 0, N - 1);
        assert_true(distinct(key, N) && distinct(value, N));
        assert_int_equal(answer(e), value[t]);
        assert_int_equal(key[N], key[t]);
        assert_int_equal(value[N], spec.roles.marker);  // the marker stands at the query only
        for (int i = 0; i < N; i++) assert_in_range(value[i], 0, 31);
    }
}

/* Pearson's statistic against the uniform distribution. */
static double chi_square(const int *count, int n, int total) {
    double sum = 0, expected = (double)total / n;
    for (int i = 0; i < n; i++) sum += (count[i] - expected) * (count[i] - expected) / expected;
    return sum;
}

/* The limits are passed by chance once in 10^6 seeds; this seed is fixed. */
static void pairs_are_uniform(void **state) {
    (void)state;
    int entry[N] = {0}, answers[32] = {0}, first_key[32] = {0}, last_value[32] = {0};
    data_fill(&batch, 5, "train", 0, EXAMPLES);
    for (int e = 0; e < EXAMPLES; e++) {
        entry[asked(e)]++;
        answers[answer(e)]++;
        first_key[ids(0, e)[0]]++;
        last_value[ids(1, e)[N - 1]]++;
    }
    assert_true(chi_square(entry, N, EXAMPLES) < 40);     // 7 degrees of freedom
    assert_true(chi_square(answers, 32, EXAMPLES) < 85);  // 31
    assert_true(chi_square(first_key, 32, EXAMPLES) < 85);
    assert_true(chi_square(last_value, 32, EXAMPLES) < 85);
}

/* A run must be repeatable by other builds on other machines: these numbers never change. */
static void pairs_are_pinned(void **state) {
    (void)state;
    static const int keys[N + 1] = {23, 14, 20, 1, 29, 3, 28, 10, 28};
    static const int values[N + 1] = {9, 29, 25, 28, 31, 27, 22, 30, 32};
    data_fill(&batch, 1, "train", 12345, 1);
    assert_memory_equal(ids(0, 0), keys, sizeof keys);
    assert_memory_equal(ids(1, 0), values, sizeof values);
    assert_int_equal(asked(0), 6);
}

static bool configures(int pairs, int keys, int values, data_spec *s, char error[512]) {
    const data_option *table = data_task_pairs.options;
    data_options o;
    data_options_reset(table, &o);
    assert_true(data_options_set(table, &o, "pairs", pairs));
    assert_true(data_options_set(table, &o, "keys", keys));
    assert_true(data_options_set(table, &o, "values", values));
    return data_configure(&data_task_pairs, &o, s, error, 512);
}

/* With every key always present attention could learn to avoid the right pair: n < N. */
static void pairs_refuse_what_cannot_be(void **state) {
    (void)state;
    static const struct {
        int pairs, keys, values;
    } bad[] = {{32, 32, 32}, {40, 32, 32}, {8, 8, 32}, {8, 32, 8}, {4, 4, 9}, {4, 9, 3}},
      good[] = {{31, 32, 32}, {1, 2, 2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        data_spec s;
        char error[512] = "";
        assert_false(configures(bad[i].pairs, bad[i].keys, bad[i].values, &s, error));
        assert_non_null(strstr(error, "pairs"));
        assert_null(strchr(error, '\n'));
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        data_spec s;
        char error[512];
        assert_true(configures(good[i].pairs, good[i].keys, good[i].values, &s, error));
    }
    data_options o;
    data_options_reset(data_task_pairs.options, &o);
    assert_false(data_options_set(data_task_pairs.options, &o, "pairs", 0));
    assert_false(data_options_set(data_task_pairs.options, &o, "keys", -1));
    assert_false(data_options_set(data_task_pairs.options, &o, "values", 2.5));
    assert_false(data_options_set(data_task_pairs.options, &o, "queries", 2));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
static const struct CMUnitTest tests[] = {
    TEST(pairs_are_as_described),
    TEST(pairs_are_uniform),
    TEST(pairs_are_pinned),
    TEST(pairs_refuse_what_cannot_be),
};
CHECK_MAIN(tests)
