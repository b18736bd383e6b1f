/* What is written over has the bits of what is stored; whoever looks gets it; and an op that claims
 * wrongly that it may be is found. */
#include "autograd/graph_internal.h"
#include "tests/lib/stream.h"

static ag_node *fresh(ag_graph *g, tensor_shape shape) {
    return leaf(g, ag_text(g, "leaf%d", ag_count(g)), shape);
}

static int written_over(const ag_graph *g) {
    int n = 0;
    for (int i = 0; i < ag_count(g); i++) n += ag_own(ag_at((ag_graph *)g, i))->taker != NULL;
    return n;
}

/* ---- every op that claims something, on all its samples ---- */

static ag_node *sum(ag_graph *g, tensor_shape shape) {
    ag_node *a = fresh(g, shape);
    return ag_add(a, fresh(g, shape));
}
static ag_node *product(ag_graph *g, tensor_shape shape) {
    const int width = tensor_width(shape);
    if (shape.rank < 1) return sum(g, shape);
    ag_node *x = fresh(g, shape);
    return ag_linear(x, fresh(g, tensor_dims(2, width, width)), NULL);
}
static ag_node *dropped(ag_graph *g, tensor_shape shape) {
    return ag_dropout(fresh(g, shape), 0.3, "drop");
}
static ag_node *plain(ag_graph *g, tensor_shape shape) { return fresh(g, shape); }
typedef ag_node *maker(ag_graph *g, tensor_shape shape);
static maker *const forgetting[] = {sum, product, dropped};

/* What a sample is made of, in place of leaves. */
static ag_node *made(ag_graph *g, ag_sample_kind kind, tensor_shape shape, void *ctx) {
    (void)kind;
    return (*(maker *const *)ctx)(g, shape);
}

static ag_node *relu_of(ag_node *x) { return ag_relu(x); }
static ag_node *sum_of(ag_node *x) { return ag_add(fresh(x->graph, x->val.shape), x); }
static ag_node *dropped_of(ag_node *x) { return ag_dropout(x, 0.3, "drop"); }
static ag_node *itself(ag_node *x) { return x; }
typedef ag_node *taker(ag_node *x);
static taker *const writing_over[] = {relu_of, sum_of, dropped_of};

static bool loops;  // by plain loops alone

static ag_node *record(ag_graph *g, const ag_op *op, int i, maker *make, taker *take) {
    ag_plain(g, loops);
    g->source = made;
    g->source_ctx = &make;
    ag_node *y = op->sample(g, i);
    g->source = NULL;
    ag_set_run(g, (ag_run){.seed = 5, .step = 7, .micro_batch = 2, .training = true});
    return y && y->val.n > 0 ? take(y) : NULL;
}

/* Does one sample come out the same? *seen: how many values were written over. */
static bool same_sample(const ag_op *op, int i, maker *make, taker *take, int *seen) {
    world stored, over;
    open_world(&stored);
    open_streaming(&over);
    ag_node *a = record(stored.g, op, i, make, take), *b = record(over.g, op, i, make, take);
    bool is_same = true;
    for (int n = 0; n < 2 && a; n++) {
        pass(&stored, a), pass(&over, b);
        is_same = is_same && same(&stored, &over);
    }
    *seen += written_over(over.g);
    close_world(&stored);
    close_world(&over);
    return is_same;
}

static int samples_of(const ag_op *op) {
    world w;
    int n = 0;
    open_world(&w);
    while (op->sample(w.g, n)) n++;
    close_world(&w);
    return n;
}

static const ag_fast *form_of(const ag_op *op) {
    const ag_graph g = {.plain = loops};
    return ag_fast_of(&g, op);
}
static bool states(const ag_op *op, unsigned facts) {
    return ((op->facts | form_of(op)->facts) & facts) == facts;
}
static bool takes(const ag_op *op) {
    return states(op, AG_IN_PLACE | AG_NO_X) && form_of(op)->forward != ag_rows_forward;
}

/* A sample's rows, run one band of a single row after the other, give the bits of the whole. */
static bool same_by_rows(const ag_op *op, int i) {
    world whole, rows;
    open_world(&whole), open_world(&rows);
    ag_node *a = record(whole.g, op, i, plain, itself), *b = record(rows.g, op, i, plain, itself);
    bool is_same = true;
    if (a && a->val.shape.rank > 1 && a->n_in <= AG_EACH_MOST) {
        pass(&whole, a), pass(&rows, b);
        const tensor_shape s = b->val.shape;
        const int T = s.dim[s.rank - 2], S = tensor_width(s);
        memset(b->val.x, 0, b->val.n * sizeof(real));
        for (int k = 0; k < b->n_in; k++) b->in[k]->has_grad = false;
        for (size_t plane = 0; plane < tensor_rows(s) / (size_t)T; plane++)
            for (int t = 0; t < T; t++) {
                const ag_band band = {.T = T, .S = S, .plane = plane, .t = t, .n = 1, .cols = S};
                ag_rows_of(b)->forward(b, &band);
                ag_rows_of(b)->backward(b, &band);
            }
        is_same = same_bits(a->val.x, b->val.x, a->val.n) && same(&whole, &rows);
    }
    close_world(&whole), close_world(&rows);
    return is_same;
}

