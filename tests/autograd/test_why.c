/* What a number is made of: for every op and sample the terms of a gradient add up to it, those of a value
 * where the op says that it is linear, and it says so exactly where it is. A wrong backward is seen in the
 * terms of what it made wrong. */
#include "autograd/why.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/graph_internal.h"
#include "tests/lib/mutants.h"
#include "tests/lib/world.h"

static const double U = (double)REAL_EPSILON;
static tensor_arena *mem;

static int open_memory(void **state) {
    (void)state;
    mem = tensor_arena_new(NULL);
    return !mem;
}
static int close_memory(void **state) {
    (void)state;
    tensor_arena_free(mem);
    return 0;
}

/* Sample i with every leaf wanting a gradient, after one backward pass. */
static ag_node *sample_of(world *w, const ag_op *op, int i, bool plain) {
    open_world(w);
    ag_want_all(w->g, true);
    ag_plain(w->g, plain);
    return op->sample(w->g, i);
}

static bool back(ag_node *root) {
    rng r = rng_stream(4, "cotangent", 0);
    real *c = calloc(root->val.n + 1, sizeof *c);
    for (size_t i = 0; i < root->val.n; i++) c[i] = (real)rng_normal(&r);
    const bool ok = ag_backward(root, c);
    free(c);
    return ok;
}

/* Is the sum what it should be, but for the rounding of its terms? */
static bool close_to(double sum, double expected, double sizes, double terms) {
    return fabs(sum - expected) <= 8 * U * (sizes + fabs(expected)) * sqrt(terms + 1);
}

/* Do the terms of that gradient add up to it? */
static bool adds_up(ag_node *x, size_t i) {
    ag_reasons r;
    double sum = 0, sizes = 0;
    tensor_arena_reset(mem);
    if (!ag_why_grad(x, i, mem, &r)) fail_msg("%s: %s", x->name, r.wrong);
    for (size_t k = 0; k < r.n; k++) sum += r.term[k].part, sizes += fabs(r.term[k].part);
    for (size_t k = 1; k < r.n; k++) assert_true(fabs(r.term[k].part) <= fabs(r.term[k - 1].part));
    return close_to(sum, r.value, sizes, (double)r.n);
}

static long numbers_of(world *w, const ag_node *root, const char *what) {
    long numbers = 0;
    for (int a = 0; a < ag_count(w->g); a++) {
        ag_node *x = ag_at(w->g, a);
        for (size_t i = 0; x != root && x->has_grad && i < x->val.n; i++, numbers++)
            if (!adds_up(x, i)) fail_msg("%s: gradient of '%s'[%zu]", what, x->name, i);
    }
    return numbers;
}

static void gradients_add_up(void **state) {
    (void)state;
    long numbers = 0;
    for (const ag_op *const *op = ag_ops; *op; op++)
        for (int plain = 0; plain < 2; plain++) {
            ag_node *root;
            world w;
            for (int i = 0; (root = sample_of(&w, *op, i, plain)); i++) {
                assert_true(back(root));
                numbers += numbers_of(&w, root, (*op)->name);
                close_world(&w);
            }
            close_world(&w);
        }
    printf("%ld gradients of samples\n", numbers);
    assert_true(numbers > 10000);
}

/* ---- values ---- */

/* With x_k 0, or as drawn; what y is then stands in out. */
static void value_at(ag_node *y, int k, const real *x, real *out) {
    memcpy(y->in[k]->val.x, x, y->in[k]->val.n * sizeof *x);
    ag_node_forward(y);
    memcpy(out, y->val.x, y->val.n * sizeof *out);
}

/* By how much y at two other places of input k is off what the slopes here say, in units of what rounding
 * may do. (At the place itself those of relu and max add up, too.) */
