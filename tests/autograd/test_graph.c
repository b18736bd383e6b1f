/* The engine keeps the promises of ag.h: recording, replay, names, hooks; and a graph may be long. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/world.h"

/* ---- recording and replay ---- */

/* The values of all nodes, one after the other; the caller frees. */
static real *all_values(ag_graph *g, size_t *n) {
    *n = 0;
    for (int i = 0; i < ag_count(g); i++) *n += ag_at(g, i)->val.n;
    real *values = malloc(*n * sizeof *values), *to = values;
    assert_non_null(values);
    for (int i = 0; i < ag_count(g); to += ag_at(g, i++)->val.n)
        memcpy(to, ag_at(g, i)->val.x, ag_at(g, i)->val.n * sizeof *to);
    return values;
}

static void replay_gives_the_same_bits(void **state) {
    (void)state;
    world w;
    open_world(&w);
    batch b = SOME_BATCH;
    record(w.g, &b);
    no_error(w.g);
    size_t n, m;
    real *recorded = all_values(w.g, &n);
    b.words[3] = 0;
    assert_true(ag_forward(w.g));
    real *other = all_values(w.g, &m);
    assert_int_equal(n, m);
    assert_true(memcmp(recorded, other, n * sizeof *other) != 0);
    b.words[3] = SOME_BATCH.words[3];
    assert_true(ag_forward(w.g));
    real *again = all_values(w.g, &m);
    assert_same_bits(again, recorded, n);
    free(recorded), free(other), free(again);
    close_world(&w);
}

static void ops_run_as_they_are_recorded(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *x = counting(w.g, "x", tensor_dims(1, 3), 1);
    ag_node *y = ag_mul(x, x);
    assert_true(y->val.x[0] == 1 && y->val.x[1] == 4 && y->val.x[2] == 9);
    x->val.x[2] = 5;
    assert_true(ag_forward(w.g));
    assert_true(y->val.x[0] == 1 && y->val.x[1] == 4 && y->val.x[2] == 25);
    close_world(&w);
}

static void nodes_are_found_by_name(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *x = counting(w.g, "x", tensor_dims(1, 3), 1), *y = ag_scale(x, 2), *z = ag_scale(y, 3);
    assert_string_equal(y->name, "scale#1");
    assert_ptr_equal(ag_find(w.g, "scale#1"), y);
    assert_ptr_equal(ag_name(y, "layer%d.%s", 0, "out"), y);
    assert_ptr_equal(ag_find(w.g, "layer0.out"), y);
    assert_null(ag_find(w.g, "scale#1"));
    assert_null(ag_find(w.g, "layer0"));
    ag_name(z, "layer0.out");
    assert_ptr_equal(ag_find(w.g, "layer0.out"), z);  // the last of several
    assert_int_equal(ag_count(w.g), 3);
    for (int i = 0; i < 3; i++) assert_int_equal(ag_at(w.g, i)->index, i);
    assert_null(ag_at(w.g, -1));
    assert_null(ag_at(w.g, 3));
    char longer[1000];
    memset(longer, 'n', sizeof longer);
    longer[999] = '\0';
    ag_name(z, "%s", longer);
    // An error about long names is cut, not overrun.
    ag_add(z, counting(w.g, longer, tensor_dims(1, 4), 0));
    error_says(w.g, "add");
    close_world(&w);
}

/* What dropout drops is a function of seed, step, micro-batch and its name: the same on replay and in
 * another graph, another if one of them differs. Without training, or with p = 0, the bits of x. */
