/* JSON as it is read: what jansson takes, to the same values, and nothing else; and where it is wrong. */
#include "train/io/json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/rng.h"
#include "tests/lib/check.h"

static bool same(const qkv_io_json *a, const json_t *b) {
    switch (a->kind) {
        case QKV_IO_JSON_NULL: return json_is_null(b);
        case QKV_IO_JSON_FALSE: return json_is_false(b);
        case QKV_IO_JSON_TRUE: return json_is_true(b);
        case QKV_IO_JSON_WHOLE: return json_is_integer(b) && json_integer_value(b) == a->is.whole;
        case QKV_IO_JSON_REAL: return json_is_real(b) && json_real_value(b) == a->is.real;
        case QKV_IO_JSON_STRING:
            return json_is_string(b) && strcmp(json_string_value(b), a->is.string) == 0;
        default: break;
    }
    const bool object = a->kind == QKV_IO_JSON_OBJECT;
    size_t i = 0;
    for (const qkv_io_json *x = a->is.first; x; x = x->next, i++)
        if (!same(x, object ? json_object_get(b, x->key) : json_array_get(b, i))) return false;
    return i == (size_t)a->n && i == (object ? json_object_size(b) : json_array_size(b));
}

/* Both read it, or neither. What is read here: 1. */
static int compare(const char *text, size_t n) {
    char error[QKV_IO_ERROR] = "", *exact = malloc(n + !n);  // a block of just that length
    memcpy(exact, text, n);
    tensor_arena *arena = tensor_arena_new(NULL);
    const qkv_io_json *mine = NULL;
    json_error_t where;
    json_t *theirs = json_loadb(exact, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    const qkv_io_status status = qkv_io_json_read(arena, exact, n, &mine, error);
    if ((status == QKV_IO_OK) != (theirs != NULL))
        fail_msg("%.*s\n%s and not %s", (int)n, text, error, theirs ? "taken" : where.text);
    if (status == QKV_IO_OK && !same(mine, theirs)) fail_msg("%.*s is read wrong", (int)n, text);
    if (status != QKV_IO_OK) assert_memory_equal(error, "line ", 5);
    json_decref(theirs);
    tensor_arena_free(arena);
    free(exact);
    return status == QKV_IO_OK;
}

static const char *const TEXTS[] = {"{}",
                                    "[]",
                                    " \t\r\n[ ]\n",
                                    "{\"a\":{\"b\":[1,-2,{}]},\"c\":\"\"}",
                                    "0",
                                    "-0",
                                    "01",
                                    "1.",
                                    ".5",
                                    "+1",
                                    "-",
                                    "1e5",
                                    "1E+05",
                                    "1e-3",
                                    "-0.0",
                                    "0x10",
                                    "NaN",
                                    "Infinity",
                                    "nul",
                                    "nulll",
                                    "true false",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "9223372036854775808",
                                    "-9223372036854775809",
                                    "99999999999999999999",
                                    "1e308",
                                    "1e309",
                                    "\"\\u00e4\\ud83d\\ude00\\n\\/\\\\\"",
                                    "\"\\ud83d\"",
                                    "\"\\ude00\"",
                                    "\"\\u12\"",
                                    "\"\\u0000\"",
                                    "\"\\a\"",
                                    "\"\x01\"",
                                    "\"\x7f\"",
                                    "\"\xc3\xa4\"",
                                    "\"\xc3\"",
                                    "\"\xc0\x80\"",
                                    "\"\xf4\x90\x80\x80\"",
                                    "\"",
                                    "\"\\",
                                    "\"\\u",
                                    "[",
                                    "[1",
                                    "[1,",
                                    "[1,]",
                                    "[,]",
                                    "{",
                                    "{\"a\"",
                                    "{\"a\":",
                                    "{\"a\":1",
                                    "{\"a\":1,",
                                    "{\"a\":1,}",
                                    "{a:1}",
                                    "{1:1}",
                                    "{,}",
                                    "{\"a\":1,\"a\":1}",
                                    "{\"a\":1,\"\\u0061\":1}",
                                    "{\"a\":1}}",
                                    "]",
                                    "}",
                                    "",
                                    " ",
                                    "// x\n1",
                                    "[1 2]",
                                    "{\"a\" 1}",
                                    "{\"a\":1 \"b\":2}",
                                    "\xef\xbb\xbf{}"};
enum { N_TEXTS = sizeof TEXTS / sizeof *TEXTS };

static void texts_are_read_as_jansson_reads_them(void **state) {
    (void)state;
    int taken = 0;
    for (int i = 0; i < N_TEXTS; i++) taken += compare(TEXTS[i], strlen(TEXTS[i]));
    assert_int_equal(taken, 16);
    compare("{}\0", 3);
    compare("\"a\0b\"", 5);
}

/* Pieces of JSON one after the other, some of which fit together. */
static void chance_is_read_as_jansson_reads_it(void **state) {
    (void)state;
    static const char *const pieces[] = {"{",     "}",       "[",       "]",      ",",    ":",
                                         "\"a\"", "\"b\"",   "1",       "-2.5e1", "null", " ",
                                         "\"",    "\\u0061", "{\"a\":", "[1,",    "true", "\n"};
    int taken = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        rng g = rng_stream(1, "json", i);
        char text[256] = "";
        for (uint32_t k = 1 + rng_below(&g, 9); k > 0; k--)
            strcat(text, pieces[rng_below(&g, sizeof pieces / sizeof *pieces)]);
        taken += compare(text, strlen(text));
    }
    assert_true(taken > 1000);
}