static double worst_of_input(ag_node *y, int k) {
    const ag_node *in = y->in[k];
    const size_t n = in->val.n;
    real *x[3], *at[3];  // as it is, zero, drawn
    rng r = rng_stream(9, "drawn", (uint64_t)k);
    double worst = 0;
    for (int p = 0; p < 3; p++)
        x[p] = calloc(n, sizeof(real)), at[p] = calloc(y->val.n, sizeof(real));
    memcpy(x[0], in->val.x, n * sizeof(real));
    // (what a mask hides is 0, and stays so)
    for (size_t i = 0; i < n; i++) x[2][i] = x[0][i] == 0 ? 0 : (real)rng_normal(&r);
    for (int p = 2; p >= 0; p--) value_at(y, k, x[p], at[p]);
    for (size_t j = 0; j < y->val.n; j++) {
        ag_reasons why;
        double drawn = (double)at[1][j], sizes = 2 * fabs(drawn), here = drawn;
        tensor_arena_reset(mem);
        assert_true(ag_why(y, j, mem, &why));
        for (size_t t = 0; t < why.n; t++) {
            const ag_term *term = &why.term[t];
            if (term->input != k) continue;
            drawn += term->slope * (double)x[2][term->at];
            here += term->slope * (double)x[0][term->at];
            sizes +=
                fabs(term->slope) * fabs((double)x[2][term->at]) + fabs(term->slope * term->value);
        }
        const double off = fabs(drawn - (double)at[2][j]) + fabs(here - why.value);
        const double units = off / (8 * U * (sizes + fabs(why.value)) + 1e-300);
        if (!(units <= worst)) worst = units;
        if (!why.together && (y->op->facts & AG_LINEAR_IN(k)))
            assert_close(ag_why_rest(&why, k), at[1][j], 64 * U * (sizes + 1));
    }
    for (int p = 0; p < 3; p++) free(x[p]), free(at[p]);
    return worst;
}

/* Is y linear in input k, by its own backward, in all samples? -1: there is no such input. */
static int linear_in(const ag_op *op, int k, long *compared) {
    int found = -1;
    ag_node *root;
    world w;
    for (int i = 0; (root = sample_of(&w, op, i, false)); i++) {
        for (int b = 0; b < ag_count(w.g); b++) {
            ag_node *y = ag_at(w.g, b);
            int times = 0;
            for (int n = 0; y->op == op && n < y->n_in; n++) times += y->in[n] == y->in[k];
            if (y->op != op || k >= y->n_in || times > 1 || y->in[k]->val.n * y->val.n == 0)
                continue;
            if (!(worst_of_input(y, k) <= 32)) found = 0;
            if (found < 0) found = 1;
            *compared += (long)y->val.n;
        }
        close_world(&w);
    }
    close_world(&w);
    return found;
}

static void linear_is_stated_where_it_is(void **state) {
    (void)state;
    long compared = 0;
    for (const ag_op *const *op = ag_ops; *op; op++)
        for (int k = 0; k < AG_EMBED_MAX; k++) {
            const int found = linear_in(*op, k, &compared);
            const bool stated = (*op)->facts & AG_LINEAR_IN(k);
            if (found < 0) break;
            if (stated != found)
                fail_msg("%s, input %d: linear %d, stated %d", (*op)->name, k, found, stated);
        }
    assert_true(compared > 1000);
}

/* Slopes that no value has a part in: all inputs together make y, and so does each for itself. */
static void together_or_apart(void **state) {
    (void)state;
    world w;
    ag_reasons r;
    open_world(&w);
    ag_node *a = counting(w.g, "a", tensor_dims(1, 2), 1), *b = counting(w.g, "b", a->val.shape, 5);
    assert_true(ag_why(ag_sub(a, b), 1, mem, &r) && r.together && r.n == 2);
    assert_close(r.term[0].part, -6, 0);
    assert_close(ag_why_rest(&r, 0), 0, 0);
    ag_node *y = ag_mul(a, a);
    assert_true(ag_why(y, 1, mem, &r) && !r.together && r.n == 2);
    for (int k = 0; k < 2; k++) assert_close(r.term[k].part, 4, 0);
    assert_close(r.term[1].slope, 2, 0);
    assert_true(ag_why(ag_exp(a), 0, mem, &r) && r.n == 1 && !r.term[0].linear);
    assert_close(r.term[0].slope, exp(1), 8 * U);
    assert_true(ag_why(a, 1, mem, &r) && r.n == 0);
    assert_close(r.value, 2, 0);
    close_world(&w);
}

/* ---- a model ---- */

/* Frozen or not, streamed or not: every number of a block. */
static void a_model_adds_up(void **state) {
    (void)state;
    world w;
    open_world(&w);
    ag_params_freeze_matching(w.params, "*.w");
    ag_want_all(w.g, true);
    ag_node *loss = record(w.g, &SOME_BATCH), *q = ag_find(w.g, "q.w");
    ag_reasons r;
    assert_true(ag_backward(loss, NULL));
    assert_true(numbers_of(&w, loss, "block") > 1000);
    assert_true(ag_why_path(q, 3, mem, &r) && r.n > 8);
    assert_true(r.term[r.n - 1].node == loss && r.value == (double)q->grad[3]);
    for (size_t k = 1; k < r.n; k++) {
        ag_reasons step;
        assert_true(ag_why_grad(r.term[k - 1].node, r.term[k - 1].at, mem, &step));
        assert_true(step.term->node == r.term[k].node && step.term->at == r.term[k].at);
        assert_close(step.value, r.term[k - 1].value, 0);
    }
    assert_true(ag_why_grad(loss, 0, mem, &r) && r.n == 0 && r.value == 1);
    close_world(&w);
}

