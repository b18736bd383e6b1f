/* The probes that studies use: each runs on a model that fits and refuses, in words, one that does
 * not; both leave the model as it was. Some of their numbers are known beforehand. */
#include <math.h>
#include <string.h>

#include "autograd/graph_internal.h"  // to see whether hooks are left
#include "tests/lib/check.h"
#include "train/config/plugin.h"
#include "train/study/probe.h"

static const double ROUNDING = sizeof(real) == sizeof(double) ? 1e-9 : 2e-5;

/* A model without attention, for probes that need some. */
static ag_node *add_linear(ag_node *x, ag_node *memory, const char *name,
                           const nn_model_config *c) {
    (void)memory;
    ag_node *y = nn_linear(x, ag_text(x->graph, "%s.only", name), c->d_model, &c->init);
    return ag_name(ag_add(x, y), "%s.out", name);
}
static const qkv_config_plugin_block blocks[] = {
    {.name = "linear", .summary = "", .block = add_linear}, {.name = NULL}};
static const qkv_config_plugin plugin = {
    .abi = QKV_CONFIG_PLUGIN_ABI, .real_size = sizeof(real), .blocks = blocks};

/* "task option=value ...", trained for a few steps. */
static qkv_trainer *trained(const char *text, int steps) {
    char list[256], error[QKV_IO_ERROR] = "", *rest = NULL;
    qkv_config c;
    data_spec spec;
    snprintf(list, sizeof list, "%s", text);
    qkv_config_default(&c);
    snprintf(c.task, sizeof c.task, "%s", strtok_r(list, " ", &rest));
    qkv_config_use_plugin(&c, &plugin);
    assert_true(qkv_config_recommend(&c, error));
    c.batch = 16;
    for (char *word; (word = strtok_r(NULL, " ", &rest));) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        if (!qkv_config_set(&c, qkv_config_option_find(&c, word), value, error))
            fail_msg("%s", error);
    }
    if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s", error);
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, 2, error);
    if (!t) fail_msg("%s", error);
    for (int step = 0; step < steps; step++) {
        qkv_trainer_step s;
        if (!qkv_trainer_gradient(t, step, &s, error)) fail_msg("%s", error);
        qkv_trainer_update(t, step, &s);
    }
    return t;
}

/* ---- running, refusing, and leaving no trace ---- */

typedef struct {
    double loss, accuracy, answer_attention, step_loss, grad_norm;
    uint64_t parameters;
    long hooks;
} behaviour;

static behaviour behaviour_of(qkv_trainer *t, int steps) {
    qkv_trainer_scores e;
    qkv_trainer_step s;
    char error[QKV_IO_ERROR] = "";
    assert_true(qkv_trainer_evaluate(t, "test", 0, 50, &e, error));
    assert_true(qkv_trainer_gradient(t, 5, &s, error));
    qkv_trainer_at_step(t, steps);
    behaviour b = {
        e.loss, e.accuracy, e.answer_attention, s.loss, s.grad_norm, 14695981039346656037u, 0};
    for (int i = 0; i < ag_params_count(qkv_trainer_params(t)); i++) {
        const tensor *x = &ag_params_at(qkv_trainer_params(t), i)->val;
        for (size_t k = 0; k < x->n * sizeof(real); k++)
            b.parameters = (b.parameters ^ ((const unsigned char *)x->x)[k]) * 1099511628211u;
    }
    ag_graph *g = qkv_trainer_any_worker(t)->graph;
    for (int i = 0; i < ag_count(g); i++)
        for (ag_hook_entry *h = ag_own(ag_at(g, i))->hooks; h; h = h->next)
            b.hooks += h->fn != NULL;
    return b;
}

