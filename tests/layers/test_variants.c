/* Variants of attention and of training: each does what its option promises, and nothing else. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/ag.h"
#include "tests/lib/check.h"
#include "train/optim/muon.h"
#include "train/trainer/trainer.h"

static const double ROUNDING = sizeof(real) == sizeof(double) ? 1e-9 : 2e-5;

/* "task option=value ...", not trained. */
static qkv_trainer *model(const char *text) {
    char list[256], error[QKV_IO_ERROR] = "", *rest = NULL;
    qkv_config c;
    data_spec spec;
    snprintf(list, sizeof list, "%s", text);
    qkv_config_default(&c);
    const char *task = strtok_r(list, " ", &rest);
    if (!qkv_config_set(&c, qkv_config_option_find(&c, "task"), task, error)) fail_msg("%s", error);
    c.batch = 16, c.lanes = 2;
    for (char *word; (word = strtok_r(NULL, " ", &rest));) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        if (!qkv_config_set(&c, qkv_config_option_find(&c, word), value, error))
            fail_msg("%s", error);
    }
    if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s", error);
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, 1, error);
    if (!t) fail_msg("%s", error);
    return t;
}

static void train(qkv_trainer *t, int from, int to) {
    char error[QKV_IO_ERROR] = "";
    for (int step = from; step < to; step++) {
        qkv_trainer_step s;
        if (!qkv_trainer_gradient(t, step, &s, error)) fail_msg("%s", error);
        qkv_trainer_update(t, step, &s);
    }
}

static ag_node *node(qkv_trainer *t, const char *name) {
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    qkv_trainer_load(t, w, "test", 0, w->B, w->B);
    ag_set_run(w->graph, (ag_run){.training = false});
    assert_true(ag_forward(w->graph));
    ag_node *found = ag_find(w->graph, name);
    if (!found) fail_msg("there is no node '%s'", name);
    return found;
}

static real *param(qkv_trainer *t, const char *name) {
    ag_param_entry *p = ag_params_find(qkv_trainer_params(t), name);
    if (!p) fail_msg("there is no parameter '%s'", name);
    return p->val.x;
}

/* Whatever W^Q and W^K grow to, every query and key has root mean square 1 at first, so no score
 * passes sqrt(d_k). */
static void qk_norm_bounds_scores(void **state) {
    (void)state;
    qkv_trainer *t = model("pairs heads=4 kv_heads=2 qk_norm=true gains=*.wq=100,*.wk=30");
    const ag_node *q = node(t, "layer0.attn.q_norm"), *s = node(t, "layer0.attn.scores");
    assert_int_equal(tensor_width(q->val.shape), 8);
    for (size_t at = 0; at < q->val.n; at += 8) {
        double squares = 0;
        for (int e = 0; e < 8; e++)
            squares += (double)q->val.x[at + (size_t)e] * (double)q->val.x[at + (size_t)e];
        assert_close(squares / 8, 1, 1e-3);
    }
    double most = 0;
    for (size_t i = 0; i < s->val.n; i++) most = fmax(most, fabs((double)s->val.x[i]));
    assert_true(most <= sqrt(8) + 1e-4 && most > 0.5);
    qkv_trainer_free(t);
}

/* Rows add up to less than 1; with all scores at 0 a row of n has 1 / (n + 1) everywhere. */
static void softmax_one_may_look_at_nothing(void **state) {
    (void)state;
    qkv_trainer *t = model("pairs softmax_one=true scale=zero");
    const ag_node *w = node(t, "layer0.attn.weights");
    int T = w->val.shape.dim[2];
    for (int row = 0; row < T; row++)
        for (int s = 0; s < T; s++)
            assert_close(w->val.x[row * T + s], s <= row ? 1.0 / (row + 2) : 0, 1e-6);
    qkv_trainer_free(t);
}

