/* No option does nothing: whatever is accepted beside a configuration, and not refused as idle there,
 * gives other weights within a few steps. Asked of every option, around several configurations. */
#include <string.h>

#include "tests/lib/check.h"
#include "train/trainer/trainer.h"

enum { STEPS = 10, MOST = 6 };

typedef struct {
    const char *field, *text;
} setting;

/* What the options are put beside: small, and so that nothing is 0 by chance. */
static const setting common[] = {{"d_model", "12"}, {"heads", "2"},           {"batch", "4"},
                                 {"steps", "10"},   {"weight_decay", "0.01"}, {"decay", "4"},
                                 {NULL, NULL}};
static const setting bases[][MOST] = {
    {{"task", "pointer"}},
    {{"task", "pointer"}, {"block", "linear"}, {"norm", "rms"}},
    {{"task", "mqar"}, {"block", "recurrent"}, {"positions", "learned"}},
    {{"task", "pointer"}, {"tie", "qkv"}},
    {{"task", "pointer"}, {"wq", "false"}, {"wk", "false"}, {"wo", "false"}},
    {{"task", "pointer"}, {"scale", "zero"}, {"dropout", "0.2"}},
    {{"task", "pointer"}, {"scale", "learned"}, {"latent", "4"}},
    {{"task", "pointer"}, {"optimizer", "sgd"}, {"schedule", "wsd"}},
    {{"task", "pointer"}, {"optimizer", "muon"}, {"schedule", "cosine"}, {"warmup", "2"}},
    {{"task", "mqar"}, {"optimizer", "adamw"}, {"norm", "layer"}, {"d_ff", "8"}},
    {{"task", "pairs"}, {"readout", "vector"}, {"embed_init", "unit"}},
    {{"task", "cross"}, {"arch", "cross"}},
    {{"task", "cross"}, {"arch", "encoder-decoder"}, {"positions", "rotary"}},
    {{"task", "two"}, {"readout", "local"}, {"dropout", "0.2"}},
    {{"task", "coref"}, {"layers", "2"}, {"norm", "layer"}, {"post_norm", "true"}}};

/* Not about a training's numbers, or only later on: when it ends, where it begins, who looks. */
static const char *const others[] = {"steps",    "from",       "from_checksum", "moments",
                                     "lanes",    "eval_every", "eval_examples", "until_accuracy",
                                     "patience", "task",       "data_checksum", NULL};

static bool is_other(const char *field) {
    for (int i = 0; others[i]; i++)
        if (strcmp(field, others[i]) == 0) return true;
    return false;
}

static bool set(qkv_config *c, const char *field, const char *text) {
    char error[QKV_IO_ERROR];
    const data_option *o = qkv_config_option_find(c, field);
    return o && qkv_config_set(c, o, text, error);
}

static qkv_config base_of(const setting *base) {
    qkv_config c;
    qkv_config_default(&c);
    set(&c, "task", base[0].text);
    qkv_config_use_plugin(&c, NULL);  // its options
    for (const setting *s = common; s->field; s++) set(&c, s->field, s->text);
    for (int i = 1; i < MOST && base[i].field; i++)
        if (!set(&c, base[i].field, base[i].text)) fail_msg("%s", base[i].field);
    return c;
}

static uint64_t add(uint64_t hash, const void *bytes, size_t n) {
    for (const unsigned char *p = bytes; n > 0; n--) hash = (hash ^ *p++) * 0x100000001b3;
    return hash;
}

/* Of the weights and losses of a few steps; 0 if the configuration is refused, or `option` (may be
 * NULL) as idle. */