static const struct {
    const char *probe, *fits, *does_not;
} cases[] = {
    {"lengths", "pairs keys=12", "coref"},
    {"lengths", "cross norm=rms", "pairs positions=learned"},
    {"layers", "mqar d_model=16 pairs=4", "pairs"},
    {"layers", "induction d_model=16 norm=layer d_ff=8 heads=2 positions=rotary", "cross layers=2"},
    {"layers", "coref form=13 layers=3 dropout=0.1", "pairs layers=2 block=linear"},
    {"ov_probe", "mqar d_model=16 pairs=4", "induction"},
    {"ov_probe", "mqar d_model=16 heads=4 kv_heads=2 order=vk", "mqar norm=layer"},
    {"scale", "pairs scale=value", "pairs block=linear"},
    {"scale", "pointer heads=2 scores_from=3", "cross block=linear"},
    {"entropy", "two heads=4 kv_heads=1", "pairs block=linear"},
    {"norms", "recall scale=learned tie=qkv", "pairs block=linear"},
    {"norms", "pairs layers=2 latent=8", "pairs wq=false wk=false wv=false wo=false"},
    {"coref", "coref", "pairs"},
    {"coref", "coref form=11 layers=2 heads=2", "coref block=linear"},
    {"coref", "coref form=13 tie=qkv scale=learned", "cross"},
    {"cross", "cross layers=2", "pairs"},
    {"cross", "cross heads=2 positions=learned", "cross block=linear"},
    {"cross", "cross layers=2 norm=layer", "cross joined=true"},
    {"cross", "cross", "cross apart=true"},
    {"join", "cross", "cross joined=true"},
    {"join", "cross", "cross apart=true"},
    {"join", "cross freeze=memory.* rates=layer0.cross.wq=2", "pairs"},
    {"join", "cross heads=2 bias=true d_ff=8 scale=learned", "cross layers=2"},
    {"pressure", "pairs", "pairs tie=qk"},
    {"pressure", "mqar pairs=4 scores_from=8", "pairs freeze=layer0.attn.wv"},
    {"hull", "pairs heads=4 kv_heads=2 scale=value", "pairs block=linear"},
    {"hull", "recall wv=false", "mqar block=linear"},
    {"slots", "two", "pairs"},
    {"exchange", "two heads=1", "set3"},
    {"exchange", "position positions=rotary", "two block=linear"},
    {"slots", "position positions=alibi", "cross joined=true"},
    {"slots", "set3 readout=local block=linear", "two readout=vector"},
    {"heads", "induction heads=2 d_model=16", "pairs block=linear"},
    {"heads", "cross layers=2 arch=encoder-decoder", "pointer block=linear"},
    {"phase", "mqar pairs=4 d_model=16", "coref block=linear"},
    {"basis", "pairs heads=4 kv_heads=2", "pairs tie=qk"},
    {"basis", "cross layers=2 d_k=6", "induction positions=rotary"},
    {"partner", "partner tie=qk d_model=64", "partner"},
    {"partner", "partner tie=qk d_model=64 keys=12 values=10 pairs=4", "pairs tie=qk d_model=64"},
    {"capacity", "pairs d_model=4 embed_init=unit scale=none", "pairs scale=zero"},
    {"capacity_linear", "pairs d_model=8", "pairs d_model=1"},
    {"sink", "pairs absent=0.5 heads=4 kv_heads=2", "cross"},
    {"sink", "pairs absent=0.5 wo=false residual=false mask=memory", "pairs block=linear"},
    {"average", "pairs", "pairs heads=2"},
    {"average", "pairs d_k=6 scale=value residual=false", "pairs absent=0.5"},
    {"state", "pairs block=recurrent", "pairs block=linear"},
    {"features", "attributes kv_heads=1 d_v=32 heads=4", "pairs block=linear"},
    {"features", "cross heads=2", "pairs d_v=160"},
    {"sizes", "mqar layers=3 pairs=4 d_model=16", "pairs block=linear"},
    {"pointer", "pointer", "partner"},
    {"pointer", "pointer self=false heads=2", "pointer block=linear"}};

