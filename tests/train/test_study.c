/* Studies: what is read from JSON, what is said of mistakes, how results are kept, added up, judged and
 * told, and that an interrupted study ends as if it had not been. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/faults.h"
#include "train/study/study.h"

#define TINY                                                                              \
    "\"base\": {\"pairs\": 2, \"keys\": 4, \"values\": 4, \"d_model\": 4, \"batch\": 4, " \
    "\"steps\": 4, \"eval_every\": 2, \"eval_examples\": 8}"

static qkv_study *parse(const char *text) {
    char error[QKV_IO_ERROR];
    qkv_study *s = qkv_study_parse(text, strlen(text), error);
    if (!s) fail_msg("%s", error);
    return s;
}

/* ---- reading ---- */

static void refused(const char *text, const char *words) {
    char error[QKV_IO_ERROR] = "";
    qkv_study *s = qkv_study_parse(text, strlen(text), error);
    if (s || !strstr(error, words)) fail_msg("%s\n  gives '%s', not '%s'", text, error, words);
    for (const char *p = error; *p; p++)
        if (*p == '\n') fail_msg("'%s' is more than one line", error);
}

#define GROUPED(in)                                                                 \
    "{\"name\": \"s\", \"groups\": [{\"name\": \"g\"}], \"variants\": [{\"name\": " \
    "\"a\", \"in\": " in "}]}"
#define WITH(members) "{\"name\": \"s\", \"variants\": [{\"name\": \"a\"}], " members "}"

static void mistakes_are_named(void **state) {
    (void)state;
    refused("", "the file is empty");
    refused("[]", "a study must be an object");
    refused("{\"name\": \"s\",\n \"name\": \"t\"}", "line 2: duplicate object key");
    refused("{\"name\": \"s\"} x", "end of file expected");
    refused("{}", "'name' must be a text");
    refused("{\"name\": \"s\"}", "'variants' must not be empty");
    refused("{\"name\": \"s\", \"variants\": {}}", "'variants' must be a list");
    refused("{\"name\": \"s\", \"variants\": [1]}", "a variant must be an object");
    refused("{\"name\": \"s\", \"variants\": [{\"set\": {}}]}", "'name' must be a text");
    refused("{\"name\": \"s\", \"variants\": [{\"name\": \"a\", \"sets\": {}}]}",
            "a variant has no member 'sets'");
    refused("{\"name\": \"s\", \"variants\": [{\"name\": \"a\", \"set\": 1}]}",
            "'set' must be an object");
    refused("{\"name\": \"s\", \"variants\": [{\"name\": \"a\"}, {\"name\": \"a\"}]}",
            "there are two variants 'a'");
    refused(
        "{\"name\": \"s\", \"groups\": [{\"name\": \"g\"}], \"variants\": [{\"name\": \"a\", "
        "\"in\": [\"h\"]}]}",
        "the variant 'a' is in 'h', which is no group");
    refused(GROUPED("[1]"), "the variant 'a' is in '?', which is no group");
    refused(GROUPED("[\"g\", \"G\"]"), "the variant 'a' is in 'G', which is no group");
    refused(GROUPED("[]"), "the variant 'a' is in no group");
    refused(WITH("\"groups\": []"), "'groups' must not be empty");
    refused(WITH("\"groups\": [{\"name\": \"g\", \"steps\": 1}]"), "a group has no member 'steps'");
    refused(WITH("\"bases\": {}"), "a study has no member 'bases'");
    refused(WITH("\"base\": []"), "'base' must be an object");
    refused(WITH("\"claim\": 1"), "'claim' must be a text");
    refused(WITH("\"seeds\": 0"), "'seeds' must be a whole number from 1");
    refused(WITH("\"seeds\": \"3\""), "'seeds' must be a whole number");
    refused(WITH("\"seeds\": 2.5"), "'seeds' must be a whole number");
    refused(WITH("\"first_seed\": -1"), "'first_seed' must be a whole number from 0");
    refused(WITH("\"probes\": \"norms\""), "'probes' must be a list");
    refused(WITH("\"probes\": [\"norm\"]"), "there is no probe 'norm'");
    refused(WITH("\"columns\": [1]"), "a measure that is no text must be an object");
    refused(WITH("\"columns\": [{\"as\": \"x\"}]"), "'measure' must be a text");
    refused(WITH("\"bands\": [{\"variant\": \"b\", \"measure\": \"loss\"}]"),
            "a band is about 'b', which is no variant");
    refused(WITH("\"bands\": [{\"variant\": \"a\", \"measure\": \"loss\", \"most\": \"1\"}]"),
            "'most' must be a number");
    refused(WITH("\"bands\": [{\"variant\": \"a\", \"measures\": \"loss\"}]"),
            "a band has no member 'measures'");
    refused(WITH("\"picture\": {\"kind\": \"pie\", \"measures\": [\"loss\"]}"), "a picture has");
    refused(WITH("\"picture\": {\"kind\": \"lines\", \"measures\": [\"loss\"]}"), "a picture has");
    refused(WITH("\"picture\": {\"kind\": \"bars\"}"), "a picture has measures");
    refused(
        WITH("\"picture\": {\"kind\": \"bars\", \"measures\": [\"loss\"], \"groups\": [\"g\"]}"),
        "a group or variant that is none");
#define DRAWN(more) WITH("\"picture\": {\"measures\": [\"loss\"], " more "}")
    refused(DRAWN("\"kind\": \"bars\", \"axis\": \"logarithmic\""), "the axis 'logarithmic'");
    refused(DRAWN("\"kind\": \"bars\", \"axis\": 10"), "'axis' must be a text");
    refused(DRAWN("\"kind\": \"lines\", \"x\": \"d_k\", \"axis\": \"log\""), "the axis 'log'");
    refused(DRAWN("\"kind\": \"bars\", \"seeds\": true"), "'seeds' of a picture");
    refused(DRAWN("\"kind\": \"lines\", \"x\": \"d_k\", \"seeds\": 3"), "'seeds' of a picture");
    refused(WITH("\"picture\": {\"kind\": \"bars\", \"measures\": [{\"measure\": \"loss\", "
                 "\"least\": 1}]}"),
            "no 'least' or 'most'");
}

