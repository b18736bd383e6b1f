/* test_words.c - numbers as people read them, and texts as editors leave them: what is not finite is a
 * word or a dash, everything else as printf() has it; byte order marks and line ends of Windows are
 * read. */
#include "train/io/words.h"

#include <math.h>
#include <string.h>

#include "tests/lib/faults.h"
#include "train/config/config.h"
#include "train/io/csv.h"
#include "train/io/text.h"

#define NONE        ((double)NAN)
#define WITHOUT_END ((double)INFINITY)

/* Whatever is finite comes out as from snprintf(), whole or cut off, with the same count. */
#define SAME(...)                                                           \
    do {                                                                    \
        char want[200], have[200];                                          \
        for (size_t size = 0; size < sizeof want; size += 13) {             \
            memset(want, '#', sizeof want), memset(have, '#', sizeof have); \
            int n = snprintf(want, size, __VA_ARGS__);                      \
            assert_int_equal(qkv_io_words(have, size, __VA_ARGS__), n);     \
            assert_memory_equal(have, want, sizeof want);                   \
        }                                                                   \
    } while (0)

static void what_is_finite_is_as_printf_has_it(void **state) {
    (void)state;
    SAME("plain");
    SAME("%s", "");
    SAME("%d%% of %5.1f %% and %-8.3f|%+e|%g", 3, 12.34, -1.5, 1e-9, 6.02e23);
    SAME("[%*d|%-*s|%.*f|%*.*f]", 6, 42, 9, "left", 2, 3.14159, 12, 3, 2.71828);
    SAME("%zu %ld %lld %u %x %c %td", (size_t)7, -8L, 9LL, 10u, 255u, 'q', (ptrdiff_t)-3);
    SAME("%.5s|%5s|%s", "a long text", "ab", "\xe2\x80\xa6");
    SAME("%08.3f % d %#x", 3.5, 7, 255u);
    SAME("a text that is longer than the room there is for it, several times over: %s %d",
         "and more of it, so that it is cut off everywhere", 12345);
}

static const char *said(char out[200], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static const char *said(char out[200], const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int n = qkv_io_vwords(out, 200, format, args);
    va_end(args);
    assert_int_equal(n, strlen(out));
    return out;
}

static void what_is_not_is_a_word_or_a_dash(void **state) {
    char out[200];
    (void)state;
    assert_string_equal(said(out, "accuracy %.2f %%, loss %.4f", NONE, WITHOUT_END),
                        "accuracy none, loss infinite");
    assert_string_equal(said(out, "accuracy %.2f %%, loss %.4f", -NONE, -WITHOUT_END),
                        "accuracy none, loss infinite");
    // columns keep their width, with the percent sign that belongs to them
    assert_string_equal(said(out, "%8.3f|%6.1f%%|%6.1f %%|%g", NONE, WITHOUT_END, NONE, 1.5),
                        "       -|     - |     -  |1.5");
    assert_string_equal(said(out, "%-12s %*.2f %d", "loss", 7, NONE, 5), "loss               - 5");
    assert_string_equal(said(out, "%.*f of %d", 3, NONE, 2), "none of 2");
    assert_string_equal(said(out, "%.0f %% %s", 50.0, "whole"), "50 % whole");
}

/* The two doors through which the library's words leave it. */
static void texts_and_messages_say_no_nan(void **state) {
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text text = {.arena = arena};
    char error[QKV_IO_ERROR];
    (void)state;
    qkv_io_text_add(&text, "%.1f %% and %d", NONE, 3);
    assert_string_equal(text.at, "none and 3");
    assert_false(qkv_io_fail(error, "--lr %g is more than %g", WITHOUT_END, 1.0));
    assert_string_equal(error, "--lr infinite is more than 1");
    tensor_arena_free(arena);
}

static void a_mark_at_the_beginning_is_skipped(void **state) {
    const char *text = "\xef\xbb\xbf{}";
    size_t n = strlen(text);
    (void)state;
    assert_null(qkv_io_begin_text(&text, &n));
    assert_string_equal(text, "{}");
    assert_int_equal(n, 2);
    assert_null(qkv_io_begin_text(&text, &n));
    assert_string_equal(text, "{}");
    text = "\xef\xbb\xbf", n = 3;
    assert_string_equal(qkv_io_begin_text(&text, &n), "is empty");
    text = "\xff\xfe{\0", n = 4;
    assert_non_null(strstr(qkv_io_begin_text(&text, &n), "UTF-16"));
}

/* A configuration and a table say the same with a mark, and with line ends of Windows. */
static void marked_files_are_read(void **state) {
    static const char json[] = "\xef\xbb\xbf{\"task\": \"pairs\",\r\n \"steps\": 7}\r\n";
    static const char csv[] = "\xef\xbb\xbfstep,loss\r\n0,1.5\r\n1,2\r\n";
    char error[QKV_IO_ERROR] = "";
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_config c;
    qkv_io_table t;
    (void)state;
    qkv_config_default(&c);
    if (!qkv_config_from_json(&c, json, sizeof json - 1, error)) fail_msg("%s", error);
    assert_int_equal(c.steps, 7);
    assert_false(qkv_config_is_object("", 0, error));
    assert_string_equal(error, "the file is empty");
    faults_put("marked.csv", csv, sizeof csv - 1);
    assert_int_equal(qkv_io_table_read(&t, &qkv_io_posix, arena, "marked.csv", error), QKV_IO_OK);
    assert_int_equal(qkv_io_table_column(&t, "step"), 0);
    assert_int_equal(t.rows, 2);
    assert_string_equal(qkv_io_table_cell(&t, 1, 1), "2");
    faults_put("wide.csv",
               "\xff\xfe"
               "a\0",
               4);
    assert_int_equal(qkv_io_table_read(&t, &qkv_io_posix, arena, "wide.csv", error),
                     QKV_IO_DAMAGED);
    assert_non_null(strstr(error, "'wide.csv' is encoded as UTF-16"));
    tensor_arena_free(arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_finite_is_as_printf_has_it),
    cmocka_unit_test(what_is_not_is_a_word_or_a_dash),
    cmocka_unit_test(texts_and_messages_say_no_nan),
    cmocka_unit_test(a_mark_at_the_beginning_is_skipped),
    faults_test(marked_files_are_read),
};
CHECK_MAIN(tests)
