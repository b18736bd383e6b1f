/* The engine keeps the promises of ag.h: recording, replay, names, hooks, parameters, gradients,
 * errors, memory. */
#include "autograd/ag.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/op.h"
#include "layers/nn.h"
#include "tests/check.h"

/* ---- a small Transformer to try things on ---- */

enum { B = 2, T = 5, D = 8, H = 2, F = 12, V = 7, N = B * T };

typedef struct {
    int words[N], seats[N], targets[N];
} batch;

static const batch SOME_BATCH = {{1, 2, 3, 4, 5, 6, 0, 1, 1, 2},
                                 {0, 1, 2, 3, 4, 0, 1, 2, 3, 4},
                                 {2, 3, -1, 5, 6, 0, 1, -1, 2, 3}};

static ag_node *weight(ag_graph *g, const char *name, int in, int out) {
    return ag_param(g, name, tensor_dims(2, in, out), (ag_init){.kind = AG_NORMAL, .scale = 0.3});
}
static ag_node *vector(ag_graph *g, const char *name, int n, ag_init_kind kind) {
    return ag_param(g, name, tensor_dims(1, n), (ag_init){.kind = kind, .scale = 0});
}
static ag_node *norm(ag_node *x, const char *gain, const char *bias) {
    return ag_layer_norm(x, vector(x->graph, gain, D, AG_ONES), vector(x->graph, bias, D, AG_ZEROS),
                         1e-5);
}
static ag_node *attention(ag_node *x) {
    const ag_mask mask = {.causal = true};
    ag_graph *g = x->graph;
    ag_node *q = ag_linear(x, weight(g, "q.w", D, D), NULL),
            *k = ag_linear(x, weight(g, "k.w", D, D), NULL);
    ag_node *v = ag_linear(x, weight(g, "v.w", D, D), NULL);
    ag_node *w = ag_name(ag_softmax(ag_scores(q, k, H, 0.5, mask), mask), "weights");
    return ag_linear(ag_mix(w, v, H, mask), weight(g, "o.w", D, D), NULL);
}

/* The loss of one block. */
static ag_node *record(ag_graph *g, const batch *b) {
    ag_node *table = weight(g, "table", V, D);
    ag_node *both[] = {table, weight(g, "place", T, D)};
    const int *ids[] = {b->words, b->seats};
    ag_node *x = ag_name(ag_embedding(2, both, ids, tensor_dims(2, B, T)), "x");
    x = ag_add(x, attention(norm(x, "n1.g", "n1.b")));
    ag_node *h =
        ag_linear(norm(x, "n2.g", "n2.b"), weight(g, "up.w", D, F), vector(g, "up.b", F, AG_ZEROS));
    x = ag_add(x, ag_linear(ag_gelu(h, AG_GELU_ERF), weight(g, "down.w", F, D), NULL));
    ag_node *logits = ag_linear(x, weight(g, "out.w", D, V), NULL);
    return ag_name(ag_cross_entropy(logits, b->targets, NULL), "loss");
}

/* Parameters and a graph over an allocator which counts. */
typedef struct {
    check_allocator memory;
    ag_params *params;
    ag_graph *g;
} world;

static void open_world(world *w) {
    check_allocator_init(&w->memory, 0, false);
    w->params = ag_params_new(&w->memory.mem, 7);
    w->g = ag_graph_new(w->params);
    assert_non_null(w->g);
}
static void close_world(world *w) {
    ag_graph_free(w->g);
    ag_params_free(w->params);
    assert_int_equal(w->memory.live, 0);
}

static void no_error(const ag_graph *g) {
    if (ag_error(g)) fail_msg("error: %s", ag_error(g));
}
static void error_says(const ag_graph *g, const char *part) {
    const char *error = ag_error(g);
    if (!error)
        fail_msg("no error, expected one with '%s'", part);
    else if (!strstr(error, part))
        fail_msg("'%s' does not say '%s'", error, part);
}

/* An input that learns, holding start, start + 1, ... */
static ag_node *counting(ag_graph *g, const char *name, tensor_shape shape, double start) {
    ag_node *x = ag_want_grad(ag_input(g, name, shape));
    for (size_t i = 0; i < x->val.n; i++) x->val.x[i] = (real)(start + (double)i);
    return x;
}

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

/* ---- gradients: who gets what ---- */