#define BAND(members) WITH("\"bands\": [{\"variant\": \"a\", \"measure\": \"loss\"" members "}]")

/* What would be the same in every training, and bands that nothing could refute. */
static void what_cannot_be_judged_is_refused(void **state) {
    (void)state;
    refused(WITH("\"base\": {\"seed\": 7}"),
            "'seed' in 'base' would be the same in every training");
    refused("{\"name\": \"s\", \"variants\": [{\"name\": \"a\", \"set\": {\"seed\": 1}}]}",
            "'seed' in 'set'");
    refused(WITH("\"base\": {\"from\": \"run\"}"), "'from' in 'base'");
    refused(BAND(""), "has neither 'least' nor 'most'");
    refused(BAND(", \"least\": 2, \"most\": 1"), "has a 'least' above its 'most'");
    refused(BAND(", \"most\": 1, \"seeds_least\": 2"), "shares from 0 to 1");
    refused(BAND(", \"most\": 1, \"seeds_most\": -1"), "shares from 0 to 1");
    refused(BAND(", \"most\": 1, \"seeds_least\": 0.5, \"seeds_most\": 0.2"), "shares from 0 to 1");
    refused(BAND(", \"most\": 1, \"seeds_least\": 0"), "holds whatever its seeds say");
    refused(WITH("\"columns\": [{\"measure\": \"loss\", \"least\": 2, \"most\": 1}]"),
            "'loss' has a 'least' above its 'most'");
}

static void later_options_win(void **state) {
    (void)state;
    qkv_study *s = parse(
        "{\"name\": \"s\", \"seeds\": 2, \"base\": {\"steps\": 1, \"lr\": 0.1, \"heads\": 1},"
        " \"groups\": [{\"name\": \"g\", \"set\": {\"steps\": 2, \"lr\": 0.2}, \"probes\": "
        "[\"norms\"]}, {\"name\": \"h\"}],"
        " \"variants\": [{\"name\": \"a\", \"set\": {\"steps\": 3}, \"probes\": [\"hull\"]},"
        " {\"name\": \"b\", \"in\": [\"h\"]}], \"probes\": [\"entropy\"]}");
    assert_int_equal(s->n_variants, 3);
    assert_string_equal(s->variant[0].group, "g");
    assert_string_equal(s->variant[0].json, "{\"heads\":1,\"lr\":0.20000000000000001,\"steps\":3}");
    assert_string_equal(s->variant[1].json, "{\"heads\":1,\"lr\":0.10000000000000001,\"steps\":3}");
    assert_string_equal(s->variant[2].name, "b");
    assert_string_equal(s->variant[2].json, "{\"heads\":1,\"lr\":0.10000000000000001,\"steps\":1}");
    assert_int_equal(s->variant[0].n_probes, 3);
    assert_string_equal(s->variant[0].probe[0]->name, "entropy");
    assert_string_equal(s->variant[0].probe[1]->name, "norms");
    assert_string_equal(s->variant[0].probe[2]->name, "hull");
    assert_int_equal(s->variant[2].n_probes, 1);
    assert_int_not_equal(s->variant[0].key, s->variant[1].key);
    qkv_study_free(s);
}

static void the_built_in_ones_are_sound(void **state) {
    (void)state;
    for (int i = 0; qkv_study_files[i].name; i++) {
        char text[1 << 15] = "";
        for (const char *const *line = qkv_study_files[i].lines; *line; line++) strcat(text, *line);
        qkv_study *s = parse(text);
        assert_string_equal(s->name, qkv_study_files[i].name);
        assert_true(*s->claim && *s->seen && *s->holds);
        assert_true(s->n_bands > 0 && s->n_columns > 0 && *s->picture.kind);
        for (int b = 0; b < s->n_bands; b++)  // did whoever wrote it know the numbers?
            assert_int_not_equal(s->band[b].set, QKV_STUDY_SET_UNSAID);
        char error[QKV_IO_ERROR] = "";
        qkv_study_options o = {.threads = 1};
        if (qkv_study_check(s, NULL, &o, error) != QKV_RUN_DONE) fail_msg("%s: %s", s->name, error);
        qkv_study_free(s);
    }
}

/* ---- judging ---- */

static const char judged[] =
    "{\"name\": \"s\", \"seeds\": 3, \"first_seed\": 5,"
    " \"variants\": [{\"name\": \"a\"}, {\"name\": \"b\"}],"
    " \"columns\": [\"accuracy\", \"steps99\", {\"measure\": \"loss + answer_attention\", \"as\": "
    "\"sum\"}],"
    " \"bands\": [{\"variant\": \"a\", \"measure\": \"accuracy\", \"least\": 0.5},"
    " {\"variant\": \"a\", \"measure\": \"accuracy\", \"least\": 0.5, \"most\": 0.85},"
    " {\"variant\": \"b\", \"measure\": \"accuracy\", \"least\": 0}],"
    " \"seen\": \"{a|accuracy|%}, {a|accuracy|1}, {a|loss}, {c|loss}, {a|what|2}, {a|loss - "
    "answer_attention|1}\","
    " \"holds\": \"yes\", \"fails\": \"no\"}";

static void add_result(qkv_study_results *r, int variant, int seed, double accuracy, double loss) {
    qkv_study_result one = {.variant = variant, .seed = seed, .measures = {.arena = r->arena}};
    qkv_probe_measure_add(&one.measures, accuracy, "accuracy");
    qkv_probe_measure_add(&one.measures, loss, "loss");
    qkv_probe_measure_add(&one.measures, 0.5, "answer_attention");
    assert_true(qkv_study_results_add(r, &one));
}