/* Names of one probe, each once, whole, with a number. */
static void check_names(const char *probe, const qkv_probe_measures *m) {
    assert_false(m->failed);
    for (int i = 0; i < m->n; i++) {
        assert_int_equal(strncmp(m->at[i].name, probe, strlen(probe)), 0);
        assert_int_equal(m->at[i].name[strlen(probe)], '.');
        assert_true(strlen(m->at[i].name) < QKV_PROBE_MEASURE - 1);
        if (!isfinite(m->at[i].x)) fail_msg("%s is %g", m->at[i].name, m->at[i].x);
        for (int k = 0; k < i; k++) assert_string_not_equal(m->at[k].name, m->at[i].name);
    }
}

static void run_case(const char *name, const char *model, int steps, bool fits) {
    const qkv_study_probe *probe = qkv_study_probe_find(name);
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_probe_measures first = {.arena = arena}, again = {.arena = arena};
    char error[QKV_IO_ERROR] = "";
    qkv_trainer *t = trained(model, steps);
    if (steps == 0)
        probe->run(t, &(qkv_probe_measures){.arena = arena}, error);  // before any gradient
    behaviour before = behaviour_of(t, steps);
    error[0] = '\0';
    if (probe->run(t, &first, error) != fits) fail_msg("%s on '%s': %s", name, model, error);
    const bool of_right_answers = strcmp(name, "exchange") == 0;  // there may be none
    assert_true(fits == (error[0] == '\0') && (fits ? first.n > 0 || of_right_answers : !first.n));
    behaviour after = behaviour_of(t, steps);
    assert_same_bits(&after, &before, 1);
    assert_int_equal(after.hooks, 0);
    check_names(name, &first);
    if (steps > 0 || !fits) {
        assert_true(probe->run(t, &again, error) == fits);
        assert_int_equal(first.n, again.n);
        for (int i = 0; i < first.n; i++) assert_same_bits(&first.at[i].x, &again.at[i].x, 1);
    }
    qkv_trainer_free(t);
    tensor_arena_free(arena);
}

static void probes_fit_or_refuse_and_leave_no_trace(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_case(cases[i].probe, cases[i].fits, 10, true);
        run_case(cases[i].probe, cases[i].fits, 0, true);
        run_case(cases[i].probe, cases[i].does_not, 0, false);
    }
}

/* ---- numbers known beforehand ---- */

static tensor_arena *memory;
static qkv_probe_measures probe(qkv_trainer *t, const char *name) {
    qkv_probe_measures m = {.arena = memory};
    char error[QKV_IO_ERROR] = "";
    if (!qkv_study_probe_find(name)->run(t, &m, error)) fail_msg("%s: %s", name, error);
    return m;
}
static double value_of(qkv_trainer *t, const char *name, const char *key) {
    qkv_probe_measures m = probe(t, name);
    return qkv_probe_measure_get(&m, key);
}
/* Rotations of a pair change nothing, of one half nearly all of what the pair is for. */
static void rotations_are_identities_in_pairs(void **state) {
    static const char *const models[] = {"pairs", "pairs heads=4 kv_heads=2 d_k=6"};
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        qkv_trainer *t = trained(models[i], 500);
        qkv_probe_measures m = probe(t, "basis");
        const double attention = qkv_probe_measure_get(&m, "basis.none.answer_attention");
        assert_true(attention > 0.4);
        assert_close(qkv_probe_measure_get(&m, "basis.qk.answer_attention"), attention, ROUNDING);
        assert_close(qkv_probe_measure_get(&m, "basis.vo.answer_attention"), attention, ROUNDING);
        assert_close(qkv_probe_measure_get(&m, "basis.v.answer_attention"), attention, ROUNDING);
        assert_true(qkv_probe_measure_get(&m, "basis.k.answer_attention") < attention / 2);
        const double accuracy = qkv_probe_measure_get(&m, "basis.none.accuracy");
        assert_close(qkv_probe_measure_get(&m, "basis.qk.accuracy"), accuracy, 0.002);
        assert_close(qkv_probe_measure_get(&m, "basis.vo.accuracy"), accuracy, 0.002);
        assert_true(qkv_probe_measure_get(&m, "basis.v.accuracy") < accuracy / 2);
        qkv_trainer_free(t);
    }
}

