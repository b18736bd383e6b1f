/* Examples that somebody wrote down: what is read, what is refused and in which words, how they are
 * shared out, in which order they come. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/corpus.h"
#include "data/utf8.h"
#include "tests/lib/check.h"

enum { ROOM = 512 };

static data_source whole(const char *text) {
    return (data_source){"f.txt", text, strlen(text), DATA_SPLITS};
}

static const data_corpus_roles none = {-1, -1, -1};

/* Three texts, one for each split. */
static void sources_of(data_source s[3], const char *train, const char *valid, const char *test) {
    s[0] = (data_source){"train.txt", train, strlen(train), DATA_TRAIN};
    s[1] = (data_source){"valid.txt", valid, strlen(valid), DATA_VALID};
    s[2] = (data_source){"test.txt", test, strlen(test), DATA_TEST};
}

static data_corpus read_three(const char *train, const char *valid, const char *test) {
    data_source s[3];
    data_corpus c;
    char error[ROOM];
    sources_of(s, train, valid, test);
    if (!data_corpus_read(NULL, s, 3, 0, none, &c, error, sizeof error)) fail_msg("%s", error);
    return c;
}

static const char *word(const data_corpus *c, int e, int t, int stream) {
    const int id = c->ids[(c->begin[e] + (size_t)t) * (size_t)c->n_streams + (size_t)stream];
    return id < 0 ? "" : c->stream[stream].text[id];
}

/* ---- what is read ---- */

static void a_line_is_words_and_an_answer(void **state) {
    (void)state;
    data_corpus c =
        read_three("# a comment\n\n the cat  sat\t here => cat\r\nthe dog sat here => dog",
                   "the cat sat here => dog\n", "the dog sat here => cat\n");
    assert_int_equal(c.n, 4);
    assert_int_equal(c.n_streams, 1);
    assert_int_equal(c.n_readouts, 1);
    assert_int_equal(c.asking, 1);
    assert_int_equal(c.longest, 4);
    assert_true(c.last_asks);
    assert_string_equal(word(&c, 0, 1, 0), "cat");
    assert_string_equal(word(&c, 0, 3, 0), "here");
    assert_int_equal(c.ask[0], 3);
    assert_string_equal(c.answer[0].text[c.target[0]], "cat");
    assert_int_equal(c.source[0], 1);
    assert_int_equal(c.source[2], -1);  // "dog" is no word of that line
    assert_int_equal(c.count[DATA_TRAIN], 2);
    assert_int_equal(c.order[DATA_TEST][0], 3);
    assert_int_equal(data_words_find(&c.stream[0], "sat", 3), 2);
    assert_int_equal(data_words_find(&c.stream[0], "sa", 2), -1);
    data_corpus_free(&c);
}

static void the_marked_word_asks(void **state) {
    (void)state;
    data_corpus c = read_three("it? was tired => cat\n? was it tired => cat\n",
                               "was it? tired => cat\n", "tired was ? => cat\n");
    static const int asks[] = {0, 0, 1, 2};
    for (int e = 0; e < 4; e++) assert_int_equal(c.ask[e], asks[e]);
    assert_string_equal(word(&c, 0, 0, 0), "it");  // the mark is cut off
    assert_string_equal(word(&c, 1, 0, 0), "?");   // alone it is a word
    assert_false(c.last_asks);
    data_corpus_free(&c);
}

static void features_are_streams(void **state) {
    (void)state;
    data_corpus c = read_three("cats|noun|pl run|verb => cats\n", "run|verb cats|noun|pl => cats\n",
                               "cats|noun|pl cats|verb? run => cats\n");
    assert_int_equal(c.n_streams, 3);
    assert_string_equal(word(&c, 0, 0, 2), "pl");
    assert_string_equal(word(&c, 0, 1, 1), "verb");
    assert_string_equal(word(&c, 0, 1, 2), "");
    assert_string_equal(word(&c, 2, 2, 1), "");
    assert_int_equal(c.ask[2], 1);
    assert_int_equal(c.source[0], 0);
    assert_int_equal(c.source[2], -1);  // twice in that line
    assert_false(c.last_asks);
    data_corpus_free(&c);
}

