/* Circuits. In a layer without residual whose questions see the memory alone, they are the whole
 * model: the score of an entry is QK[question, its key] + QK[question, its value], summed over the
 * questions that are asked at once, and the logits are what the heads fetch, sum of weight *
 * (OV[its value] + OV[its key]). So the maps, read from the parameters, are held against what the
 * recorded graph computes for real examples. Where scores or logits are no such sums there are no
 * maps. */
#include "train/probe/circuits.h"

#include <math.h>
#include <string.h>

#include "tests/lib/check.h"
#include "train/probe/head_circuits.h"
#include "train/study/probe.h"

static const double TOLERANCE = sizeof(real) == sizeof(double) ? 1e-12 : 1e-5;

/* A configuration: space-separated FIELD=VALUE. */
static qkv_trainer *trainer_with(const char *settings) {
    qkv_config c;
    data_spec spec;
    char error[QKV_IO_ERROR] = "", copy[512], *save = NULL;
    qkv_config_default(&c);
    snprintf(copy, sizeof copy, "%s", settings);
    for (char *field = strtok_r(copy, " ", &save); field; field = strtok_r(NULL, " ", &save)) {
        char *value = strchr(field, '=');
        *value++ = '\0';
        assert_non_null(qkv_config_option_find(&c, field));
        if (!qkv_config_set(&c, qkv_config_option_find(&c, field), value, error))
            fail_msg("%s", error);
    }
    if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s: %s", settings, error);
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, 1, error);
    if (!t) fail_msg("%s: %s", settings, error);
    for (int step = 0; step < 20; step++) {  // away from where matrices are random
        qkv_trainer_step s;
        assert_true(qkv_trainer_gradient(t, step, &s, error));
        qkv_trainer_update(t, step, &s);
    }
    return t;
}

static ag_node *node_of(qkv_trainer *t, const char *what) {
    char name[64];
    snprintf(name, sizeof name, "layer0.%s.%s", qkv_trainer_looker(qkv_trainer_spec(t)), what);
    ag_node *node = ag_find(qkv_trainer_any_worker(t)->graph, name);
    assert_non_null(node);
    return node;
}

static double cell(const qkv_probe_circuits *c, qkv_probe_circuit i, int row, int col) {
    assert_in_range(row, 0, c->rows[i] - 1);
    assert_in_range(col, 0, c->cols[i] - 1);
    return (double)c->map[i][row * c->cols[i] + col];
}

/* The id of a role at one position of example b. */
static int id_at(const qkv_trainer_worker *w, const data_spec *s, data_side_name side, int stream,
                 int b, int at) {
    return w->data.rows.ids[side][stream][b * s->side[side].T + at];
}

/* How far a head's score of an entry, in scored row n, is from the sum of the questions' maps. */
static double left_over(qkv_trainer *t, const qkv_probe_circuits *maps, int head, int n, int e) {
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    const int T = s->side[DATA_SEQUENCE].T, S = s->side[s->store].T,
              H = qkv_trainer_config(t)->heads, b = w->rows[n] / T, at = w->rows[n] % T;
    double score =
        (double)node_of(t, "scores")->val.x[((ptrdiff_t)(b * H + head) * T + at) * S + e];
    for (int r = 0; r < s->n_readouts; r++) {
        const int asked = id_at(w, s, DATA_SEQUENCE, s->asked[r].query, b, at);
        score -=
            cell(&maps[r], QKV_PROBE_QK_KEY, asked, id_at(w, s, s->store, s->asked[r].key, b, e)) +
            cell(&maps[r], QKV_PROBE_QK_VALUE, asked,
                 id_at(w, s, s->store, s->asked[r].value, b, e));
    }
    return score;
}

