/* Padding is never read: what an example gives does not depend on its neighbours in the batch, nor on what
 * stands behind its end; to the bit, forwards and backwards, in every kind of attention. */
#include <math.h>
#include <string.h>

#include "layers/nn.h"
#include "tensor/rng.h"
#include "tests/lib/check.h"
#include "train/trainer/trainer.h"

enum {
    T = 9,
    S = 6,
    V = 7,
    C = 4,
    ROWS = 3
};  // positions, of the memory; words, classes, examples

typedef struct {
    const char *name;
    nn_attention_config attention;
    nn_positions positions;
    bool memory, shift;
} variant;

static const variant VARIANTS[] = {
    {"full", {2, 2, 4, 4, .latent = 0}, NN_POSITIONS_LEARNED, false, false},
    {"no self", {2, 1, 4, 4, .mask = {.no_self = true}}, NN_POSITIONS_SINUSOIDAL, false, true},
    {"causal", {2, 2, 4, 4, .mask = {.causal = true}}, NN_POSITIONS_LEARNED, false, false},
    {"memory", {2, 2, 4, 4, .mask = {.memory = 7}}, NN_POSITIONS_NONE, false, false},
    {"rotary", {2, 1, 4, 4, .rotary = true, .qk_norm = true}, NN_POSITIONS_ROTARY, false, false},
    {"alibi", {2, 2, 4, 4, .alibi = true, .soft_cap = 2}, NN_POSITIONS_ALIBI, false, false},
    {"softmax-one", {2, 2, 4, 4, .softmax_one = true}, NN_POSITIONS_LEARNED, false, false},
    {"latent", {2, 2, 4, 4, .latent = 3, .tie = NN_TIE_KV}, NN_POSITIONS_LEARNED, false, false},
    {"log of the places", {2, 2, 4, 4, .scale = NN_SCALE_LOG}, NN_POSITIONS_NONE, false, false},
    {"dropout", {2, 2, 4, 4, .dropout = 0.3}, NN_POSITIONS_LEARNED, false, false},
    {"encoder", {2, 2, 4, 4, .latent = 0}, NN_POSITIONS_LEARNED, true, false},
};
enum { N_VARIANTS = sizeof VARIANTS / sizeof *VARIANTS };

/* ---- a batch, of which the first example is looked at ---- */

typedef struct {
    int ids[ROWS * T], stored[ROWS * S], length[ROWS], stored_length[ROWS];
    int rows[ROWS], targets[ROWS];
} batch;

/* Examples of 5, 9 and 2 words; behind them what `padding` draws (0: nothing). One in the middle asks. */
static batch batch_of(uint64_t padding) {
    batch b = {.length = {5, T, 2}, .stored_length = {4, 1, S}, .targets = {1, -1, -1}};
    rng r = rng_stream(3, "words", 0), spoil = rng_stream(4, "padding", padding);
    for (int e = 0; e < ROWS; e++) {
        for (int t = 0; t < T; t++) {
            const int word = (int)rng_below(&r, V), other = (int)rng_below(&spoil, V);
            b.ids[e * T + t] = t < b.length[e] ? word : padding ? other : -1;
        }
        for (int s = 0; s < S; s++) {
            const int word = (int)rng_below(&r, V), other = (int)rng_below(&spoil, V);
            b.stored[e * S + s] = s < b.stored_length[e] ? word : padding ? other : -1;
        }
        b.rows[e] = e * T + 1;
    }
    return b;
}

typedef struct {
    ag_params *params;
    ag_graph *g;
    nn_outputs out;
} model;

static const real ONE = 1;

/* The model on the first n examples, of which the first alone has a target; recorded and run back. */
static model model_on(const variant *v, const batch *b, int n, int length) {
    nn_batch on = {.B = n,
                   .sequence = {.T = length, .n_streams = 1, .length = b->length},
                   .n_rows = n,
                   .rows = b->rows,
                   .n_readouts = 1,
                   .readout = {{"answer", C, b->targets, &ONE}}};
    on.sequence.stream[0] = "word", on.sequence.vocab[0] = V, on.sequence.ids[0] = b->ids;
    if (v->memory) {
        on.memory = (nn_sequence){.T = S, .n_streams = 1, .length = b->stored_length};
        on.memory.stream[0] = "word", on.memory.vocab[0] = V, on.memory.ids[0] = b->stored;
    }
    nn_model_config c = {.layers = 2,
                         .d_model = 8,
                         .d_ff = 12,
                         .encoder_layers = v->memory ? 2 : 0,
                         .self_attention = true,
                         .attention = v->attention,
                         .norm = NN_NORM_LAYER,
                         .activation = NN_ACT_GELU,
                         .positions = v->positions,
                         .token_shift = v->shift,
                         .residual = true,
                         .embed_std = 1,
                         .init = {.gain = 1, .bias = true}};
    c.attention.init = c.init;
    model m = {.params = ag_params_new(NULL, 1)};
    m.g = ag_graph_new(m.params);
    ag_set_run(m.g, (ag_run){.seed = 1, .training = true});
    m.out = nn_model(m.g, &c, &on);
    if (ag_error(m.g)) fail_msg("%s: %s", v->name, ag_error(m.g));
    assert_true(ag_backward(m.out.loss, NULL));
    return m;
}