static void dropout_is_a_function_of_the_run(void **state) {
    (void)state;
    enum { LARGE = 200 };
    const ag_run runs[] = {{1, 2, 3, true}, {1, 2, 3, true}, {9, 2, 3, true},
                           {1, 9, 3, true}, {1, 2, 9, true}, {1, 2, 3, false}};
    world w;
    open_world(&w);
    real seen[6][LARGE];
    for (int i = 0; i < 6; i++) {
        ag_graph_reset(w.g);
        ag_node *x = counting(w.g, "x", tensor_dims(1, LARGE), 1);
        if (i % 2) ag_scale(x, 2);  // the place in the recording plays no part
        ag_set_run(w.g, runs[i]);
        ag_node *y = ag_name(ag_dropout(x, 0.5, "drop"), "renamed"), *z = ag_dropout(x, 0, "none");
        memcpy(seen[i], y->val.x, sizeof seen[i]);
        assert_same_bits(z->val.x, x->val.x, LARGE);
        ag_graph_reset(w.g);
        assert_int_equal(ag_get_run(w.g).step, runs[i].step);  // survives
        if (i) assert_int_equal(memcmp(seen[0], seen[i], sizeof seen[0]) == 0, i == 1);
        if (i == 5)
            assert_same_bits(seen[i], counting(w.g, "x", tensor_dims(1, LARGE), 1)->val.x, LARGE);
    }
    ag_set_run(w.g, runs[0]);
    ag_node *y = ag_dropout(counting(w.g, "y", tensor_dims(1, LARGE), 1), 0.5, "other name");
    assert_true(memcmp(seen[0], y->val.x, sizeof seen[0]) != 0);
    ag_set_run(w.g, runs[2]);  // and a replay follows the run
    real before[LARGE];
    memcpy(before, y->val.x, sizeof before);
    assert_true(ag_forward(w.g) && memcmp(before, y->val.x, sizeof before) != 0);
    close_world(&w);
}

static void a_reset_graph_starts_anew(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *x = counting(w.g, "x", tensor_dims(1, 3), 1);
    ag_add(x, counting(w.g, "y", tensor_dims(1, 4), 1));
    assert_non_null(ag_error(w.g));
    ag_graph_reset(w.g);
    assert_null(ag_error(w.g));
    assert_int_equal(ag_count(w.g), 0);
    assert_null(ag_find(w.g, "x"));
    assert_null(ag_grads(w.g));
    x = counting(w.g, "x", tensor_dims(1, 3), 1);
    assert_true(ag_backward(ag_mul(x, x), NULL));
    assert_close(x->grad[2], 6, 0);
    close_world(&w);
}

/* ---- hooks ---- */

static char heard[32];

static void hear(ag_node *node, void *ctx) {
    (void)node;
    strncat(heard, ctx, sizeof heard - strlen(heard) - 1);
}
static void hear_once(ag_node *node, void *ctx) {
    hear(node, ctx);
    ag_unhook(node, hear_once, ctx);
}
static void remove_next(ag_node *node, void *ctx) {
    hear(node, "r");
    ag_unhook(node, hear, ctx);
}
static void overwrite(ag_node *node, void *ctx) {
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = *(const real *)ctx;
}

static void hooks_run_in_order_and_go(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *x = counting(w.g, "x", tensor_dims(1, 3), 1), *y = ag_scale(x, 2);
    assert_true(ag_hook(y, hear, "a") && ag_hook(y, hear_once, "b") && ag_hook(y, hear, "c") &&
                ag_hook(x, hear, "x"));
    heard[0] = '\0';
    ag_forward(w.g);
    // Not at once: from the next replay on; leaves have hooks too.
    assert_string_equal(heard, "xabc");
    ag_forward(w.g);
    assert_string_equal(heard, "xabcxac");
    ag_unhook(y, hear, "a");
    ag_unhook(y, hear, "never attached");
    ag_unhook(x, hear, "x");
    heard[0] = '\0';
    ag_forward(w.g);
    assert_string_equal(heard, "c");
    ag_backward(y, NULL);
    assert_string_equal(heard, "c");  // backward runs none
    close_world(&w);
}

static void a_hook_may_remove_another(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *y = ag_scale(counting(w.g, "x", tensor_dims(1, 3), 1), 2);
    assert_true(ag_hook(y, remove_next, "gone") && ag_hook(y, hear, "gone") &&
                ag_hook(y, hear, "z"));
    heard[0] = '\0';
    ag_forward(w.g);
    assert_string_equal(heard, "rz");
    close_world(&w);
}