static void paths_add_up(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *x = counting(w.g, "x", tensor_dims(1, 3), 1);
    ag_node *left = ag_mul(x, x),
            *right = ag_scale(x, 3);                      // a diamond, whose left side uses x twice
    assert_true(ag_backward(ag_mul(left, right), NULL));  // 3 x^3
    for (int i = 0; i < 3; i++) assert_true(x->grad[i] == 9 * x->val.x[i] * x->val.x[i]);
    ag_grads_zero(w.g);
    assert_true(ag_backward(ag_add(x, x), NULL));
    for (int i = 0; i < 3; i++) assert_true(x->grad[i] == 2);
    close_world(&w);
}

static void unused_and_frozen_get_none(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *frozen = ag_input(w.g, "frozen", tensor_dims(1, 3));
    ag_node *x = counting(w.g, "x", tensor_dims(1, 3), 1),
            *idle = counting(w.g, "idle", tensor_dims(1, 3), 1);
    ag_node *unused = ag_mul(idle, x), *constant = ag_scale(frozen, 2);
    ag_node *y = ag_add(ag_mul(x, frozen), constant), *after = ag_mul(y, x);
    assert_false(constant->wants_grad);
    assert_true(ag_backward(y, NULL));
    assert_null(frozen->grad);
    assert_null(constant->grad);
    assert_true(x->has_grad);
    assert_false(idle->has_grad || unused->has_grad || after->has_grad || frozen->has_grad);
    assert_true(ag_backward(constant, NULL));  // nothing to do, and no error
    ag_want_grad(y);
    error_says(w.g, "is no leaf");
    close_world(&w);
}

static void leaves_accumulate_exactly(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *x = counting(w.g, "x", tensor_dims(1, 3), 1), *y = ag_mul(ag_scale(x, 3), x);
    const real c[] = {1, -2, (real)0.5};
    assert_true(ag_backward(y, c) && ag_backward(y, c));
    for (int i = 0; i < 3; i++) assert_true(x->grad[i] == 2 * c[i] * 6 * x->val.x[i]);
    ag_grads_zero(w.g);
    assert_true(ag_backward(y, c));
    for (int i = 0; i < 3; i++) assert_true(x->grad[i] == c[i] * 6 * x->val.x[i]);
    assert_true(ag_backward(x, c));  // of a leaf with respect to itself
    for (int i = 0; i < 3; i++) assert_true(x->grad[i] == c[i] * 6 * x->val.x[i] + c[i]);
    close_world(&w);
}

static void gradients_go_where_the_caller_says(void **state) {
    (void)state;
    world w;
    open_world(&w);
    batch b = SOME_BATCH;
    ag_node *loss = record(w.g, &b);
    size_t n = ag_params_size(w.params);
    real *mine = calloc(n, sizeof *mine), *own;
    assert_true(ag_backward(loss, NULL));
    own = ag_grads(w.g);
    ag_grads_into(w.g, mine);
    assert_ptr_equal(ag_grads(w.g), mine);
    assert_true(ag_backward(loss, NULL));
    assert_same_bits(mine, own, n);
    assert_true(ag_backward(loss, NULL));  // and it accumulates there
    for (size_t i = 0; i < n; i++) assert_close(mine[i], 2 * own[i], 4 * REAL_EPSILON);
    free(mine);
    close_world(&w);
}

/* Frozen entries stay out of the gradient buffer and out of the count. */
static void a_frozen_parameter_gets_none(void **state) {
    (void)state;
    world w;
    open_world(&w);
    batch b = SOME_BATCH;
    record(w.g, &b);
    size_t learned = ag_params_learned(w.params);
    ag_param_entry *e = ag_params_find(w.params, "v.w");
    e->frozen = true;
    assert_int_equal(ag_params_learned(w.params), learned - D * D);
    ag_graph_reset(w.g);
    assert_true(ag_backward(record(w.g, &b), NULL));
    for (size_t i = 0; i < e->val.n; i++) assert_true(ag_grads(w.g)[e->offset + i] == 0);
    assert_true(ag_grads(w.g)[ag_params_find(w.params, "o.w")->offset] != 0);
    close_world(&w);
}

/* By pattern: those there are, and those still to come. */
static void parameters_freeze_by_name(void **state) {
    (void)state;
    world w;
    open_world(&w);
    weight(w.g, "layer0.q.w", 2, 3), weight(w.g, "layer0.k.w", 2, 3),
        weight(w.g, "layer1.q.w", 2, 3);
    assert_true(ag_params_freeze_matching(w.params, "layer*.q.*"));
    assert_int_equal(ag_params_frozen(w.params), 2);
    weight(w.g, "layer2.q.w", 2, 3), weight(w.g, "layer2.q", 2, 3),
        weight(w.g, "xlayer2.q.w", 2, 3);
    assert_int_equal(ag_params_frozen(w.params), 3);
    assert_false(ag_params_find(w.params, "layer0.k.w")->frozen);
    assert_true(ag_params_find(w.params, "layer2.q.w")->frozen);
    assert_false(ag_params_find(w.params, "layer2.q")->frozen);
    assert_int_equal(ag_params_learned(w.params), 3 * 6);
    assert_true(ag_params_freeze_matching(w.params, "layer2.q") &&
                ag_params_freeze_matching(w.params, "*k*"));
    assert_int_equal(ag_params_frozen(w.params), 5);
    close_world(&w);
}