/* The loss of both answers is the model's own, and a bias changes it. A model that knows nothing hardly
 * ever has both ahead. Which kind a noun is can be read where kinds differ, and in no shuffled ones. */
static void what_a_pair_and_a_kind_look_like(void **state) {
    char error[QKV_IO_ERROR] = "";
    qkv_trainer_scores e;
    (void)state;
    qkv_trainer *t = trained("two heads=1", 3);
    qkv_probe_measures m = probe(t, "slots");
    assert_true(qkv_trainer_evaluate(t, "test", 0, 1000, &e, error));
    assert_close(qkv_probe_measure_get(&m, "slots.loss"), e.loss, 1e-4);
    assert_true(fabs(qkv_probe_measure_get(&m, "slots.biased_loss") - e.loss) > 0.01);
    assert_true(qkv_probe_measure_get(&m, "slots.pair") < 0.05);
    qkv_trainer_free(t);
    t = trained("coref", 0);
    tensor *words = &ag_params_find(qkv_trainer_params(t), "embed.word")->val;
    for (int noun = 0; noun < 16; noun++)
        words->x[(26 + noun) * words->shape.dim[1]] += noun < 8 ? 9 : -9;
    m = probe(t, "coref");
    assert_close(qkv_probe_measure_get(&m, "coref.fits.x"), 1, 0);
    assert_close(qkv_probe_measure_get(&m, "coref.fits.k"), 1, 0.02);
    assert_close(qkv_probe_measure_get(&m, "coref.fits.v"), 1, 0.02);
    assert_true(qkv_probe_measure_get(&m, "coref.fits.v_shuffled") < 0.75);
    qkv_trainer_free(t);
}

/* Above one half with W^Q = W^K where values take part in the match, or the reader
 * knows who asks; else half. */
static void partner_by_hand(void **state) {
    static const char *const models[] = {"partner tie=qk d_model=64",
                                         "partner tie=qk d_model=64 scores_from=9"};
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        qkv_trainer *t = trained(models[i], 0);
        qkv_probe_measures m = probe(t, "partner");
        const double values = qkv_probe_measure_get(&m, "partner.by_hand"),
                     keys = qkv_probe_measure_get(&m, "partner.keys_only"),
                     flagged = qkv_probe_measure_get(&m, "partner.flagged");
        assert_true(values > 0.68 && values < 0.77);
        assert_true(keys > 0.45 && keys < 0.54);
        assert_true(flagged > 0.7 && flagged < 0.79);
        qkv_trainer_free(t);
    }
}

/* How many random patterns come back, against what one can reckon: the right one has e^(b M^2), n others
 * e^(b^2 M^4 / 2d) each; without the softmax they leave noise of (n-1)/d. */
static void capacities_can_be_reckoned(void **state) {
    static const struct {
        const char *model, *probe, *key;
        double bits, within;
    } c[] = {{"pairs d_model=16 embed_std=1", "capacity", "capacity.bits", 5.05, 0.5},
             {"pairs d_model=16 embed_init=unit scale=none", "capacity", "capacity.bits", 1.6, 0.3},
             {"pairs d_model=8 embed_std=1 scale=none", "capacity", "capacity.bits", 7.2, 0.5},
             {"pairs d_model=64", "capacity_linear", "capacity_linear.bits", 4.09, 0.4}};
    (void)state;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        qkv_trainer *t = trained(c[i].model, 0);
        assert_close(value_of(t, c[i].probe, c[i].key), c[i].bits, c[i].within);
        qkv_trainer_free(t);
    }
    qkv_trainer *t = trained("pairs d_model=6 embed_std=20 scale=none", 0);
    assert_close(value_of(t, "capacity", "capacity.bound"), 4.5044,
                 1e-3);  // by bisection, elsewhere
    qkv_trainer_free(t);
}