static void one_word_may_ask_several_things(void **state) {
    (void)state;
    data_corpus c =
        read_three("Ben left early when? => Ben early\nAnn left late when? => Ann late\n",
                   "Ann left early when => Ann early\n", "Ben left late when => Ben late\n");
    assert_int_equal(c.n_readouts, 2);
    assert_int_equal(c.asking, 1);
    assert_string_equal(c.answer[0].text[c.target[0]], "Ben");
    assert_string_equal(c.answer[1].text[c.target[1]], "early");
    assert_int_equal(c.source[0], 0);
    assert_int_equal(c.source[1], 2);
    data_corpus_free(&c);
}

static void several_words_may_ask_one_thing_each(void **state) {
    (void)state;
    data_corpus c = read_three("a b a? b? => x y\n", "a b b? a? => y x\n", "a a? b b? => x y\n");
    assert_int_equal(c.n_readouts, 1);
    assert_int_equal(c.asking, 2);
    assert_int_equal(c.ask[0], 2);
    assert_int_equal(c.ask[1], 3);
    assert_string_equal(c.answer[0].text[c.target[1]], "y");
    assert_int_equal(c.ask[4], 1);
    data_corpus_free(&c);
}

static void any_script_is_text(void **state) {
    (void)state;
    data_corpus c = read_three("\xef\xbb\xbfשלום עולם => עולם\ne\xcc\x81t\xc3\xa9 😀 => 😀\n",
                               "עולם שלום => עולם\n", "😀 e\xcc\x81t\xc3\xa9 => 😀\n");
    assert_string_equal(word(&c, 0, 0, 0), "שלום");
    assert_int_equal(c.source[0], 1);
    assert_string_equal(word(&c, 1, 0, 0),
                        "e\xcc\x81t\xc3\xa9");  // bytes, not looks, tell words apart
    data_corpus_free(&c);
}

/* Lines end as on any system; a blank that does not break, and # and => within words, are of the word, and so
 * is all that a mark or a bar does not cut off. */
static void lines_and_words_end_where_they_should(void **state) {
    (void)state;
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "# none%s%sNew\u00a0York #5\ta=>b what?? => a|b%s = > x|f#1|?? => \u05e9\u200f%s",
                 ends[i], ends[i], ends[i], i ? ends[i] : "");
        data_corpus c = read_three(text, text, text);
        assert_int_equal(c.n, 6);
        assert_string_equal(word(&c, 0, 0, 0), "New\u00a0York");
        assert_string_equal(word(&c, 0, 1, 0), "#5");
        assert_string_equal(word(&c, 0, 2, 0), "a=>b");
        assert_string_equal(word(&c, 0, 3, 0), "what?");
        assert_int_equal(c.ask[0], 3);
        assert_string_equal(c.answer[0].text[c.target[0]], "a|b");
        assert_string_equal(word(&c, 1, 0, 0), "=");
        assert_string_equal(word(&c, 1, 2, 1), "f#1");
        assert_string_equal(word(&c, 1, 2, 2), "?");
        assert_string_equal(c.answer[0].text[c.target[1]], "\u05e9\u200f");
        data_corpus_free(&c);
    }
}

/* ---- what is refused ---- */

static char *repeat(const char *piece, size_t times, const char *tail) {
    const size_t n = strlen(piece);
    char *s = malloc(n * times + strlen(tail) + 1);
    assert_non_null(s);
    for (size_t i = 0; i < times; i++) memcpy(s + i * n, piece, n);
    strcpy(s + n * times, tail);
    return s;
}

static void refused(const data_source *s, int n, const char *sentence) {
    data_corpus c;
    char error[ROOM];
    assert_false(data_corpus_read(NULL, s, n, 0.1, none, &c, error, sizeof error));
    assert_string_equal(error, sentence);
    assert_null(c.arena);
}