static void a_tied_parameter_is_one(void **state) {
    (void)state;
    world w;
    open_world(&w);
    const ag_init init = {.kind = AG_NORMAL, .scale = 1};
    ag_node *x = counting(w.g, "x", tensor_dims(2, 2, 3), 1);
    ag_node *first = ag_param(w.g, "w", tensor_dims(2, 3, 3), init),
            *second = ag_param(w.g, "w", tensor_dims(2, 3, 3), init);
    assert_ptr_equal(first, second);
    assert_int_equal(ag_params_count(w.params), 1);
    assert_int_equal(ag_params_learned(w.params), 9);
    ag_node *a = ag_linear(x, first, NULL), *b = ag_linear(x, second, NULL), *sum = ag_add(a, b);
    assert_true(ag_backward(a, NULL));
    real once[9];
    memcpy(once, first->grad, sizeof once);
    ag_grads_zero(w.g);
    assert_true(ag_backward(sum, NULL));
    for (int i = 0; i < 9; i++) assert_true(first->grad[i] == 2 * once[i]);
    close_world(&w);
}

/* What is recorded after a backward pass, parameters included, has its own memory for gradients. */
static void recording_goes_on_after_backward(void **state) {
    (void)state;
    world w;
    open_world(&w);
    const ag_init ones = {.kind = AG_ONES, .scale = 0};
    ag_node *a = ag_param(w.g, "a", tensor_dims(1, 4), ones);
    assert_true(ag_backward(ag_scale(a, 2), NULL));
    ag_node *b = ag_param(w.g, "b", tensor_dims(1, 4000), ones), *y = ag_scale(b, 3);
    assert_true(ag_backward(y, NULL));
    no_error(w.g);
    assert_int_equal(ag_params_size(w.params), 16 + 4000);
    for (int i = 0; i < 4; i++) assert_true(a->grad[i] == 2);
    for (int i = 0; i < 4000; i++)
        assert_true(b->grad[i] == 3 && b->val.x[i] == 1 && y->val.x[i] == 3);
    assert_true(b->grad == ag_grads(w.g) + b->param->offset &&
                a->grad == ag_grads(w.g) + a->param->offset);
    assert_true(ag_backward(y, NULL));
    for (int i = 0; i < 4000; i++) assert_true(b->grad[i] == 6);
    ag_graph *other = ag_graph_new(w.params);  // parameters may also come from another graph
    ag_param(other, "c", tensor_dims(1, 4000), ones);
    ag_grads_zero(w.g);
    assert_true(ag_forward(w.g) && ag_backward(y, NULL));
    for (int i = 0; i < 4000; i++) assert_true(b->grad[i] == 3 && y->val.x[i] == 3);
    ag_graph_free(other);
    close_world(&w);
}

/* Micro-batches with the weight of the whole batch add up to the whole batch, whatever each scores. */
/* The block's loss twice over, with one intermediate node read again by what is recorded last. */
static ag_node *record_more(ag_graph *g, const batch *b) {
    ag_node *loss = record(g, b), *again = ag_find(g, "weights");
    return ag_add(loss, ag_mean(ag_mul(again, again), 0, NULL));
}

/* Shared memory for inner gradients: the same bits in every parameter, in the first pass and the next,
 * after more was recorded, and after it is turned off; and fewer bytes. */
