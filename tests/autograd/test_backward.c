/* Gradients: who gets what, and where they stand. */
#include <stdlib.h>
#include <string.h>

#include "layers/nn.h"
#include "tests/lib/world.h"

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
    ag_param(w.g, "unread", tensor_dims(1, 3), (ag_init){.kind = AG_ONES});
    size_t n = ag_params_size(w.params);
    real *mine = calloc(n, sizeof *mine), *own;
    assert_true(ag_backward(loss, NULL));
    own = ag_grads(w.g);
    for (int p = 0; p < ag_params_count(w.params); p++) {  // what stands there counts for nothing
        const ag_param_entry *e = ag_params_at(w.params, p);
        for (size_t i = 0; i < e->val.n; i++) mine[e->offset + i] = (real)NAN;
    }
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

static int frozen(ag_params *p) {
    int n = 0;
    for (int i = 0; i < ag_params_count(p); i++) n += ag_params_at(p, i)->frozen;
    return n;
}

/* By pattern: those there are, and those still to come. */
static void parameters_freeze_by_name(void **state) {
    (void)state;
    world w;
    open_world(&w);
    weight(w.g, "layer0.q.w", 2, 3), weight(w.g, "layer0.k.w", 2, 3),
        weight(w.g, "layer1.q.w", 2, 3);
    assert_true(ag_params_freeze_matching(w.params, "layer*.q.*"));
    assert_int_equal(frozen(w.params), 2);
    weight(w.g, "layer2.q.w", 2, 3), weight(w.g, "layer2.q", 2, 3),
        weight(w.g, "xlayer2.q.w", 2, 3);
    assert_int_equal(frozen(w.params), 3);
    assert_false(ag_params_find(w.params, "layer0.k.w")->frozen);
    assert_true(ag_params_find(w.params, "layer2.q.w")->frozen);
    assert_false(ag_params_find(w.params, "layer2.q")->frozen);
    assert_int_equal(ag_params_learned(w.params), 3 * 6);
    assert_true(ag_params_freeze_matching(w.params, "layer2.q") &&
                ag_params_freeze_matching(w.params, "*k*"));
    assert_int_equal(frozen(w.params), 5);
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

/* The gradient that is there may be what the next pass starts from. */
static void a_gradient_may_be_the_cotangent(void **state) {
    (void)state;
    for (int keep = 0; keep <= 1; keep++) {
        world w;
        open_world(&w);
        ag_keep_grads(w.g, keep);
        ag_node *x = counting(w.g, "x", tensor_dims(1, 3), 1), *y = ag_scale(x, 3);
        const real c[] = {1, -2, 5};
        assert_true(ag_backward(y, c) && ag_backward(y, y->grad));
        for (int i = 0; i < 3; i++) assert_true(x->grad[i] == 6 * c[i] && y->grad[i] == c[i]);
        assert_true(ag_backward(x, x->grad));  // a leaf accumulates: twice what there was
        for (int i = 0; i < 3; i++) assert_true(x->grad[i] == 12 * c[i]);
        close_world(&w);
    }
}

static void a_leaf_wants_its_gradient_before_it_is_used(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_node *x = ag_input(w.g, "late", tensor_dims(1, 2)),
            *idle = ag_input(w.g, "idle", tensor_dims(0)),
            *early = counting(w.g, "early", tensor_dims(1, 2), 0);
    ag_add(x, early);
    assert_ptr_equal(ag_want_grad(early), early);  // it did already
    assert_ptr_equal(ag_want_grad(idle), idle);    // nobody uses it
    no_error(w.g);
    assert_ptr_not_equal(ag_want_grad(x), x);
    error_says(w.g, "'late' is in use already");
    close_world(&w);
}

static const struct CMUnitTest tests[] = {
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
    cmocka_unit_test(a_gradient_may_be_the_cotangent),
    cmocka_unit_test(a_leaf_wants_its_gradient_before_it_is_used),
};
CHECK_MAIN(tests)
