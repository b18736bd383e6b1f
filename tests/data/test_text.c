/* The tasks made of files: which tokens a text has, which windows are shown, what a file's lines
 * become, what counting predicts, and what is refused in which words. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/corpus.h"
#include "data/ngram.h"
#include "data/text.h"
#include "tests/lib/check.h"

enum { ROOM = 512 };

/* Files that exist only here. */
typedef struct {
    const char *name, *text;
    size_t n;
} fake;

static bool read_fake(void *ctx, const char *path, char **bytes, size_t *n, char *error,
                      size_t size) {
    for (const fake *f = ctx; f->name; f++)
        if (strcmp(f->name, path) == 0)
            return *bytes = (char *)(size_t)f->text, *n = f->n ? f->n : strlen(f->text), true;
    return snprintf(error, size, "there is no '%s'", path), false;
}
static void keep_fake(void *ctx, char *bytes) { (void)ctx, (void)bytes; }

/* The task with options "name=value", of these files. */
static bool configure(const data_task *task, fake *files, const char *const *set, data_spec *spec,
                      char *error) {
    data_options options;
    const data_files from = {read_fake, keep_fake, files};
    data_options_reset(task->options, &options);
    for (; *set; set += 2) {
        const data_option *o = data_option_find(task->options, set[0]);
        assert_non_null(o);
        if (o->kind == DATA_KIND_TEXT)
            strcpy((char *)options.byte + o->offset, set[1]);
        else if (o->kind == DATA_KIND_CHOICE)
            data_option_set(o, options.byte, data_choice_index(o->choices, set[1]));
        else
            data_option_set(o, options.byte, strtod(set[1], NULL));
    }
    return data_configure_from(task, &options, &from, spec, error, ROOM);
}

static data_spec ready(const data_task *task, fake *files, const char *const *set) {
    data_spec spec;
    char error[ROOM];
    if (!configure(task, files, set, &spec, error)) fail_msg("%s", error);
    return spec;
}

static void refused(const data_task *task, fake *files, const char *const *set,
                    const char *sentence) {
    data_spec spec;
    char error[ROOM];
    assert_false(configure(task, files, set, &spec, error));
    assert_string_equal(error, sentence);
}

#define SET(...)   ((const char *const[]){__VA_ARGS__, NULL})
#define FILES(...) ((fake[]){__VA_ARGS__, {NULL, NULL, 0}})

static const data_text *text_of(const data_spec *s) {
    return (const data_text *)(const void *)s->own;
}

/* The tokens of a text, joined by '/'. */
static void tokens(const char *text, const char *unit, const char *expected) {
    char all[ROOM] = "";
    data_spec s = ready(&data_task_text, FILES({"t", text, 0}),
                        SET("data", "t", "unit", unit, "time", "1", "share", "0.7"));
    for (size_t i = 0; i < text_of(&s)->n; i++) {
        if (i) strcat(all, "/");
        strcat(all, text_of(&s)->words.text[text_of(&s)->ids[i]]);
    }
    assert_string_equal(all, expected);
    data_release(&s);
}

static void a_text_is_cut_into_tokens(void **state) {
    (void)state;
    tokens("h\xc3\xa9 ho h", "characters", "h/\xc3\xa9/ /h/o/ /h");
    tokens("h\xc3\xa9 ho", "bytes", "h/\xc3/\xa9/ /h/o");
    tokens("It's 3 \xc3\xa9t\xc3\xa9s,  no\n\nyes.", "words",
           "It/'/s/3/\xc3\xa9t\xc3\xa9s/,/no/\n/\n/yes/.");
}