/* Also whether anything was written over at all. */
static bool holds(const ag_op *op) {
    int seen = 0, samples = samples_of(op);
    for (int i = 0; i < samples; i++) {
        if (states(op, AG_ELEMENTWISE) && !same_by_rows(op, i)) return false;
        for (int k = 0; k < 3; k++) {
            if (states(op, AG_IN_PLACE) && !same_sample(op, i, forgetting[k], itself, &seen))
                return false;
            if (states(op, AG_NO_Y) && !same_sample(op, i, plain, writing_over[k], &seen))
                return false;
            if (takes(op) && states(op, AG_NO_Y) &&
                !same_sample(op, i, forgetting[k], writing_over[k], &seen))
                return false;
        }
    }
    if (takes(op) && seen == 0)
        fail_msg("%s: nothing is written over in %d samples", op->name, samples);
    return true;
}

static void every_op_keeps_its_word(void **state) {
    (void)state;
    for (int form = 0; form < 2; form++) {
        int takers = 0, givers = 0;
        loops = form == 1;
        for (const ag_op *const *op = ag_ops; *op; op++) {
            takers += takes(*op);
            givers += states(*op, AG_NO_Y);
            if (!holds(*op)) fail_msg("%s%s: other bits", (*op)->name, loops ? ", plain" : "");
        }
        assert_true(takers >= (loops ? 3 : 5) && givers >= 20);
    }
    loops = false;
}

/* ---- ops that do not ---- */

static void square(ag_node *node) {
    for (size_t i = 0; i < node->val.n; i++)
        node->val.x[i] = node->in[0]->val.x[i] * node->in[0]->val.x[i];
}
static void square_back(ag_node *node) {
    const real *x = ag_own(node)->over ? node->val.x : node->in[0]->val.x;
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0; i < node->val.n; i++) dx[i] += 2 * x[i] * node->grad[i];
}
static void turn_around(ag_node *node) {
    for (size_t i = 0, n = node->val.n; i < n; i++) node->val.x[i] = node->in[0]->val.x[n - 1 - i];
}
static void turn_back(ag_node *node) {
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0, n = node->val.n; i < n; i++) dx[n - 1 - i] += node->grad[i];
}
static void copy(ag_node *node) {
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = node->in[0]->val.x[i];
}
static void copy_back(ag_node *node) {
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0; i < node->val.n; i++) dx[i] += node->grad[i];
}
static void copy_back_by_y(ag_node *node) {
    const ag_node *thief = ag_own(node)->taker;
    const real *y = thief ? thief->val.x : node->val.x;
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0; i < node->val.n; i++) dx[i] += y[i] * node->grad[i];
}

static void double_late(ag_node *node) {
    bool first = false;
    real *dx = ag_grad_or_first(node->in[0], &first);
    for (size_t i = 0, n = node->val.n; i < n; i++)  // reads numbers of dy that it has written over
        dx[i] = (first ? 0 : dx[i]) + (i > 0 ? node->grad[i - 1] : node->grad[n - 1]);
}
static void cumulate(ag_node *node) {
    real sum = 0;
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = sum += node->in[0]->val.x[i];
}

static const ag_op *liar;
static ag_node *sample_of_liar(ag_graph *g, int i) {
    if (i >= 2) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, i ? tensor_dims(2, 3, 5) : tensor_dims(1, 7));
    return ag_apply(liar, AG_IN(x), NULL, 0);
}

static void a_wrong_claim_is_found(void **state) {
    (void)state;
    const unsigned over = AG_IN_PLACE | AG_NO_X;
    const ag_op liars[] = {
        {.name = "reads x", .facts = over, .forward = square, .backward = square_back},
        {.name = "reads late", .facts = over, .forward = turn_around, .backward = turn_back},
        {.name = "reads dy late", .facts = AG_IN_PLACE, .forward = copy, .backward = double_late},
        {.name = "reads y", .facts = AG_NO_Y, .forward = copy, .backward = copy_back_by_y},
        {.name = "adds up", .facts = AG_ELEMENTWISE, .forward = cumulate, .backward = copy_back}};
    for (size_t i = 0; i < sizeof liars / sizeof *liars; i++) {
        ag_op op = liars[i];
        op.shape = ag_same_shape;
        op.sample = sample_of_liar;
        liar = &op;
        if (holds(&op)) fail_msg("an op that %s was not seen", op.name);
    }
}

/* ---- who may be written over, and looking ---- */

/* x -> up -> relu -> down, added to x; `up` and `down` are written over. */
static ag_node *mlp(ag_graph *g) {
    ag_node *x = leaf(g, "x", tensor_dims(2, 5, 3));
    ag_node *up = ag_name(ag_linear(x, leaf(g, "w", tensor_dims(2, 3, 7)), NULL), "up");
    ag_node *down = ag_linear(ag_relu(up), leaf(g, "v", tensor_dims(2, 7, 3)), NULL);
    return ag_add(x, ag_name(down, "down"));
}

