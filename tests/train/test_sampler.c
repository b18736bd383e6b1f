/* Going on with a text: with kept keys and values the logits are those of a pass over the whole window, over
 * its edge, too; and tokens are drawn as often as they should be. */
#include "train/probe/sample.h"

#include <math.h>
#include <string.h>

#include "tests/lib/check.h"
#include "train/probe/look.h"
#include "train/run/run.h"

/* A trainer on a small text, options "NAME=VALUE" over it. */
static qkv_trainer *trainer_with(const qkv_config_setting *more, int n) {
    const qkv_config_setting base[] = {
        {"task", "text"}, {"data", "examples/text.txt"}, {"time", "12"},    {"d-model", "8"},
        {"d-ff", "12"},   {"data-held-out", "0.2"},      {"embed-std", "1"}};
    qkv_config_setting all[24];
    const int first = sizeof base / sizeof *base;
    memcpy(all, base, sizeof base);
    for (int i = 0; i < n; i++) all[first + i] = more[i];
    const qkv_config_parts parts = {.given = all, .n_given = first + n};
    char error[QKV_IO_ERROR] = "";
    qkv_config c;
    data_spec spec;
    if (qkv_config_make(&parts, &c, &spec, error) != QKV_CONFIG_OK) fail_msg("%s", error);
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, 1, error);
    if (!t) fail_msg("%s", error);
    data_release(&spec);
    return t;
}

/* 40 tokens, a prompt of 5 and then one by one, past the window's end three times. */
static void same_logits(const char *what, const qkv_config_setting *more, int n) {
    char error[QKV_IO_ERROR] = "";
    qkv_trainer *t = trainer_with(more, n);
    const data_text *text = data_text_of(qkv_trainer_spec(t));
    qkv_probe_sampler *kept = qkv_probe_sampler_new(t, true, error),
                      *whole = qkv_probe_sampler_new(t, false, error);
    if (!kept || !whole) fail_msg("%s: %s", what, error);
    for (int at = 0, m; at < 40; at += m) {
        m = at ? 1 : 5;
        const real *a = qkv_probe_sampler_read(kept, text->ids + at, m, error),
                   *b = qkv_probe_sampler_read(whole, text->ids + at, m, error);
        if (!a || !b) fail_msg("%s: %s", what, error);
        for (int i = 0; i < text->words.n; i++)
            check_close((double)a[i], (double)b[i], 512 * REAL_EPSILON, what, __FILE__, __LINE__);
    }
    qkv_probe_sampler_free(kept), qkv_probe_sampler_free(whole);
    qkv_trainer_free(t);
}