static void windows_show_what_follows(void **state) {
    (void)state;
    char text[1001];
    for (int i = 0; i < 1000; i++) text[i] = (char)(33 + i % 90);
    text[1000] = '\0';
    data_spec s = ready(&data_task_text, FILES({"t", text, 0}),
                        SET("data", "t", "time", "10", "share", "0.2"));
    const data_text *t = text_of(&s);
    assert_int_equal(t->begin[DATA_VALID], 800);
    assert_int_equal(t->begin[DATA_TEST], 900);
    assert_int_equal(s.examples[DATA_TRAIN], 0);
    assert_int_equal(s.examples[DATA_VALID], 9);  // 99 tokens have a next one
    tensor_arena *arena = tensor_arena_new(NULL);
    data_batch b;
    assert_true(data_batch_new(arena, &s, 200, &b));
    static const char *const names[] = {"train", "valid", "test"};
    bool seen[1000] = {false};
    for (int k = 0; k < DATA_SPLITS; k++) {
        data_fill(&b, 3, names[k], 0, 200);
        for (int e = 0; e < 200; e++) {
            const int *x = b.rows.ids[DATA_SEQUENCE][0] + 10 * e, *y = b.rows.target[0] + 10 * e;
            size_t at = 0;
            while (at + 11 <= 1000 &&
                   (memcmp(t->ids + at, x, 10 * sizeof *x) != 0 || (k && at < t->begin[k])))
                at++;
            assert_true(at + 11 <=
                        t->begin[k + 1]);  // neither it nor its last answer is of another split
            assert_same_bits(y, t->ids + at + 1, 10);
            if (k) assert_int_equal(at, t->begin[k] + 10 * (size_t)(e % 9));
            if (!k) seen[at] = true;
        }
    }
    int places = 0;
    for (int i = 0; i < 1000; i++) places += seen[i];
    assert_true(places > 50);  // of 90 that look different
    tensor_arena_free(arena);
    data_release(&s);
}

static void lines_become_examples(void **state) {
    (void)state;
    fake *files = FILES({"a", "x|p y z? => x q\nz y x? => z q\n", 0}, {"b", "x y z? => x q\n", 0},
                        {"c", "y z x? y => z q\n", 0});
    data_spec s = ready(&data_task_file, files, SET("data", "a", "valid", "b", "test", "c"));
    assert_int_equal(s.side[DATA_SEQUENCE].T, 4);
    assert_int_equal(s.side[DATA_SEQUENCE].n_streams, 2);
    assert_int_equal(s.n_readouts, 2);
    assert_int_equal(s.sees, DATA_FULL);  // in one line a word stands after the one that asks
    tensor_arena *arena = tensor_arena_new(NULL);
    data_batch b;
    assert_true(data_batch_new(arena, &s, 1, &b));
    char symbol[64];
    data_fill(&b, 1, "test", 5, 1);
    assert_string_equal(data_position(&b, DATA_SEQUENCE, 0, 2, symbol, sizeof symbol), "x");
    assert_string_equal(data_answer(&s.readout[0], b.rows.target[0][2], symbol), "z");
    assert_int_equal(b.rows.source[0][2], 1);
    assert_int_equal(b.rows.target[0][1], -1);
    data_fill(&b, 1, "valid", 0, 1);
    assert_int_equal(b.rows.ids[DATA_SEQUENCE][0][3], -1);  // filled up
    assert_string_equal(data_position(&b, DATA_SEQUENCE, 0, 3, symbol, sizeof symbol), "");
    assert_int_equal(data_at_most(&s, "valid", 500), 1);
    assert_int_equal(data_at_most(&s, "train", 500), 2);
    tensor_arena_free(arena);
    data_release(&s);
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    fake *files = FILES({"a", "x y => x\n", 0}, {"t", "abc", 0}, {"bad", "ab\nc\xff", 0},
                        {"nul", "a\0b", 3}, {"empty", "", 0});
    refused(&data_task_file, files, SET("share", "0.1"),
            "file: which one? --data FILE, with one example a line");
    refused(&data_task_file, files, SET("data", "none"), "there is no 'none'");
    refused(&data_task_file, files, SET("data", "a", "valid", "a"),
            "file: --data-valid and --data-test go together");
    refused(&data_task_file, files, SET("data", "a", "checksum", "12"),
            "'a' has changed since, or is another file: its checksum is 39cd80dfe9f34310 and not "
            "12; name the old one with --data FILE, or train anew");
    refused(&data_task_text, files, SET("time", "3"), "text: which one? --data FILE");
    refused(&data_task_text, files, SET("data", "bad"),
            "bad, line 2, column 2: the byte 0xff is no UTF-8 text");
    refused(&data_task_text, files, SET("data", "nul"),
            "nul, line 1, column 2: the byte 0x00 is no UTF-8 text");
    refused(&data_task_text, files, SET("data", "t", "time", "5"),
            "t: 3 tokens are too few: each half of the 0.1 that are held out must hold 6; a "
            "smaller --time, or a "
            "larger --data-held-out");
    data_spec spec;
    char error[ROOM];
    assert_false(data_configure(&data_task_file, NULL, &spec, error, ROOM));
}

