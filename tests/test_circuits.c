/* Circuits. In a layer without residual whose questions see the memory alone, they are the whole
 * model: the score of an entry is QK[question, its key] + QK[question, its value], and the logits
 * are what the heads fetch, sum of weight * (OV[its value] + OV[its key]). So the maps, read from
 * the parameters, are held against what the recorded graph computes for real examples. */
#include "train/probe/circuits.h"

#include <math.h>
#include <string.h>

#include "tests/check.h"

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

/* What one head does for scored row n is predicted: its scores are compared, what it fetches is
 * added to `logits`. */
static void check_head(qkv_trainer *t, const qkv_probe_circuits *c, int head, int n,
                       double *logits) {
    const data_spec *s = qkv_trainer_spec(t);
    const qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    int T = s->side[DATA_SEQUENCE].T, S = s->side[s->store].T, H = qkv_trainer_config(t)->heads;
    int b = w->rows[n] / T, at = w->rows[n] % T;
    int asked = id_at(w, s, DATA_SEQUENCE, s->roles.query, b, at);
    ptrdiff_t row = ((ptrdiff_t)(b * H + head) * T + at) * S;
    const real *scores = node_of(t, "scores")->val.x + row;
    const real *weights = node_of(t, "weights")->val.x + row;
    for (int e = 0; e < s->entries; e++) {
        int key = id_at(w, s, s->store, s->roles.key, b, e);
        int value = id_at(w, s, s->store, s->roles.value, b, e);
        double score =
            cell(c, QKV_PROBE_QK_KEY, asked, key) + cell(c, QKV_PROBE_QK_VALUE, asked, value);
        assert_close(scores[e], score, TOLERANCE * (1 + fabs(score)));
        for (int i = 0; i < s->readout[0].classes; i++)
            logits[i] += (double)weights[e] * (cell(c, QKV_PROBE_OV_VALUE, value, i) +
                                               cell(c, QKV_PROBE_OV_KEY, key, i));
    }
}

static void check_model(const char *settings) {
    qkv_trainer *t = trainer_with(settings);
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    int classes = qkv_trainer_spec(t)->readout[0].classes, H = qkv_trainer_config(t)->heads;
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_probe_circuits head[4];
    assert_in_range(H, 1, 4);
    for (int h = 0; h < H; h++) {
        assert_true(qkv_probe_circuits_new(arena, t, &head[h]));
        qkv_probe_circuits_read(t, 0, h, &head[h]);
    }
    qkv_trainer_load(t, w, "valid", 0, w->B, w->B);
    assert_true(ag_forward(w->graph));
    for (int n = 0; n < w->n_rows; n++) {
        double logits[64] = {0};
        assert_in_range(classes, 2, 64);
        for (int h = 0; h < H; h++) check_head(t, &head[h], h, n, logits);
        for (int i = 0; i < classes; i++)
            assert_close(w->out.logits[0]->val.x[n * classes + i], logits[i],
                         TOLERANCE * (1 + fabs(logits[i])));
    }
    tensor_arena_free(arena);
    qkv_trainer_free(t);
}

#define ALONE "mask=memory residual=false embed_std=1 "

static void circuits_are_the_model(void **state) {
    (void)state;
    check_model(ALONE);
    check_model(ALONE "heads=2");
    check_model(ALONE "heads=4 d_k=5 d_v=3");
    check_model(ALONE "heads=4 kv_heads=2 d_k=5 d_v=3");
    check_model(ALONE "heads=4 kv_heads=1 values=17 keys=40");
    check_model("task=cross residual=false heads=2 values=9 pairs=5");
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
    cmocka_unit_test(numbers_are_drawn_rightly),
};
CHECK_MAIN(tests)