static void inner_gradients_may_share_memory(void **state) {
    (void)state;
    world kept, shared;
    open_world(&kept);
    open_world(&shared);
    ag_keep_grads(shared.g, false);
    ag_node *a = record(kept.g, &SOME_BATCH), *b = record(shared.g, &SOME_BATCH);
    const size_t before_kept = kept.memory.bytes, before_shared = shared.memory.bytes;
    for (int pass = 0; pass < 5; pass++) {
        if (pass == 2) a = record_more(kept.g, &SOME_BATCH), b = record_more(shared.g, &SOME_BATCH);
        if (pass == 4) ag_keep_grads(shared.g, true);
        ag_grads_zero(kept.g), ag_grads_zero(shared.g);
        assert_true(ag_forward(kept.g) && ag_backward(a, NULL));
        assert_true(ag_forward(shared.g) && ag_backward(b, NULL));
        assert_same_bits(ag_grads(kept.g), ag_grads(shared.g), ag_params_size(kept.params));
        if (pass == 0)
            assert_true(shared.memory.bytes - before_shared <= kept.memory.bytes - before_kept);
    }
    assert_same_bits(ag_find(kept.g, "weights")->grad, ag_find(shared.g, "weights")->grad,
                     (size_t)B * H * T * T);
    close_world(&kept);
    close_world(&shared);
}

/* And in every layer's samples. */
static void layers_gradients_may_share_memory(void **state) {
    (void)state;
    int seen = 0;
    for (const nn_layer *l = nn_layers; l->name; l++)
        for (int i = 0;; i++) {
            world kept, shared;
            open_world(&kept);
            open_world(&shared);
            ag_keep_grads(shared.g, false);
            ag_node *a = l->sample(kept.g, i), *b = l->sample(shared.g, i);
            if (a) {
                assert_true(ag_backward(a, NULL) && ag_backward(b, NULL));
                for (int n = 0; n < ag_count(kept.g); n++) {
                    ag_node *x = ag_at(kept.g, n), *y = ag_at(shared.g, n);
                    if (!x->op && x->has_grad) assert_same_bits(x->grad, y->grad, x->val.n), seen++;
                }
            }
            close_world(&kept);
            close_world(&shared);
            if (!a) break;
        }
    assert_true(seen > 100);
}

static void micro_batches_add_up(void **state) {
    (void)state;
    enum { ROWS = 9, CLASSES = 5, EACH = 3 };
    static const int targets[ROWS] = {0, -1, 2, -1, -1, -1, 4, 1, 1};
    const real weight_of_all = (real)(1. / 5);
    world w;
    open_world(&w);
    ag_node *x = counting(w.g, "x", tensor_dims(2, ROWS, CLASSES), 0);
    for (size_t i = 0; i < x->val.n; i++) x->val.x[i] = (real)((double)(i * i % 7) / 3 - 1);
    ag_node *whole = ag_cross_entropy(x, targets, NULL);
    assert_int_equal(ag_cross_entropy_scored(whole), 5);
    assert_true(ag_backward(whole, NULL));
    double loss = 0;
    int scored = 0;
    for (int s = 0; s < ROWS / EACH; s++) {
        ag_node *part = counting(w.g, "part", tensor_dims(2, EACH, CLASSES), 0);
        memcpy(part->val.x, x->val.x + s * EACH * CLASSES, EACH * CLASSES * sizeof(real));
        ag_node *y = ag_cross_entropy(part, targets + s * EACH, &weight_of_all);
        loss += (double)y->val.x[0];
        scored += ag_cross_entropy_scored(y);
        assert_true(ag_backward(y, NULL));
        for (int i = 0; i < EACH * CLASSES; i++)
            assert_close(part->grad[i], x->grad[s * EACH * CLASSES + i], 4 * REAL_EPSILON);
    }
    assert_int_equal(scored, 5);
    assert_close(loss, whole->val.x[0], 8 * REAL_EPSILON);
    close_world(&w);
}

/* ---- parameters ---- */

static void a_parameter_keeps_its_shape(void **state) {
    (void)state;
    world w;
    open_world(&w);
    weight(w.g, "mlp.up.w", 3, 4);
    ag_node *x = weight(w.g, "mlp.up.w", 4, 3);
    error_says(w.g, "'mlp.up.w'");
    error_says(w.g, "[3,4]");
    error_says(w.g, "[4,3]");
    assert_true(x->val.n == 0);
    ag_graph_reset(w.g);
    ag_param(w.g, "bad", (tensor_shape){.rank = -1}, (ag_init){.kind = AG_ZEROS, .scale = 0});
    error_says(w.g, "'bad'");
    assert_null(ag_params_find(w.params, "bad"));
    close_world(&w);
}

static void a_frozen_list_takes_no_new_name(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *known = weight(w.g, "mlp.up.w", 3, 4);
    ag_params_close(w.params);
    assert_ptr_equal(weight(w.g, "mlp.up.w", 3, 4), known);
    no_error(w.g);
    weight(w.g, "mlp.upp.w", 3, 4);
    error_says(w.g, "'mlp.upp.w'");
    assert_int_equal(ag_params_count(w.params), 1);
    ag_graph *other = ag_graph_new(w.params);  // several graphs may read one list
    ag_node *same = weight(other, "mlp.up.w", 3, 4);
    assert_ptr_not_equal(same, known);
    assert_ptr_equal(same->val.x, known->val.x);
    assert_ptr_equal(ag_params_at(w.params, 0), same->param);
    ag_graph_free(other);
    close_world(&w);
}

