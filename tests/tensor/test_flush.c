/* Subnormal numbers taken for 0: while asked for, in the thread that asked, and not a moment longer. */
#include "tensor/flush.h"

#include <float.h>
#include <pthread.h>

#include "autograd/op.h"
#include "tests/lib/check.h"

static volatile float least = FLT_MIN, half = 0.5f, tiny = FLT_MIN / 4;
static volatile double least_double = DBL_MIN, tiny_double = DBL_MIN / 4;

/* Are results kept, and operands? */
static bool keeps_results(void) { return least * half != 0 && least_double * (double)half != 0; }
static bool keeps_operands(void) { return tiny * 0x1p100f != 0 && tiny_double * 0x1p100 != 0; }

static void begins_ends_and_nests(void **state) {
    (void)state;
    const bool works = tensor_flush_works();
    assert_true(keeps_results() && keeps_operands());
    tensor_flush outer = tensor_flush_begin();
    assert_true(keeps_results() == !works && keeps_operands() == !works);
    tensor_flush inner = tensor_flush_begin();
    assert_true(keeps_results() == !works);
    tensor_flush_end(inner);
    assert_true(keeps_results() == !works);
    assert_true(least * 2 == FLT_MIN * 2);  // normal numbers are as before
    tensor_flush_end(outer);
    assert_true(keeps_results() && keeps_operands());
}

static void *look(void *kept) {
    *(bool *)kept = keeps_results() && keeps_operands();
    tensor_flush_begin();  // and leave it so
    return NULL;
}

static void is_of_one_thread(void **state) {
    (void)state;
    pthread_t thread;
    bool kept = false;
    assert_int_equal(pthread_create(&thread, NULL, look, &kept), 0);
    pthread_join(thread, NULL);
    assert_true(kept);
    assert_true(keeps_results());
}

/* A whole replay forwards and backwards on planted subnormal numbers: nothing comes out that is one. */
static void a_replay_has_none(void **state) {
    (void)state;
    if (!tensor_flush_works()) skip();
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = ag_graph_new(params);
    ag_node *x = ag_want_grad(ag_input(g, "x", tensor_dims(2, 8, 16)));
    ag_node *w = ag_want_grad(ag_input(g, "w", tensor_dims(2, 16, 16)));
    ag_node *y = ag_gelu(ag_linear(ag_exp(x), w, NULL), AG_GELU_ERF);
    ag_node *loss = ag_sum(ag_mul(y, ag_softmax(y, (ag_mask){0})), 0, NULL);
    for (size_t i = 0; i < x->val.n; i++) x->val.x[i] = i % 2 ? -(real)i : REAL_MIN / 8;
    for (size_t i = 0; i < w->val.n; i++) w->val.x[i] = REAL_MIN / (real)(3 + i);
    const tensor_flush before = tensor_flush_begin();
    ag_forward(g);
    ag_backward(loss, NULL);
    tensor_flush_end(before);
    for (int k = 0; k < ag_count(g); k++) {
        const ag_node *node = ag_at(g, k);
        for (size_t i = 0; node->op && i < node->val.n; i++)
            assert_true(node->val.x[i] == 0 || real_abs(node->val.x[i]) >= REAL_MIN);
        for (size_t i = 0; node->has_grad && i < node->val.n; i++)
            assert_true(node->grad[i] == 0 || real_abs(node->grad[i]) >= REAL_MIN);
    }
    ag_graph_free(g);
    ag_params_free(params);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(begins_ends_and_nests),
    cmocka_unit_test(is_of_one_thread),
    cmocka_unit_test(a_replay_has_none),
};
CHECK_MAIN(tests)