/* Cross-attention's weights say the same in one sequence whose questions see the pairs alone, and not where
 * they see themselves. */
static void cross_attention_can_be_joined(void **state) {
    static const char *const models[] = {"cross", "cross heads=4 kv_heads=2 d_ff=8 bias=true",
                                         "cross scores_from=20", "cross scores_from=200"};
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        qkv_trainer *t = trained(models[i], 150);
        qkv_probe_measures m = probe(t, "join");
        qkv_trainer_scores e;
        char error[QKV_IO_ERROR];
        assert_true(qkv_trainer_evaluate(t, "test", 0, 500, &e, error));
        assert_close(qkv_probe_measure_get(&m, "join.entries.difference"), 0, ROUNDING);
        assert_close(qkv_probe_measure_get(&m, "join.entries.accuracy"), e.accuracy, 0.002);
        assert_true(qkv_probe_measure_get(&m, "join.causal.difference") > 0.01);
        qkv_trainer_free(t);
    }
}

/* Two heads keep two answers apart by where each looks; exchanged, the answers are. One head that brings both
 * at once, to be said by size, has no order to lose. */
static void exchanged_attention_exchanges_answers(void **state) {
    (void)state;
    qkv_trainer *t = trained("two pairs=4 keys=8 values=8 batch=64", 600);
    assert_true(value_of(t, "exchange", "exchange.turned") > 0.9);
    assert_true(value_of(t, "exchange", "exchange.kept") < 0.05);
    qkv_trainer_free(t);
    t = trained("two heads=1 answers=sorted pairs=4 keys=8 values=8 batch=64", 600);
    assert_true(value_of(t, "exchange", "exchange.turned") < 0.05);
    assert_true(value_of(t, "exchange", "exchange.kept") > 0.9);
    qkv_trainer_free(t);
}

/* Where a probe counts right answers of unchanged examples, it counts what an evaluation does. */
static void unchanged_is_what_evaluation_says(void **state) {
    static const struct {
        const char *model, *probe, *key;
        int examples;
        bool all;
    } c[] = {{"pairs scores_from=5", "lengths", "lengths.n8.accuracy", 500, false},
             {"mqar pairs=4", "layers", "layers.intact.accuracy", 256, false},
             {"coref", "coref", "coref.clean.says_ref", 500, false},
             {"two", "slots", "slots.all", 1000, true},
             {"pointer", "pointer", "pointer.says_target", 500, false}};
    (void)state;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        qkv_trainer *t = trained(c[i].model, 60);
        qkv_trainer_scores e;
        char error[QKV_IO_ERROR];
        assert_true(qkv_trainer_evaluate(t, "test", 0, c[i].examples, &e, error));
        assert_close(value_of(t, c[i].probe, c[i].key), c[i].all ? e.all_right : e.accuracy, 1e-12);
        qkv_trainer_free(t);
    }
}

/* Uniform attention over S positions: entropy ln S, every weight 1/S, ||J|| = sqrt(S-1)/S. */
static void uniform_attention_has_a_known_sharpness(void **state) {
    (void)state;
    qkv_trainer *t = trained("pairs scale=zero", 0);
    qkv_probe_measures m = probe(t, "scale");
    assert_close(qkv_probe_measure_get(&m, "scale.entropy"), log(9), ROUNDING);
    assert_close(qkv_probe_measure_get(&m, "scale.max_weight"), 1. / 9, ROUNDING);
    assert_close(qkv_probe_measure_get(&m, "scale.jacobian_median"), sqrt(8) / 9, ROUNDING);
    assert_close(value_of(t, "entropy", "entropy.mean"), log(9), ROUNDING);
    qkv_trainer_free(t);
}

