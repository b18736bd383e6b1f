/* test_visible.c - words as people read them: each character shows, no two words look alike. */
#include "data/visible.h"

#include <stdlib.h>
#include <string.h>

#include "data/utf8.h"
#include "tests/lib/check.h"

static void expect(const char *word, const char *shown) {
    char out[64];
    assert_string_equal(data_visible(word, strlen(word), out, sizeof out), shown);
}

static void what_hides_is_shown(void **state) {
    (void)state;
    expect("key", "key");
    expect(" ", "␣");
    expect("\n", "\\n");
    expect("\t", "\\t");
    expect("\r", "\\r");
    expect("\x07\x1b[2J\x7f", "\\u{7}\\u{1b}[2J\\u{7f}");
    expect("a\u00a0b\u00adc", "a\\u{a0}b\\u{ad}c");      // blank that does not break, soft hyphen
    expect("\u202eabc\u200f", "\\u{202e}abc\\u{200f}");  // marks of direction
    expect("\ufeffx\u2028\u200b", "\\u{feff}x\\u{2028}\\u{200b}");
    expect("\ue000\U000e0041", "\\u{e000}\\u{e0041}");  // private use, a tag
    expect("\u0301", "\u25cc\u0301");                   // a mark alone, and after its letter
    expect("e\u0301", "e\u0301");
    expect("\u05e9\u05dc\u05d5\u05dd \U0001f600", "\u05e9\u05dc\u05d5\u05dd␣\U0001f600");
    expect("\xff\xc3", "\\xff\\xc3");
    expect("?", "?");
    char out[64];
    assert_string_equal(data_visible("", 1, out, sizeof out), "\\u{0}");
    assert_string_equal(data_visible_text("my file\n", out, sizeof out), "my file\\n");
}

/* What the signs could be taken for is written otherwise. */
static void signs_of_its_own(void **state) {
    (void)state;
    expect("\\", "\\");
    expect("\\alpha", "\\alpha");
    expect("\\n", "\\\\n");
    expect("\\u{a0}", "\\\\u{a0}");
    expect("\\\\n", "\\\\\\\\n");
    expect("␣", "\\u{2423}");
    expect("\u25cc\u0301", "\\u{25cc}\u0301");
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All words of up to three of these characters, among them all that hide: no two are shown alike. */
static void no_two_are_alike(void **state) {
    static const char *const part[] = {"",       "a",      " ",      "\n",     "n",      "t",
                                       "\t",     "\\",     "u",      "{",      "}",      "x",
                                       "a0",     "\xa0",   "\u00a0", "\u0301", "\u25cc", "␣",
                                       "\u200f", "\u202e", "\ufeff", "\u2423"};
    enum { N = sizeof part / sizeof *part - 1 };  // the last repeats one
    static char word[N * N * N][16], shown[N * N * N][64];
    static char *sorted[N * N * N];
    int n = 0;
    (void)state;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++, n++) {
                strcat(strcat(strcpy(word[n], part[i]), part[j]), part[k]);
                data_visible(word[n], strlen(word[n]), shown[n], sizeof shown[n]);
                sorted[n] = shown[n];
            }
    qsort(sorted, (size_t)n, sizeof *sorted, by_text);
    for (int i = 1; i < n; i++) {
        const size_t a = (size_t)(sorted[i - 1] - shown[0]) / sizeof *shown,
                     b = (size_t)(sorted[i] - shown[0]) / sizeof *shown;
        if (strcmp(sorted[i - 1], sorted[i]) == 0) assert_string_equal(word[a], word[b]);
    }
}

static size_t encode(unsigned c, char out[5]) {
    const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(n == 1 ? c : lead[n] | c);
    out[n] = '\0';
    return n;
}

/* Every character there is: well-formed, in room for one, and nothing that steers a terminal. */
static void every_character(void **state) {
    (void)state;
    for (unsigned c = 0; c <= 0x10ffff; c++) {
        char one[5], out[16];
        const size_t n = encode(c, one);
        if (c >= 0xd800 && c < 0xe000) continue;
        data_visible(one, n, out, sizeof out);
        const size_t length = strlen(out);
        assert_true(length > 0);
        for (size_t i = 0, k; i < length; i += k)
            assert_true((k = data_visible_length(out + i, length - i)) > 0);
        const bool controls = c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x202e || c == 0x2028;
        if (controls) assert_int_equal(data_visible_length(one, n), 0);
    }
}

/* However little room there is: ends in dots, within no character and no sign. */
static void cut_between_characters(void **state) {
    static const char word[] = "ab\u05e9\n\U0001f600\u00a0z";
    char out[64];
    (void)state;
    assert_string_equal(data_visible(word, strlen(word), out, 8), "ab\u05e9...");
    assert_string_equal(data_visible(word, strlen(word), out, 9), "ab\u05e9...");
    assert_string_equal(data_visible(word, strlen(word), out, 10), "ab\u05e9\\n...");
    for (size_t size = 8; size < sizeof out; size++) {
        data_visible(word, strlen(word), out, size);
        const size_t length = strlen(out);
        assert_true(length < size);
        for (size_t i = 0, k; i < length; i += k)
            assert_true((k = data_utf8_length(out + i, length - i)) > 0);
    }
}

static void columns(void **state) {
    (void)state;
    assert_int_equal(data_visible_width("gr\u00fc\u00dfe"), 5);
    assert_int_equal(data_visible_width("e\u0301"), 1);
    assert_int_equal(data_visible_width("\u6f22\u5b57"), 4);
    assert_int_equal(data_visible_width("\U0001f600"), 2);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_hides_is_shown),    cmocka_unit_test(signs_of_its_own),
    cmocka_unit_test(no_two_are_alike),       cmocka_unit_test(every_character),
    cmocka_unit_test(cut_between_characters), cmocka_unit_test(columns),
};
CHECK_MAIN(tests)
