/* Interventions and the attention map: what they count is what the model does, and when they are
 * done the model does it as before. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/graph_internal.h"  // to see whether hooks are left
#include "tests/lib/check.h"
#include "train/probe/attention_map.h"
#include "train/probe/hide.h"
#include "train/probe/interventions.h"

static const double ROUNDING = sizeof(real) == sizeof(double) ? 1e-12 : 2e-6;
enum { EXAMPLES = 101 };  // does not fill the last micro-batch

static qkv_trainer *trained(qkv_config c, int steps) {
    data_spec spec;
    char error[QKV_IO_ERROR] = "";
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

static qkv_config config_of(const char *task, int heads, int batch) {
    qkv_config c;
    qkv_config_default(&c);
    snprintf(c.task, sizeof c.task, "%s", task);
    qkv_config_use_plugin(&c, NULL);  // its options
    c.heads = heads, c.batch = batch;
    return c;
}

/* In the middle of learning, when nothing is 0 or 1; several heads, two layers, dropout. */
static qkv_trainer *trainer_of(int variant) {
    qkv_config c = config_of(variant == 2 ? "cross" : "pairs", variant == 1 ? 4 : 1, 64);
    if (variant == 1) c.layers = 2, c.d_ff = 16, c.norm = NN_NORM_LAYER, c.dropout = 0.1;
    return trained(c, 100);
}
enum { VARIANTS = 3 };

static qkv_probe_interventions interventions_of(qkv_trainer *t) {
    qkv_probe_interventions v;
    char error[QKV_IO_ERROR] = "";
    if (!qkv_probe_intervene(t, "test", EXAMPLES, &v, error)) fail_msg("%s", error);
    assert_int_equal(v.examples, EXAMPLES);
    return v;
}

/* ---- nothing is left behind ---- */

/* Scores and the gradient of a step, and the hooks in use. */
typedef struct {
    double loss, accuracy, answer_attention, step_loss, grad_norm;
    long hooks;
} behaviour;

static behaviour behaviour_of(qkv_trainer *t) {
    qkv_trainer_scores e;
    qkv_trainer_step s;
    char error[QKV_IO_ERROR] = "";
    assert_true(qkv_trainer_evaluate(t, "test", 0, EXAMPLES, &e, error));
    assert_true(qkv_trainer_gradient(t, 100, &s, error));
    behaviour b = {e.loss, e.accuracy, e.answer_attention, s.loss, s.grad_norm, 0};
    ag_graph *g = qkv_trainer_any_worker(t)->graph;
    for (int i = 0; i < ag_count(g); i++)
        for (ag_hook_entry *h = ag_own(ag_at(g, i))->hooks; h; h = h->next)
            b.hooks += h->fn != NULL;
    return b;
}

static void probes_leave_no_trace(void **state) {
    (void)state;
    for (int variant = 0; variant < VARIANTS; variant++) {
        qkv_trainer *t = trainer_of(variant);
        tensor_arena *arena = tensor_arena_new(NULL);
        qkv_io_text text = {.arena = arena};
        behaviour before = behaviour_of(t);
        assert_int_equal(before.hooks, 0);
        interventions_of(t);
        behaviour after = behaviour_of(t);
        assert_same_bits(&after, &before, 1);
        for (int change = QKV_PROBE_MAP_PLAIN; change <= QKV_PROBE_MAP_VALUES_SWAPPED; change++)
            assert_true(qkv_probe_attention_map(t, (qkv_probe_map_change)change, &text));
        after = behaviour_of(t);
        assert_same_bits(&after, &before, 1);
        tensor_arena_free(arena);
        qkv_trainer_free(t);
    }
}

/* ---- interventions ---- */

/* Numbers that must agree, whatever the model has learned. */
static void check_counts(const qkv_probe_interventions *v) {
    const qkv_probe_intervention *clean = &v->changed[QKV_PROBE_CLEAN];
    const qkv_probe_ablation *whole = &v->ablated[0];
    assert_string_equal(whole->k_sees, "key+value");
    assert_string_equal(whole->v_sees, "key+value");
    assert_close(whole->accuracy, clean->says_t, 1e-12);  // with nothing hidden: the clean model
    assert_close(whole->answer_attention, clean->attention_t, ROUNDING);
    assert_true(clean->moved == 0);
    for (int i = 0; i < QKV_PROBE_INTERVENTIONS; i++) {
        const qkv_probe_intervention *c = &v->changed[i];
        const double all[] = {c->looks_at_t, c->looks_at_j, c->attention_t, c->attention_j,
                              c->moved,      c->says_t,     c->says_j};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            assert_true(all[k] >= 0 && all[k] <= 1 + 1e-6);
        assert_true(c->looks_at_t + c->looks_at_j <= 1 &&
                    c->attention_t + c->attention_j <= 1 + 1e-6);
        assert_true(c->says_t + c->says_j <= 1);
        assert_true(i == QKV_PROBE_CLEAN || c->moved > 0);
    }
    for (int i = 0; i < QKV_PROBE_ABLATIONS; i++) {
        assert_true(v->ablated[i].accuracy <= v->ablated[i].in_context);
        // what V sees makes no difference to where attention goes
        for (int k = 0; k < i; k++)
            if (strcmp(v->ablated[i].k_sees, v->ablated[k].k_sees) == 0)
                assert_close(v->ablated[i].answer_attention, v->ablated[k].answer_attention,
                             ROUNDING);
    }
}

