/* Options that belong together: what a "0" stands for, what is refused, what the model is told. */
#include <string.h>

#include "tests/lib/check.h"
#include "tests/lib/tasks.h"
#include "train/config/config.h"

/* A configuration with some options, given as text, and the others at their defaults. */
typedef struct {
    const char *field, *text;
} setting;
#define WITH(...) ((const setting[]){__VA_ARGS__, {NULL, NULL}})

static qkv_config config_with(const setting *settings) {
    qkv_config c;
    char error[QKV_IO_ERROR] = "";
    qkv_config_default(&c);
    for (; settings->field; settings++)
        if (!qkv_config_set(&c, qkv_config_option_find(&c, settings->field), settings->text, error))
            fail_msg("%s", error);
    return c;
}

static qkv_config resolved(const setting *settings) {
    qkv_config c = config_with(settings);
    data_spec spec;
    char error[QKV_IO_ERROR] = "";
    if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s", error);
    data_release(&spec);
    return c;
}

/* Is refused by one sentence with `words` in it. */
static void assert_refused(const setting *settings, const char *words) {
    qkv_config c = config_with(settings);
    data_spec spec;
    char error[QKV_IO_ERROR] = "";
    assert_false(qkv_config_resolve(&c, &spec, error));
    if (!strstr(error, words)) fail_msg("'%s' does not say '%s'", error, words);
    assert_null(strchr(error, '\n'));
}

static int number(const qkv_config *c, const char *field) {
    return (int)qkv_config_number(c, qkv_config_option_find(c, field));
}
static void assert_sizes(const qkv_config *c, int pairs, int keys, int values) {
    assert_int_equal(number(c, "pairs"), pairs);
    assert_int_equal(number(c, "keys"), keys);
    assert_int_equal(number(c, "values"), values);
}

static void zeros_stand_for_the_usual(void **state) {
    (void)state;
    qkv_config c = resolved(WITH({"heads", "4"}, {"d_model", "48"}));
    assert_sizes(&c, 8, 32, 32);
    assert_true(c.d_k == 12 && c.d_v == 12 && c.kv_heads == 4);
    c = resolved(WITH({"heads", "4"}, {"d_model", "48"}, {"d_k", "5"}, {"kv_heads", "2"}));
    assert_true(c.d_k == 5 && c.d_v == 12 && c.kv_heads == 2);
    c = resolved(WITH({"pairs", "3"}, {"values", "9"}));
    assert_sizes(&c, 3, 32, 9);
}

/* What config.json says is resolved; read again, it must mean the same. */
static void resolving_twice_changes_nothing(void **state) {
    (void)state;
    for (int i = 0; data_tasks[i]; i++) {
        char first[QKV_CONFIG_TEXT_SIZE + 64], second[QKV_CONFIG_TEXT_SIZE + 64];
        const bool reads = task_reads_a_file(data_tasks[i]);
        qkv_config c = resolved(WITH({"task", data_tasks[i]->name}, {"heads", "2"},
                                     {reads ? "data" : "seed", reads ? TASK_FILE : "1"})),
                   again = c;
        data_spec spec;
        char error[QKV_IO_ERROR];
        assert_true(qkv_config_resolve(&again, &spec, error));
        data_release(&spec);
        const data_option *o;
        for (int k = 0; (o = qkv_config_option_at(&c, k)); k++)
            if (o->kind != DATA_KIND_SECTION)
                assert_string_equal(qkv_config_get(&again, o, second, sizeof second),
                                    qkv_config_get(&c, o, first, sizeof first));
    }
}

/* What is worked out from another option is what config.json says. */
static void a_task_completes_its_options(void **state) {
    (void)state;
    qkv_config c = resolved(WITH({"task", "cross"}, {"pairs", "6"}));
    assert_int_equal(number(&c, "queries"), 3);
    c = resolved(WITH({"task", "partner"}, {"keys", "31"}));
    assert_int_equal(number(&c, "keys"), 30);
}

static void heads_must_divide(void **state) {
    (void)state;
    assert_refused(WITH({"heads", "3"}), "3 heads do not divide the width 32");
    assert_refused(WITH({"heads", "3"}, {"d_k", "8"}), "3 heads");  // d_v is still open
    assert_refused(WITH({"heads", "64"}), "64 heads");
    qkv_config c = resolved(WITH({"heads", "3"}, {"d_k", "8"}, {"d_v", "6"}));
    assert_true(c.d_k == 8 && c.d_v == 6 && c.kv_heads == 3);
}

static void key_value_heads_must_divide_heads(void **state) {
    (void)state;
    assert_refused(WITH({"heads", "4"}, {"kv_heads", "3"}), "3 key/value heads do not divide 4");
    assert_refused(WITH({"heads", "4"}, {"kv_heads", "8"}), "8 key/value heads");
    assert_int_equal(resolved(WITH({"heads", "4"}, {"kv_heads", "1"})).kv_heads, 1);
}