#define LINES "words are divided by blanks and tabs, and lines end in line feeds"

static void what_is_wrong_is_said_with_line_and_column(void **state) {
    (void)state;
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {"", "f.txt: there are no examples in it"},
        {"# only\n\n   # comments\n", "f.txt: there are no examples in it"},
        {"a => b\na b\n", "f.txt, line 2, column 4: no answer; a line is: words => answer"},
        {"a =>\n", "f.txt, line 1, column 5: no answer after =>"},
        {"=> a\n", "f.txt, line 1, column 1: no words before =>"},
        {"a => b => c\n", "f.txt, line 1, column 8: a second =>"},
        {"\n\xc3\xa9 \xff => b\n", "f.txt, line 2, column 3: the byte 0xff is no UTF-8"},
        {"a \xed\xa0\x80 => b\n", "f.txt, line 1, column 3: the byte 0xed is no UTF-8"},
        {"a \xc0\xaf => b\n", "f.txt, line 1, column 3: the byte 0xc0 is no UTF-8"},
        {"a b => \xf0\x9f\n", "f.txt, line 1, column 8: the byte 0xf0 is no UTF-8"},
        {"a||b => c\n", "f.txt, line 1, column 3: an empty feature"},
        {"|b => c\n", "f.txt, line 1, column 1: an empty word"},
        {"a|1|2|3|4|5|6|7|8 => c\n", "f.txt, line 1, column 17: more than 7 features of one word"},
        {"a? b? => c\n", "f.txt, line 1, column 11: 2 words ask, but the number of answers is 1"},
        {"a? b? => c d e\n",
         "f.txt, line 1, column 14: 2 words ask, but the number of answers is 3"},
        {"a => b\na => b c\n",
         "f.txt, line 2, column 8: the number of answers is 2; in the first example 1"},
        {"a => b c\na => b\n",
         "f.txt, line 2, column 7: the number of answers is 1; in the first example 2"},
        {"a => b\na? c? => b c\n",
         "f.txt, line 2, column 4: the number of words that ask is 2; in the first example 1"},
        {"a? c? => b c\na c => b\n",
         "f.txt, line 2, column 5: the number of words that ask is 1; in the first example 2"},
        {"a => 1 2 3 4 5 6 7 8 9\n",
         "f.txt, line 1, column 22: the number of answers is 9; at most 8 are read"},
        {"a b=>c\n", "f.txt, line 1, column 4: no blanks around =>; a line is: words => answer"},
        {"a b =>c\n", "f.txt, line 1, column 5: no blanks around =>; a line is: words => answer"},
        {"a\u00a0=> b\n",
         "f.txt, line 1, column 3: no blanks around =>; a line is: words => answer"},
        {"cats?|noun => c\n",
         "f.txt, line 1, column 5: the mark ? stands behind the last feature of the word that "
         "asks"},
        {"a => b\ra b\r", "f.txt, line 2, column 4: no answer; a line is: words => answer"},
        {"a => b\r\n\r\na b\r\n", "f.txt, line 3, column 4: no answer; a line is: words => answer"},
        {"a => b\n\xef\xbb\xbf"
         "c => b\n",
         "f.txt, line 2, column 1: the character U+FEFF, which is a mark of byte order; " LINES},
        {"a\fb => b\n",
         "f.txt, line 1, column 2: the character U+000C, which is a control; " LINES},
        {"a b\x7f => b\n",
         "f.txt, line 1, column 4: the character U+007F, which is a control; " LINES},
        {"a longer line, b\xc2\x85 => b\n",
         "f.txt, line 1, column 17: the character U+0085, which is a control; " LINES},
        {"a => b\u2028c => d\n",
         "f.txt, line 1, column 7: the character U+2028, which is a separator of lines; " LINES},
        {"a => b\n",
         "f.txt: of 1 examples (0 repeat another, 1 have a word that no line to train on has) none "
         "is "
         "left for validation; give more lines, or a file for each"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(&(data_source){"f.txt", bad[i].text, strlen(bad[i].text), DATA_SPLITS}, 1,
                bad[i].sentence);
    refused(&(data_source){"f.txt", "a b\0c => d\n", 11, DATA_SPLITS}, 1,
            "f.txt, line 1, column 4: a byte 0; this is no text");
}

/* As many lines as bytes, without a line feed among them: no line searches all that follows for one. */
static void many_lines_without_a_line_feed(void **state) {
    (void)state;
    char *text = repeat("\r", 1 << 22, "a => b\ra => b\ra c\r");
    data_source s = whole(text);
    refused(&s, 1, "f.txt, line 4194307, column 4: no answer; a line is: words => answer");
    free(text);
}

static void what_is_too_long_is_refused(void **state) {
    (void)state;
    char *words = repeat("w ", 100000, "=> w\n"), *word = repeat("w", 1 << 20, " => w\n");
    data_source s = whole(words);
    refused(&s, 1, "f.txt, line 1, column 8193: more than 4096 words in one line");
    s = whole(word);
    refused(&s, 1, "f.txt, line 1, column 1: 1048576 bytes of one word; at most 255 are read");
    free(words);
    free(word);
}

static void equal_lines_cannot_be_shared_out(void **state) {
    (void)state;
    char *text = repeat("a b => b\n", 1000, ""), error[ROOM];
    data_source s = whole(text);
    data_corpus c;
    assert_false(data_corpus_read(NULL, &s, 1, 0.1, none, &c, error, sizeof error));
    assert_non_null(strstr(error, "of 1000 examples (999 repeat another, 0 have a word"));
    free(text);
}

static void held_out_files_may_say_nothing_new(void **state) {
    (void)state;
    data_source s[3];
    sources_of(s, "a b => b\n", "a b => b\n", "\na c => b\n");
    refused(s, 3, "test.txt, line 2, column 3: the word 'c' is never seen in training");
    sources_of(s, "a b => b\n", "a b => a\n", "a b => b\n");
    refused(s, 3, "valid.txt, line 1, column 8: the answer 'a' is never seen in training");
    sources_of(s, "a|x b|y => b\nc|y => b\n", "a|x b|y => b\n", "# one\n\na|x  b|x\tc|z => b\n");
    refused(s, 3, "test.txt, line 3, column 12: the feature 'z' is never seen in training");
    sources_of(s, "a? b? => b a\n", "a? b? => b a\n", "a? b? => b c\n");
    refused(s, 3, "test.txt, line 1, column 12: the answer 'c' is never seen in training");
    sources_of(s, "e\u0301 => b\n", "e\u0301 => b\n",
               "\u00e9 => b\n");  // one letter, two spellings
    refused(s, 3, "test.txt, line 1, column 1: the word '\u00e9' is never seen in training");
    sources_of(s, "a b => b\n", "a\u00a0b b => b\n", "a b => b\n");
    refused(s, 3, "valid.txt, line 1, column 1: the word 'a\\u{a0}b' is never seen in training");
}

/* ---- splits and order ---- */

/* n lines of three words of 10 each; every tenth is written in another way. */
static char *lines_of(int n) {
    char *text = malloc((size_t)n * 40 + 1), *at = text;
    assert_non_null(text);
    rng r = rng_stream(5, "lines", 0);
    for (int i = 0; i < n; i++) {
        unsigned a = rng_below(&r, 10), b = rng_below(&r, 10), x = rng_below(&r, 10);
        at += sprintf(at, i % 10 ? "a%u b%u c%u => a%u\n" : " a%u  b%u c%u? =>\ta%u \r\n", a, b, x,
                      a);
    }
    return text;
}

static void equal_lines_stay_together_and_shares_are_kept(void **state) {
    (void)state;
    char *text = lines_of(5000), error[ROOM];
    data_source s = whole(text);
    data_corpus c;
    assert_true(data_corpus_read(NULL, &s, 1, 0.1, none, &c, error, sizeof error));
    signed char split_of[1000];
    memset(split_of, -1, sizeof split_of);
    for (int k = 0; k < DATA_SPLITS; k++)
        for (int i = 0; i < c.count[k]; i++) {
            const int e = c.order[k][i];
            int key = 0;
            for (int t = 0; t < 3; t++) key = 10 * key + atoi(word(&c, e, t, 0) + 1);
            assert_true(split_of[key] < 0 || split_of[key] == k);
            split_of[key] = (signed char)k;
        }
    int distinct = 0, held[DATA_SPLITS] = {0};
    for (int i = 0; i < 1000; i++)
        if (split_of[i] >= 0) distinct++, held[(int)split_of[i]]++;
    assert_int_equal(c.n - distinct, c.duplicates);
    assert_int_equal(c.shared, 0);
    assert_int_equal(c.count[0] + c.count[1] + c.count[2], c.n);
    for (int k = DATA_VALID; k <= DATA_TEST; k++) assert_true(held[k] > 60 && held[k] < 140);
    data_corpus_free(&c);
    free(text);
}

static void what_only_held_out_lines_say_is_trained_on(void **state) {
    (void)state;
    char *text = realloc(lines_of(3000), 3000 * 40 + 500 * 40), error[ROOM];
    assert_non_null(text);
    char *at = text + strlen(text);
    for (int i = 0; i < 500; i++)  // 250 words that only one line has, written twice
        at += sprintf(at, "once%d b1 c1 => a1\n", i / 2);
    data_source s = whole(text);
    data_corpus c;
    assert_true(data_corpus_read(NULL, &s, 1, 0.1, none, &c, error, sizeof error));
    assert_true(c.moved > 60 && c.moved < 140);  // a fifth of the 500
    int trained = 0;
    for (int i = 0; i < c.count[DATA_TRAIN]; i++)
        trained += strncmp(word(&c, c.order[DATA_TRAIN][i], 0, 0), "once", 4) == 0;
    assert_int_equal(trained, 500);
    data_corpus_free(&c);
    free(text);
}

static void training_comes_in_epochs(void **state) {
    (void)state;
    char *text = lines_of(300), error[ROOM];
    data_source s = whole(text);
    data_corpus c;
    assert_true(data_corpus_read(NULL, &s, 1, 0.1, none, &c, error, sizeof error));
    const int n = c.count[DATA_TRAIN];
    int *first = calloc((size_t)n, sizeof *first), same_place = 0;
    assert_non_null(first);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        bool *seen = calloc((size_t)c.n, sizeof *seen);
        assert_non_null(seen);
        for (int i = 0; i < n; i++) {
            const int e = data_corpus_pick(&c, DATA_TRAIN, 7, epoch * (uint64_t)n + (uint64_t)i);
            assert_false(seen[e]);
            seen[e] = true;
            same_place += epoch > 0 && first[i] == e;
            if (epoch == 0) first[i] = e;
        }
        for (int i = 0; i < n; i++) assert_true(seen[c.order[DATA_TRAIN][i]]);
        free(seen);
    }
    assert_true(same_place < 20);
    assert_int_not_equal(data_corpus_pick(&c, DATA_TRAIN, 7, 0),
                         data_corpus_pick(&c, DATA_TRAIN, 8, 0));
    for (int i = 0; i < 2 * c.count[DATA_TEST]; i++)
        assert_int_equal(data_corpus_pick(&c, DATA_TEST, 7, (uint64_t)i),
                         c.order[DATA_TEST][i % c.count[DATA_TEST]]);
    free(first);
    data_corpus_free(&c);
    free(text);
}