/* Looking stores, and changes no bit of what is computed then. */
static void looking_changes_nothing(void **state) {
    (void)state;
    world w[2];
    real *grads[2];
    ag_reasons r[2];
    for (int i = 0; i < 2; i++) {
        open_world(&w[i]);
        ag_keep_grads(w[i].g, false);
        ag_stream(w[i].g, 1);
        ag_node *loss = record(w[i].g, &SOME_BATCH);
        const ag_node *weights = ag_find_unseen(w[i].g, "weights");
        assert_null(weights->val.x);
        for (int b = 0; i && b < ag_count(w[i].g); b++) {
            ag_node *y = ag_at(w[i].g, b);
            tensor_arena_reset(mem);
            for (size_t j = 0; j < y->val.n; j++) assert_true(ag_why(y, j, mem, &r[i]));
        }
        assert_int_equal(weights->val.x != NULL, i);
        assert_true(ag_forward(w[i].g) && ag_backward(loss, NULL));
        assert_false(ag_why_grad(ag_find(w[i].g, "q.w"), 0, mem, &r[i]));
        assert_non_null(strstr(r[i].wrong, "were not kept"));
        grads[i] = ag_grads(w[i].g);
    }
    for (int i = 0; i < ag_params_count(w[0].params); i++) {
        const ag_param_entry *p = ag_params_at(w[0].params, i);
        assert_same_bits(grads[0] + p->offset, grads[1] + p->offset, p->val.n);
    }
    close_world(&w[0]), close_world(&w[1]);
}

/* So many numbers that not each of them is looked at: together they still are the gradient. */
static void too_many_are_taken_together(void **state) {
    (void)state;
    world w;
    ag_reasons r;
    open_world(&w);
    const ag_mask all = {0};
    ag_node *x = counting(w.g, "x", tensor_dims(2, 2048, 8), 0), *m = weight(w.g, "m", 8, 128);
    for (size_t i = 0; i < x->val.n; i++) x->val.x[i] = (real)sin((double)i);
    assert_true(back(ag_softmax(ag_linear(x, m, NULL), all)));
    size_t together = 0, alone = 0;
    assert_true(ag_why_grad(m, 5, mem, &r));
    for (size_t k = 0; k < r.n; k++) *(r.term[k].n > 1 ? &together : &alone) += r.term[k].n;
    assert_true(together > 0 && alone > 0 && adds_up(m, 5));
    close_world(&w);
}

/* ---- a wrong backward ---- */

static ag_op wrong;

/* Are terms of the mutant's nodes others than the right op's, or is their sum not the gradient? */
static bool is_seen(world *right, world *off) {
    for (int a = 0; a < ag_count(off->g); a++) {
        ag_node *x = ag_at(off->g, a), *same = ag_at(right->g, a);
        for (size_t i = 0; x->has_grad && i < x->val.n; i++) {
            ag_reasons is, should;
            double parts[2] = {0}, sum = 0, sizes = 0;
            bool reads = false;
            tensor_arena_reset(mem);
            assert_true(ag_why_grad(x, i, mem, &is) && ag_why_grad(same, i, mem, &should));
            for (size_t k = 0; k < is.n; k++) {
                sum += is.term[k].part, sizes += fabs(is.term[k].part);
                reads |= is.term[k].node->op == &wrong;
                if (is.term[k].node->op == &wrong) parts[0] += is.term[k].part;
            }
            for (size_t k = 0; k < should.n; k++)
                if (ag_at(off->g, should.term[k].node->index)->op == &wrong)
                    parts[1] += should.term[k].part, reads = true;
            if (!reads) continue;
            if (!close_to(parts[0], parts[1], sizes, (double)is.n)) return true;
            if (!close_to(sum, is.value, sizes, (double)is.n)) return true;
        }
    }
    return false;
}

static bool mutant_is_seen(const mutant *m, const ag_op *op, int input) {
    bool seen = false, more = true;
    for (int i = 0; more && !seen; i++) {
        world right, off;
        ag_node *a = sample_of(&right, op, i, false), *b = sample_of(&off, op, i, false);
        more = a != NULL;
        if (m) wrong = mutant_of(m, op, input);
        for (int n = 0; m && n < ag_count(off.g); n++)
            if (ag_at(off.g, n)->op == op) ag_at(off.g, n)->op = &wrong;
        if (more && back(a) && back(b)) seen = is_seen(&right, &off);
        close_world(&right), close_world(&off);
    }
    return seen;
}