static void close_model(model *m) {
    ag_graph_free(m->g);
    ag_params_free(m->params);
}

/* ---- the same example in two surroundings ---- */

static void same(const variant *v, const char *what, const real *a, const real *b, size_t n) {
    if (memcmp(a, b, n * sizeof *a) != 0) fail_msg("%s: %s has other bits", v->name, what);
}

/* `slack`: what parameters collect is summed over other numbers of rows, in another order. */
static void gives_the_same(const variant *v, const model *a, const model *b, double slack) {
    same(v, "the loss", a->out.loss->val.x, b->out.loss->val.x, 1);
    same(v, "the answer", a->out.logits[0]->val.x, b->out.logits[0]->val.x, C);
    const ag_node *embed[] = {ag_find(a->g, "embed"), ag_find(b->g, "embed")};
    same(v, "the words' gradient", embed[0]->grad, embed[1]->grad, 5 * 8);
    for (int i = 0; i < ag_params_count(a->params); i++) {
        const ag_param_entry *p = ag_params_at(a->params, i);
        const real *x = ag_grads(a->g) + p->offset, *y = ag_grads(b->g) + p->offset;
        for (size_t k = 0; k < p->val.n; k++)
            if (fabs((double)x[k] - (double)y[k]) > slack * (1 + fabs((double)x[k])))
                fail_msg("%s: the gradient of %s differs", v->name, p->name);
    }
}

static void spoiled_padding_changes_no_bit(void **state) {
    (void)state;
    for (int i = 0; i < N_VARIANTS; i++) {
        const batch clean = batch_of(0), spoiled = batch_of(1);
        model a = model_on(&VARIANTS[i], &clean, ROWS, T),
              b = model_on(&VARIANTS[i], &spoiled, ROWS, T);
        gives_the_same(&VARIANTS[i], &a, &b, 0);
        close_model(&a), close_model(&b);
    }
}

static void neighbours_change_no_bit(void **state) {
    (void)state;
    for (int i = 0; i < N_VARIANTS; i++) {
        const batch b = batch_of(2);
        model alone = model_on(&VARIANTS[i], &b, 1, T),
              beside = model_on(&VARIANTS[i], &b, ROWS, T);
        gives_the_same(&VARIANTS[i], &alone, &beside, 16 * REAL_EPSILON);
        close_model(&alone), close_model(&beside);
    }
}

/* A line as long as the longest: what is cut off was not needed. Learned positions are fewer then. */
static void without_padding_it_is_the_same_model(void **state) {
    (void)state;
    for (int i = 0; i < N_VARIANTS; i++) {
        const variant *v = &VARIANTS[i];
        if (v->positions == NN_POSITIONS_LEARNED) continue;
        const batch b = batch_of(3);
        model padded = model_on(v, &b, 1, T), cut = model_on(v, &b, 1, 5);
        for (int c = 0; c < C; c++)
            assert_close(padded.out.logits[0]->val.x[c], cut.out.logits[0]->val.x[c],
                         512 * REAL_EPSILON);
        close_model(&padded), close_model(&cut);
    }
}

/* Lengths are read at each replay, as ids are. */
static void lengths_are_read_when_it_runs(void **state) {
    (void)state;
    batch b = batch_of(1);
    model m = model_on(&VARIANTS[0], &b, ROWS, T);
    real before[C];
    memcpy(before, m.out.logits[0]->val.x, sizeof before);
    b.length[0] = 4;
    assert_true(ag_forward(m.g));
    assert_true(memcmp(before, m.out.logits[0]->val.x, sizeof before) != 0);
    b.length[0] = 5;
    assert_true(ag_forward(m.g));
    assert_same_bits(m.out.logits[0]->val.x, before, C);
    close_model(&m);
}

/* ---- a task whose examples differ in length ---- */

static bool configure_task(data_spec *s, char *error, size_t size) {
    (void)error, (void)size;
    s->side[DATA_SEQUENCE] = (data_side){.T = T, .n_streams = 1};
    s->side[DATA_SEQUENCE].stream[0] = data_plain("word", "w", V);
    s->n_readouts = 1;
    s->readout[0] = (data_readout){.name = "word", .prefix = "w", .classes = V};
    s->scored = 1;
    s->sees = DATA_FULL;
    s->entries = T;
    return true;
}