/* ---- levels ---- */

static void levels_are_those_counted_by_hand(void **state) {
    (void)state;
    data_corpus c = read_three("a b c d => a\na b c d => a\na b c d => a\na b c d => b\n",
                               "a b c d => a\na a b d => a\n", "a b c d => b\n");
    data_corpus_levels l = data_corpus_levels_of(&c, DATA_VALID, 0);
    assert_close(l.any_class, 0.5, 1e-15);
    assert_close(l.any_class_loss, log(2), 1e-15);
    assert_close(l.most_frequent, 1, 1e-15);
    assert_close(l.frequency_loss, -log(0.75), 1e-15);
    assert_close(l.any_word, (0.25 + 0.5) / 2, 1e-15);
    assert_close(l.any_word_loss, -(log(0.25) + log(0.5)) / 2, 1e-15);
    l = data_corpus_levels_of(&c, DATA_TEST, 0);
    assert_close(l.most_frequent, 0, 1e-15);
    assert_int_equal(c.duplicates, 2);
    assert_int_equal(c.shared, 2);
    data_corpus_free(&c);
}

static void an_answer_that_is_no_word_has_no_level(void **state) {
    (void)state;
    data_corpus c = read_three("a b => x\n", "b a => x\n", "b b => x\n");
    data_corpus_levels l = data_corpus_levels_of(&c, DATA_VALID, 0);
    assert_close(l.any_word, 0, 1e-15);
    assert_true(isnan(l.any_word_loss));
    data_corpus_free(&c);
}

