/* Parameters, by name. */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/world.h"

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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_parameter_keeps_its_shape),
    cmocka_unit_test(a_frozen_list_takes_no_new_name),
    cmocka_unit_test(initial_values_depend_on_seed_and_name),
    cmocka_unit_test(initial_values_are_as_named),
};
CHECK_MAIN(tests)