/* Scores as usual, times ln of the number of places that a row sees; without itself, one fewer. */
static void log_scale_grows_with_the_row(void **state) {
    (void)state;
    for (int self = 0; self < 2; self++) {
        qkv_trainer *t = model(self ? "pairs heads=2 scale=log"
                                    : "pairs heads=2 scale=log self=false"),
                    *plain = model(self ? "pairs heads=2" : "pairs heads=2 self=false");
        const ag_node *s = node(t, "layer0.attn.scores"), *x = node(plain, "layer0.attn.scores");
        const int T = s->val.shape.dim[2];
        for (int i = 0; i < 2 * T * T; i++) {
            const int seen = i / T % T + self;
            assert_close(s->val.x[i], (double)x->val.x[i] * (seen > 1 ? log(seen) : 0), 1e-5);
        }
        qkv_trainer_free(t);
        qkv_trainer_free(plain);
    }
}

/* One head of a block with sums (or a state) carried from token to token, from its q, k, v and what it
 * keeps of the past; the same as the sum over all tokens that the block makes. */
static void carry(qkv_trainer *t, bool positive, bool divided, bool fades) {
    const ag_node *q = node(t, "layer0.attn.q"), *k = node(t, "layer0.attn.k"),
                  *v = node(t, "layer0.attn.v"), *mix = node(t, "layer0.attn.mix");
    const int T = q->val.shape.dim[1], H = 2, K = tensor_width(q->val.shape) / H,
              V = tensor_width(v->val.shape) / H;
    for (int h = 0; h < H; h++) {
        double state[16][17] = {{0}};  // the last column: the sums of phi(k)
        for (int at = 0; at < T; at++) {
            double keep = 1, below = 0;
            if (fades)
                keep = 1 / (1 + exp(-4 - (double)node(t, "layer0.attn.a")->val.x[at * H + h]));
            for (int i = 0; i < K; i++) {
                const double x = (double)k->val.x[(at * H + h) * K + i],
                             phi = positive ? exp(x) : x;
                for (int j = 0; j < V; j++)
                    state[i][j] = keep * state[i][j] + phi * (double)v->val.x[(at * H + h) * V + j];
                state[i][V] += phi;
            }
            double phi[16];
            for (int i = 0; i < K; i++) {
                phi[i] = (double)q->val.x[(at * H + h) * K + i];
                if (positive) phi[i] = exp(phi[i]);
                below += phi[i] * state[i][V];
            }
            for (int j = 0; j < V; j++) {
                double y = 0;
                for (int i = 0; i < K; i++) y += phi[i] * state[i][j];
                assert_close(mix->val.x[(at * H + h) * V + j], divided ? y / below : y, 1e-4);
            }
        }
    }
}

