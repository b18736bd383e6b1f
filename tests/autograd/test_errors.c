/* Errors are one sentence and stay; memory may run out anywhere; a step asks for none. */
#include <math.h>
#include <string.h>

#include "layers/nn.h"
#include "tests/lib/world.h"

/* ---- errors ---- */

static void a_sentence_names_op_node_and_shapes(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *a = counting(w.g, "queries", tensor_dims(2, 2, 3), 0),
            *b = counting(w.g, "keys", tensor_dims(2, 4, 5), 0);
    ag_matmul(a, b);
    const char *parts[] = {"matmul", "'matmul#2'", "queries [2,3]", "keys [4,5]", "3", "4"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) error_says(w.g, parts[i]);
    ag_add(a, b);
    error_says(w.g, "matmul");  // the first error stays
    ag_graph_reset(w.g);
    ag_graph *other = ag_graph_new(w.params);
    ag_add(counting(w.g, "a", tensor_dims(1, 2), 0), counting(other, "b", tensor_dims(1, 2), 0));
    error_says(w.g, "different graphs");
    ag_graph_free(other);
    ag_graph_reset(w.g);
    ag_input(w.g, "huge", tensor_dims(3, 1 << 30, 1 << 30, 1 << 30));
    error_says(w.g, "'huge'");
    close_world(&w);
}

static void pass_by(ag_node *node, void *ctx) { (void)node, (void)ctx; }

/* After an error every constructor returns the inert node, for any op and any of its samples;
 * nothing runs. */
static void after_an_error_everything_is_inert(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *fine = counting(w.g, "fine", tensor_dims(1, 2), 1), *product = ag_mul(fine, fine);
    ag_node *inert = ag_add(fine, counting(w.g, "b", tensor_dims(1, 3), 0));
    char sentence[400];
    snprintf(sentence, sizeof sentence, "%s", ag_error(w.g));
    int count = ag_count(w.g);
    for (int i = 0; ag_ops[i]; i++) {
        ag_node *made = NULL;
        for (int k = 0; (made = ag_ops[i]->sample(w.g, k)); k++) assert_ptr_equal(made, inert);
    }
    assert_ptr_equal(weight(w.g, "w", 2, 2), inert);
    assert_ptr_equal(ag_input(w.g, "x", tensor_dims(1, 2)), inert);
    assert_ptr_equal(ag_want_grad(inert), inert);
    assert_ptr_equal(ag_name(inert, "other"), inert);
    assert_string_equal(inert->name, "inert");
    assert_false(ag_hook(inert, pass_by, NULL));
    ag_unhook(inert, pass_by, NULL);
    assert_int_equal(ag_cross_entropy_scored(inert), 0);
    fine->val.x[0] = 9;
    assert_false(ag_forward(w.g) || ag_backward(product, NULL) || ag_backward(inert, NULL));
    assert_true(product->val.x[0] == 1);
    ag_grads_into(w.g, NULL);
    ag_grads_zero(w.g);
    assert_int_equal(ag_count(w.g), count);
    assert_int_equal(ag_params_count(w.params), 0);
    assert_string_equal(ag_error(w.g), sentence);
    close_world(&w);
}

/* Ids are read anew at every replay, and checked before anything is written. */
static void ids_are_checked_at_replay(void **state) {
    (void)state;
    world w;
    open_world(&w);
    for (int bad = -2; bad <= 3; bad += 5)
        for (int op = 0; op < 3; op++) {
            int ids[] = {0, 2, -1};
            const int *streams[] = {ids};
            ag_graph_reset(w.g);
            ag_node *x = counting(w.g, "x", tensor_dims(2, 3, 3), 1);
            ag_node *y = op == 0   ? ag_embedding(1, &x, streams, tensor_dims(1, 3))
                         : op == 1 ? ag_gather(x, ids, 3)
                                   : ag_cross_entropy(x, ids, NULL);
            no_error(w.g);
            real before[9];
            memcpy(before, y->val.x, y->val.n * sizeof *before);
            ids[2] = bad;
            x->val.x[0] = 100;
            assert_false(ag_forward(w.g));
            error_says(w.g, bad < 0 ? "-2" : "3");
            error_says(w.g, y->op->name);
            assert_same_bits(y->val.x, before, y->val.n);
            assert_false(ag_backward(y, NULL));
        }
    close_world(&w);
}

/* An op's arguments are numbers that make sense, or an error says which does not. */
static void arguments_are_checked(void **state) {
    (void)state;
    const double bad[] = {-1, (double)NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int op = 0; op < 6; op++) {
            if (bad[i] == -1 && (op == 3 || op == 4)) continue;  // a factor may be negative
            world w;
            open_world(&w);
            ag_node *x = counting(w.g, "x", tensor_dims(3, 1, 2, 2), 1),
                    *gain = vector(w.g, "g", 2, AG_ONES);
            ag_node *y = op == 0   ? ag_layer_norm(x, gain, gain, bad[i])
                         : op == 1 ? ag_rms_norm(x, gain, bad[i])
                         : op == 2 ? ag_dropout(x, bad[i], "d")
                         : op == 3 ? ag_scale(x, bad[i])
                         : op == 4 ? ag_scores(x, x, 1, bad[i], (ag_mask){0})
                                   : ag_rope(x, 1, bad[i], 0);
            assert_true(y->val.n == 0);
            char shown[32];
            snprintf(shown, sizeof shown, "%g", bad[i]);
            error_says(w.g, shown);
            close_world(&w);
        }
}