/* One matrix cannot have two shapes; an input taken as it is must have the heads' width. */
static void projections_must_fit(void **state) {
    (void)state;
    assert_refused(WITH({"tie", "qk"}, {"heads", "4"}, {"kv_heads", "2"}), "Q cannot be tied");
    assert_refused(WITH({"tie", "qkv"}, {"latent", "8"}), "Q cannot be tied");
    assert_refused(WITH({"tie", "kv"}, {"d_v", "8"}), "V cannot be tied");
    assert_refused(WITH({"wq", "false"}, {"d_k", "8"}), "without W^Q");
    assert_refused(WITH({"wk", "false"}, {"latent", "8"}), "without W^K");
    assert_refused(WITH({"wv", "false"}, {"d_v", "8"}), "without W^V");
    assert_refused(WITH({"wo", "false"}, {"d_v", "8"}), "without W^O");
    assert_refused(WITH({"positions", "rotary"}, {"d_k", "5"}), "even");
    resolved(WITH({"tie", "qkv"}, {"heads", "4"}));
    resolved(WITH({"wq", "false"}, {"wk", "false"}, {"wv", "false"}, {"wo", "false"}));
    resolved(WITH({"latent", "8"}, {"wk", "false"}, {"d_k", "8"}));
}

static void architectures_must_fit_the_task(void **state) {
    (void)state;
    assert_refused(WITH({"arch", "cross"}), "has no memory");
    assert_refused(WITH({"arch", "encoder-decoder"}), "has no memory");
    assert_refused(WITH({"task", "cross"}, {"arch", "decoder"}), "has a memory");
    resolved(WITH({"arch", "encoder"}));
    resolved(WITH({"task", "cross"}, {"arch", "encoder-decoder"}));
}

static void tasks_refuse_in_words(void **state) {
    (void)state;
    assert_refused(WITH({"task", "pears"}), "no task 'pears'");
    assert_refused(WITH({"task", ""}), "no task ''");
    assert_refused(WITH({"pairs", "32"}), "32 pairs need more than 32 keys and values");
    assert_refused(WITH({"pairs", "10"}, {"keys", "10"}), "10 pairs");
    assert_refused(WITH({"pairs", "10"}, {"values", "4"}), "10 pairs");
}

static void the_model_is_told(void **state) {
    (void)state;
    qkv_config c = config_with(
        WITH({"layers", "2"}, {"heads", "4"}, {"kv_heads", "2"}, {"d_ff", "7"}, {"init", "uniform"},
             {"init_gain", "2"}, {"embed_std", "0.5"}, {"norm", "layer"}, {"positions", "learned"},
             {"residual", "false"}, {"activation", "gelu-tanh"}, {"bias", "true"}));
    data_spec spec;
    char error[QKV_IO_ERROR];
    assert_true(qkv_config_resolve(&c, &spec, error));
    nn_model_config m = qkv_config_model(&c, &spec);
    assert_true(m.layers == 2 && m.d_model == 32 && m.d_ff == 7 && !m.residual);
    assert_true(m.attention.heads == 4 && m.attention.kv_heads == 2);
    assert_true(m.attention.d_k == 8 && m.attention.d_v == 8);
    assert_true(m.norm == NN_NORM_LAYER && m.positions == NN_POSITIONS_LEARNED);
    assert_true(m.activation == NN_ACT_GELU_TANH);
    assert_true(m.init.uniform && m.init.bias && m.init.gain == 2 && m.embed_std == 0.5);
    assert_true(m.attention.init.uniform && m.attention.init.bias && m.attention.init.gain == 2);
}