static void a_state_says_the_same_as_all_tokens(void **state) {
    (void)state;
    static const struct {
        const char *model;
        bool positive, divided, fades;
    } kinds[] = {{"pairs heads=2 block=linear", true, true, false},
                 {"pairs heads=2 block=positive-sum", true, false, false},
                 {"pairs heads=2 block=signed-sum", false, false, false},
                 {"pairs heads=2 block=recurrent gains=layer0.attn.a.w=9", false, false, true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        qkv_trainer *t = model(kinds[i].model);
        carry(t, kinds[i].positive, kinds[i].divided, kinds[i].fades);
        qkv_trainer_free(t);
    }
}

/* Scores that are all 0 fall by the slope with every position. */
static void alibi_falls_with_distance(void **state) {
    (void)state;
    qkv_trainer *t = model("pairs positions=alibi heads=2 scale=none gains=*.wq=0");
    const ag_node *s = node(t, "layer0.attn.scores");
    int T = s->val.shape.dim[2];
    for (int h = 0; h < 2; h++)
        for (int at = 0; at < T; at++)
            for (int k = 0; k < T; k++)
                assert_close(s->val.x[(h * T + at) * T + k],
                             k <= at ? -(at - k) * (h ? 1.0 / 256 : 1.0 / 16) : 0, 1e-6);
    qkv_trainer_free(t);
}

static void soft_cap_caps(void **state) {
    (void)state;
    qkv_trainer *t = model("pairs soft_cap=2 gains=*.wq=300"),
                *plain = model("pairs gains=*.wq=300");
    const ag_node *s = node(t, "layer0.attn.scores"), *x = node(plain, "layer0.attn.scores");
    double most = 0;
    for (size_t i = 0; i < s->val.n; i++) {
        assert_close(s->val.x[i], 2 * tanh((double)x->val.x[i] / 2), 1e-4);
        most = fmax(most, fabs((double)x->val.x[i]));
    }
    assert_true(most > 4);
    qkv_trainer_free(plain);
    qkv_trainer_free(t);
}

/* The temperature e^p multiplies scores, and p moves them by a factor, not by a summand. */
static void exp_temperature(void **state) {
    (void)state;
    qkv_trainer *t = model("pairs scale=exp"), *plain = model("pairs");
    const ag_node *s = node(t, "layer0.attn.scores"), *x = node(plain, "layer0.attn.scores");
    for (size_t i = 0; i < s->val.n; i++) assert_close(s->val.x[i], x->val.x[i], 1e-6);
    param(t, "layer0.attn.temperature")[0] = (real)log(3);
    s = node(t, "layer0.attn.scores");
    for (size_t i = 0; i < s->val.n; i++) assert_close(s->val.x[i], 3 * (double)x->val.x[i], 1e-4);
    qkv_trainer_free(plain);
    qkv_trainer_free(t);
}

/* Smoothing teaches another thing and is measured by the same loss: before the first step, the
 * held-out loss has the same bits, and the training loss does not. */
static void label_smoothing_is_for_training(void **state) {
    (void)state;
    qkv_trainer *t[] = {model("pairs"), model("pairs label_smoothing=0.3")};
    qkv_trainer_scores e[2];
    qkv_trainer_step s[2];
    char error[QKV_IO_ERROR];
    for (int i = 0; i < 2; i++) {
        assert_true(qkv_trainer_evaluate(t[i], "test", 0, 64, &e[i], error));
        assert_true(qkv_trainer_gradient(t[i], 0, &s[i], error));
    }
    assert_same_bits(&e[0].loss, &e[1].loss, 1);
    assert_true(fabs(s[0].loss - s[1].loss) > 1e-5);
    for (int i = 0; i < 2; i++) train(t[i], 0, 300);
    for (int i = 0; i < 2; i++)
        assert_true(qkv_trainer_evaluate(t[i], "test", 0, 64, &e[i], error));
    assert_true(e[1].accuracy > 0.95);
    assert_true(e[1].loss > 0.1 && e[1].loss > 4 * e[0].loss);  // no answer is given with certainty
    for (int i = 0; i < 2; i++) qkv_trainer_free(t[i]);
}

/* ---- factors of single parameters ---- */

/* A start: that parameter is multiplied, the others have their bits. */
static void gains_multiply_the_start(void **state) {
    (void)state;
    qkv_trainer *t = model("pairs gains=*.wq=0.5,*.w*=2,*.wv=1"), *plain = model("pairs");
    for (int i = 0; i < 1024; i++) {
        assert_close(param(t, "layer0.attn.wq")[i], 2 * (double)param(plain, "layer0.attn.wq")[i],
                     0);
        assert_close(param(t, "layer0.attn.wv")[i], (double)param(plain, "layer0.attn.wv")[i], 0);
        assert_close(param(t, "embed.key")[i], (double)param(plain, "embed.key")[i], 0);
    }
    qkv_trainer_free(plain);
    qkv_trainer_free(t);
}

static double moved(qkv_trainer *t, const char *setting, const char *name) {
    qkv_trainer *other = model(setting);
    double squares = 0;
    train(other, 0, 1);
    for (int i = 0; i < 1024; i++) {
        double d = (double)param(other, name)[i] - (double)param(t, name)[i];
        squares += d * d;
    }
    qkv_trainer_free(other);
    return sqrt(squares);
}

/* Twice the gradient is twice the step of gradient descent, and the same step of Adam; twice the
 * rate is twice the step of both. */
static void gradients_and_rates(void **state) {
    (void)state;
    static const char *const q = "layer0.attn.wq", *const v = "layer0.attn.wv";
    qkv_trainer *t = model("pairs");
    double sgd = moved(t, "pairs optimizer=sgd lr=0.5", q), adam = moved(t, "pairs", q);
    assert_true(sgd > 0 && adam > 0);
    assert_close(moved(t, "pairs optimizer=sgd lr=0.5 gradients=*.wq=2", q), 2 * sgd, 0.001 * sgd);
    assert_close(moved(t, "pairs optimizer=sgd lr=0.5 rates=*.wq=2", q), 2 * sgd, 0.001 * sgd);
    assert_close(moved(t, "pairs gradients=*.wq=2", q), adam, 0.001 * adam);
    assert_close(moved(t, "pairs rates=*.wq=2", q), 2 * adam, 0.001 * adam);
    assert_close(moved(t, "pairs rates=*.wq=2", v), moved(t, "pairs", v), 0);
    qkv_trainer_free(t);
}

static void malformed_factors_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *field, *text, *words;
    } c[] = {{"rates", "*.wq", "--rates: '*.wq' is not NAME=X"},
             {"gains", "*.wq=two", "--gains: '*.wq=two' is not NAME=X"},
             {"gradients", "*.wq=-1", "between 0 and 1e9"},
             {"rates", "*.wx=2", "--rates: no parameter is called '*.wx'"},
             {"freeze", "*.wx", "--freeze: no parameter is called '*.wx'"}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        qkv_config config;
        data_spec spec;
        char error[QKV_IO_ERROR] = "";
        qkv_config_default(&config);
        assert_true(
            qkv_config_set(&config, qkv_config_option_find(&config, c[i].field), c[i].text, error));
        assert_true(qkv_config_resolve(&config, &spec, error));
        assert_null(qkv_trainer_new(NULL, &config, &spec, 1, error));
        if (!strstr(error, c[i].words)) fail_msg("'%s' does not say '%s'", error, c[i].words);
    }
}