/* Adds to `logits` of a readout what one head fetches for scored row n. */
static void add_fetched(qkv_trainer *t, const qkv_probe_circuits *map, int r, int head, int n,
                        double *logits) {
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    const int T = s->side[DATA_SEQUENCE].T, S = s->side[s->store].T,
              H = qkv_trainer_config(t)->heads, b = w->rows[n] / T, at = w->rows[n] % T;
    const real *weights = node_of(t, "weights")->val.x + ((ptrdiff_t)(b * H + head) * T + at) * S;
    for (int e = 0; e < s->entries; e++)
        for (int i = 0; i < s->readout[r].classes; i++)
            logits[i] +=
                (double)weights[e] *
                (cell(map, QKV_PROBE_OV_VALUE, id_at(w, s, s->store, s->asked[r].value, b, e), i) +
                 cell(map, QKV_PROBE_OV_KEY, id_at(w, s, s->store, s->asked[r].key, b, e), i));
}

/* What of a score the maps may leave over: nothing; what is the same for all entries of a question
 * (a softmax ignores it); what depends on the entry's place alone. */
typedef enum { NOTHING, SAME_IN_ROW, PLACE } rest;

static void check_scores(qkv_trainer *t, const qkv_probe_circuits *maps, int head, rest allowed) {
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    for (int n = 0; n < w->n_rows; n++)
        for (int e = 0; e < s->entries; e++) {
            const double over = left_over(t, maps, head, n, e);
            const double expected = allowed == SAME_IN_ROW ? left_over(t, maps, head, n, 0)
                                    : allowed == PLACE     ? left_over(t, maps, head, 0, e)
                                                           : 0;
            assert_close(over, expected, TOLERANCE * 30);
        }
}

static void check_logits(qkv_trainer *t, qkv_probe_circuits (*of)[DATA_MAXREADOUTS]) {
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    for (int r = 0; r < s->n_readouts; r++)
        for (int n = 0; n < w->n_rows; n++) {
            double logits[64] = {0};
            const int classes = s->readout[r].classes;
            assert_in_range(classes, 2, 64);
            for (int h = 0; h < qkv_trainer_config(t)->heads; h++)
                add_fetched(t, &of[h][r], r, h, n, logits);
            for (int i = 0; i < classes; i++)
                assert_close(w->out.logits[r]->val.x[n * classes + i], logits[i],
                             TOLERANCE * (1 + fabs(logits[i])));
        }
}