/* NULL where an input belongs is an error like any other; where there is no graph, nothing is made. */
static void null_is_no_node(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *x = ag_input(w.g, "x", tensor_dims(2, 2, 3));
    ag_node *inert = ag_add(x, NULL);
    assert_ptr_equal(ag_linear(x, NULL, NULL), inert);
    error_says(w.g, "add: input 1 is NULL");
    ag_graph_reset(w.g);
    ag_concat(2, (ag_node *[]){NULL, ag_input(w.g, "x", tensor_dims(1, 2))}, 0);
    error_says(w.g, "concat: input 0 is NULL");
    ag_graph_reset(w.g);
    ag_input(w.g, NULL, tensor_dims(1, 2));
    error_says(w.g, "an input needs a name");
    ag_graph_reset(w.g);
    ag_param(w.g, "", tensor_dims(1, 2), (ag_init){.kind = AG_ZEROS});
    error_says(w.g, "a parameter needs a name");
    close_world(&w);

    ag_graph *none = ag_graph_new(NULL);
    const nn_init init = {.gain = 1};
    const nn_attention_config one_head = {.heads = 1, .kv_heads = 1, .d_k = 2, .d_v = 2};
    ag_node *y = ag_want_grad(ag_input(none, "x", tensor_dims(1, 2)));
    y = ag_add(ag_exp(y), ag_param(none, "w", tensor_dims(1, 2), (ag_init){.kind = AG_ZEROS}));
    y = nn_linear(nn_norm(y, "norm", NN_NORM_RMS), "linear", 2, &init);
    y = ag_name(nn_attention(y, NULL, "attn", &one_head), "y");
    assert_null(none);
    assert_null(y);
    assert_null(ag_concat(0, NULL, 0));
    assert_null(ag_find(none, "y"));
    assert_false(ag_forward(none) || ag_backward(y, NULL));
    assert_non_null(strstr(ag_error(none), "no graph"));
}

/* ---- memory ---- */

static void a_step_allocates_nothing(void **state) {
    (void)state;
    world w;
    open_world(&w);
    batch b = SOME_BATCH;
    ag_node *loss = record(w.g, &b);
    assert_true(ag_backward(loss, NULL));
    long calls = w.memory.calls;
    for (int step = 0; step < 5; step++) {
        b.words[step] = step % V;
        ag_grads_zero(w.g);
        assert_true(ag_forward(w.g) && ag_backward(loss, NULL));
    }
    assert_int_equal(w.memory.calls, calls);
    close_world(&w);
}

static void a_reset_graph_reuses_its_memory(void **state) {
    (void)state;
    world w;
    open_world(&w);
    batch b = SOME_BATCH;
    long calls = 0;
    for (int round = 0; round < 6; round++) {
        if (round == 1) calls = w.memory.calls;
        ag_graph_reset(w.g);
        assert_true(ag_backward(record(w.g, &b), NULL));
    }
    assert_int_equal(w.memory.calls, calls);
    close_world(&w);
}

/* Everything once. True if all of it went well; else a sentence was left, or nothing was made at
 * all. */
static bool whole_life(const tensor_allocator *mem, void *ctx) {
    ag_params *params = ag_params_new(mem, 7);
    ag_graph *g = params ? ag_graph_new(params) : NULL;
    bool done = false;
    if (g) {
        batch b = SOME_BATCH;
        ag_text(g, "%*s", *(const int *)ctx, "");  // moves all that follows in the arena's blocks
        ag_node *loss = record(g, &b);
        bool hooked = ag_hook(loss, pass_by, NULL);
        done = ag_backward(loss, NULL) && ag_forward(g) && hooked && !ag_error(g);
        if (!done) error_says(g, "memory");
    }
    ag_graph_free(g);
    ag_params_free(params);
    return done;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    int shift = 0;
    check_every_failure(whole_life, &shift);
}

/* Arenas ask for large blocks and few; shifted piece by piece, every single request comes to be the
 * one that fails. */
static void every_piece_may_be_the_one_that_fails(void **state) {
    (void)state;
    for (int shift = 0; shift < 16384; shift += 64)
        for (long at = 5; at <= 8; at++) {
            check_allocator c;
            check_allocator_init(&c, at, shift % 128 == 0);
            bool done = whole_life(&c.mem, &shift);
            if ((done && c.calls >= at) || c.live)
                fail_msg("shift %d, call %ld: returned %d, %ld blocks left", shift, at, done,
                         c.live);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_sentence_names_op_node_and_shapes),
    cmocka_unit_test(after_an_error_everything_is_inert),
    cmocka_unit_test(ids_are_checked_at_replay),
    cmocka_unit_test(arguments_are_checked),
    cmocka_unit_test(null_is_no_node),
    cmocka_unit_test(a_step_allocates_nothing),
    cmocka_unit_test(a_reset_graph_reuses_its_memory),
    cmocka_unit_test(every_allocation_may_fail),
    cmocka_unit_test(every_piece_may_be_the_one_that_fails),
};
CHECK_MAIN(tests)