static void wrong_backwards_are_seen(void **state) {
    (void)state;
    static const ag_op *const some[] = {&ag_op_mul,    &ag_op_linear,       &ag_op_scores,
                                        &ag_op_mix,    &ag_op_softmax,      &ag_op_gelu,
                                        &ag_op_concat, &ag_op_embedding,    &ag_op_layer_norm,
                                        &ag_op_sum,    &ag_op_cross_entropy};
    int seen = 0;
    if (sizeof(real) == sizeof(float)) skip();
    for (size_t o = 0; o < sizeof some / sizeof *some; o++) {
        assert_false(mutant_is_seen(NULL, some[o], 0));
        for (const mutant *m = mutants; m->what; m++) {
            const bool general = !m->op && m->kind == MUTANT_EACH_INPUT && !m->tracks;
            // overwriting is no error where one node alone adds
            if (!m->backward || strstr(m->what, "overwrites") ||
                (!general && (!m->op || strcmp(m->op, some[o]->name) != 0)))
                continue;
            const int input = m->kind == MUTANT_SECOND ? 1 : m->kind == MUTANT_THIRD ? 2 : 0;
            if (!mutant_is_seen(m, some[o], input)) fail_msg("%s: %s", some[o]->name, m->what);
            seen++;
        }
    }
    printf("%d wrong backwards seen\n", seen);
    assert_true(seen > 100);
}

/* ---- what cannot be looked at ---- */

static void bad_places_are_sentences(void **state) {
    (void)state;
    world w;
    ag_reasons r;
    open_world(&w);
    ag_params_freeze_matching(w.params, "q.w");
    ag_node *loss = record(w.g, &SOME_BATCH);
    assert_true(ag_backward(loss, NULL));
    assert_true(!ag_why(loss, 1, mem, &r) && strstr(r.wrong, "no such place"));
    assert_true(!ag_why_grad(loss, 9, mem, &r) && strstr(r.wrong, "no such place"));
    assert_true(!ag_why_path(loss, 9, mem, &r) && strstr(r.wrong, "no such place"));
    assert_true(!ag_why_grad(ag_find(w.g, "q.w"), 0, mem, &r) && strstr(r.wrong, "ag_want_all"));
    assert_true(!ag_why(NULL, 0, mem, &r) && r.wrong && !ag_why(loss, 0, NULL, &r) && r.wrong);
    assert_false(ag_why(loss, 0, mem, NULL));
    assert_close(ag_why_rest(NULL, 0), 0, 0);
    no_error(w.g);
    ag_fail_graph(w.g, "something broke");
    assert_true(!ag_why_grad(loss, 0, mem, &r) && strcmp(r.wrong, "something broke") == 0);
    close_world(&w);
}

static bool looks(const tensor_allocator *from, void *ctx) {
    tensor_arena *arena = tensor_arena_new(from);
    ag_reasons r;
    bool ok = arena != NULL;
    for (size_t i = 0; ok && i < 40; i++) ok = ag_why_path(ctx, i, arena, &r);
    if (arena && !ok) assert_string_equal(r.wrong, "out of memory");
    tensor_arena_free(arena);
    return ok;
}

static void memory_may_run_out(void **state) {
    (void)state;
    world w;
    open_world(&w);
    assert_true(ag_backward(record(w.g, &SOME_BATCH), NULL));
    check_every_failure(looks, ag_find(w.g, "q.w"));
    close_world(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(gradients_add_up, open_memory, close_memory),
    cmocka_unit_test_setup_teardown(linear_is_stated_where_it_is, open_memory, close_memory),
    cmocka_unit_test_setup_teardown(together_or_apart, open_memory, close_memory),
    cmocka_unit_test_setup_teardown(a_model_adds_up, open_memory, close_memory),
    cmocka_unit_test_setup_teardown(looking_changes_nothing, open_memory, close_memory),
    cmocka_unit_test_setup_teardown(too_many_are_taken_together, open_memory, close_memory),
    cmocka_unit_test_setup_teardown(wrong_backwards_are_seen, open_memory, close_memory),
    cmocka_unit_test_setup_teardown(bad_places_are_sentences, open_memory, close_memory),
    cmocka_unit_test_setup_teardown(memory_may_run_out, open_memory, close_memory),
};
CHECK_MAIN(tests)