/* Which of W^Q, W^K, W^V, W^O get no gradient at all when some of them are zero; and what
 * W^Q gets at first is what a training batch of the same examples gives. */
static void pressure_is_exact(void **state) {
    static const char *const silent[][2] = {{"init", "0000"},      {"without_v", "1101"},
                                            {"without_o", "1110"}, {"without_q", "0100"},
                                            {"without_k", "1000"}, {"without_qk", "1100"}};
    (void)state;
    qkv_trainer *t = trained("pairs batch=256", 0);
    qkv_probe_measures m = probe(t, "pressure"), s = probe(t, "scale");
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        for (int w = 0; w < 4; w++) {
            char name[QKV_PROBE_MEASURE];
            snprintf(name, sizeof name, "pressure.%s.w%c_zero", silent[i][0], "qkvo"[w]);
            assert_true(qkv_probe_measure_get(&m, name) == silent[i][1][w] - '0');
        }
    assert_close(qkv_probe_measure_get(&s, "scale.grad.wq"),
                 qkv_probe_measure_get(&m, "pressure.init.wq"), ROUNDING);
    qkv_trainer_free(t);
}

/* At both ends the question is a's and b's; the same key twice is the same score twice. */
static void an_average_has_known_ends(void **state) {
    (void)state;
    qkv_trainer *t = trained("pairs", 500);
    tensor *value = &ag_params_find(qkv_trainer_params(t), "embed.value")->val;
    qkv_probe_measures m = probe(t, "average");
    const double start = qkv_probe_measure_get(&m, "average.at0.weight"),
                 end = qkv_probe_measure_get(&m, "average.at100.weight");
    assert_true(start < 0.2 && end > 0.8);
    assert_close(qkv_probe_measure_get(&m, "average.at50.weight"), 0.5, 0.1);
    assert_true(qkv_probe_measure_get(&m, "average.twice.off") < 0.05);
    memset(value->x, 0, 32 * 32 * sizeof(real));  // values that take no part in the match
    m = probe(t, "average");
    assert_close(qkv_probe_measure_get(&m, "average.twice.split"), 0, ROUNDING);
    assert_close(qkv_probe_measure_get(&m, "average.at100.weight"),
                 1 - qkv_probe_measure_get(&m, "average.at0.weight"), 0.05);
    qkv_trainer_free(t);
}

/* With one channel for each value, and none for keys, V says the value and nothing of the key. */
static void features_are_read_where_they_are(void **state) {
    (void)state;
    qkv_trainer *t = trained("pairs heads=1", 0);
    ag_params *p = qkv_trainer_params(t);
    tensor *value = &ag_params_find(p, "embed.value")->val,
           *wv = &ag_params_find(p, "layer0.attn.wv")->val;
    memset(ag_params_find(p, "embed.key")->val.x, 0, 32 * 32 * sizeof(real));
    for (int i = 0; i < 32 * 32; i++) value->x[i] = wv->x[i] = i % 33 == 0;
    qkv_probe_measures m = probe(t, "features");
    assert_true(qkv_probe_measure_get(&m, "features.v.value") == 1);
    assert_true(qkv_probe_measure_get(&m, "features.v.key") < 0.1);
    assert_true(qkv_probe_measure_get(&m, "features.v.value.shuffled") < 0.2);
    qkv_trainer_free(t);
}