/* ---- Muon ---- */

/* U S V^T becomes nearly U V^T: for a matrix of orthogonal rows of very different lengths, rows of
 * nearly one length in the old directions; wide, tall and square. */
static void orthogonalise_makes_directions_equal(void **state) {
    (void)state;
    enum { R = 3, C = 8 };
    for (int tall = 0; tall < 2; tall++) {
        real x[R * C] = {0}, scratch[3 * R * C];
        for (int r = 0; r < R; r++)
            for (int c = 0; c < C; c++)  // rows of a Hadamard matrix, times 1, 10, 100
                x[tall ? c * R + r : r * C + c] =
                    (real)((__builtin_popcount((unsigned)(r + 1) & (unsigned)c) % 2 ? -1 : 1) *
                           pow(10, r));
        qkv_optim_orthogonalise(tall ? C : R, tall ? R : C, x, scratch);
        for (int r = 0; r < R; r++) {
            double along = 0, squares = 0;
            for (int c = 0; c < C; c++) {
                double y = (double)x[tall ? c * R + r : r * C + c];
                along += y * (__builtin_popcount((unsigned)(r + 1) & (unsigned)c) % 2 ? -1 : 1) /
                         sqrt(C);
                squares += y * y;
            }
            assert_true(along > 0.65 && along < 1.2);
            assert_close(squares, along * along, 1e-4);  // nothing in other directions
        }
    }
    real zero[4] = {0}, scratch[12];
    qkv_optim_orthogonalise(2, 2, zero, scratch);
    for (int i = 0; i < 4; i++) assert_true(zero[i] == 0);
}

/* Of the first step: a matrix moves with all singular values alike, by the size of Adam's steps; the
 * tables of embeddings move as Adam moves them, bit for bit. */