static void kept_or_not_it_says_the_same(void **state) {
    (void)state;
    static const struct {
        const char *what;
        qkv_config_setting set[3];
        int n;
    } cases[] = {
        {"learned", {{"positions", "learned"}}, 1},
        {"sinusoidal", {{"positions", "sinusoidal"}, {"norm", "rms"}}, 2},
        {"rotary", {{"positions", "rotary"}, {"kv-heads", "2"}}, 2},
        {"alibi", {{"positions", "alibi"}, {"post-norm", "true"}}, 2},
        {"latent", {{"latent", "3"}, {"token-shift", "true"}}, 2},
        {"tied", {{"tie", "kv"}, {"tie-unembedding", "true"}}, 2},
        {"no self", {{"self", "false"}, {"softmax-one", "true"}}, 2},
        {"everybody sees all", {{"mask", "full"}}, 1},
        {"matching switched off", {{"scores-from", "5"}}, 1},
        {"a window of one", {{"time", "1"}}, 1},
        {"bytes", {{"unit", "bytes"}, {"time", "7"}}, 2},
        {"words", {{"unit", "words"}}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        same_logits(cases[i].what, cases[i].set, cases[i].n);
}

/* What the trainer's own graph says of a prompt is what the sampler says; `open`: is the scores' gate? */
static void says_what_was_trained(const char *what, const qkv_config_setting *more, int n_more,
                                  bool keep, bool open) {
    char error[QKV_IO_ERROR] = "";
    qkv_trainer *t = trainer_with(more, n_more);
    const data_text *text = data_text_of(qkv_trainer_spec(t));
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    qkv_probe_set_gate(t, open);
    qkv_probe_sampler *s = qkv_probe_sampler_new(t, keep, error);
    int ids[16];
    const int n = data_text_tokens(text, "Ida san", 7, ids, error, sizeof error);
    assert_int_equal(n, 7);
    assert_true(qkv_probe_load_prompt(t, qkv_trainer_any_worker(t), "Ida sang", error));
    assert_int_equal(data_length(&w->data, DATA_SEQUENCE, 0), 8);
    assert_int_equal(w->target[0][6], w->data.rows.ids[DATA_SEQUENCE][0][7]);
    assert_int_equal(qkv_probe_rows(w), 7);  // what comes after the last nobody knows
    assert_true(qkv_probe_replay(w));
    const real *said = qkv_probe_sampler_read(s, ids, 3, error);
    if (said) said = qkv_probe_sampler_read(s, ids + 3, n - 3, error);
    if (!said) fail_msg("%s: %s", what, error);
    for (int i = 0; i < text->words.n; i++)
        check_close((double)said[i], (double)w->out.logits[0]->val.x[6 * text->words.n + i],
                    512 * REAL_EPSILON, what, __FILE__, __LINE__);
    qkv_probe_sampler_free(s);
    qkv_trainer_free(t);
}

static void it_is_the_model_that_was_trained(void **state) {
    (void)state;
    static const struct {
        const char *what;
        qkv_config_setting set[4];
        int n;
    } cases[] = {
        {"as it comes", {{"layers", "1"}}, 1},
        {"alibi", {{"positions", "alibi"}, {"layers", "2"}}, 2},
        {"gated", {{"scores-from", "5"}, {"layers", "2"}}, 2},
        {"gated alibi", {{"scores-from", "5"}, {"positions", "alibi"}, {"layers", "2"}}, 3},
        {"gated, V scaled", {{"scores-from", "5"}, {"scale", "value"}}, 2},
        {"gated, a cap and a temperature",
         {{"scores-from", "5"}, {"soft-cap", "1"}, {"scale", "exp"}, {"positions", "alibi"}},
         4},
        {"gated, normed, one more place",
         {{"scores-from", "5"}, {"qk-norm", "true"}, {"softmax-one", "true"}, {"scale", "log"}},
         4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int how = 0; how < 4; how++)
            says_what_was_trained(cases[i].what, cases[i].set, cases[i].n, how & 1, how & 2);
}

/* Reads n tokens: are the logits those of a sampler that read just the window [first, first + window)? */
static void reads(qkv_trainer *t, qkv_probe_sampler *s, const int *ids, int from, int n, int first,
                  int window) {
    char error[QKV_IO_ERROR] = "";
    qkv_probe_sampler *fresh = qkv_probe_sampler_new(t, true, error);
    const real *logits = qkv_probe_sampler_read(s, ids + from, n, error),
               *wanted = qkv_probe_sampler_read(fresh, ids + first, window, error);
    assert_non_null(logits);
    assert_non_null(wanted);
    assert_same_bits(logits, wanted, (size_t)qkv_trainer_spec(t)->readout[0].classes);
    qkv_probe_sampler_free(fresh);
}

static void the_window_slides_by_halves(void **state) {
    (void)state;
    char error[QKV_IO_ERROR] = "";
    qkv_trainer *t = trainer_with(NULL, 0);
    qkv_probe_sampler *s = qkv_probe_sampler_new(t, true, error);
    const int V = qkv_trainer_spec(t)->readout[0].classes;
    int ids[30];
    for (int i = 0; i < 30; i++) ids[i] = i % V;
    reads(t, s, ids, 0, 12, 0, 12);
    reads(t, s, ids, 12, 1, 6, 7);
    reads(t, s, ids, 13, 8, 9, 12);   // leaves room for four
    reads(t, s, ids, 0, 30, 18, 12);  // more than a window: its last
    qkv_probe_sampler_free(s);
    qkv_trainer_free(t);
}

static void what_it_cannot_do_it_says(void **state) {
    (void)state;
    char error[QKV_IO_ERROR] = "";
    qkv_trainer *t = trainer_with(NULL, 0);
    int ids[8];
    const data_text *text = data_text_of(qkv_trainer_spec(t));
    static const char *const wrong[][2] = {{"I@a", "the character '@' does not occur"},
                                           {"a\xff", "column 2: the byte 0xff is no UTF-8"},
                                           {"", "the prompt is empty"},
                                           {"the mice stayed", "15 tokens; an example holds 12"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(qkv_probe_load_prompt(t, qkv_trainer_any_worker(t), wrong[i][0], error));
        assert_non_null(strstr(error, wrong[i][1]));
    }
    assert_int_equal(data_text_tokens(text, "a@", 2, ids, error, sizeof error), -1);
    qkv_trainer_free(t);
    qkv_config c;
    data_spec spec;
    qkv_config_default(&c);
    assert_true(qkv_config_resolve(&c, &spec, error));
    t = qkv_trainer_new(NULL, &c, &spec, 1, error);
    assert_null(qkv_probe_sampler_new(t, true, error));
    assert_non_null(strstr(error, "the task 'pairs' is no text"));
    assert_false(qkv_probe_load_prompt(t, qkv_trainer_any_worker(t), "a", error));
    qkv_trainer_free(t);
}

/* ---- drawing ---- */

/* How often each of four tokens comes in 4000. */
static void often(double temperature, int top_k, double share[4]) {
    const real logits[] = {0, (real)1, (real)-1, (real)1};
    for (int i = 0; i < 4; i++) share[i] = 0;
    for (int i = 0; i < 4000; i++) {
        rng r = rng_stream(9, "draw", (uint64_t)i);
        double p;
        const int id = qkv_probe_draw(logits, 4, temperature, top_k, &r, &p);
        const double whole = 1 + 2 * exp(1) + exp(-1);
        assert_close(p, exp((double)logits[id]) / whole, 1e-12);
        share[id] += 1.0 / 4000;
    }
}

static void tokens_come_as_often_as_they_should(void **state) {
    (void)state;
    double share[4];
    const double whole = 1 + 2 * exp(1) + exp(-1), flat = 1 + 2 * exp(0.5) + exp(-0.5);
    often(1, 0, share);
    assert_close(share[0], 1 / whole, 0.04);
    assert_close(share[2], exp(-1) / whole, 0.04);
    often(2, 0, share);
    assert_close(share[2], exp(-0.5) / flat, 0.04);
    often(1, 2, share);
    assert_true(share[0] == 0 && share[2] == 0);
    assert_close(share[1], 0.5, 0.04);
    often(1, 3, share);
    assert_true(share[2] == 0 && share[0] > 0.1);
    often(0, 0, share);
    assert_true(share[1] > 0.999);  // of equals the first
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(kept_or_not_it_says_the_same),
    cmocka_unit_test(it_is_the_model_that_was_trained),
    cmocka_unit_test(the_window_slides_by_halves),
    cmocka_unit_test(what_it_cannot_do_it_says),
    cmocka_unit_test(tokens_come_as_often_as_they_should),
};
CHECK_MAIN(tests)
