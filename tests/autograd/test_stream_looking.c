/* Whoever looks at what is streamed gets it; and a fault in an op by rows is seen. */
#include <math.h>

#include "tests/lib/stream.h"

/* ---- looking ---- */

static void make_even(ag_node *node, void *ctx) {
    (void)ctx;
    const int S = tensor_width(node->val.shape);
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = (real)1 / (real)S;
}

/* Each way to look stores the node, with the value that it has now. */
static void who_looks_gets_it(void **state) {
    (void)state;
    enum { FIND, HOOK, STORE, KEEP_GRADS, ANOTHER_READER, BACKWARD, WAYS };
    for (int way = 0; way < WAYS; way++) {
        world stored, stream;
        open_world(&stored);
        open_streaming(&stream);
        ag_node *a = capped(stored.g), *b = capped(stream.g);
        pass(&stored, a), pass(&stream, b);
        ag_node *w = of_op(stream.g, "softmax"), *twin = of_op(stored.g, "softmax");
        assert_true(!w->val.x && !w->grad);
        if (way == FIND) assert_ptr_equal(ag_find(stream.g, w->name), w);
        if (way == HOOK) assert_true(ag_hook(w, make_even, NULL) && ag_hook(twin, make_even, NULL));
        if (way == STORE) assert_ptr_equal(ag_store(w), w);
        if (way == KEEP_GRADS) ag_keep_grads(stream.g, true);
        if (way == ANOTHER_READER)
            a = ag_add(a, ag_mean(twin, 0, NULL)), b = ag_add(b, ag_mean(w, 0, NULL));
        if (way == BACKWARD)
            assert_true(ag_backward(twin, NULL) && ag_backward(w, NULL) && same(&stored, &stream));
        assert_non_null(w->val.x);
        assert_same_bits(w->val.x, twin->val.x, w->val.n);
        if (way == KEEP_GRADS) assert_int_equal(streamed(stream.g), 0);
        pass(&stored, a), pass(&stream, b);
        if (!same(&stored, &stream)) fail_msg("other bits, way %d", way);
        if (way == KEEP_GRADS) assert_same_bits(w->grad, twin->grad, w->val.n);
        close_world(&stored);
        close_world(&stream);
    }
}

/* Rows that are not there, of nodes streamed and stored. */
static void only_rows_that_are_there(void **state) {
    (void)state;
    world w;
    open_streaming(&w);
    real out[2 * SEATS];
    capped(w.g);
    ag_node *of[] = {of_op(w.g, "softmax"), of_op(w.g, "mix")};
    for (int i = 0; i < 2; i++) {
        const size_t planes = i ? B : B * H;
        assert_true(ag_read_rows(of[i], planes - 1, SEATS - 2, 2, out));
        assert_true(ag_read_rows(of[i], 0, SEATS, 0, out));
        assert_false(ag_read_rows(of[i], planes, 0, 1, out));
        assert_false(ag_read_rows(of[i], 0, SEATS - 1, 2, out));
        assert_false(ag_read_rows(of[i], 0, -1, 1, out));
        assert_false(ag_read_rows(of[i], 0, 0, -1, out));
    }
    close_world(&w);
}

/* Short planes are stored, long ones are not before the graph was told so. */
static void only_long_planes_are_streamed(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        world w;
        open_world(&w);
        if (i != 0) ag_keep_grads(w.g, false);
        ag_stream(w.g, i == 1 ? SEATS : i == 2 ? 0 : SEATS - 1);
        capped(w.g);
        assert_int_equal(streamed(w.g), i == 3 ? 5 : 0);
        ag_graph_reset(w.g);
        capped(w.g);  // kept
        assert_int_equal(streamed(w.g), i == 3 ? 5 : 0);
        close_world(&w);
    }
}

/* ---- planted faults ---- */

typedef enum {
    LAST_BAND_FORGOTTEN,      // forward
    WEIGHTS_OF_ANOTHER_BAND,  // backward has those of the band before
    BAND_FORGOTTEN_BACKWARD,
    PLANE_NOT_BEGUN,  // what an op keeps for a plane is that of the plane before
    PLANE_NOT_ENDED,
    COLUMNS_FORGOTTEN
} fault;

static const ag_by_rows *right;
static fault planted;

static void faulty_forward(ag_node *node, const ag_band *b) {
    ag_band c = *b;
    if (planted == LAST_BAND_FORGOTTEN && b->last) return;
    if (planted == WEIGHTS_OF_ANOTHER_BAND && b->again && !b->first) return;
    if (planted == PLANE_NOT_BEGUN && b->plane > 0) c.first = false;
    if (planted == COLUMNS_FORGOTTEN) c.cols--;
    right->forward(node, &c);
}

static void faulty_backward(ag_node *node, const ag_band *b) {
    ag_band c = *b;
    if (planted == BAND_FORGOTTEN_BACKWARD && b->last) return;
    if (planted == PLANE_NOT_BEGUN && b->plane > 0) c.first = false;
    if (planted == PLANE_NOT_ENDED) c.last = b->last && b->plane == 0;
    right->backward(node, &c);
}

static const struct {
    const char *op;
    fault fault;
} faults[] = {{"scores", LAST_BAND_FORGOTTEN},
              {"softmax", LAST_BAND_FORGOTTEN},
              {"mix", LAST_BAND_FORGOTTEN},
              {"tanh", LAST_BAND_FORGOTTEN},
              {"scores", WEIGHTS_OF_ANOTHER_BAND},
              {"softmax", WEIGHTS_OF_ANOTHER_BAND},
              {"tanh", WEIGHTS_OF_ANOTHER_BAND},
              {"scores", BAND_FORGOTTEN_BACKWARD},
              {"softmax", BAND_FORGOTTEN_BACKWARD},
              {"mix", BAND_FORGOTTEN_BACKWARD},
              {"tanh", BAND_FORGOTTEN_BACKWARD},
              {"scores", PLANE_NOT_BEGUN},
              {"mix", PLANE_NOT_BEGUN},
              {"scores", PLANE_NOT_ENDED},
              {"mix", PLANE_NOT_ENDED},
              {"tanh", COLUMNS_FORGOTTEN},
              {"softmax", COLUMNS_FORGOTTEN}};

static void a_planted_fault_is_found(void **state) {
    (void)state;
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        world stored, stream;
        open_world(&stored);
        open_streaming(&stream);
        ag_node *a = capped(stored.g), *b = capped(stream.g);
        ag_node *at = of_op(stream.g, faults[f].op);
        right = ag_rows_of(at);
        planted = faults[f].fault;
        ag_by_rows wrong = *right;
        wrong.forward = faulty_forward;
        wrong.backward = faulty_backward;
        ag_op op = *at->op;
        op.facts &= ~(unsigned)AG_ELEMENTWISE;
        ag_fast form = *ag_own(at)->fast;
        form.op = &op;
        form.rows = &wrong;
        at->op = &op;
        ag_own(at)->fast = &form;
        for (size_t i = 0; i < b->val.n; i++)
            b->val.x[i] = (real)NAN;  // what was recorded was right
        for (int n = 0; n < 2; n++) pass(&stored, a), pass(&stream, b);
        if (same(&stored, &stream)) fail_msg("fault %zu, in %s, was not seen", f, faults[f].op);
        close_world(&stored);
        close_world(&stream);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(who_looks_gets_it),
    cmocka_unit_test(only_rows_that_are_there),
    cmocka_unit_test(only_long_planes_are_streamed),
    cmocka_unit_test(a_planted_fault_is_found),
};
CHECK_MAIN(tests)