static void make_one(ag_node *node, void *ctx) {
    (void)ctx;
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = 1;
}

static void who_looks_gets_it(void **state) {
    (void)state;
    enum { FIND, HOOK, STORE, KEEP_GRADS, ALL_STORED, READER, ROW_READER, ROWS, BACKWARD, WAYS };
    for (int way = 0; way < WAYS; way++) {
        world stored, over;
        open_world(&stored);
        open_streaming(&over);
        ag_node *a = mlp(stored.g), *b = mlp(over.g);
        pass(&stored, a), pass(&over, b);
        assert_int_equal(written_over(over.g), 2);
        ag_node *up = ag_find_unseen(over.g, "up"), *twin = ag_find(stored.g, "up");
        assert_null(up->val.x);
        real rows[35];
        if (way == FIND) assert_ptr_equal(ag_find(over.g, "up"), up);
        if (way == HOOK) assert_true(ag_hook(up, make_one, NULL) && ag_hook(twin, make_one, NULL));
        if (way == STORE) assert_ptr_equal(ag_store(up), up);
        if (way == KEEP_GRADS) ag_keep_grads(over.g, true);
        if (way == ALL_STORED) ag_stream(over.g, 0);
        if (way == READER)
            a = ag_add(a, ag_mean(twin, 0, NULL)), b = ag_add(b, ag_mean(up, 0, NULL));
        if (way == ROW_READER)
            a = ag_add(a, ag_slice(ag_tanh(twin), 1, 0, 3)),
            b = ag_add(b, ag_slice(ag_tanh(up), 1, 0, 3));
        if (way == ROWS) assert_true(ag_read_rows(up, 0, 0, 5, rows));
        if (way == BACKWARD)
            assert_true(ag_backward(twin, NULL) && ag_backward(up, NULL) && same(&stored, &over));
        assert_non_null(up->val.x);
        assert_same_bits(up->val.x, twin->val.x, up->val.n);
        if (way == ROWS) assert_same_bits(rows, twin->val.x, up->val.n);
        if (way == KEEP_GRADS || way == ALL_STORED) assert_int_equal(written_over(over.g), 0);
        for (int n = 0; n < 2; n++) {
            pass(&stored, a), pass(&over, b);
            if (!same(&stored, &over)) fail_msg("other bits, way %d", way);
            assert_same_bits(up->val.x, twin->val.x, up->val.n);
        }
        close_world(&stored);
        close_world(&over);
    }
}

/* Neither leaves, nor what others read, nor one node twice, nor what is hooked, nor what another shape
 * of it stands in. */
static void not_everything_is_written_over(void **state) {
    (void)state;
    enum { LEAF, READ_BEFORE, TWICE, HOOKED, VIEWED, SMALLER, STORING, KEEPING, CASES };
    for (int c = 0; c < CASES; c++) {
        world w;
        open_streaming(&w);
        if (c == STORING) ag_stream(w.g, 0);
        if (c == KEEPING) ag_keep_grads(w.g, true);
        const tensor_shape s = tensor_dims(2, 3, 3);
        ag_node *x = leaf(w.g, "x", s), *big = leaf(w.g, "big", tensor_dims(3, 2, 3, 3));
        ag_node *y = c == LEAF ? x : ag_linear(x, leaf(w.g, "w", s), NULL);
        if (c == READ_BEFORE) ag_scale(y, 2);
        if (c == HOOKED) ag_hook(y, make_one, NULL);
        if (c == VIEWED) y = ag_reshape(y, tensor_dims(1, 9));
        if (c == TWICE || c == SMALLER)
            ag_add(c == TWICE ? y : big, y);
        else
            ag_relu(y);
        if (written_over(w.g)) fail_msg("case %d is written over", c);
        close_world(&w);
    }
}

/* ---- whole models ---- */

static void models_have_the_same_bits(void **state) {
    (void)state;
    int seen = 0;
    for (int i = 0;; i++) {
        world stored, over;
        open_world(&stored);
        open_streaming(&over);
        ag_node *a = nn_sample_model(stored.g, i), *b = nn_sample_model(over.g, i);
        for (int n = 0; n < 2 && a; n++) {
            pass(&stored, a), pass(&over, b);
            if (!same(&stored, &over)) fail_msg("other bits in model %d", i);
        }
        seen += written_over(over.g);
        close_world(&stored);
        close_world(&over);
        if (!a) break;
    }
    assert_true(seen > 8);
}

/* Memory may run out at any time, also when a value is taken back. */
static void memory_may_run_out(void **state) {
    (void)state;
    recorder *scenario = mlp;
    check_every_failure(stores_all, &scenario);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_op_keeps_its_word),   cmocka_unit_test(a_wrong_claim_is_found),
    cmocka_unit_test(who_looks_gets_it),         cmocka_unit_test(not_everything_is_written_over),
    cmocka_unit_test(models_have_the_same_bits), cmocka_unit_test(memory_may_run_out),
};
CHECK_MAIN(tests)