static uint64_t trained(qkv_config c, const char *option) {
    char error[QKV_IO_ERROR];
    data_spec spec;
    uint64_t hash = 0xcbf29ce484222325;
    if (!qkv_config_resolve(&c, &spec, error)) return 0;
    qkv_trainer *t =
        option && !qkv_config_is_used(&c, &spec, qkv_config_option_find(&c, option), error)
            ? NULL
            : qkv_trainer_new(NULL, &c, &spec, 1, error);
    for (int step = 0; t && step < STEPS; step++) {
        qkv_trainer_step s;
        if (!qkv_trainer_gradient(t, step, &s, error)) break;  // diverged, as with a rate of 8
        qkv_trainer_update(t, step, &s);
        hash = add(hash, &s.loss, sizeof s.loss);
    }
    ag_params *p = t ? qkv_trainer_params(t) : NULL;
    for (int i = 0; p && i < ag_params_count(p); i++)
        hash = add(hash, ag_params_at(p, i)->val.x, ag_params_at(p, i)->val.n * sizeof(real));
    qkv_trainer_free(t);
    data_release(&spec);
    return t ? hash : 0;
}

/* One value of one option beside a base: does it change anything? 1: yes, 0: no, -1: it is refused, or
 * says what the base says. */
static int changes(const setting *base, uint64_t before, const char *option, const char *text) {
    qkv_config c = base_of(base), was = c;
    char now[QKV_CONFIG_TEXT_SIZE + 64], then[QKV_CONFIG_TEXT_SIZE + 64];
    data_spec spec;
    char error[QKV_IO_ERROR];
    if (!set(&c, option, text)) return -1;
    uint64_t after = trained(c, option);
    if (!after) return -1;
    if (after != before) return 1;
    const data_option *o = qkv_config_option_find(&c, option);
    if (qkv_config_resolve(&c, &spec, error)) data_release(&spec);
    if (qkv_config_resolve(&was, &spec, error)) data_release(&spec);
    return strcmp(qkv_config_get(&c, o, now, sizeof now),
                  qkv_config_get(&was, o, then, sizeof then))
               ? 0
               : -1;
}

typedef struct {
    const setting *base;
    uint64_t before;
    long checked, wrong;
} tally;

/* Of numbers, one of several must change something; of words and flags each. Some of those may say
 * what the task has by itself: who sees whom, and embeddings of a single stream. */
static bool may_do_nothing(const data_option *o, int changed) {
    static const char *const by_itself[] = {"arch", "mask", "self", "embed_init"};
    for (size_t i = 0; i < sizeof by_itself / sizeof *by_itself; i++)
        if (strcmp(o->field, by_itself[i]) == 0) return true;
    return changed && (o->kind == DATA_KIND_INT || o->kind == DATA_KIND_REAL);
}

static void check_option(tally *t, const data_option *o) {
    const char *words = o->kind == DATA_KIND_CHOICE ? o->choices
                        : o->kind == DATA_KIND_FLAG ? "true|false"
                                                    : "0|0.001|0.25|1|2|3|4|8";
    char list[256], idle[64] = "", *rest = NULL;
    int changed = 0;
    snprintf(list, sizeof list, "%s", words);
    for (char *word = strtok_r(list, "|", &rest); word; word = strtok_r(NULL, "|", &rest)) {
        int did = changes(t->base, t->before, o->field, word);
        changed += did == 1;
        if (did == 0) snprintf(idle, sizeof idle, "%s", word);
    }
    t->checked += changed;
    if (!*idle || may_do_nothing(o, changed)) return;
    t->wrong++;
    print_error("beside");
    for (int i = 0; i < MOST && t->base[i].field; i++)
        print_error(" --%s %s", t->base[i].field, t->base[i].text);
    print_error(", --%s %s is taken and does nothing\n", o->option, idle);
}

static void every_option_does_something(void **state) {
    (void)state;
    tally t = {.checked = 0};
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
        qkv_config c = base_of(bases[b]);
        t.base = bases[b];
        t.before = trained(c, NULL);
        if (!t.before) fail_msg("the base %zu is refused", b);
        const data_option *o;
        for (int i = 0; (o = qkv_config_option_at(&c, i)); i++)
            if (o->kind != DATA_KIND_SECTION && o->kind != DATA_KIND_TEXT && !is_other(o->field))
                check_option(&t, o);
    }
    printf("%ld values of options change what is trained\n", t.checked);
    assert_true(t.wrong == 0 && t.checked > 500);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(every_option_does_something)};
CHECK_MAIN(tests)
