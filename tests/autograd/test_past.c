/* A sequence read piece by piece, with the keys and values of the pieces before, gives what one pass over all
 * of it gives: in every kind of attention and of positions, however it is cut. */
#include <string.h>

#include "layers/nn.h"
#include "tensor/rng.h"
#include "tests/lib/check.h"

enum { T = 11, V = 7, ROOM = 13 };  // positions read, words, positions that there is room for

typedef struct {
    const char *name;
    nn_attention_config attention;
    nn_model_config model;
} variant;

#define CAUSAL .mask = {.causal = true}
static const variant VARIANTS[] = {
    {"plain", {2, 2, 4, 4, CAUSAL}, {.residual = true}},
    {"learned", {2, 2, 4, 4, CAUSAL}, {.residual = true, .positions = NN_POSITIONS_LEARNED}},
    {"sinusoidal", {2, 2, 4, 4, CAUSAL}, {.residual = true, .positions = NN_POSITIONS_SINUSOIDAL}},
    {"rotary, GQA", {4, 2, 2, 3, .rotary = true, CAUSAL}, {.residual = true}},
    {"alibi, MQA", {4, 1, 2, 3, .alibi = true, .soft_cap = 3, CAUSAL}, {.residual = true}},
    {"latent", {2, 2, 4, 4, .latent = 3, CAUSAL}, {.residual = true}},
    {"tied qk", {2, 2, 4, 4, .tie = NN_TIE_QK, CAUSAL}, {.residual = true}},
    {"tied kv, rotary", {2, 2, 4, 4, .tie = NN_TIE_KV, .rotary = true, CAUSAL}, {.residual = true}},
    {"one matrix", {2, 2, 4, 4, .tie = NN_TIE_QKV, .scale = NN_SCALE_VALUE, CAUSAL}, {.d_ff = 0}},
    {"no matrices",
     {2, 2, 4, 4, .plain_q = true, .plain_k = true, .plain_v = true, .plain_o = true, CAUSAL},
     {.residual = true}},
    {"no self, softmax-one",
     {2, 1, 4, 4, .softmax_one = true, .mask = {.causal = true, .no_self = true}},
     {.residual = true}},
    {"log of the places",
     {2, 1, 4, 4, .scale = NN_SCALE_LOG, .mask = {.causal = true, .no_self = true}},
     {.residual = true}},
    {"the first five", {2, 2, 4, 4, .mask = {.causal = true, .memory = 5}}, {.residual = true}},
    {"normed queries, gated",
     {2, 2, 4, 4, .qk_norm = true, .gated = true, .rotary = true, CAUSAL},
     {.residual = true, .norm = NN_NORM_RMS, .d_ff = 12, .activation = NN_ACT_SILU_GATED}},
    {"pre-norm", {2, 2, 4, 4, CAUSAL}, {.residual = true, .norm = NN_NORM_LAYER, .d_ff = 12}},
    {"post-norm",
     {2, 2, 4, 4, CAUSAL},
     {.residual = true, .norm = NN_NORM_LAYER, .post_norm = true, .d_ff = 12}},
    {"token shift", {2, 2, 4, 4, CAUSAL}, {.residual = true, .token_shift = true}},
    {"tied unembedding", {2, 2, 4, 4, CAUSAL}, {.residual = true, .tied_unembedding = true}},
};
enum { N_VARIANTS = sizeof VARIANTS / sizeof *VARIANTS };

static int words[T];