/* Uniform attention over 8 entries and itself, and values whose sizes are made known. */
static void a_sink_weighs_and_measures(void **state) {
    (void)state;
    qkv_trainer *t = trained("pairs absent=0.5 scale=zero d_model=32", 0);
    ag_params *p = qkv_trainer_params(t);
    tensor *table = &ag_params_find(p, "embed.value")->val,
           *key = &ag_params_find(p, "embed.key")->val;
    tensor *wv = &ag_params_find(p, "layer0.attn.wv")->val,
           *wo = &ag_params_find(p, "layer0.attn.wo")->val;
    memset(key->x, 0, key->n * sizeof(real));
    memset(table->x, 0, table->n * sizeof(real));
    memset(wv->x, 0, wv->n * sizeof(real));
    memset(wo->x, 0, wo->n * sizeof(real));
    for (int i = 0; i < 33; i++)
        table->x[i * 32] = i < 32 ? 1 : 4;  // the marker is four times as long
    for (int i = 0; i < 32; i++) wv->x[i * 33] = wo->x[i * 33] = (real)(i ? 1 : 0.5);
    qkv_probe_measures m = probe(t, "sink");
    assert_close(qkv_probe_measure_get(&m, "sink.absent.self"), 1. / 9, ROUNDING);
    assert_close(qkv_probe_measure_get(&m, "sink.found.sum"), 1, ROUNDING);
    assert_close(qkv_probe_measure_get(&m, "sink.absent.size_self"), 1, ROUNDING);
    assert_close(qkv_probe_measure_get(&m, "sink.absent.size_entries"), 0.25, ROUNDING);
    assert_close(qkv_probe_measure_get(&m, "sink.absent.share"), 4. / 12, ROUNDING);
    assert_close(qkv_probe_measure_get(&m, "sink.found.brought"), 3. / 9, ROUNDING);
    qkv_trainer_free(t);
}

/* A first layer that writes nothing makes no difference to the last. */
static void nothing_written_nothing_missed(void **state) {
    (void)state;
    qkv_trainer *t = trained("mqar d_model=32", 60);
    ag_param_entry *wo = ag_params_find(qkv_trainer_params(t), "layer0.attn.wo");
    memset(wo->val.x, 0, wo->val.n * sizeof(real));
    qkv_probe_measures m = probe(t, "layers"), ov = probe(t, "ov_probe");
    for (int i = 1; i < 5; i++) assert_true(m.at[i].x == m.at[0].x);
    assert_true(ov.at[0].x == ov.at[1].x);
    qkv_trainer_free(t);
}

static void tied_scores_are_symmetric_and_outputs_in_the_hull(void **state) {
    (void)state;
    qkv_trainer *t = trained("pointer tie=qk heads=2", 30);
    assert_close(value_of(t, "pointer", "pointer.asymmetry"), 0, ROUNDING);
    assert_true(value_of(t, "hull", "hull.inside") == 1);
    qkv_trainer_free(t);
}

static int make_memory(void **state) { return (void)state, !(memory = tensor_arena_new(NULL)); }
static int free_memory(void **state) { return (void)state, tensor_arena_free(memory), 0; }
#define WITH_MEMORY(test) cmocka_unit_test_setup_teardown(test, make_memory, free_memory)

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(probes_fit_or_refuse_and_leave_no_trace),
    WITH_MEMORY(rotations_are_identities_in_pairs),
    WITH_MEMORY(what_a_pair_and_a_kind_look_like),
    WITH_MEMORY(partner_by_hand),
    WITH_MEMORY(exchanged_attention_exchanges_answers),
    WITH_MEMORY(cross_attention_can_be_joined),
    WITH_MEMORY(capacities_can_be_reckoned),
    WITH_MEMORY(unchanged_is_what_evaluation_says),
    WITH_MEMORY(uniform_attention_has_a_known_sharpness),
    WITH_MEMORY(pressure_is_exact),
    WITH_MEMORY(an_average_has_known_ends),
    WITH_MEMORY(features_are_read_where_they_are),
    WITH_MEMORY(a_sink_weighs_and_measures),
    WITH_MEMORY(nothing_written_nothing_missed),
    WITH_MEMORY(tied_scores_are_symmetric_and_outputs_in_the_hull),
};
CHECK_MAIN(tests)