static void check_trainer(qkv_trainer *t, rest allowed) {
    const data_spec *s = qkv_trainer_spec(t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    const int H = qkv_trainer_config(t)->heads;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_probe_circuits of[4][DATA_MAXREADOUTS];
    assert_in_range(H, 1, 4);
    qkv_trainer_load(t, w, "valid", 0, w->B, w->B);
    assert_true(ag_forward(w->graph));
    for (int h = 0; h < H; h++) {
        for (int r = 0; r < s->n_readouts; r++) {
            assert_null(qkv_probe_circuits_missing_of(t, r));
            assert_true(qkv_probe_circuits_new_of(arena, t, r, &of[h][r]));
            qkv_probe_circuits_read(t, 0, h, &of[h][r]);
        }
        check_scores(t, of[h], h, allowed);
    }
    if (!qkv_trainer_config(t)->bias) check_logits(t, of);
    tensor_arena_free(arena);
}

static void check_model_but(const char *settings, rest allowed) {
    qkv_trainer *t = trainer_with(settings);
    check_trainer(t, allowed);
    qkv_trainer_free(t);
}

static void check_model(const char *settings) { check_model_but(settings, NOTHING); }

#define ALONE "mask=memory residual=false embed_std=1 "

static void circuits_are_the_model(void **state) {
    (void)state;
    check_model(ALONE);
    check_model(ALONE "heads=2");
    check_model(ALONE "heads=4 d_k=5 d_v=3");
    check_model(ALONE "heads=4 kv_heads=2 d_k=5 d_v=3");
    check_model(ALONE "heads=4 kv_heads=1 values=17 keys=40");
    check_model("task=cross residual=false heads=2 values=9 pairs=5");
    check_model(ALONE "task=recall readout=full heads=2");
}

static void circuits_of_variations_are_the_model(void **state) {
    (void)state;
    check_model(ALONE "heads=2 tie=qk");
    check_model(ALONE "heads=2 tie=kv");
    check_model(ALONE "heads=2 tie=qv");
    check_model(ALONE "heads=2 kv_heads=2 tie=qkv");
    check_model(ALONE "heads=2 wq=false wk=false wv=false");
    check_model(ALONE "heads=2 wv=false wo=false");
    check_model(ALONE "heads=4 wo=false");
    check_model(ALONE "heads=2 latent=8");
    check_model(ALONE "heads=2 latent=16 wk=false d_k=8");
    check_model(ALONE "heads=2 scale=none");
    check_model(ALONE "heads=2 scale=value");
    check_model(ALONE "heads=2 scale=learned");
    check_model(ALONE "heads=2 scale=zero");
    check_model(ALONE "heads=2 scale=exp");
    check_model(ALONE "heads=2 scale=log");
    check_model(ALONE "heads=2 softmax_one=true");
    check_model(ALONE "heads=2 scores_from=10");
    check_model(ALONE "heads=2 tie_unembedding=true values=9");
    check_model_but(ALONE "heads=2 bias=true", SAME_IN_ROW);
    check_model_but(ALONE "heads=2 bias=true tie=qk", SAME_IN_ROW);
    check_model_but(ALONE "heads=2 positions=alibi", PLACE);
    check_model_but(ALONE "heads=2 positions=alibi scale=exp softmax_one=true", PLACE);
}

/* What the question's place adds to its query is part of the maps. An entry's place is not: those of learned
 * positions are set to 0 here. */
static void the_place_of_the_question_counts(void **state) {
    (void)state;
    qkv_trainer *t = trainer_with(ALONE "heads=2 positions=learned");
    ag_param_entry *table = ag_params_find(qkv_trainer_params(t), "embed.position");
    const data_spec *s = qkv_trainer_spec(t);
    const size_t entries = (size_t)s->entries * (size_t)qkv_trainer_config(t)->d_model;
    assert_non_null(table);
    memset(table->val.x, 0, entries * sizeof(real));
    for (size_t i = entries; i < table->val.n; i++) assert_true(table->val.x[i] != 0);
    check_trainer(t, NOTHING);
    qkv_trainer_free(t);
}

/* Two questions at one position, each with maps of its own; what both share is shared out. */
static void several_questions_have_maps_of_their_own(void **state) {
    (void)state;
    check_model("task=two residual=false embed_std=1 heads=2");
    check_model("task=two residual=false embed_std=1 heads=4 kv_heads=2 d_k=5 d_v=3 values=20");
    check_model("task=two residual=false embed_std=1 heads=2 wo=false readout=local");
    check_model("task=two residual=false embed_std=1 heads=2 tie=kv scale=exp softmax_one=true");
    check_model_but("task=two residual=false embed_std=1 heads=2 bias=true", SAME_IN_ROW);
}

static void what_is_no_sum_has_no_maps(void **state) {
    (void)state;
    static const struct {
        const char *settings, *words;
    } refused[] = {
        {"qk_norm=true", "brought to one size"},  {"norm=rms", "a norm"},
        {"norm=layer post_norm=true", "a norm"},  {"soft_cap=5", "soft cap"},
        {"positions=rotary", "distance"},         {"d_ff=8 residual=false", "feed-forward"},
        {"layers=2", "more than one layer"},      {"block=linear", "W^Q"},
        {"task=two answers=sorted", "one symbol"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        qkv_trainer *t = trainer_with(refused[i].settings);
        qkv_probe_circuits c;
        tensor_arena *arena = tensor_arena_new(NULL);
        const char *why = qkv_probe_circuits_missing_of(t, 0);
        if (!why || !strstr(why, refused[i].words))
            fail_msg("%s: %s", refused[i].settings, why ? why : "is not refused");
        assert_false(qkv_probe_circuits_new_of(arena, t, 0, &c));
        assert_false(qkv_probe_circuits_new(arena, t, &c));
        tensor_arena_free(arena);
        qkv_trainer_free(t);
    }
    qkv_trainer *t = trainer_with("task=position steps=1");
    assert_null(qkv_probe_circuits_missing_of(t, 0));
    assert_non_null(qkv_probe_circuits_missing_of(t, 1));  // a place is no symbol that is found
    qkv_trainer_free(t);
}

/* ---- each head's own, where it is known ---- */

static void set(qkv_trainer *t, const char *name, int row, int col, double x) {
    ag_param_entry *p = ag_params_find(qkv_trainer_params(t), name);
    assert_non_null(p);
    p->val.x[row * p->val.shape.dim[1] + col] = (real)x;
}

/* Built by hand: eight channels for each of key, value, first and second question. Head 0 answers
 * the first question and head 1 the second, or `crossed`: head 0 finds the first's key, but says
 * what it fetches as the second's answer, and the other way round. */
static qkv_trainer *built(bool crossed) {
    enum { N = 8 };
    static const char *const tables[] = {"embed.key", "embed.value", "embed.first", "embed.second"};
    qkv_trainer *t = trainer_with(
        "task=two pairs=4 keys=8 values=8 heads=2 d_k=8 d_v=8 d_model=32 residual=false");
    for (int i = 0; i < ag_params_count(qkv_trainer_params(t)); i++) {
        tensor *x = &ag_params_at(qkv_trainer_params(t), i)->val;
        memset(x->x, 0, x->n * sizeof(real));
    }
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 4; k++) set(t, tables[k], i, k * N + i, 1);
        for (int h = 0; h < 2; h++) {
            set(t, "layer0.attn.wq", (2 + h) * N + i, h * N + i, 10);
            set(t, "layer0.attn.wk", i, h * N + i, 1);
            set(t, "layer0.attn.wv", N + i, h * N + i, 1);
            set(t, "layer0.attn.wo", h * N + i, (crossed ? 1 - h : h) * N + i, 3);
        }
        set(t, "unembed.first", i, i, 1);
        set(t, "unembed.second", N + i, i, 1);
    }
    return t;
}

