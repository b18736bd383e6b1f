/* Rows appended whole, whatever call fails; and text from outside in messages. */
#include <errno.h>
#include <string.h>

#include "tests/lib/faults.h"
#include "train/config/config.h"

static const char HEAD[] = "step,loss\n";

static void put_head(void *ctx) {
    (void)ctx;
    faults_put("rows", HEAD, sizeof HEAD - 1);
}

/* The file is the header, then rows out of 0..9 in order, each whole; a part of a row only at the
 * end, and only if the file was not closed in order. Returns how many rows. */
static int count_rows(bool tidy) {
    void *data;
    size_t n;
    char error[QKV_IO_ERROR];
    int rows = 0, last = -1;
    assert_int_equal(qkv_io_read_file(&qkv_io_posix, NULL, "rows", 1000, &data, &n, error),
                     QKV_IO_OK);
    const char *at = data;
    assert_memory_equal(at, HEAD, sizeof HEAD - 1);
    for (at += sizeof HEAD - 1; strchr(at, '\n'); at += 6, rows++) {
        assert_memory_equal(at + 1, ",0.5\n", 5);
        assert_true(at[0] - '0' > last);
        last = at[0] - '0';
    }
    assert_true(!tidy || *at == '\0');
    tensor_malloc.release(NULL, data);
    return rows;
}

static void append_scenario(faults *f, void *ctx) {
    qkv_io_appender a;
    char error[QKV_IO_ERROR] = "", row[8];
    int written = 0;
    (void)ctx;
    if (!qkv_io_append_open(&a, &f->io, "rows", UINT64_MAX, error)) {
        assert_non_null(strstr(error, "'rows'"));
        assert_int_equal(a.errors, 1);
        assert_true(qkv_io_append_close(&a, error));
        return;
    }
    for (int i = 0; i < 10; i++) {
        snprintf(row, sizeof row, "%d,0.5\n", i);
        written += qkv_io_append(&a, row, 6, error);
    }
    bool synced = qkv_io_append_sync(&a, error), closed = qkv_io_append_close(&a, error);
    assert_int_equal(count_rows(closed), written);
    if (f->failed == 0) assert_true(written == 10 && synced && closed && a.errors == 0);
    if (written < 10 || !synced || !closed) assert_true(a.errors > 0 && strstr(error, "'rows'"));
    if (f->failed && !f->from_then_on && f->how > 0)
        assert_true(written >= 9);  // one failure costs one row at most
}

static void rows_survive_every_failure(void **state) {
    (void)state;
    faults_each(append_scenario, put_head, NULL);
}

static int refuse(void *ctx, int fd, uint64_t bytes) {
    (void)ctx, (void)fd, (void)bytes;
    return errno = EIO, -1;
}

static void a_torn_row_is_cut_off_before_the_next(void **state) {
    (void)state;
    faults f;
    qkv_io_appender a;
    char error[QKV_IO_ERROR];
    put_head(NULL);
    faults_init(&f, FAULT_FULL, 0, false);
    assert_true(qkv_io_append_open(&a, &f.io, "rows", UINT64_MAX, error));
    int (*truncate)(void *, int, uint64_t) = f.io.truncate;
    f.io.truncate = refuse;  // a part of the row stays
    f.fail_at = f.calls + 1;
    f.from_then_on = true;
    assert_false(qkv_io_append(&a, "0,0.5\n", 6, error));
    assert_string_equal(error, "cannot append to 'rows': No space left on device");
    faults_expect("rows", "step,loss\n0", 11);
    f.fail_at = 0;  // there is room again
    assert_false(qkv_io_append(&a, "1,0.5\n", 6, error));
    assert_string_equal(error, "cannot shorten 'rows': Input/output error");
    f.io.truncate = truncate;
    assert_true(qkv_io_append(&a, "2,0.5\n", 6, error));
    assert_true(qkv_io_append_close(&a, error));
    assert_int_equal(a.errors, 2);
    assert_int_equal(count_rows(true), 1);
}