static void what_is_wrong_is_named(void **state) {
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {{"{\n  \"\xc3\xa4\": 1 2}", "line 2, column 10: ',' or '}' is expected"},
                 {"[1,\n\n", "line 3, column 1: the text ends where a value is expected"},
                 {"{\"a\":1,\n\"a\":2}", "line 2, column 7: duplicate object key"},
                 {"[1e-999]", "line 1, column 8: a number that no double can be"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char error[QKV_IO_ERROR] = "";
        const qkv_io_json *root;
        tensor_arena *arena = tensor_arena_new(NULL);
        assert_int_equal(
            qkv_io_json_read(arena, cases[i].text, strlen(cases[i].text), &root, error),
            QKV_IO_DAMAGED);
        assert_string_equal(error, cases[i].sentence);
        tensor_arena_free(arena);
    }
}

static void brackets_are_counted(void **state) {
    (void)state;
    char text[2 * QKV_IO_JSON_DEPTH + 3] = "", error[QKV_IO_ERROR];
    for (int depth = QKV_IO_JSON_DEPTH; depth <= QKV_IO_JSON_DEPTH + 1; depth++) {
        const qkv_io_json *root;
        tensor_arena *arena = tensor_arena_new(NULL);
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        assert_int_equal(qkv_io_json_read(arena, text, (size_t)(2 * depth), &root, error),
                         depth <= QKV_IO_JSON_DEPTH ? QKV_IO_OK : QKV_IO_DAMAGED);
        tensor_arena_free(arena);
    }
}

static void what_is_written_is_read(void **state) {
    (void)state;
    char error[QKV_IO_ERROR], every[0x80 + 8] = "";
    for (int c = 1; c < 0x80; c++) every[c - 1] = (char)c;
    strcat(every, "\xc3\xa4\xe2\x82\xac");
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text out = {.arena = arena};
    qkv_io_json_put(&out, every);
    const qkv_io_json *root;
    assert_int_equal(qkv_io_json_read(arena, out.at, out.n, &root, error), QKV_IO_OK);
    assert_string_equal(qkv_io_json_string(root), every);
    assert_true(qkv_io_json_can_put(every));
    assert_false(qkv_io_json_can_put("\xff"));
    json_t *theirs = json_string(every);  // as jansson writes it, to the byte
    char *text = json_dumps(theirs, JSON_ENCODE_ANY);
    assert_string_equal(out.at, text);
    free(text);
    json_decref(theirs);
    tensor_arena_free(arena);
}

static bool out_of_memory(const tensor_allocator *mem, void *ctx) {
    char error[QKV_IO_ERROR] = "";
    const qkv_io_json *root;
    tensor_arena *arena = tensor_arena_new(mem);
    qkv_io_status status = qkv_io_json_read(arena, "{\"a\":[1,2]}", 11, &root, error);
    (void)ctx;
    if (status != QKV_IO_OK) assert_string_equal(error, "out of memory");
    tensor_arena_free(arena);
    return status == QKV_IO_OK;
}

static void memory_may_be_out(void **state) {
    (void)state;
    check_every_failure(out_of_memory, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(texts_are_read_as_jansson_reads_them),
    cmocka_unit_test(chance_is_read_as_jansson_reads_it),
    cmocka_unit_test(what_is_wrong_is_named),
    cmocka_unit_test(brackets_are_counted),
    cmocka_unit_test(what_is_written_is_read),
    cmocka_unit_test(memory_may_be_out),
};
CHECK_MAIN(tests)