static void each_head_has_its_own(void **state) {
    (void)state;
    const double score = 10 / sqrt(8);
    for (int crossed = 0; crossed < 2; crossed++) {
        qkv_trainer *t = built(crossed);
        char error[QKV_IO_ERROR];
        qkv_probe_measures m = {.arena = tensor_arena_new(NULL)};
        qkv_trainer_scores s;
        assert_true(qkv_trainer_evaluate(t, "test", 0, 200, &s, error));
        assert_close(s.accuracy, crossed ? 0 : 1, crossed ? 0.2 : 0.01);
        assert_true(qkv_study_probe_run_circuits(t, &m, error));
        const struct {
            const char *name;
            double x;
        } expected[] = {{"head0.first.qk", score},
                        {"head0.second.qk", 0},
                        {"head1.first.qk", 0},
                        {"head1.second.qk", score},
                        {"head0.first.ov", crossed ? 0 : 3},
                        {"head0.second.ov", crossed ? 3 : 0},
                        {"head1.first.ov", crossed ? 3 : 0},
                        {"head1.second.ov", crossed ? 0 : 3},
                        {"finds", score},
                        {"finds_all", 1},
                        {"others_find", 0},
                        {"says", crossed ? 0 : 3},
                        {"others_say", crossed ? 3 : 0},
                        {"same", crossed ? 0 : 1},
                        {"apart", 1}};
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
            char name[QKV_PROBE_MEASURE];
            snprintf(name, sizeof name, "circuits.%s", expected[i].name);
            assert_close(qkv_probe_measure_get(&m, name), expected[i].x, 1e-5);
        }
        tensor_arena_free(m.arena);
        qkv_trainer_free(t);
    }
}

/* ---- the numbers drawn from the maps ---- */

