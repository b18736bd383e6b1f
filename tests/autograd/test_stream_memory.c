/* Memory grows with the length of a sequence, not with its square; and it may run out. */
#include <math.h>

#include "tests/lib/stream.h"

/* The bytes of one sequence's model, d 64, 4 heads, feed-forward and all. */
static size_t model_bytes(int T, int d) {
    world w;
    open_streaming(&w);
    ag_stream(w.g, 512);
    int *numbers = calloc((size_t)T, sizeof *numbers);
    const real weight = (real)(1. / T);
    for (int t = 0; t < T; t++) numbers[t] = t;
    int *words = calloc((size_t)T, sizeof *words);
    for (int t = 0; t < T; t++) words[t] = t * t % 61;
    const nn_model_config c = {
        .layers = 1,
        .d_model = d,
        .d_ff = 4 * d,
        .self_attention = true,
        .attention = {4, 4, d / 4, d / 4, .mask = {.causal = true}, .init = init},
        .norm = NN_NORM_LAYER,
        .positions = NN_POSITIONS_LEARNED,
        .residual = true,
        .embed_std = 1,
        .init = init};
    const nn_batch batch = {
        .B = 1,
        .sequence = {.T = T, .n_streams = 1, .stream = {"t"}, .vocab = {64}, .ids = {words}},
        .n_rows = T,
        .rows = numbers,
        .n_readouts = 1,
        .readout = {{"t", 64, words, &weight}}};
    const nn_outputs out = nn_model(w.g, &c, &batch);
    if (ag_error(w.g)) fail_msg("%s", ag_error(w.g));
    assert_int_equal(streamed(w.g), 2);
    assert_true(ag_backward(out.loss, NULL));
    const long calls = w.memory.calls;
    const size_t bytes = w.memory.bytes;
    assert_true(ag_forward(w.g) && ag_backward(out.loss, NULL));
    assert_int_equal(w.memory.calls, calls);
    close_world(&w);
    free(numbers), free(words);
    return bytes;
}

static void memory_is_linear_in_time(void **state) {
    (void)state;
    const size_t mib = 1 << 20;
    const size_t half = model_bytes(2048, 64), whole = model_bytes(4096, 64);
    if (whole > 36 * mib * sizeof(real) / sizeof(float)) fail_msg("%zu bytes at T = 4096", whole);
    assert_true((double)whole < 2.2 * (double)half);
}

/* The weights of one query, by definition. */
static void a_very_long_sequence(void **state) {
    (void)state;
    enum { T = 16384, W = 4, QUERY = 12345 };
    world w;
    open_streaming(&w);
    ag_stream(w.g, 512);
    const ag_mask causal = {.causal = true};
    ag_node *q = leaf(w.g, "q", tensor_dims(3, 1, T, W)),
            *k = leaf(w.g, "k", tensor_dims(3, 1, T, W)),
            *v = leaf(w.g, "v", tensor_dims(3, 1, T, W));
    ag_node *weights = ag_softmax(ag_scores(q, k, 1, 0.5, causal), causal);
    ag_node *y = ag_mix(weights, v, 1, causal);
    assert_true(!weights->val.x && ag_backward(y, NULL));
    double *p = calloc(T, sizeof *p), sum = 0, mean[W] = {0};
    for (int s = 0; s <= QUERY; s++) {
        double dot = 0;
        for (int e = 0; e < W; e++)
            dot += (double)q->val.x[QUERY * W + e] * (double)k->val.x[s * W + e];
        sum += p[s] = exp(0.5 * dot);
    }
    real *row = calloc(T, sizeof *row);
    assert_true(ag_read_rows(weights, 0, QUERY, 1, row));
    for (int s = 0; s < T; s++) assert_close(row[s], p[s] / sum, 1e-6);
    for (int s = 0; s <= QUERY; s++)
        for (int e = 0; e < W; e++) mean[e] += p[s] / sum * (double)v->val.x[s * W + e];
    for (int e = 0; e < W; e++) assert_close(y->val.x[QUERY * W + e], mean[e], 1e-5);
    double all = 0;  // every query's weights are 1 together, so dv is T in all
    for (int s = 0; s < T; s++) all += (double)v->grad[s * W];
    assert_close(all / T, 1, 1e-4);
    free(p), free(row);
    close_world(&w);
}

/* Memory may run out at any time. */
static void memory_may_run_out(void **state) {
    (void)state;
    recorder *scenario = two_scores;
    check_every_failure(stores_all, &scenario);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(memory_is_linear_in_time),
    cmocka_unit_test(a_very_long_sequence),
    cmocka_unit_test(memory_may_run_out),
};
CHECK_MAIN(tests)
