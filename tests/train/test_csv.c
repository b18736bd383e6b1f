/* test_csv.c - tables read from CSV, arrays that grow, words in lines. */
#include <string.h>

#include "data/visible.h"
#include "tests/lib/faults.h"
#include "train/io/csv.h"
#include "train/io/text.h"

static qkv_io_status table(qkv_io_table *t, tensor_arena *a, const char *text, char *error) {
    faults_put("table.csv", text, strlen(text));
    return qkv_io_table_read(t, &qkv_io_posix, a, "table.csv", error);
}

static void fields_are_unquoted(void **state) {
    tensor_arena *a = tensor_arena_new(NULL);
    qkv_io_table t;
    char error[QKV_IO_ERROR];
    double x = 0;
    (void)state;
    assert_int_equal(table(&t, a, "a,\"b \"\"c\"\"\",\n\"1,5\",2e3,\r\n\n,,x\n", error), QKV_IO_OK);
    assert_int_equal(t.rows, 2);
    assert_int_equal(t.cols, 3);
    assert_false(t.torn);
    assert_string_equal(qkv_io_table_cell(&t, -1, 1), "b \"c\"");
    assert_string_equal(qkv_io_table_cell(&t, 0, 0), "1,5");
    assert_string_equal(qkv_io_table_cell(&t, 0, 2), "");
    assert_string_equal(qkv_io_table_cell(&t, 1, 2), "x");
    assert_string_equal(qkv_io_table_cell(&t, 1, -1), "");
    assert_int_equal(qkv_io_table_column(&t, "b \"c\""), 1);
    assert_int_equal(qkv_io_table_column(&t, "b"), -1);
    assert_true(qkv_io_table_number(&t, 0, 1, &x) && x == 2000);
    assert_false(qkv_io_table_number(&t, 0, 0, &x));
    tensor_arena_free(a);
}

static void a_torn_row_is_left_out_and_told(void **state) {
    static const char *const torn[] = {"a,b\n1,2\n3,4", "a,b\n1,2\n3", "a,b\n1,2\n3,\"4\n",
                                       "a,b\n1,2\n3,"};
    tensor_arena *a = tensor_arena_new(NULL);
    qkv_io_table t;
    char error[QKV_IO_ERROR];
    (void)state;
    for (size_t i = 0; i < sizeof torn / sizeof *torn; i++) {
        assert_int_equal(table(&t, a, torn[i], error), QKV_IO_OK);
        assert_true(t.torn);
        assert_int_equal(t.rows, 1);
    }
    tensor_arena_free(a);
}

static void damage_is_named(void **state) {
    static const struct {
        const char *text, *says;
    } bad[] = {{"", "is empty"},
               {"a,b", "ends within its header"},
               {"a,b\n1,2\n1\n3,4\n", "row 2 of 'table.csv' has 1 fields, its header 2"},
               {"a,b\n1,2,3\n", "row 1 of 'table.csv' has 3 fields, its header 2"}};
    tensor_arena *a = tensor_arena_new(NULL);
    qkv_io_table t;
    char error[QKV_IO_ERROR];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(table(&t, a, bad[i].text, error), QKV_IO_DAMAGED);
        assert_non_null(strstr(error, bad[i].says));
    }
    faults_put("table.csv", "a\n\0\n", 4);
    assert_int_equal(qkv_io_table_read(&t, &qkv_io_posix, a, "table.csv", error), QKV_IO_DAMAGED);
    assert_non_null(strstr(error, "is not text"));
    assert_int_equal(qkv_io_table_read(&t, &qkv_io_posix, a, "none.csv", error), QKV_IO_ABSENT);
    tensor_arena_free(a);
}

/* What is written field by field is read back. */
static void a_label_is_read_back(void **state) {
    tensor_arena *a = tensor_arena_new(NULL);
    qkv_io_text out = {.arena = a};
    qkv_io_table t;
    char error[QKV_IO_ERROR];
    (void)state;
    qkv_io_text_add(&out, "x,y\n");
    qkv_io_text_label(&out, "say \"a, b\"\x01");
    qkv_io_text_add(&out, ",");
    qkv_io_text_number(&out, -0.125);
    qkv_io_text_add(&out, "\n");
    assert_int_equal(table(&t, a, out.at, error), QKV_IO_OK);
    assert_string_equal(qkv_io_table_cell(&t, 0, 0), "say \"a, b\" ");
    assert_string_equal(qkv_io_table_cell(&t, 0, 1), "-0.125");
    tensor_arena_free(a);
}

static void arrays_grow(void **state) {
    tensor_arena *a = tensor_arena_new(NULL);
    size_t room = 0;
    int *at = NULL;
    (void)state;
    for (int i = 0; i < 5000; i++) {
        at = tensor_arena_grow(a, at, (size_t)i, 1, &room, sizeof *at);
        assert_non_null(at);
        assert_true(room > (size_t)i);
        at[i] = i;
    }
    for (int i = 0; i < 5000; i++) assert_int_equal(at[i], i);
    size_t before = room;
    assert_null(tensor_arena_grow(a, at, 5000, SIZE_MAX - 100, &room, sizeof *at));
    assert_null(tensor_arena_grow(a, at, 5000, SIZE_MAX / 8, &room, sizeof *at));
    assert_true(room == before && at[4999] == 4999);
    tensor_arena_free(a);
}

static void words_stand_in_lines(void **state) {
    tensor_arena *a = tensor_arena_new(NULL);
    qkv_io_text out = {.arena = a};
    (void)state;
    qkv_io_text_wrap(&out, "one two three 99 % four", 0, 2, 12);
    assert_string_equal(out.at, "one two\n  three 99 %\n  four");
    out.n = 0;
    qkv_io_text_wrap(&out,
                     "gr\xc3\xbc\xc3\x9f"
                     "e ab overlong-as-it-is x",
                     4, 1, 12);
    assert_string_equal(out.at,
                        "gr\xc3\xbc\xc3\x9f"
                        "e ab\n overlong-as-it-is\n x");
    assert_int_equal(data_visible_width("gr\xc3\xbc\xc3\x9f"
                                        "e"),
                     5);
    tensor_arena_free(a);
}

static const struct CMUnitTest tests[] = {
    faults_test(fields_are_unquoted), faults_test(a_torn_row_is_left_out_and_told),
    faults_test(damage_is_named),     faults_test(a_label_is_read_back),
    cmocka_unit_test(arrays_grow),    cmocka_unit_test(words_stand_in_lines),
};
CHECK_MAIN(tests)