/* What is overwritten is what later nodes, and backward, see. */
static void a_hook_may_overwrite(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *x = counting(w.g, "x", tensor_dims(1, 3), 1), *y = ag_scale(x, 2), *z = ag_mul(y, x);
    const real five = 5;
    assert_true(ag_hook(y, overwrite, (void *)&five));
    assert_true(ag_forward(w.g) && ag_backward(z, NULL));
    for (int i = 0; i < 3; i++) {
        assert_true(z->val.x[i] == 5 * x->val.x[i]);
        assert_true(x->grad[i] == 5 + 2 * x->val.x[i]);
    }
    assert_false(ag_hook(NULL, hear, "x"));
    close_world(&w);
}

static void overwrites_first(ag_node *node, void *ctx) {
    (void)ctx;
    if (node->val.n) node->val.x[0] = 100;
}

/* A reshape stands in its input's memory, and a reshape of it, too; what is hooked does not. */
static void a_hook_on_a_view_overwrites_nothing_else(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *p = vector(w.g, "p", 4, AG_ONES), *y = ag_reshape(p, tensor_dims(2, 2, 2)),
            *z = ag_reshape(y, tensor_dims(2, 4, 1)), *beside = ag_reshape(p, tensor_dims(2, 1, 4)),
            *sum = ag_sum(z, 0, NULL), *other = ag_sum(beside, 0, NULL);
    assert_ptr_equal(y->val.x, p->val.x);
    assert_true(ag_hook(y, overwrites_first, NULL));
    for (int replay = 0; replay < 2; replay++) {
        assert_true(ag_forward(w.g));
        assert_true(p->val.x[0] == 1 && other->val.x[0] == 4);
        assert_true(y->val.x[0] == 100 && z->val.x[0] == 100 && sum->val.x[0] == 103);
    }
    p->val.x[1] = 7;
    assert_true(ag_forward(w.g) && ag_backward(sum, NULL));
    assert_true(z->val.x[1] == 7 && sum->val.x[0] == 109 && p->grad[3] == 1);
    ag_unhook(y, overwrites_first, NULL);
    assert_true(ag_forward(w.g) && sum->val.x[0] == 10);
    close_world(&w);
}

/* ---- size: nothing recurses over the graph ---- */

enum { LONG = 1000000, STACK = 256 * 1024 };

/* In its own thread, whose stack is small. Returns NULL if all is right, else what is not. */
static void *run_long_chain(void *unused) {
    (void)unused;
    const char *wrong = NULL;
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(params);
    ag_node *one = ag_input(g, "one", tensor_dims(0)), *x = counting(g, "x", tensor_dims(0), 0),
            *y = x;
    one->val.x[0] = 1;
    for (int i = 0; i < LONG; i++) y = ag_add(y, one);
    if (y->val.x[0] != LONG) wrong = "the recorded value";
    x->val.x[0] = 1;
    if (!ag_forward(g) || y->val.x[0] != LONG + 1) wrong = "the replayed value";
    if (!ag_backward(y, NULL) || x->grad[0] != 1) wrong = "the gradient";
    if (ag_count(g) != LONG + 2 || ag_error(g)) wrong = "the recording";
    ag_graph_free(g);
    ag_params_free(params);
    return (void *)wrong;
}

static void a_million_nodes_run_on_a_small_stack(void **state) {
    (void)state;
    pthread_attr_t small;
    pthread_t thread;
    void *wrong = NULL;
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, STACK), 0);
    assert_int_equal(pthread_create(&thread, &small, run_long_chain, NULL), 0);
    assert_int_equal(pthread_join(thread, &wrong), 0);
    pthread_attr_destroy(&small);
    if (wrong) fail_msg("%s of a chain of a million nodes is wrong", (const char *)wrong);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(replay_gives_the_same_bits),
    cmocka_unit_test(ops_run_as_they_are_recorded),
    cmocka_unit_test(nodes_are_found_by_name),
    cmocka_unit_test(dropout_is_a_function_of_the_run),
    cmocka_unit_test(a_reset_graph_starts_anew),
    cmocka_unit_test(hooks_run_in_order_and_go),
    cmocka_unit_test(a_hook_may_remove_another),
    cmocka_unit_test(a_hook_may_overwrite),
    cmocka_unit_test(a_hook_on_a_view_overwrites_nothing_else),
    cmocka_unit_test(a_million_nodes_run_on_a_small_stack),
};
CHECK_MAIN(tests)