static void a_checksum_is_filled_in_and_holds(void **state) {
    (void)state;
    fake *files = FILES({"a", "x y => x\n", 0});
    data_spec s = ready(&data_task_file, files, SET("data", "a", "valid", "a", "test", "a"));
    const data_option *o = data_option_find(data_task_file.options, "checksum");
    const char *sum = (const char *)s.options.byte + o->offset;
    assert_int_equal(strlen(sum), 16);
    data_spec again =
        ready(&data_task_file, files, SET("data", "a", "valid", "a", "test", "a", "checksum", sum));
    data_release(&again);
    data_release(&s);
}

/* ---- counting ---- */

/* By the definition, without tables: the probability of x[0] after the `length` tokens before it. */
static double naive(const int *train, size_t n, const int *x, int length, int vocab) {
    if (length < 0) return 1.0 / vocab;
    double with = 0, all = 0, kinds = 0;
    bool followed_by[16] = {false};
    for (size_t i = (size_t)length; i < n; i++) {
        if (memcmp(train + i - length, x - length, (size_t)length * sizeof *x) != 0) continue;
        all++;
        with += train[i] == x[0];
        kinds += !followed_by[train[i]];
        followed_by[train[i]] = true;
    }
    const double less = naive(train, n, x, length - 1, vocab);
    return all > 0 ? (with + kinds * less) / (all + kinds) : less;
}

static void counts_are_those_of_the_definition(void **state) {
    (void)state;
    enum { N = 4000, M = 200, V = 7 };
    static int train[N], held[M];
    rng r = rng_stream(2, "text", 0);
    for (int i = 0; i < N; i++) train[i] = i % 3 ? (int)rng_below(&r, V - 1) : train[i ? i - 1 : 0];
    for (int i = 0; i < M; i++)
        held[i] = (int)rng_below(&r, V);  // one that training lacks among them
    double loss[DATA_NGRAMS], expected[DATA_NGRAMS] = {0};
    assert_true(data_ngram_losses(train, N, held, M, V, loss));
    for (int length = -1; length < 3; length++)
        for (int i = 2; i < M; i++)
            expected[length + 1] -= log(naive(train, N, held + i, length, V)) / (M - 2);
    for (int k = 0; k < DATA_NGRAMS; k++) assert_close(loss[k], expected[k], 1e-12);
    assert_false(data_ngram_losses(train, N, held, M, DATA_NGRAM_VOCAB + 1, loss));
}

static void more_context_predicts_better(void **state) {
    (void)state;
    enum { N = 3000 };
    static int text[N];
    for (int i = 0; i < N; i++)
        text[i] = "abcabdabe"[i % 9] - 'a';  // what follows b depends on more
    double loss[DATA_NGRAMS];
    assert_true(data_ngram_losses(text, 2000, text + 2000, 1000, 5, loss));
    assert_close(loss[0], log(5), 1e-12);
    assert_true(loss[1] < loss[0] && loss[2] < 0.6 * loss[1]);
    assert_true(loss[3] < loss[2]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_text_is_cut_into_tokens),
    cmocka_unit_test(windows_show_what_follows),
    cmocka_unit_test(lines_become_examples),
    cmocka_unit_test(what_is_wrong_is_said),
    cmocka_unit_test(a_checksum_is_filled_in_and_holds),
    cmocka_unit_test(counts_are_those_of_the_definition),
    cmocka_unit_test(more_context_predicts_better),
};

CHECK_MAIN(tests)
