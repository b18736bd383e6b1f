/* The same bits, and the right derivative, in chains of other ops than attention's. */
#include "autograd/gradcheck.h"
#include "tests/lib/stream.h"

static ag_node *bias_of_heads(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_add(p.s, leaf(g, "b", tensor_dims(3, H, SEATS, SEATS))));
}
static ag_node *bias_of_pairs(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_sub(leaf(g, "b", tensor_dims(2, SEATS, SEATS)), p.s));
}
static ag_node *bias_of_keys(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_add(p.s, leaf(g, "b", tensor_dims(4, B, 1, 1, SEATS))));
}
static ag_node *factor_of_queries(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_mul(leaf(g, "b", tensor_dims(3, H, SEATS, 1)), p.s));
}
static ag_node *factor_of_heads(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_div(p.s, ag_exp(leaf(g, "b", tensor_dims(3, H, 1, 1)))));
}
static ag_node *squared(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_neg(ag_mul(p.s, p.s)));
}
static ag_node *without_a_mask(ag_graph *g) {  // masked scores, 0, are seen
    const parts p = begin(g);
    return ag_mix(ag_softmax(p.s, (ag_mask){0}), p.v, H, (ag_mask){0});
}
static ag_node *dropped_twice(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_dropout(ag_relu(ag_dropout(p.s, 0.2, "one")), 0.4, "two"));
}
static ag_node *queries_are_keys(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_scores(p.q, p.q, H, 1, (ag_mask){.causal = true}));
}
static ag_node *linear_attention(ag_graph *g) {  // without a softmax
    const parts p = begin(g);
    return ag_mix(p.s, p.v, H, (ag_mask){.causal = true});
}
/* What must not be streamed, or not all of it. */
static ag_node *one_for_all(ag_graph *g) {  // its gradient's parts would be added in another order
    const parts p = begin(g);
    const ag_mask causal = {.causal = true};
    return ag_mix(ag_softmax(ag_scores(p.q, p.q, H, 1, causal), causal), p.q, H, causal);
}
static ag_node *read_between(ag_graph *g) {
    const parts p = begin(g);
    ag_node *more = ag_scale(p.q, 3);
    return ag_add(end(p, p.s), more);
}
static ag_node *read_twice(ag_graph *g) {
    const parts p = begin(g);
    ag_node *first = end(p, p.s);
    return ag_add(first, end(p, ag_scale(p.s, 2)));
}
static ag_node *read_by_others(ag_graph *g) {
    const parts p = begin(g);
    ag_node *y = end(p, ag_reshape(p.s, p.s->val.shape));
    return ag_mul(y, ag_mean(ag_at(g, ag_count(g) - 2), 0, NULL));
}

static const struct {
    const char *name;
    ag_node *(*record)(ag_graph *);
    int streamed;  // so many nodes
} chains[] = {{"capped", capped, 5},
              {"bias_of_heads", bias_of_heads, 3},
              {"bias_of_pairs", bias_of_pairs, 3},
              {"bias_of_keys", bias_of_keys, 3},
              {"factor_of_queries", factor_of_queries, 3},
              {"factor_of_heads", factor_of_heads, 3},
              {"two_scores", two_scores, 6},
              {"squared", squared, 4},
              {"without_a_mask", without_a_mask, 2},
              {"dropped_twice", dropped_twice, 5},
              {"queries_are_keys", queries_are_keys, 3},
              {"linear_attention", linear_attention, 1},
              {"one_for_all", one_for_all, 1},
              {"read_between", read_between, 0},
              {"read_twice", read_twice, 3},
              {"read_by_others", read_by_others, 0}};

/* Also after any one of the nodes was looked at. */
static void the_same_bits_in_all_chains(void **state) {
    (void)state;
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++)
        for (int looked = -1, more = 1; more; looked++) {
            world stored, stream;
            open_world(&stored);
            open_streaming(&stream);
            ag_node *a = chains[c].record(stored.g), *b = chains[c].record(stream.g);
            more = looked + 1 < ag_count(stored.g);
            if (streamed(stream.g) != chains[c].streamed)
                fail_msg("%s: %d are streamed", chains[c].name, streamed(stream.g));
            if (looked >= 0) ag_store(ag_at(stream.g, looked));
            for (int n = 0; n < 2; n++) {
                pass(&stored, a);
                pass(&stream, b);
                if (!same(&stored, &stream))
                    fail_msg("%s: other bits, node %d stored", chains[c].name, looked);
            }
            close_world(&stored);
            close_world(&stream);
        }
}

/* ---- the derivative ---- */

static ag_node *sample_chain(ag_graph *g, int i) {
    ag_keep_grads(g, false);
    ag_stream(g, 1);
    if (i >= 2 * MASKS) return NULL;
    const int T = i < MASKS ? 5 : 66;
    ag_node *q = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 1, T, 4)),
            *k = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 1, T + 1, 2)),
            *v = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 1, T + 1, 1)),
            *factor = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(0));
    ag_node *s = ag_mul(ag_scores(q, k, 2, 0.5, masks[i % MASKS]), factor);
    return ag_mix(ag_softmax(s, masks[i % MASKS]), v, 1, masks[i % MASKS]);
}

static void the_derivative_is_right(void **state) {
    (void)state;
    ag_check_report report;
    if (sizeof(real) == sizeof(float)) return;  // differences want double
    if (!ag_gradcheck(sample_chain, false, &report)) fail_msg("%s", report.reason);
    assert_int_equal(report.samples, 2 * MASKS);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_same_bits_in_all_chains),
    cmocka_unit_test(the_derivative_is_right),
};
CHECK_MAIN(tests)