/* The word asked for stands first; the second asks. Odd seeds leave rubbish behind the end. */
static void write_example(const data_spec *s, rng *r, const data_example *out) {
    const int n = 2 + (int)(out->index % (T - 1));
    (void)s;
    for (int t = 0; t < n; t++) out->ids[DATA_SEQUENCE][0][t] = (int)rng_below(r, V);
    for (int t = n; t < T && out->seed % 2; t++) out->ids[DATA_SEQUENCE][0][t] = t % V;
    *out->length[DATA_SEQUENCE] = n;
    out->target[0][1] = out->ids[DATA_SEQUENCE][0][0];
    out->source[0][1] = 0;
}

static const data_task TASK = {
    .name = "lengths", .summary = "", .configure = configure_task, .example = write_example};

/* A trainer with the weights of seed 2 on the examples of `index`, whatever stands beside them. */
static void the_trainer_honours_lengths(void **state) {
    (void)state;
    data_spec spec;
    char error[QKV_IO_ERROR] = "";
    qkv_config c;
    qkv_config_default(&c);
    c.d_model = 16, c.heads = 2, c.batch = 8, c.positions = NN_POSITIONS_LEARNED;
    c.d_k = c.d_v = 8, c.kv_heads = 2, c.seed = 2;
    assert_true(data_configure(&TASK, NULL, &spec, error, sizeof error));
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, 1, error);
    if (!t) fail_msg("%s", error);
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    for (uint64_t e = 0; e < T; e++) {
        qkv_trainer_load(t, w, "test", e, 1, 1);
        assert_int_equal(data_length(&w->data, DATA_SEQUENCE, 0), 2 + (int)(e % (T - 1)));
        assert_int_equal(data_length(&w->data, DATA_SEQUENCE, w->B - 1),
                         data_length(&w->data, DATA_SEQUENCE, 0));
        assert_true(ag_forward(w->graph));
        real alone[V];
        memcpy(alone, w->out.logits[0]->val.x, sizeof alone);
        for (int p = data_length(&w->data, DATA_SEQUENCE, 0); p < T; p++)
            w->data.rows.ids[DATA_SEQUENCE][0][p] = p % V;
        assert_true(ag_forward(w->graph));
        assert_same_bits(w->out.logits[0]->val.x, alone, V);
        qkv_trainer_load(t, w, "test", e, w->B, 1);
        assert_true(ag_forward(w->graph));
        assert_same_bits(w->out.logits[0]->val.x, alone, V);
    }
    qkv_trainer_free(t);
    data_release(&spec);
}

/* ---- tasks that write it wrongly ---- */

static int wrong_length, wrong_target = 1, wrong_source;

static void write_wrongly(const data_spec *s, rng *r, const data_example *out) {
    (void)s, (void)r;
    for (int t = 0; t < T; t++) out->ids[DATA_SEQUENCE][0][t] = 1;
    *out->length[DATA_SEQUENCE] = wrong_length;
    out->target[0][wrong_target] = 1;
    out->source[0][wrong_target] = wrong_source;
}

static void wrong_lengths_are_told(void **state) {
    (void)state;
    const data_task task = {
        .name = "wrong", .summary = "", .configure = configure_task, .example = write_wrongly};
    static const struct {
        int length, target, source;
        const char *says;
    } cases[] = {{T, 1, 0, NULL},
                 {2, 1, 1, NULL},
                 {0, 1, 0, "a length is not between"},
                 {T + 1, 1, 0, "a length is not between"},
                 {3, 3, 0, "behind the length"},
                 {3, 1, 3, "or padding"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        data_spec spec;
        char error[QKV_IO_ERROR] = "";
        wrong_length = cases[i].length, wrong_target = cases[i].target;
        wrong_source = cases[i].source;
        const bool ok = data_configure(&task, NULL, &spec, error, sizeof error);
        assert_int_equal(ok, cases[i].says == NULL);
        if (cases[i].says) assert_non_null(strstr(error, cases[i].says));
        if (ok) data_release(&spec);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(spoiled_padding_changes_no_bit),
    cmocka_unit_test(neighbours_change_no_bit),
    cmocka_unit_test(without_padding_it_is_the_same_model),
    cmocka_unit_test(lengths_are_read_when_it_runs),
    cmocka_unit_test(the_trainer_honours_lengths),
    cmocka_unit_test(wrong_lengths_are_told),
};
CHECK_MAIN(tests)