/* ---- memory, and characters ---- */

static bool scenario(const tensor_allocator *mem, void *ctx) {
    data_source s = whole(ctx);
    data_corpus c;
    char error[ROOM];
    bool ok = data_corpus_read(mem, &s, 1, 0.2, none, &c, error, sizeof error);
    if (!ok) assert_string_equal(error, "out of memory");
    data_corpus_free(&c);
    return ok;
}

static void memory_that_is_out_is_said(void **state) {
    (void)state;
    char *text = lines_of(600);
    check_every_failure(scenario, text);
    free(text);
}

/* Every sequence of up to four bytes against a decoder that knows code points. */
static void characters_are_those_of_the_standard(void **state) {
    (void)state;
    long found = 0;
    for (uint32_t code = 0; code < 0x110000; code++) {
        char s[4];
        size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        if (n == 1) s[0] = (char)code;
        for (size_t i = n; n > 1 && i-- > 0;)
            s[i] = (char)(i ? 0x80 | (code >> 6 * (n - 1 - i) & 0x3f)
                            : (0xf00u >> n & 0xff) | code >> 6 * (n - 1));
        const bool well = code < 0xd800 || code > 0xdfff;
        assert_int_equal(data_utf8_length(s, n), well ? n : 0);
        assert_int_equal(data_utf8_length(s, n - 1), 0);
        found += well;
    }
    assert_int_equal(found, 0x110000 - 0x800);
    for (uint32_t first = 0x80; first < 0x100; first++)  // no second byte but 80..bf
        for (uint32_t second = 0; second < 0x100; second++)
            if ((second & 0xc0) != 0x80)
                assert_int_equal(
                    data_utf8_length((char[]){(char)first, (char)second, '\x80', '\x80'}, 4), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_line_is_words_and_an_answer),
    cmocka_unit_test(the_marked_word_asks),
    cmocka_unit_test(features_are_streams),
    cmocka_unit_test(one_word_may_ask_several_things),
    cmocka_unit_test(several_words_may_ask_one_thing_each),
    cmocka_unit_test(any_script_is_text),
    cmocka_unit_test(lines_and_words_end_where_they_should),
    cmocka_unit_test(many_lines_without_a_line_feed),
    cmocka_unit_test(what_is_wrong_is_said_with_line_and_column),
    cmocka_unit_test(what_is_too_long_is_refused),
    cmocka_unit_test(equal_lines_cannot_be_shared_out),
    cmocka_unit_test(held_out_files_may_say_nothing_new),
    cmocka_unit_test(equal_lines_stay_together_and_shares_are_kept),
    cmocka_unit_test(what_only_held_out_lines_say_is_trained_on),
    cmocka_unit_test(training_comes_in_epochs),
    cmocka_unit_test(levels_are_those_counted_by_hand),
    cmocka_unit_test(an_answer_that_is_no_word_has_no_level),
    cmocka_unit_test(memory_that_is_out_is_said),
    cmocka_unit_test(characters_are_those_of_the_standard),
};

CHECK_MAIN(tests)