static void what_is_not_kept_is_cut_off(void **state) {
    (void)state;
    qkv_io_appender a;
    char error[QKV_IO_ERROR];
    faults_put("rows", "step,loss\n0,0.5\n9,9.9\n7", 23);
    assert_true(qkv_io_append_open(&a, &qkv_io_posix, "rows", 16, error));
    assert_true(qkv_io_append(&a, "3,0.5\n", 6, error));
    assert_true(qkv_io_append_close(&a, error));
    assert_int_equal(count_rows(true), 2);
    assert_true(qkv_io_append_open(&a, &qkv_io_posix, "new", 100,
                                   error));  // created; there is less than 100
    assert_int_equal(a.size, 0);
    assert_true(qkv_io_append_close(&a, error));
    assert_false(qkv_io_append_open(&a, &qkv_io_posix, "/dev/full", 0, error));
    assert_string_equal(error, "cannot append to '/dev/full': Illegal seek");
}

static void expect_shown(const char *text, const char *shown) {
    char out[40];
    assert_string_equal(qkv_io_printable(text, out, sizeof out), shown);
}

static void expect_fit(const char *text, int columns, const char *shown) {
    char out[64];
    assert_string_equal(qkv_io_fit(text, columns, out, sizeof out), shown);
}

/* Columns, not bytes, are counted: of an accent none, of a wide character two. */
static void text_fits_its_columns(void **state) {
    (void)state;
    expect_fit("abc", 5, "abc  ");
    expect_fit("abc", -5, "  abc");
    expect_fit("abcde", 5, "abcde");
    expect_fit("abcdef", 5, "abcd\u2026");
    expect_fit("\u05e9\u05dc\u05d5\u05dd", -6, "  \u05e9\u05dc\u05d5\u05dd");
    expect_fit("e\u0301e\u0301", 3, "e\u0301e\u0301 ");
    expect_fit("\u6f22\u5b57", 4, "\u6f22\u5b57");
    expect_fit("\u6f22\u5b57", 3, "\u6f22\u2026");
    expect_fit("\u6f22\u5b57", 2, "\u2026 ");
    expect_fit("", 2, "  ");
}

static void text_is_made_harmless(void **state) {
    (void)state;
    expect_shown("", "");
    expect_shown("runs/a b~", "runs/a b~");
    expect_shown("a\nb\r\x1b[2J\x7f\t", "a?b??[2J??");
    expect_shown("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
                 "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
    expect_shown("\xc2\x9b\x9b", "???");  // a control character, in UTF-8 and raw
    expect_shown("\xc0\xaf\xe0\x80\xaf\xed\xa0\x80",
                 "????????");                                 // too long, and half a surrogate pair
    expect_shown("\xf4\x90\x80\x80\xff\xe2\x82", "???????");  // beyond Unicode, and cut off
    expect_shown(
        "\xe2\x80\xae"
        "abc\xe2\x81\xa6\xe2\x80\xa8",
        "???abc??????");
    expect_shown("0123456789012345678901234567890123456789",
                 "...456789012345678901234567890123456789");
    char out[8], error[QKV_IO_ERROR], path[QKV_IO_PATH], dir[5000];
    for (size_t size = 1; size <= sizeof out; size++)
        assert_true(strlen(qkv_io_printable("\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80", out,
                                            size)) < size);
    assert_true(qkv_io_path(path, "a", "b", error) && !strcmp(path, "a/b"));
    assert_true(qkv_io_path(path, "a/", "b", error) && !strcmp(path, "a/b"));
    assert_false(qkv_io_path(path, "", "b", error));  // "." is the one that one is in
    memset(dir, '\n', sizeof dir);
    dir[4999] = '\0';
    assert_false(qkv_io_path(path, dir, "b", error));
    assert_true(strlen(error) < QKV_IO_ERROR && !strchr(error, '\n'));
}

static const struct CMUnitTest tests[] = {
    faults_test(rows_survive_every_failure),  faults_test(a_torn_row_is_cut_off_before_the_next),
    faults_test(what_is_not_kept_is_cut_off), cmocka_unit_test(text_fits_its_columns),
    cmocka_unit_test(text_is_made_harmless),
};
CHECK_MAIN(tests)
