/* test_grid.c - lists of options as text, their combinations, and statistics over seeds. */
#include "tests/lib/check.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "train/study/grid.h"
#include "train/study/statistics.h"

static const data_option *option(const char *field) {
    for (const data_option *o = qkv_config_options; o->option; o++)
        if (o->kind != DATA_KIND_SECTION && strcmp(o->field, field) == 0) return o;
    fail();
    return NULL;
}

/* The list that a text makes, as JSON; or the sentence. */
static void makes(const char *field, const char *text, const char *json) {
    char error[QKV_IO_ERROR] = "";
    json_t *list = json_array();
    const bool ok = qkv_study_grid_add(list, option(field), text, true, error);
    char *made = json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (*json == '[') {
        assert_true(ok);
        assert_string_equal(made, json);
    } else {
        assert_false(ok);
        if (!strstr(error, json)) fail_msg("'%s' gives '%s', without '%s'", text, error, json);
    }
    free(made);
    json_decref(list);
}

static void lists_and_ranges(void **state) {
    (void)state;
    makes("lr", "0.1,1e-2,1", "[0.1,0.01,1.0]");
    makes("d_k", "1..4", "[1,2,3,4]");
    makes("d_k", "3..3", "[3]");
    makes("d_k", "4..64:5log", "[4,8,16,32,64]");
    makes("d_k", "1..4:7", "[1,2,3,4]");  // what is rounded to the same is once there
    makes("lr", "0..1:5", "[0.0,0.25,0.5,0.75,1.0]");
    makes("lr", "1e-3..1e-1:3log", "[0.001,0.01,0.1]");
    makes("lr", "1e-3..1e-2:3log", "[0.001,0.00316228,0.01]");
    makes("lr", "0.1,0.1,0.5..0.7:3lin", "[0.1,0.5,0.6,0.7]");
    makes("optimizer", "adam,sgd", "[\"adam\",\"sgd\"]");
    makes("task", "pairs,two", "[\"pairs\",\"two\"]");
    makes("rates", "*.wq=1,*.wk=2", "[\"*.wq=1,*.wk=2\"]");
    makes("bias", NULL, "[true]");
}

static void nonsense_is_refused(void **state) {
    (void)state;
    makes("lr", "3..1:2", "reversed");
    makes("lr", "1..2:0", "empty");
    makes("lr", "1..2", "needs a number of values");
    makes("lr", "1..2:1", "cannot reach");
    makes("lr", "0..1:3log", "begins above 0");
    makes("lr", "1..2:3xyz", "13log");
    makes("lr", "1..2:", "13log");
    makes("lr", "1..2:99999999999999999999", "13log");
    makes("lr", "a..b:3", "no range");
    makes("lr", "x", "not a number");
    makes("lr", "nan", "not a number");
    makes("d_k", "1.5", "not a whole number");
    makes("d_k", "1.5..3", "no range of whole numbers");
    makes("d_k", "1,,2", "is missing");
    makes("d_k", "", "is missing");
    makes("seed", "0..2000000000", "more than 1000000");
}

/* Within the range, the same each time, and a longer list begins with the shorter. */
static void random_values(void **state) {
    char error[QKV_IO_ERROR];
    json_t *few = json_array(), *many = json_array();
    (void)state;
    assert_true(qkv_study_grid_add(few, option("lr"), "1e-4..1:random:5log", true, error));
    assert_true(qkv_study_grid_add(many, option("lr"), "1e-4..1:random:50log", true, error));
    assert_int_equal(json_array_size(few), 5);
    assert_int_equal(json_array_size(many), 50);
    int below = 0;
    for (size_t i = 0; i < 50; i++) {
        const double x = json_real_value(json_array_get(many, i));
        assert_true(x >= 1e-4 && x <= 1);
        below += x < 0.01;  // the middle on a logarithmic scale
        if (i < 5) assert_true(x == json_real_value(json_array_get(few, i)));
    }
    assert_in_range(below, 13, 37);
    json_decref(few);
    json_decref(many);
}

static void combinations(void **state) {
    char error[QKV_IO_ERROR], text[QKV_STUDY_VALUE];
    int n;
    (void)state;
    json_t *grid = json_loads("{\"lr\":[0.1,0.2],\"d_k,d_v\":[[1,2],[3,4],[5,6]]}", 0, NULL);
    assert_true(qkv_study_grid_count(grid, &n, error));
    assert_int_equal(n, 6);
    for (int i = 0; i < n; i++) {
        json_t *cell = qkv_study_grid_cell(grid, i);
        assert_int_equal(json_object_size(cell), 3);
        assert_true(json_real_value(json_object_get(cell, "lr")) == (i < 3 ? 0.1 : 0.2));
        assert_int_equal(json_integer_value(json_object_get(cell, "d_k")), 1 + 2 * (i % 3));
        assert_int_equal(json_integer_value(json_object_get(cell, "d_v")), 2 + 2 * (i % 3));
        json_decref(cell);
    }
    json_decref(grid);
    grid = json_loads("{\"lr\":[]}", 0, NULL);
    assert_false(qkv_study_grid_count(grid, &n, error));
    json_decref(grid);
    json_t *value = json_real(0.1);
    assert_string_equal(qkv_study_grid_text(value, text), "0.1");
    json_decref(value);
}

/* Values of tables: Student's t at 97.5 %; Wilson's interval of 0, 8 and 10 of 10. */
static void statistics(void **state) {
    const double sorted[] = {1, 2, 3, 10};
    (void)state;
    assert_true(fabs(qkv_study_student(1) - 12.7062047) < 1e-6);
    assert_true(fabs(qkv_study_student(2) - 4.30265273) < 1e-7);
    assert_true(fabs(qkv_study_student(9) - 2.26215716) < 1e-7);
    assert_true(fabs(qkv_study_student(100) - 1.98397152) < 1e-7);
    assert_true(isnan(qkv_study_student(0)));
    const qkv_study_interval none = qkv_study_wilson(0, 10), most = qkv_study_wilson(8, 10),
                             all = qkv_study_wilson(10, 10);
    assert_true(none.low == 0 && fabs(none.high - 0.27753279) < 1e-7);
    assert_true(fabs(most.low - 0.49016247) < 1e-7 && fabs(most.high - 0.94331785) < 1e-7);
    assert_true(all.high == 1 && fabs(all.low - 0.72246721) < 1e-7);
    const qkv_study_mean m = qkv_study_mean_of(sorted, 4), nothing = qkv_study_mean_of(sorted, 0);
    assert_true(m.n == 4 && m.mean == 4 && fabs(m.sd - sqrt(50.0 / 3)) < 1e-12);
    assert_true(isnan(nothing.mean) && isnan(nothing.sd));
    const qkv_study_interval within = qkv_study_mean_interval(&m);
    assert_true(fabs((within.high - within.low) / 2 - 3.18244631 * m.sd / 2) < 1e-7);
    assert_true(qkv_study_quantile(sorted, 4, 0.5) == 2.5 &&
                qkv_study_quantile(sorted, 4, 1) == 10);
    assert_true(qkv_study_quantile(sorted, 4, 0) == 1 && isnan(qkv_study_quantile(sorted, 0, 0.5)));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(lists_and_ranges), cmocka_unit_test(nonsense_is_refused),
    cmocka_unit_test(random_values),    cmocka_unit_test(combinations),
    cmocka_unit_test(statistics),
};
CHECK_MAIN(tests)