static void initial_values_depend_on_seed_and_name(void **state) {
    (void)state;
    ag_params *few = ag_params_new(NULL, 7), *many = ag_params_new(NULL, 7),
              *other = ag_params_new(NULL, 8);
    ag_graph *g = ag_graph_new(few), *h = ag_graph_new(many), *o = ag_graph_new(other);
    ag_node *a = weight(g, "a", 5, 7), *b = weight(g, "b", 5, 7);
    weight(h, "first", 3, 3);
    ag_node *b_too = weight(h, "b", 5, 7);
    weight(h, "between", 2, 9);
    ag_node *a_too = weight(h, "a", 5, 7), *a_other = weight(o, "a", 5, 7);
    assert_same_bits(a->val.x, a_too->val.x, 35);
    assert_same_bits(b->val.x, b_too->val.x, 35);
    assert_true(memcmp(a->val.x, b->val.x, 35 * sizeof(real)) != 0);
    assert_true(memcmp(a->val.x, a_other->val.x, 35 * sizeof(real)) != 0);
    ag_graph_free(g), ag_graph_free(h), ag_graph_free(o);
    ag_params_free(few), ag_params_free(many), ag_params_free(other);
}

static void initial_values_are_as_named(void **state) {
    (void)state;
    enum { LARGE = 40000 };
    world w;
    open_world(&w);
    ag_node *zeros = vector(w.g, "zeros", 5, AG_ZEROS), *ones = vector(w.g, "ones", 5, AG_ONES);
    for (int i = 0; i < 5; i++) assert_true(zeros->val.x[i] == 0 && ones->val.x[i] == 1);
    for (int uniform = 0; uniform < 2; uniform++) {
        ag_init init = {.kind = uniform ? AG_UNIFORM : AG_NORMAL, .scale = 0.25};
        const real *x =
            ag_param(w.g, uniform ? "uniform" : "normal", tensor_dims(1, LARGE), init)->val.x;
        double sum = 0, squares = 0, most = 0;
        for (int i = 0; i < LARGE; i++) {
            sum += (double)x[i];
            squares += (double)x[i] * (double)x[i];
            most = fmax(most, fabs((double)x[i]));
        }
        assert_close(sum / LARGE, 0, 5 * 0.25 / 200);  // five standard errors
        assert_close(sqrt(squares / LARGE), 0.25, 0.005);
        assert_true(uniform ? most < 0.2500001 * sqrt(3) : most > 3 * 0.25);
    }
    close_world(&w);
}

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
    assert_false(ag_hook(inert, hear, "never"));
    ag_unhook(inert, hear, "never");
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
        bool hooked = ag_hook(loss, hear, "");
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
    cmocka_unit_test(paths_add_up),
    cmocka_unit_test(unused_and_frozen_get_none),
    cmocka_unit_test(leaves_accumulate_exactly),
    cmocka_unit_test(gradients_go_where_the_caller_says),
    cmocka_unit_test(a_frozen_parameter_gets_none),
    cmocka_unit_test(parameters_freeze_by_name),
    cmocka_unit_test(a_tied_parameter_is_one),
    cmocka_unit_test(recording_goes_on_after_backward),
    cmocka_unit_test(inner_gradients_may_share_memory),
    cmocka_unit_test(layers_gradients_may_share_memory),
    cmocka_unit_test(micro_batches_add_up),
    cmocka_unit_test(a_parameter_keeps_its_shape),
    cmocka_unit_test(a_frozen_list_takes_no_new_name),
    cmocka_unit_test(initial_values_depend_on_seed_and_name),
    cmocka_unit_test(initial_values_are_as_named),
    cmocka_unit_test(a_sentence_names_op_node_and_shapes),
    cmocka_unit_test(after_an_error_everything_is_inert),
    cmocka_unit_test(ids_are_checked_at_replay),
    cmocka_unit_test(a_step_allocates_nothing),
    cmocka_unit_test(a_reset_graph_reuses_its_memory),
    cmocka_unit_test(every_allocation_may_fail),
    cmocka_unit_test(every_piece_may_be_the_one_that_fails),
    cmocka_unit_test(a_million_nodes_run_on_a_small_stack),
};
CHECK_MAIN(tests)