static void counts_agree(void **state) {
    (void)state;
    for (int variant = 0; variant < VARIANTS; variant++) {
        qkv_trainer *t = trainer_of(variant);
        qkv_probe_interventions v = interventions_of(t), again = interventions_of(t);
        check_counts(&v);
        assert_memory_equal(v.changed, again.changed, sizeof v.changed);
        assert_memory_equal(v.ablated, again.ablated, sizeof v.ablated);
        assert_memory_equal(&v.cross, &again.cross, sizeof v.cross);
        qkv_trainer_free(t);
    }
}

/* The rows of a table's symbols become their mean. */
static void flatten(qkv_trainer *t, const char *format, const data_stream *stream) {
    char name[96];
    snprintf(name, sizeof name, format, qkv_trainer_store_name(qkv_trainer_spec(t)), stream->name);
    ag_param_entry *table = ag_params_find(qkv_trainer_params(t), name);
    if (!table) return;
    const int D = table->val.shape.dim[1], N = data_symbols(stream);
    for (int d = 0; d < D; d++) {
        double mean = 0;
        for (int i = 0; i < N; i++) mean += (double)table->val.x[i * D + d] / N;
        for (int i = 0; i < N; i++) table->val.x[i * D + d] = (real)mean;
    }
}

/* To hide a stream from the entries is as if its table had one row for all symbols: with a factor of entries,
 * and where each position also gets the one before it. */
static void the_hidden_is_its_tables_mean(void **state) {
    static const struct {
        const char *task;
        bool shift;
    } models[] = {
        {"pairs", false}, {"pairs", true}, {"cross", false}, {"recall", false}, {"recall", true}};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof models / sizeof *models; i++) {
        qkv_config c = config_of(models[i / 2].task, 1, 64);
        c.token_shift = models[i / 2].shift, c.readout = NN_READOUT_FULL;
        qkv_trainer *t = trained(c, 0);
        qkv_trainer_worker *w = qkv_trainer_any_worker(t);
        const data_spec *s = qkv_trainer_spec(t);
        const int stream = i % 2 ? s->roles.key : s->roles.value, S = s->side[s->store].T;
        tensor_arena *arena = tensor_arena_new(NULL);
        ag_node *embed = ag_find(w->graph, qkv_trainer_store_name(s));
        const int D = tensor_width(embed->val.shape);
        qkv_probe_hidden hide;
        qkv_trainer_load(t, w, "test", 0, w->B, w->B);
        assert_true(qkv_probe_hide_new(arena, t, w, stream, &hide));
        assert_true(ag_hook(embed, qkv_probe_hide, &hide) && ag_forward(w->graph));
        ag_unhook(embed, qkv_probe_hide, &hide);
        real *got = tensor_arena_reals(arena, embed->val.n);
        memcpy(got, embed->val.x, embed->val.n * sizeof *got);
        flatten(t, "%s.%s", &s->side[s->store].stream[stream]);
        flatten(t, "%s.previous.%s", &s->side[s->store].stream[stream]);
        assert_true(ag_forward(w->graph));
        const int places = stream == s->roles.value ? S : s->entries;  // a question has its own key
        for (int b = 0; b < w->B; b++)
            for (int k = 0; k < places * D; k++)
                assert_close(got[b * S * D + k], embed->val.x[b * S * D + k], 4 * ROUNDING);
        tensor_arena_free(arena);
        qkv_trainer_free(t);
    }
}