/* Who sees whom: the task's own way, or what is asked for. */
static void masks_follow_the_option(void **state) {
    (void)state;
    static const struct {
        const char *mask, *self;
        ag_mask expected;
    } cases[] = {{"task", "true", {.causal = true}},
                 {"causal", "true", {.causal = true}},
                 {"full", "true", {0}},
                 {"memory", "true", {.causal = true, .memory = 8}},
                 {"task", "false", {.causal = true, .no_self = true}},
                 {"full", "false", {.no_self = true}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qkv_config c = config_with(WITH({"mask", cases[i].mask}, {"self", cases[i].self}));
        data_spec spec;
        char error[QKV_IO_ERROR];
        assert_true(qkv_config_resolve(&c, &spec, error));
        ag_mask mask = qkv_config_model(&c, &spec).attention.mask;
        assert_int_equal(mask.causal, cases[i].expected.causal);
        assert_int_equal(mask.no_self, cases[i].expected.no_self);
        assert_int_equal(mask.memory, cases[i].expected.memory);
    }
}

/* An option that would do nothing is told apart, and its owner named. */
static void idle_options_are_named(void **state) {
    (void)state;
    static const struct {
        const char *task, *field, *value, *option, *says;  // says NULL: it has an effect
    } cases[] = {
        {"pairs", "seed", "1", "momentum", "--optimizer sgd, which is adam"},
        {"pairs", "optimizer", "sgd", "momentum", NULL},
        {"pairs", "optimizer", "sgd", "beta2", "--optimizer adam|adamw|muon, which is sgd"},
        {"pairs", "optimizer", "adamw", "beta2", NULL},
        {"pairs", "seed", "1", "activation", "--d-ff, which is 0"},
        {"pairs", "d_ff", "8", "activation", NULL},
        {"pairs", "seed", "1", "post_norm", "--norm layer|rms, which is none"},
        {"pairs", "norm", "rms", "post_norm", NULL},
        {"pairs", "embed_init", "unit", "embed_std", "--embed-init normal|split, which is unit"},
        {"pairs", "readout", "vector", "tie_unembedding", "--readout full|local"},
        {"pairs", "readout", "local", "readout", "tasks with several answers"},
        {"two", "readout", "local", "readout", NULL},
        {"pairs", "readout", "full", "readout", NULL},
        {"cross", "seed", "1", "mask", "attention within the sequence"},
        {"cross", "arch", "encoder-decoder", "mask", NULL},
        {"cross", "positions", "rotary", "positions", "--positions rotary belongs to"},
        {"cross", "positions", "learned", "positions", NULL},
        {"pairs", "block", "linear", "soft_cap", "--block transformer"},
        {"pairs", "block", "linear", "d_ff", "--block transformer"},
        {"pairs", "block", "linear", "d_k", NULL},
        {"pairs", "block", "recurrent", "wo", "--block transformer"},
        {"pairs", "block", "recurrent", "norm", NULL},
        {"pairs", "scale", "zero", "scores_from", "--scale zero"},
        {"pairs", "scale", "zero", "softmax_one", NULL},
        {"pairs", "tie", "qk", "tie", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qkv_config c = config_with(WITH({"task", cases[i].task}, {cases[i].field, cases[i].value}));
        data_spec spec;
        char error[QKV_IO_ERROR] = "";
        assert_true(qkv_config_resolve(&c, &spec, error));
        const data_option *o = qkv_config_option_find(&c, cases[i].option);
        bool used = qkv_config_is_used(&c, &spec, o, error);
        if (used != !cases[i].says) fail_msg("%s: '%s'", cases[i].option, error);
        if (!used && !strstr(error, cases[i].says)) fail_msg("%s: '%s'", cases[i].option, error);
    }
}

static void ties_need_what_they_tie(void **state) {
    (void)state;
    static const struct {
        const char *tie, *without, *also;
        bool used;
    } cases[] = {{"qk", "wv", "wo", true},  {"qk", "wk", "wo", false}, {"kv", "wk", "wo", false},
                 {"kv", "wq", "wo", true},  {"qv", "wq", "wo", false}, {"qkv", "wq", "wo", true},
                 {"qkv", "wq", "wv", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qkv_config c = config_with(
            WITH({"tie", cases[i].tie}, {cases[i].without, "false"}, {cases[i].also, "false"}));
        data_spec spec;
        char error[QKV_IO_ERROR] = "";
        assert_true(qkv_config_resolve(&c, &spec, error));
        const data_option *tie = qkv_config_option_find(&c, "tie");
        if (qkv_config_is_used(&c, &spec, tie, error) != cases[i].used)
            fail_msg("--tie %s without %s, %s: '%s'", cases[i].tie, cases[i].without, cases[i].also,
                     error);
    }
}

/* What the lines of the table need are options and facts that exist. */
static void needs_are_understood(void **state) {
    (void)state;
    qkv_config c = resolved(WITH({"task", "two"}));
    data_spec spec;
    char error[QKV_IO_ERROR] = "";
    assert_true(qkv_config_resolve(&c, &spec, error));
    int n = 0;
    for (const data_option *o = qkv_config_options; o->option; o++) {
        if (!o->needs) continue;
        n++;
        if (!qkv_config_is_used(&c, &spec, o, error) && strstr(error, "no option"))
            fail_msg("%s: %s", o->option, error);
    }
    assert_true(n >= 12);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(zeros_stand_for_the_usual),
    cmocka_unit_test(resolving_twice_changes_nothing),
    cmocka_unit_test(a_task_completes_its_options),
    cmocka_unit_test(heads_must_divide),
    cmocka_unit_test(key_value_heads_must_divide_heads),
    cmocka_unit_test(projections_must_fit),
    cmocka_unit_test(architectures_must_fit_the_task),
    cmocka_unit_test(tasks_refuse_in_words),
    cmocka_unit_test(the_model_is_told),
    cmocka_unit_test(idle_options_are_named),
    cmocka_unit_test(ties_need_what_they_tie),
    cmocka_unit_test(needs_are_understood),
    cmocka_unit_test(masks_follow_the_option),
};
CHECK_MAIN(tests)