/* The logits [n,V] at positions first .. first+n-1, to `out`. */
static void read_piece(const variant *v, ag_params *params, nn_past *past, int first, int n,
                       real *out) {
    int rows[T], none[T];
    for (int i = 0; i < n; i++) rows[i] = i, none[i] = -1;
    nn_batch b = {.B = 1,
                  .sequence = {.T = n, .n_streams = 1, .first = first, .positions = ROOM},
                  .n_rows = n,
                  .rows = rows,
                  .n_readouts = 1,
                  .readout = {{"word", V, none, NULL}}};
    b.sequence.stream[0] = "word", b.sequence.vocab[0] = V, b.sequence.ids[0] = words + first;
    nn_model_config c = v->model;
    c.layers = 3, c.d_model = 8, c.self_attention = true, c.embed_std = 1;
    c.init = (nn_init){.gain = 1, .bias = true};
    c.attention = v->attention;
    c.attention.init = c.init;
    c.attention.past = past;
    ag_graph *g = ag_graph_new(params);
    const nn_outputs o = nn_model(g, &c, &b);
    if (ag_error(g)) fail_msg("%s: %s", v->name, ag_error(g));
    memcpy(out, o.logits[0]->val.x, (size_t)(n * V) * sizeof *out);
    ag_graph_free(g);
}

static void compare(const variant *v, const real *x, const real *whole, int from, int n) {
    for (int i = from * V; i < (from + n) * V; i++)
        check_close((double)x[i], (double)whole[i], 256 * REAL_EPSILON, v->name, __FILE__,
                    __LINE__);
}

/* One by one; a long prompt and then one by one; pieces of several. */
static void pieces_give_what_the_whole_gives(void **state) {
    static const int cuts[][T + 1] = {
        {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0}, {8, 1, 1, 1, 0}, {3, 4, 4, 0}};
    (void)state;
    rng r = rng_stream(1, "words", 0);
    for (int t = 0; t < T; t++) words[t] = (int)rng_below(&r, V);
    for (int i = 0; i < N_VARIANTS; i++) {
        const variant *v = &VARIANTS[i];
        real whole[T * V], piece[T * V];
        ag_params *params = ag_params_new(NULL, 1);
        nn_past *past = nn_past_new(NULL, ROOM);
        read_piece(v, params, NULL, 0, T, whole);
        ag_params_close(params);
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts;
             c++)  // one past for all: it begins again at 0
            for (int k = 0, at = 0; cuts[c][k]; at += cuts[c][k++]) {
                read_piece(v, params, past, at, cuts[c][k], piece + at * V);
                compare(v, piece, whole, at, cuts[c][k]);
            }
        nn_past_free(past);
        ag_params_free(params);
    }
}

/* What is kept matters: with another past the same last word says something else. */
static void the_past_is_read(void **state) {
    (void)state;
    ag_params *params = ag_params_new(NULL, 1);
    nn_past *past = nn_past_new(NULL, ROOM);
    real before[V], after[T * V];
    for (int t = 0; t < T; t++) words[t] = t % V;
    read_piece(&VARIANTS[0], params, past, 0, 4, after);
    read_piece(&VARIANTS[0], params, past, 4, 1, before);
    words[2] = 6;
    read_piece(&VARIANTS[0], params, past, 0, 4, after);
    read_piece(&VARIANTS[0], params, past, 4, 1, after);
    assert_true(memcmp(before, after, sizeof before) != 0);
    nn_past_free(past);
    ag_params_free(params);
}

static void too_many_positions_are_an_error(void **state) {
    (void)state;
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(params);
    nn_past *past = nn_past_new(NULL, 3);
    nn_attention_config c = {2, 2, 2, 2, .past = past, CAUSAL, .init = {.gain = 1}};
    ag_node *x = ag_input(g, "x", tensor_dims(3, 1, 4, 4));
    nn_attention(x, NULL, "attn", &c);
    assert_non_null(ag_error(g));
    assert_non_null(strstr(ag_error(g), "has no room for positions 0 to 3 of 3"));
    ag_graph_free(g);
    nn_past_free(past);
    ag_params_free(params);
    nn_past_free(NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(pieces_give_what_the_whole_gives),
    cmocka_unit_test(the_past_is_read),
    cmocka_unit_test(too_many_positions_are_an_error),
};
CHECK_MAIN(tests)