/* Of outcomes of two kinds how many, with the interval of Wilson; and bands for a share of the seeds. */
static void counts_and_shares(void **state) {
    static const char text[] =
        "{\"name\": \"s\", \"seeds\": 16, \"variants\": [{\"name\": \"a\"}],"
        " \"columns\": [{\"measure\": \"accuracy\", \"as\": \"learned\", \"least\": 0.9}],"
        " \"bands\": [{\"variant\": \"a\", \"measure\": \"accuracy\", \"least\": 0.9},"
        " {\"variant\": \"a\", \"measure\": \"accuracy\", \"least\": 0.9, \"seeds_least\": 0.8},"
        " {\"variant\": \"a\", \"measure\": \"accuracy\", \"least\": 0.9, \"seeds_least\": 0.9},"
        " {\"variant\": \"a\", \"measure\": \"accuracy\", \"least\": 0.9, \"seeds_most\": 0.8}],"
        " \"seen\": \"{a|accuracy|>= 0.9} {a|accuracy|<= 0.2} {a|nothing|>= 0}\"}";
    (void)state;
    qkv_study *s = parse(text);
    qkv_study_results r = {.arena = tensor_arena_new(NULL)};
    assert_int_equal(qkv_study_counted(s, &r, 0, "accuracy", 0.9, 1).n, 0);
    for (int seed = 1; seed <= 16; seed++) add_result(&r, 0, seed, seed <= 14 ? 0.95 : 0.1, 1);
    qkv_study_count c = qkv_study_counted(s, &r, 0, "accuracy", 0.9, 1);
    assert_int_equal(c.n, 16);
    assert_int_equal(c.inside, 14);
    assert_close(c.low, 0.6398, 1e-3);  // statsmodels' proportion_confint(14, 16, method="wilson")
    assert_close(c.high, 0.9650, 1e-3);
    c = qkv_study_counted(s, &r, 0, "nothing", 0, 1);  // not measured: outside
    assert_true(c.n == 16 && c.inside == 0 && c.low < 1e-9 && c.high > 0.15 && c.high < 0.25);
    static const qkv_study_band_verdict verdicts[] = {QKV_STUDY_BAND_FAILS, QKV_STUDY_BAND_HOLDS,
                                                      QKV_STUDY_BAND_FAILS, QKV_STUDY_BAND_FAILS};
    for (int i = 0; i < 4; i++)
        assert_int_equal(qkv_study_band_judge(s, &r, &s->band[i]), verdicts[i]);
    qkv_io_text out = {.arena = r.arena};
    qkv_study_text(s, &r, &out);
    assert_non_null(strstr(out.at, "14 of 16 (64-97 %)"));
    assert_non_null(strstr(out.at, "with 80 to 100 % of the seeds"));
    assert_non_null(strstr(out.at, "a: accuracy >= 0.9"));  // not what the seeds are counted as
    const char *seen = strstr(out.at, "Seen");
    assert_non_null(seen);
    assert_non_null(strstr(seen, "14 of 16 seeds (64 to 97 %) 2 of 16 seeds"));
    assert_non_null(strstr(seen, "(not measured)"));
    tensor_arena_free(r.arena);
    qkv_study_free(s);
}

/* A probe of the kind that runs during training leaves its numbers at each evaluation. */
static void probes_during_training(void **state) {
    (void)state;
    qkv_study *s = parse(
        "{\"name\": \"s\", \"base\": {\"task\": \"induction\", \"steps\": 4, \"eval_every\": 2,"
        " \"eval_examples\": 8, \"d_model\": 8}, \"variants\": [{\"name\": \"a\"}],"
        " \"probes\": [\"phase\"]}");
    qkv_probe_measures m = {.arena = tensor_arena_new(NULL)};
    char error[QKV_IO_ERROR] = "";
    if (!qkv_study_job(s, 0, 1, NULL, 1, NULL, &m, error)) fail_msg("%s", error);
    static const int steps[] = {0, 2, 4};
    for (int i = 0; i < 3; i++) {
        char name[QKV_PROBE_MEASURE];
        snprintf(name, sizeof name, "phase.layer1.attn.0.induction@%d", steps[i]);
        assert_true(isfinite(qkv_probe_measure_get(&m, name)));
    }
    assert_true(isnan(qkv_probe_measure_get(&m, "phase.layer1.attn.0.induction")));
    tensor_arena_free(m.arena);
    qkv_study_free(s);
}