/* Where one position is scored, the clean row is what an evaluation of the same examples says. */
static void clean_is_what_evaluation_says(void **state) {
    (void)state;
    qkv_trainer *t = trainer_of(0);
    qkv_probe_interventions v = interventions_of(t);
    qkv_trainer_scores e;
    char error[QKV_IO_ERROR];
    assert_true(qkv_trainer_evaluate(t, "test", 0, EXAMPLES, &e, error));
    assert_true(e.accuracy > 0.1 && e.accuracy < 0.9);  // or this would show little
    assert_close(v.changed[QKV_PROBE_CLEAN].says_t, e.accuracy, 1e-12);
    assert_close(v.changed[QKV_PROBE_CLEAN].attention_t, e.answer_attention, ROUNDING);
    assert_close(v.ablated[0].accuracy, e.accuracy, 1e-12);
    assert_close(v.ablated[0].in_context, e.in_context, 1e-12);
    assert_close(v.ablated[0].answer_attention, e.answer_attention, ROUNDING);
    qkv_trainer_free(t);
}

/* ---- the attention map ---- */

/* Reads the map's CSV: sums of rows, and where each row's target and its greatest weight are. */
typedef struct {
    int rows, cols, target[64], greatest[64], targets[64];
    double sum[64], top[64];
} map;

static map map_of(qkv_trainer *t, qkv_probe_map_change change) {
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text text = {.arena = arena};
    map m = {0};
    char *save = NULL;
    assert_true(qkv_probe_attention_map(t, change, &text));
    char *line = strtok_r(text.at, "\n", &save);
    assert_string_equal(line, "row,col,weight,target,row_label,col_label");
    while ((line = strtok_r(NULL, "\n", &save))) {
        int row, col, target, end = 0;
        double weight;
        sscanf(line, "%d,%d,%lf,%d,\"%*[^\"]\",\"%*[^\"]\"%n", &row, &col, &weight, &target, &end);
        assert_int_equal(end, strlen(line));
        assert_true(row >= 0 && row < 64 && col >= 0 && weight >= 0);
        m.rows = row + 1 > m.rows ? row + 1 : m.rows;
        m.cols = col + 1 > m.cols ? col + 1 : m.cols;
        m.sum[row] += weight;
        m.targets[row] += target;
        if (target) m.target[row] = col;
        if (weight > m.top[row]) m.top[row] = weight, m.greatest[row] = col;
    }
    tensor_arena_free(arena);
    return m;
}

static void check_map(qkv_trainer *t) {
    const data_spec *s = qkv_trainer_spec(t);
    for (int change = QKV_PROBE_MAP_PLAIN; change <= QKV_PROBE_MAP_VALUES_SWAPPED; change++) {
        map m = map_of(t, (qkv_probe_map_change)change);
        assert_int_equal(m.rows, s->entries);
        assert_int_equal(m.cols, s->side[s->store].T);
        int moved = 0;
        for (int row = 0; row < m.rows; row++) {
            assert_close(m.sum[row], 1, 1e-6);  // nine digits of each weight are written
            assert_int_equal(m.targets[row], 1);
            moved += m.target[row] != row;
        }
        assert_int_equal(moved, change == QKV_PROBE_MAP_KEYS_SWAPPED ? 2 : 0);
    }
}

static void rows_of_the_map_are_distributions(void **state) {
    (void)state;
    for (int variant = 0; variant < VARIANTS; variant++) {
        qkv_trainer *t = trainer_of(variant);
        check_map(t);
        qkv_trainer_free(t);
    }
    qkv_config c = config_of("pairs", 2, 4);  // more entries than a micro-batch has examples
    qkv_config_choose(&c, "pairs", 22);
    qkv_trainer *t = trained(c, 0);
    assert_true(qkv_trainer_any_worker(t)->B < 22);
    check_map(t);
    qkv_trainer_free(t);
}

/* Of a trained model every question finds its key, also where keys were swapped. */
static void a_trained_map_hits_its_targets(void **state) {
    (void)state;
    qkv_trainer *t = trained(config_of("pairs", 1, 64), 400);
    for (int change = QKV_PROBE_MAP_PLAIN; change <= QKV_PROBE_MAP_VALUES_SWAPPED; change++) {
        map m = map_of(t, (qkv_probe_map_change)change);
        for (int row = 0; row < m.rows; row++) assert_int_equal(m.greatest[row], m.target[row]);
    }
    qkv_trainer_free(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(probes_leave_no_trace),
    cmocka_unit_test(counts_agree),
    cmocka_unit_test(the_hidden_is_its_tables_mean),
    cmocka_unit_test(clean_is_what_evaluation_says),
    cmocka_unit_test(rows_of_the_map_are_distributions),
    cmocka_unit_test(a_trained_map_hits_its_targets),
};
CHECK_MAIN(tests)