static void muon_moves_matrices_evenly(void **state) {
    (void)state;
    qkv_trainer *start = model("pairs"), *muon = model("pairs optimizer=muon"),
                *adam = model("pairs");
    train(muon, 0, 1);
    train(adam, 0, 1);
    assert_same_bits(param(muon, "embed.key"), param(adam, "embed.key"), 1024);
    assert_same_bits(param(muon, "unembed.value"), param(adam, "unembed.value"), 1024);
    real d[1024];
    double squares = 0, off = 0;
    for (int i = 0; i < 1024; i++) {
        d[i] = param(muon, "layer0.attn.wv")[i] - param(start, "layer0.attn.wv")[i];
        squares += (double)d[i] * (double)d[i];
    }
    double root = sqrt(squares / 1024);
    assert_true(root > 0.1 * 0.003 && root < 0.25 * 0.003);  // 0.2 of the rate
    for (int i = 0; i < 32; i++)
        for (int k = 0; k < i; k++) {
            double dot = 0;
            for (int j = 0; j < 32; j++) dot += (double)d[i * 32 + j] * (double)d[k * 32 + j];
            off += dot * dot;
        }
    assert_true(sqrt(off / 496) < 0.25 * squares / 32);  // rows nearly at right angles
    qkv_trainer_free(start);
    qkv_trainer_free(muon);
    qkv_trainer_free(adam);
}

/* Every variant learns the task, and a resumed state would be all there is: the same bits twice. */
static void variants_learn(void **state) {
    (void)state;
    static const char *const texts[] = {
        "pairs optimizer=muon",
        "pairs qk_norm=true",
        "pairs softmax_one=true",
        "pairs scale=log",
        "pairs block=recurrent",
        "pairs soft_cap=8",
        "pairs positions=alibi",
        "pairs scale=exp",
        "pairs heads=2 qk_norm=true positions=rotary optimizer=muon label_smoothing=0.1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        qkv_trainer *t = model(texts[i]);
        qkv_trainer_scores e;
        char error[QKV_IO_ERROR];
        e.accuracy = 0;
        for (int step = 0; step < 800 && !(e.accuracy > 0.9); step += 100) {
            train(t, step, step + 100);
            assert_true(qkv_trainer_evaluate(t, "test", 0, 256, &e, error));
        }
        if (!(e.accuracy > 0.9)) fail_msg("%s: accuracy %g", texts[i], e.accuracy);
        qkv_trainer_free(t);
    }
}

/* d (x stop(x)) / dx is x, not 2 x; and what is made of stop(x) alone wants nothing. */
static void stop_gradient_stops(void **state) {
    (void)state;
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(params);
    ag_node *x = ag_want_grad(ag_input(g, "x", tensor_dims(1, 3)));
    for (int i = 0; i < 3; i++) x->val.x[i] = (real)(i + 1);
    ag_node *stopped = ag_stop_gradient(x), *alone = ag_exp(stopped);
    assert_same_bits(stopped->val.x, x->val.x, 3);
    assert_true(ag_backward(ag_sum(ag_mul(x, stopped), 0, NULL), NULL));
    for (int i = 0; i < 3; i++) assert_close(x->grad[i], i + 1, ROUNDING);
    assert_false(alone->wants_grad);
    x->val.x[0] = 5;
    assert_true(ag_forward(g));
    assert_true(stopped->val.x[0] == 5);
    ag_graph_free(g);
    ag_params_free(params);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(qk_norm_bounds_scores),
    cmocka_unit_test(log_scale_grows_with_the_row),
    cmocka_unit_test(a_state_says_the_same_as_all_tokens),
    cmocka_unit_test(softmax_one_may_look_at_nothing),
    cmocka_unit_test(alibi_falls_with_distance),
    cmocka_unit_test(soft_cap_caps),
    cmocka_unit_test(exp_temperature),
    cmocka_unit_test(label_smoothing_is_for_training),
    cmocka_unit_test(gains_multiply_the_start),
    cmocka_unit_test(gradients_and_rates),
    cmocka_unit_test(malformed_factors_are_refused),
    cmocka_unit_test(orthogonalise_makes_directions_equal),
    cmocka_unit_test(muon_moves_matrices_evenly),
    cmocka_unit_test(variants_learn),
    cmocka_unit_test(stop_gradient_stops),
};
CHECK_MAIN(tests)