/* Each band says when it was set: all at once, or one by one. */
static void bands_say_when_they_were_set(void **state) {
    static const char *const bands[] = {
        "{\"variant\": \"a\", \"measure\": \"loss\", \"most\": 1}",
        "{\"variant\": \"a\", \"measure\": \"loss\", \"most\": 1, \"set\": \"after\"}"};
    static const struct {
        const char *all;
        int first, second;
        const char *says, *lacks;
    } cases[] = {{"", 0, 0, "unless said otherwise:", "set "},
                 {"\"bands_set\": \"before\",", 0, 0,
                  "otherwise; set before the numbers were seen:", "(set"},
                 {"\"bands_set\": \"after\",", 0, 1,
                  "otherwise; set after a first look at numbers:", "(set"},
                 {"\"bands_set\": \"before\",", 0, 1, "<= 1 (set after a first look at numbers)",
                  "otherwise; set"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[600];
        snprintf(json, sizeof json,
                 "{\"name\": \"s\", \"variants\": [{\"name\": \"a\"}], %s \"bands\": [%s, %s]}",
                 cases[i].all, bands[cases[i].first], bands[cases[i].second]);
        qkv_study *s = parse(json);
        qkv_study_results r = {.arena = tensor_arena_new(NULL)};
        qkv_io_text text = {.arena = r.arena};
        qkv_study_text(s, &r, &text);
        if (!strstr(text.at, cases[i].says) || strstr(text.at, cases[i].lacks))
            fail_msg("%s\n  says: %s", json, text.at);
        tensor_arena_free(r.arena);
        qkv_study_free(s);
    }
    refused(WITH("\"bands_set\": \"later\""), "'bands_set' must be 'before' or 'after'");
    refused(WITH("\"bands\": [{\"variant\": \"a\", \"measure\": \"loss\", \"set\": 1}]"),
            "'set' must be a text");
    refused(WITH("\"bands\": [{\"variant\": \"a\", \"measure\": \"loss\", \"set\": \"x\"}]"),
            "'set' must be 'before' or 'after'");
}

static void means_bands_and_sums(void **state) {
    (void)state;
    qkv_study *s = parse(judged);
    qkv_study_results r = {.arena = tensor_arena_new(NULL)};
    assert_int_equal(qkv_study_band_judge(s, &r, &s->band[0]), QKV_STUDY_BAND_UNKNOWN);
    assert_true(isnan(qkv_study_summarise(s, &r, 0, "accuracy").mean));
    add_result(&r, 0, 5, 0.8, 1);
    assert_close(qkv_study_summarise(s, &r, 0, "accuracy").sd, 0, 0);
    add_result(&r, 0, 6, 0.9, 2);
    add_result(&r, 0, 7, 1.0, 3);
    add_result(&r, 0, 8, 100, 100);  // another seed than those asked for
    qkv_study_summary m = qkv_study_summarise(s, &r, 0, "accuracy");
    assert_int_equal(m.n, 3);
    assert_close(m.mean, 0.9, 1e-12);
    assert_close(m.sd, 0.1, 1e-12);
    assert_close(m.least, 0.8, 0);
    assert_close(m.most, 1.0, 0);
    assert_close(qkv_study_summarise(s, &r, 0, "loss + answer_attention").mean, 2.5, 1e-12);
    assert_close(qkv_study_summarise(s, &r, 0, "loss - answer_attention - answer_attention").mean,
                 1, 1e-12);
    assert_true(isnan(qkv_study_summarise(s, &r, 0, "loss * answer_attention").mean));
    assert_true(isnan(qkv_study_summarise(s, &r, 0, "loss + ").mean));
    assert_int_equal(qkv_study_band_judge(s, &r, &s->band[0]), QKV_STUDY_BAND_HOLDS);
    assert_int_equal(qkv_study_band_judge(s, &r, &s->band[1]), QKV_STUDY_BAND_FAILS);
    assert_int_equal(qkv_study_missing(s, &r), 3 * (s->n_variants - 1));
    assert_int_equal(qkv_study_judge(s, &r), QKV_STUDY_INCOMPLETE);
    for (int v = 1; v < s->n_variants; v++)
        for (int seed = 6; seed < 8; seed++) add_result(&r, v, seed, 1, 1);
    qkv_study_result failed = {.variant = 1, .seed = 5, .error = (char[]){"it broke"}};
    assert_true(qkv_study_results_add(&r, &failed));
    assert_int_equal(qkv_study_band_judge(s, &r, &s->band[2]), QKV_STUDY_BAND_UNKNOWN);
    assert_int_equal(qkv_study_summarise(s, &r, 1, "accuracy").failed, 1);
    assert_int_equal(qkv_study_missing(s, &r), 0);
    assert_int_equal(qkv_study_failed(s, &r), 1);
    assert_int_equal(qkv_study_judge(s, &r), QKV_STUDY_INCOMPLETE);
    qkv_study_result *at = (qkv_study_result *)qkv_study_results_find(&r, 1, 5);
    *at = *qkv_study_results_find(&r, 1, 6);  // it went well, but one of its numbers is none
    at->seed = 5;
    assert_int_equal(qkv_study_judge(s, &r), QKV_STUDY_FAILS);
    s->band[1].measure = "distractor";
    s->band[2].most = 2;
    assert_int_equal(qkv_study_band_judge(s, &r, &s->band[1]), QKV_STUDY_BAND_UNKNOWN);
    assert_int_equal(qkv_study_judge(s, &r), QKV_STUDY_INCOMPLETE);
    s->band[1].seeds_most = s->band[1].seeds_least = 0;  // nor is that "no seed is inside"
    assert_int_equal(qkv_study_band_judge(s, &r, &s->band[1]), QKV_STUDY_BAND_UNKNOWN);
    s->band[1].measure = "steps99";  // it is: a step may not have been reached
    assert_int_equal(qkv_study_band_judge(s, &r, &s->band[1]), QKV_STUDY_BAND_HOLDS);
    s->n_bands = 1;
    assert_int_equal(qkv_study_judge(s, &r), QKV_STUDY_HOLDS);
    s->n_bands = 0;
    assert_int_equal(qkv_study_judge(s, &r), QKV_STUDY_WITHOUT_BANDS);
    tensor_arena_free(r.arena);
    qkv_study_free(s);
}

static void has(const qkv_io_text *text, const char *words) {
    if (!strstr(text->at, words)) fail_msg("%s\n  does not say '%s'", text->at, words);
}

static void the_text_says_what_was_found(void **state) {
    (void)state;
    qkv_study *s = parse(judged);
    qkv_study_results r = {.arena = tensor_arena_new(NULL)};
    for (int seed = 5; seed < 8; seed++) add_result(&r, 0, seed, 0.9, seed);
    add_result(&r, 1, 5, 0.25, 200);
    qkv_io_text part = {.arena = r.arena};
    qkv_study_text(s, &r, &part);
    has(&part, "Verdict  none: 2 of its 6 trainings are missing\n");
    for (int seed = 6; seed < 8; seed++) add_result(&r, 1, seed, (double)NAN, (double)NAN);
    qkv_io_text text = {.arena = r.arena};
    qkv_study_text(s, &r, &text);
    assert_false(text.failed);
    has(&text, "Study s: 2 variants, 3 seeds\n");
    has(&text, "   accuracy  steps99          sum\n");
    has(&text, "a        0.900    never  6.50 ± 1.00\n");
    has(&text, "b  0.250 (1/3)    never    200 (1/3)\n");
    has(&text, "  holds        a: accuracy >= 0.5\n  FAILS        a: accuracy in [0.5, 0.85]\n");
    has(&text, "90.0 %, 0.9, 6.00, (not measured), (not measured), 5.5");
    has(&text, "Verdict  1 of 3 bands fails (a: accuracy). no\n");
    s->n_bands = 1;
    s->band[0].measure = "distractor";
    qkv_io_text lacking = {.arena = r.arena};
    qkv_study_text(s, &r, &lacking);
    has(&lacking, "  not measured a: distractor >= 0.5\n");
    has(&lacking, "Verdict  none: a band has not the numbers of all its seeds\n");
    const char *blank = strstr(text.at, " \n");
    if (blank) fail_msg("blanks at the end of a line: %s", blank);
    tensor_arena_free(r.arena);
    qkv_study_free(s);
}

/* ---- the file of results ---- */

static void put(const char *text) { faults_put("results.jsonl", text, strlen(text)); }

static qkv_study_results read_back(const qkv_study *s) {
    char error[QKV_IO_ERROR] = "";
    qkv_study_results r = {.arena = tensor_arena_new(NULL)};
    qkv_io_status status = qkv_study_results_read(&qkv_io_posix, "results.jsonl", s, &r, error);
    if (status != QKV_IO_OK) fail_msg("%s", error);
    return r;
}

static void results_survive_the_file(void **state) {
    (void)state;
    qkv_study *s = parse(judged);
    qkv_study_results r = {.arena = tensor_arena_new(NULL)};
    char all[4096] = "";
    qkv_study_results none = read_back(s);  // no file yet
    assert_int_equal(none.n, 0);
    tensor_arena_free(none.arena);
    add_result(&r, 0, 5, 0.123456789, 1e-300);
    add_result(&r, 1, 6, 1, 2);
    qkv_study_result failed = {.variant = 1, .seed = 7, .error = (char[]){"a \"bad\" one\n"}};
    assert_true(qkv_study_results_add(&r, &failed));
    for (int i = 0; i < r.n; i++) {
        char *line = qkv_study_result_line(s, &r.at[i]);
        assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
        strcat(all, line);
        free(line);
    }
    put(all);
    qkv_study_results again = read_back(s);
    assert_int_equal(again.n, 2);  // a failed one is tried again
    assert_close(qkv_probe_measure_get(&again.at[0].measures, "accuracy"), 0.123456789, 1e-15);
    assert_close(qkv_probe_measure_get(&again.at[0].measures, "loss"), 1e-300, 1e-308);
    assert_int_equal(again.at[1].seed, 6);
    tensor_arena_free(again.arena);

    all[strlen(all) - 1] = '\0';  // the last line is torn
    char *last = strrchr(all, '\n');
    last[-20] = '\n';  // the one before damaged
    put(all);
    again = read_back(s);
    assert_int_equal(again.n, 1);
    tensor_arena_free(again.arena);
    tensor_arena_free(r.arena);
    qkv_study_free(s);
}

static void other_set_ups_are_left_out(void **state) {
    (void)state;
    qkv_study *s = parse("{\"name\": \"s\", \"variants\": [{\"name\": \"a\"}]}");
    qkv_study *steps =
        parse("{\"name\": \"s\", \"base\": {\"steps\": 7}, \"variants\": [{\"name\": \"a\"}]}");
    qkv_study *probed =
        parse("{\"name\": \"s\", \"variants\": [{\"name\": \"a\"}], \"probes\": [\"hull\"]}");
    qkv_study_results r = {.arena = tensor_arena_new(NULL)};
    add_result(&r, 0, 1, 1, 0);
    char *line = qkv_study_result_line(s, &r.at[0]);
    put(line);
    free(line);
    const qkv_study *all[] = {s, steps, probed};
    for (int i = 0; i < 3; i++) {
        qkv_study_results found = read_back(all[i]);
        assert_int_equal(found.n, i == 0);
        tensor_arena_free(found.arena);
    }
    tensor_arena_free(r.arena);
    qkv_study_free(s);
    qkv_study_free(steps);
    qkv_study_free(probed);
}

/* ---- before anything is trained ---- */

static void checked(const char *text, const char *words) {
    char error[QKV_IO_ERROR] = "";
    qkv_study *s = parse(text);
    qkv_study_options o = {.threads = 1};
    qkv_run_status status = qkv_study_check(s, NULL, &o, error);
    if (status != (words ? QKV_RUN_USAGE : QKV_RUN_DONE) || (words && !strstr(error, words)))
        fail_msg("%s\n  gives %d, '%s', not '%s'", text, status, error, words ? words : "");
    qkv_study_free(s);
}

#define STUDY(members) \
    "{\"name\": \"s\", " TINY ", \"variants\": [{\"name\": \"a\"}, {\"name\": \"b\"}], " members "}"
#define VARIANT(set) \
    "{\"name\": \"s\", " TINY ", \"variants\": [{\"name\": \"a\"}, {\"name\": \"b\", " set "}]}"
#define COLUMN(measure) STUDY("\"columns\": [\"loss\", \"" measure "\"]")
#define SEEN(text)      STUDY("\"seen\": \"It is " text ".\"")
#undef PICTURE
#define PICTURE(members) STUDY("\"picture\": {" members "}")

static void options_are_looked_for_before_training(void **state) {
    (void)state;
    checked(VARIANT("\"set\": {\"d_modle\": 8}"), "the variant 'b': ");
    checked(VARIANT("\"set\": {\"tie\": \"vq\"}"), "the variant 'b': ");
    checked(VARIANT("\"set\": {\"heads\": 3}"), "the variant 'b': 3 heads do not divide");
    checked(VARIANT("\"set\": {\"task\": \"pears\"}"), "the variant 'b': ");
    checked(VARIANT("\"set\": {\"lr\": \"fast\"}"), "the variant 'b': ");
    checked(VARIANT("\"set\": {\"momentum\": 0.5}"), "--momentum belongs to --optimizer");
    checked(VARIANT("\"set\": {\"momentum\": 0.5, \"optimizer\": \"sgd\"}"), NULL);
    checked(VARIANT("\"probes\": [\"coref\"]"), "the variant 'b': ");
}

static void measures_are_looked_for_before_training(void **state) {
    (void)state;
    checked(COLUMN("accurracy"), "columns: 'accurracy' is not measured");
    checked(COLUMN("norms.wq"), "it needs \"probes\": [\"norms\"]");
    checked(COLUMN("loss@3"), "'loss@3' is not measured");
    checked(COLUMN("loss@6"), "'loss@6' is not measured");
    checked(COLUMN("loss@"), "'loss@' is not measured");
    checked(COLUMN("loss@2 - loss"), NULL);
    checked(COLUMN("loss * accuracy"), "'loss * accuracy' is not measured");
    checked(COLUMN("loss - "), "'loss - ' is not measured");
    checked(COLUMN("steps99"), NULL);
    checked(COLUMN("qk90 - ov90"), NULL);
    checked(COLUMN("a_name_that_is_longer_than_the_name_of_any_measure_can_ever_be"), "is not");
    checked(STUDY("\"probes\": [\"norms\"], \"columns\": [\"norms.wq\"]"), NULL);
    checked(STUDY("\"probes\": [\"norms\"], \"columns\": [\"norms.wx\"]"), "'norms.wx' is not");
    checked(STUDY("\"bands\": [{\"variant\": \"b\", \"measure\": \"acuracy\", \"least\": 0}]"),
            "the band about 'b': 'acuracy' is not measured");
    checked("{\"name\": \"s\", " TINY
            ", \"variants\": [{\"name\": \"a\"}, {\"name\": \"b\", \"probes\": [\"norms\"]}],"
            " \"columns\": [\"norms.wq\"], \"bands\": [{\"variant\": \"a\", \"measure\": "
            "\"norms.wq\", \"most\": 9}]}",
            "the band about 'a': 'norms.wq' is not measured");
    checked(SEEN("{a|loss}, {b|accuracy|%}, {a|loss@2|2}, {a|loss|>= 1}"), NULL);
    checked(SEEN("{c|loss}"), "'seen': in '{c|loss}' the variant is none of the study's");
    checked(SEEN("{a|lost}"), "seen: 'lost' is not measured");
    checked(SEEN("{a}"), "variant|measure is missing");
    checked(SEEN("{a|loss|two}"), "the format is neither");
    checked(SEEN("{a|loss|>= x}"), "the format is neither");
    checked(SEEN("{a|loss|1|2}"), "more than variant|measure|format");
    checked(SEEN("{a|loss"), "'seen' has a { without its }");
    checked(PICTURE("\"kind\": \"bars\", \"measures\": [\"los\"]"), "the picture: 'los' is not");
    checked(PICTURE("\"kind\": \"lines\", \"x\": \"d_modle\", \"measures\": [\"loss\"]"),
            "the picture: its x, 'd_modle'");
    checked(PICTURE("\"kind\": \"lines\", \"x\": \"d_model\", \"measures\": [\"loss\"]"), NULL);
    checked(PICTURE("\"kind\": \"lines\", \"x\": \"step\", \"measures\": [\"loss@#\"]"), NULL);
    checked(PICTURE("\"kind\": \"lines\", \"x\": \"step\", \"measures\": [\"lost@#\"]"),
            "the picture: 'lost@#' is not");
}

/* ---- running ---- */

static const char tiny[] =
    "{\"name\": \"tiny\", \"seeds\": 2, " TINY
    ", \"variants\": [{\"name\": \"a\"}, {\"name\": \"b\", \"set\": {\"tie\": \"qk\"}},"
    " {\"name\": \"broken\", \"set\": {\"heads\": 3}}], \"columns\": [\"loss\"]}";

static volatile sig_atomic_t stop;

static void stop_after_two(void *ctx, int done, int total, double seconds) {
    (void)ctx, (void)total, (void)seconds;
    stop = done >= 2;
}

static qkv_study_results run(const qkv_study *s, const char *dir, int jobs, bool stops,
                             qkv_run_status expected) {
    char error[QKV_IO_ERROR];
    qkv_study_options o = {.dir = dir,
                           .jobs = jobs,
                           .threads = 1,
                           .parts = 1,
                           .stop = &stop,
                           .progress = stops ? stop_after_two : NULL};
    qkv_study_results r = {.arena = tensor_arena_new(NULL)};
    stop = 0;
    qkv_run_status status = qkv_study_run(&qkv_io_posix, s, &o, &r, error);
    if (status != expected) fail_msg("status %d, expected %d: %s", status, expected, error);
    return r;
}

/* All that was measured but the time it took. */
static void same_results(const qkv_study *s, const qkv_study_results *a,
                         const qkv_study_results *b) {
    for (int v = 0; v < 2; v++)
        for (int seed = 1; seed <= s->seeds; seed++) {
            const qkv_study_result *x = qkv_study_results_find(a, v, seed);
            const qkv_study_result *y = qkv_study_results_find(b, v, seed);
            assert_true(x && y && !x->error && !y->error);
            assert_true(qkv_probe_measure_get(&x->measures, "loss") > 0);
            for (int i = 0; i < x->measures.n; i++) {
                const qkv_probe_measure *m = &x->measures.at[i];
                if (strcmp(m->name, "seconds") == 0) continue;
                assert_close(qkv_probe_measure_get(&y->measures, m->name), m->x, 1e-8 * fabs(m->x));
            }
        }
}

static void an_interrupted_study_goes_on(void **state) {
    (void)state;
    qkv_study *s = parse(tiny);
    qkv_study_results whole = run(s, "whole", 1, false, QKV_RUN_DONE);
    qkv_study_results some = run(s, "pieces", 1, true, QKV_RUN_STOPPED);
    assert_int_equal(some.n, 2);
    qkv_study_results rest = run(s, "pieces", 2, false, QKV_RUN_DONE);
    same_results(s, &whole, &rest);
    // Nothing is left but the broken one.
    qkv_study_results again = run(s, "pieces", 2, false, QKV_RUN_DONE);
    same_results(s, &whole, &again);
    tensor_arena_free(whole.arena);
    tensor_arena_free(some.arena);
    tensor_arena_free(rest.arena);
    tensor_arena_free(again.arena);
    qkv_study_free(s);
}

static void a_broken_variant_does_not_lose_the_others(void **state) {
    (void)state;
    qkv_study *s = parse(tiny);
    qkv_study_results r = run(s, "broken", 2, false, QKV_RUN_DONE);
    assert_int_equal(r.n, 6);
    assert_int_equal(qkv_study_summarise(s, &r, 0, "loss").n, 2);
    assert_int_equal(qkv_study_summarise(s, &r, 1, "loss").n, 2);
    assert_int_equal(qkv_study_summarise(s, &r, 2, "loss").failed, 2);
    qkv_io_text text = {.arena = r.arena};
    qkv_study_text(s, &r, &text);
    has(&text, "failed: broken, seed 1: 3 heads do not divide the width 4");
    tensor_arena_free(r.arena);
    qkv_study_free(s);
}

/* ---- what is written ---- */

static char *content(const char *path) {
    void *text;
    size_t n;
    char error[QKV_IO_ERROR];
    if (qkv_io_read_file(&qkv_io_posix, NULL, path, 1 << 20, &text, &n, error) != QKV_IO_OK)
        fail_msg("%s", error);
    return text;
}

static void wrote(const char *path, const char *expected) {
    char *text = content(path);
    assert_string_equal(text, expected);
    tensor_malloc.release(NULL, text);
}

static void tables_and_the_numbers_of_pictures(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    qkv_study *s = parse(
        "{\"name\": \"s\", \"seeds\": 1, \"groups\": [{\"name\": \"g, \\\"h\\\"\"}, {\"name\": "
        "\"i\"}],"
        " \"variants\": [{\"name\": \"four\", \"set\": {\"d_k\": 4}}, {\"name\": \"two\", \"set\": "
        "{\"d_k\": 2}}],"
        " \"columns\": [\"loss\"], \"bands\": [{\"variant\": \"two\", \"group\": \"i\", "
        "\"measure\": "
        "\"loss\", \"most\": 3}],"
        " \"picture\": {\"kind\": \"bars\", \"measures\": [\"loss\"], \"title\": \"T\", \"x\": "
        "\"d_k\"}}");
    qkv_study_results r = {.arena = tensor_arena_new(NULL)};
    for (int v = 0; v < 4; v++) add_result(&r, v, 1, 0, v);
    assert_true(qkv_study_write(&qkv_io_posix, s, &r, ".", error));
    wrote("table.csv",
          "group,variant,measure,n,mean,sd,least,most\n"
          "\"g, \"\"h\"\"\",\"four\",\"loss\",1,0,0,0,0\n\"g, "
          "\"\"h\"\"\",\"two\",\"loss\",1,1,0,1,1\n"
          "\"i\",\"four\",\"loss\",1,2,0,2,2\n\"i\",\"two\",\"loss\",1,3,0,3,3\n");
    wrote("bars.csv",
          "y,name,mean,sd,least,most,band_least,band_most,title,label\n"
          "0,\"g, \"\"h\"\"\",,,,,,,,\n1,\"four\",0,0,0,0,,,\"T\",\"loss\"\n"
          "2,\"two\",1,0,1,1,,,\"T\",\"loss\"\n3.6,\"i\",,,,,,,,\n"
          "4.6,\"four\",2,0,2,2,,,\"T\",\"loss\"\n5.6,\"two\",3,0,3,3,,3,\"T\",\"loss\"\n");
    s->picture.kind = "lines";
    assert_true(qkv_study_write(&qkv_io_posix, s, &r, ".", error));
    wrote("lines.csv",
          "\"d_k\",title,label,curves,\"g, \"\"h\"\"\",least,most,\"i\",least,most\n"
          "2,\"T\",\"loss\",2,1,1,1,3,3,3\n4,\"T\",\"loss\",2,0,0,0,2,2,2\n");
    r.n = 2;  // a group without a number is no curve
    assert_true(qkv_study_write(&qkv_io_posix, s, &r, ".", error));
    wrote("lines.csv",
          "\"d_k\",title,label,curves,\"loss\",least,most\n"
          "2,\"T\",\"loss\",1,1,1,1\n4,\"T\",\"loss\",1,0,0,0\n");
    tensor_arena_free(r.arena);
    qkv_study_free(s);
}

/* A picture may show some variants only; a mean over a part of the seeds says over how many. */
static void bars_of_some(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    qkv_study *s = parse(
        "{\"name\": \"s\", \"seeds\": 3, \"variants\": [{\"name\": \"a\"}, {\"name\": \"b\"}],"
        " \"columns\": [\"loss\"], \"picture\": {\"kind\": \"bars\", \"measures\": [\"loss\"], "
        "\"title\": \"T\", \"groups\": [\"b\"]}}");
    qkv_study_results r = {.arena = tensor_arena_new(NULL)};
    for (int seed = 1; seed <= 3; seed++) add_result(&r, 0, seed, 0, 5);
    add_result(&r, 1, 2, 0, 7);
    assert_true(qkv_study_write(&qkv_io_posix, s, &r, ".", error));
    wrote("bars.csv",
          "y,name,mean,sd,least,most,band_least,band_most,title,label\n"
          "1,\"b (1 of 3)\",7,0,7,7,,,\"T\",\"loss\"\n");
    s->picture.log = true;  // bars.gp finds that in an eleventh column
    assert_true(qkv_study_write(&qkv_io_posix, s, &r, ".", error));
    wrote("bars.csv",
          "y,name,mean,sd,least,most,band_least,band_most,title,label,axis\n"
          "1,\"b (1 of 3)\",7,0,7,7,,,\"T\",\"loss\",log\n");
    tensor_arena_free(r.arena);
    qkv_study_free(s);
}

/* Groups and variants listed: these variants of those groups. */
static void bars_of_some_in_some_groups(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    qkv_study *s = parse(
        "{\"name\": \"s\", \"seeds\": 1, \"groups\": [{\"name\": \"g\"}, {\"name\": \"h\"}, "
        "{\"name\": "
        "\"i\"}], \"variants\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"columns\": [\"loss\"], "
        "\"picture\": {\"kind\": \"bars\", \"measures\": [\"loss\"], \"title\": \"T\", \"groups\": "
        "[\"h\", \"b\", \"i\"]}}");
    qkv_study_results r = {.arena = tensor_arena_new(NULL)};
    for (int v = 0; v < 6; v++) add_result(&r, v, 1, 0, v);
    assert_true(qkv_study_write(&qkv_io_posix, s, &r, ".", error));
    wrote("bars.csv",
          "y,name,mean,sd,least,most,band_least,band_most,title,label\n"
          "0,\"h\",,,,,,,,\n1,\"b\",3,0,3,3,,,\"T\",\"loss\"\n"
          "2.6,\"i\",,,,,,,,\n3.6,\"b\",5,0,5,5,,,\"T\",\"loss\"\n");
    tensor_arena_free(r.arena);
    qkv_study_free(s);
}

/* Every seed stands behind the curves; one that was not trained leaves its field empty. */
static void curves_with_their_seeds(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    qkv_study *s = parse(
        "{\"name\": \"s\", \"seeds\": 2, \"first_seed\": 5, \"groups\": [{\"name\": \"g\"}, "
        "{\"name\": "
        "\"h\"}], \"variants\": [{\"name\": \"four\", \"set\": {\"d_k\": 4}}, {\"name\": \"two\", "
        "\"set\": {\"d_k\": 2}, \"in\": [\"g\"]}], \"columns\": [\"loss\"], \"picture\": "
        "{\"kind\": "
        "\"lines\", \"x\": \"d_k\", \"seeds\": true, \"measures\": [\"loss\"], \"title\": \"T\"}}");
    qkv_study_results r = {.arena = tensor_arena_new(NULL)};
    add_result(&r, 0, 5, 0, 1), add_result(&r, 0, 6, 0, 3);
    add_result(&r, 1, 6, 0, 8);
    add_result(&r, 2, 5, 0, 4), add_result(&r, 2, 6, 0, 6);
    assert_true(qkv_study_write(&qkv_io_posix, s, &r, ".", error));
    wrote(
        "lines.csv",
        "\"d_k\",title,label,curves,\"g\",least,most,\"h\",least,most,seed 5,seed 6,seed 5,seed 6\n"
        "2,\"T\",\"loss\",2,8,8,8,,,,,8,,\n4,\"T\",\"loss\",2,2,1,3,5,4,6,1,3,4,6\n");
    tensor_arena_free(r.arena);
    qkv_study_free(s);
}

static void curves_over_the_step(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    qkv_study *s = parse(
        "{\"name\": \"s\", \"seeds\": 1, \"variants\": [{\"name\": \"a\"}], \"picture\": "
        "{\"kind\": "
        "\"lines\", \"x\": \"step\", \"label\": \"L\", \"measures\": [{\"measure\": "
        "\"answer_attention@#\", "
        "\"as\": "
        "\"M\"}, \"loss@#\"]}}");
    qkv_study_results r = {.arena = tensor_arena_new(NULL)};
    qkv_study_result one = {.seed = 1, .measures = {.arena = r.arena}};
    qkv_probe_measure_add(&one.measures, 9, "loss");
    qkv_probe_measure_add(&one.measures, 1, "loss@10");
    qkv_probe_measure_add(&one.measures, 2, "loss@0");
    qkv_probe_measure_add(&one.measures, 0.5, "answer_attention@10");
    qkv_probe_measure_add(&one.measures, 7, "answer_attention@");
    assert_true(qkv_study_results_add(&r, &one));
    assert_true(qkv_study_write(&qkv_io_posix, s, &r, ".", error));
    wrote("lines.csv",
          "\"step\",title,label,curves,\"M\",least,most,\"loss@#\",least,most\n"
          "0,\"\",\"L\",2,,,,2,2,2\n10,\"\",\"L\",2,0.5,0.5,0.5,1,1,1\n");
    tensor_arena_free(r.arena);
    qkv_study_free(s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(mistakes_are_named),
    cmocka_unit_test(what_cannot_be_judged_is_refused),
    cmocka_unit_test(later_options_win),
    cmocka_unit_test(the_built_in_ones_are_sound),
    cmocka_unit_test(bands_say_when_they_were_set),
    cmocka_unit_test(means_bands_and_sums),
    cmocka_unit_test(counts_and_shares),
    cmocka_unit_test(probes_during_training),
    cmocka_unit_test(the_text_says_what_was_found),
    faults_test(results_survive_the_file),
    faults_test(other_set_ups_are_left_out),
    cmocka_unit_test(options_are_looked_for_before_training),
    cmocka_unit_test(measures_are_looked_for_before_training),
    faults_test(an_interrupted_study_goes_on),
    faults_test(a_broken_variant_does_not_lose_the_others),
    faults_test(tables_and_the_numbers_of_pictures),
    faults_test(bars_of_some),
    faults_test(bars_of_some_in_some_groups),
    faults_test(curves_with_their_seeds),
    faults_test(curves_over_the_step),
};

CHECK_MAIN(tests)