/* Mean over rows of the variance in a row, the mean removed first. */
static double naive_variance(const qkv_probe_circuits *c, qkv_probe_circuit i) {
    double sum = 0;
    for (int r = 0; r < c->rows[i]; r++) {
        double mean = 0;
        for (int k = 0; k < c->cols[i]; k++) mean += cell(c, i, r, k);
        mean /= c->cols[i];
        for (int k = 0; k < c->cols[i]; k++) sum += pow(cell(c, i, r, k) - mean, 2) / c->cols[i];
    }
    return sum / c->rows[i];
}

/* How many rows have their greatest entry on the diagonal, as a fraction; and the margin. */
static double naive_diagonal(const qkv_probe_circuits *c, qkv_probe_circuit i, double *margin) {
    double hits = 0, right = 0, others = 0;
    for (int r = 0; r < c->rows[i]; r++) {
        double greatest = -INFINITY;
        for (int k = 0; k < c->cols[i]; k++) {
            if (k != r) greatest = fmax(greatest, cell(c, i, r, k));
            if (k != r) others += cell(c, i, r, k);
        }
        hits += cell(c, i, r, r) > greatest;
        right += cell(c, i, r, r);
    }
    *margin = right / c->rows[i] - others / (c->rows[i] * (c->cols[i] - 1.0));
    return hits / c->rows[i];
}

static void check_numbers(const qkv_probe_circuits *c) {
    double qk_margin, ov_margin;
    assert_close(c->qk_diag, naive_diagonal(c, QKV_PROBE_QK_KEY, &qk_margin), 1e-12);
    assert_close(c->ov_diag, naive_diagonal(c, QKV_PROBE_OV_VALUE, &ov_margin), 1e-12);
    assert_close(c->qk_margin, qk_margin, 1e-9);
    assert_close(c->ov_margin, ov_margin, 1e-9);
    double qk = naive_variance(c, QKV_PROBE_QK_VALUE) / naive_variance(c, QKV_PROBE_QK_KEY);
    double ov = naive_variance(c, QKV_PROBE_OV_KEY) / naive_variance(c, QKV_PROBE_OV_VALUE);
    assert_close(c->qk_ratio, qk, 1e-9 * qk);
    assert_close(c->ov_ratio, ov, 1e-9 * ov);
}

static void numbers_are_drawn_rightly(void **state) {
    (void)state;
    qkv_trainer *t = trainer_with("values=24 heads=2");
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_probe_circuits c;
    char error[QKV_IO_ERROR];
    assert_true(qkv_probe_circuits_new(arena, t, &c));
    assert_true(c.rows[QKV_PROBE_QK_KEY] == 32 && c.cols[QKV_PROBE_QK_KEY] == 32);
    assert_true(c.rows[QKV_PROBE_QK_VALUE] == 32 && c.cols[QKV_PROBE_QK_VALUE] == 24);
    assert_true(c.rows[QKV_PROBE_OV_VALUE] == 24 && c.cols[QKV_PROBE_OV_VALUE] == 24);
    assert_true(c.rows[QKV_PROBE_OV_KEY] == 32 && c.cols[QKV_PROBE_OV_KEY] == 24);
    for (int step = 20; step < 120; step++) {  // while the diagonals fill
        qkv_trainer_step s;
        if (step % 20 == 0)
            for (int head = 0; head < 2; head++)
                qkv_probe_circuits_read(t, 0, head, &c), check_numbers(&c);
        assert_true(qkv_trainer_gradient(t, step, &s, error));
        qkv_trainer_update(t, step, &s);
    }
    tensor_arena_free(arena);
    qkv_trainer_free(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(circuits_are_the_model),
    cmocka_unit_test(circuits_of_variations_are_the_model),
    cmocka_unit_test(the_place_of_the_question_counts),
    cmocka_unit_test(several_questions_have_maps_of_their_own),
    cmocka_unit_test(what_is_no_sum_has_no_maps),
    cmocka_unit_test(each_head_has_its_own),
    cmocka_unit_test(numbers_are_drawn_rightly),
};
CHECK_MAIN(tests)
