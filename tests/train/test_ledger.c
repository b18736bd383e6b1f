/* The ledger: parts that add up to what the loss changed by, zeros where nothing moved, ways that finite
 * differences confirm, gradients that are wrong and show, and no trace in the training. */
#include "train/probe/ledger.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check.h"
#include "train/probe/look.h"
#include "train/probe/sites.h"

static const bool DOUBLE = sizeof(real) == sizeof(double);
enum { STEPS = 12, EXAMPLES = 24 };

/* ---- trainers ---- */

static qkv_config small(const char *task) {
    qkv_config c;
    qkv_config_default(&c);
    strcpy(c.task, task);
    qkv_config_use_plugin(&c, NULL);  // its options
    c.d_model = 16;
    return c;
}

static qkv_trainer *trainer_on(const tensor_allocator *mem, qkv_config c) {
    data_spec spec;
    char error[QKV_IO_ERROR] = "";
    if (!qkv_config_resolve(&c, &spec, error)) fail_msg("%s", error);
    qkv_trainer *t = qkv_trainer_new(mem, &c, &spec, 1, error);
    if (!t && !mem) fail_msg("%s", error);
    data_release(&spec);
    return t;
}

static qkv_probe_ledger *ledger_on(qkv_trainer *t, const char *through, const char *symbols) {
    char error[QKV_IO_ERROR] = "";
    qkv_probe_ledger *l =
        qkv_probe_ledger_new(t, &(qkv_probe_ledger_options){EXAMPLES, through, symbols}, error);
    if (!l) fail_msg("%s", error);
    return l;
}

static void train(qkv_probe_ledger *l, int end, int every, qkv_probe_ledger_fn *each, void *ctx) {
    char error[QKV_IO_ERROR] = "";
    int step = 0;
    if (qkv_probe_ledger_train(l, &step, end, every, each, ctx, error) != QKV_TRAINER_ENDED)
        fail_msg("%s", error);
    assert_int_equal(step, end);
}

/* ---- parts add up ---- */

typedef struct {
    qkv_probe_ledger *l;
    int rows, over, next;
    const char *frozen;  // a pattern
    double end;          // the last row's loss
} tally;

static double sum_of(const qkv_probe_ledger *l, const double *part, qkv_probe_ledger_kind kind,
                     int param, int *n) {
    double sum = 0;
    for (int i = 0; i < qkv_probe_ledger_columns(l); i++) {
        const qkv_probe_ledger_column *c = qkv_probe_ledger_column_at(l, i);
        if (c->kind != kind || (c->param != param && kind != QKV_PROBE_LEDGER_PARAMETER)) continue;
        sum += part[i];
        ++*n;
    }
    return sum;
}

static bool check_row(void *ctx, int first, int next, const qkv_probe_ledger_row *row) {
    tally *t = ctx;
    const int parameters = qkv_probe_ledger_parameters(t->l);
    int n = 0, ways = 0, split = 0;
    assert_int_equal(first, t->next);
    const double all = sum_of(t->l, row->part, QKV_PROBE_LEDGER_PARAMETER, 0, &n);
    assert_int_equal(n, parameters);
    assert_close(all + row->left, row->after - row->before, 1e-13);
    if (t->rows) assert_close(row->before, t->end, 0);
    const double by_way = sum_of(t->l, row->part, QKV_PROBE_LEDGER_WAY, -1, &ways);
    if (ways) assert_close(by_way, all, 1e-12 + 1e-9 * row->size);
    for (int i = 0; i < parameters; i++) {
        int symbols = 0, own = 0;
        const char *name = qkv_probe_ledger_column_at(t->l, i)->name;
        const double of_symbols = sum_of(t->l, row->part, QKV_PROBE_LEDGER_SYMBOL, i, &symbols),
                     of_ways = sum_of(t->l, row->part, QKV_PROBE_LEDGER_WAY, i, &own);
        if (symbols) assert_close(of_symbols, row->part[i], 1e-14);
        if (own) assert_close(of_ways, row->part[i], 1e-13 + 1e-9 * row->size);
        split += (symbols > 0) + (own > 0);
        const bool still = t->frozen && ag_matches(t->frozen, name);
        if (still) assert_same_bits(&row->part[i], &(double){0}, 1);
        if (!still) assert_true(row->part[i] < 0 || row->part[i] > 0);
    }
    assert_true(!ways || split > 1);
    assert_true(row->size > 0 && row->allowed > 0);
    t->over += fabs(row->left) > row->allowed;
    t->end = row->after;
    t->next = next;
    t->rows++;
    return true;
}

static void check_adds_up(qkv_config c, const char *through, const char *symbols,
                          const char *frozen) {
    qkv_trainer *t = trainer_on(NULL, c);
    tally sum = {.l = ledger_on(t, through, symbols), .frozen = frozen};
    train(sum.l, STEPS, 1, check_row, &sum);
    assert_int_equal(sum.rows, STEPS);
    assert_int_equal(sum.over, 0);
    qkv_probe_ledger_free(sum.l);
    qkv_trainer_free(t);
}

static void parts_add_up(void **state) {
    (void)state;
    qkv_config c = small("pairs");
    check_adds_up(c, NULL, NULL, NULL);
    check_adds_up(c, "layer0.attn", "embed.key", NULL);
    check_adds_up(c, "all", "embed.value", NULL);
    c.layers = 2, c.heads = 2, c.d_ff = 20, c.norm = NN_NORM_LAYER, c.bias = true, c.dropout = 0.1;
    c.activation = NN_ACT_GELU;
    check_adds_up(c, "all", "embed.key", NULL);
    check_adds_up(c, "layer1.attn", NULL, NULL);
    c = small("cross");
    check_adds_up(c, "all", "memory.key", NULL);
    c = small("pairs");
    c.optimizer = QKV_OPTIM_SGD;
    check_adds_up(c, "all", NULL, NULL);
}

static void frozen_matrices_get_zero(void **state) {
    (void)state;
    qkv_config c = small("pairs");
    strcpy(c.freeze, "*.wq");
    check_adds_up(c, NULL, NULL, "*.wq");
    check_adds_up(c, "all", "embed.key", "*.wq");
}

/* With the scores' gate shut W^Q and W^K get exactly 0; a row ends where it opens. */
typedef struct {
    int q, k, shut, open, ends_there;
} gate;

static bool look_at_gate(void *ctx, int first, int next, const qkv_probe_ledger_row *row) {
    gate *g = ctx;
    const double both[] = {row->part[g->q], row->part[g->k]}, none[] = {0, 0};
    if (next <= 6) assert_same_bits(both, none, 2);
    if (first >= 6) assert_true(fabs(both[0]) > 0 && fabs(both[1]) > 0);
    g->shut += next <= 6;
    g->open += first >= 6;
    g->ends_there += next == 6;
    return true;
}

static void shut_scores_get_zero(void **state) {
    (void)state;
    qkv_config c = small("pairs");
    c.scores_from = 6;
    qkv_trainer *t = trainer_on(NULL, c);
    qkv_probe_ledger *l = ledger_on(t, NULL, NULL);
    gate g = {.q = -1, .k = -1};
    for (int i = 0; i < qkv_probe_ledger_parameters(l); i++) {
        const char *name = qkv_probe_ledger_column_at(l, i)->name;
        if (strcmp(name, "layer0.attn.wq") == 0) g.q = i;
        if (strcmp(name, "layer0.attn.wk") == 0) g.k = i;
    }
    assert_true(g.q >= 0 && g.k >= 0);
    train(l, STEPS, 4, look_at_gate, &g);
    assert_int_equal(g.shut, 2);
    assert_int_equal(g.open, 2);
    assert_int_equal(g.ends_there, 1);
    qkv_probe_ledger_free(l);
    qkv_trainer_free(t);
}

/* ---- faults ---- */

static bool count_over(void *ctx, int first, int next, const qkv_probe_ledger_row *row) {
    tally *t = ctx;
    (void)first, (void)next;
    t->over += fabs(row->left) > row->allowed;
    t->rows++;
    return true;
}

/* What is written is another value than the one that backward goes by. */
static void distort(ag_node *node, void *ctx) {
    (void)ctx;
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] *= (real)1.05;
}

static void wrong_gradients_show(void **state) {
    (void)state;
    static const char *const nodes[] = {"layer0.attn.v", "layer0.attn.q", "layer0.attn.o"};
    for (int i = 0; i < 6; i++) {
        qkv_trainer *t = trainer_on(NULL, small("pairs"));
        ag_node *node = ag_find(qkv_trainer_training_worker(t)->graph, nodes[i % 3]);
        assert_non_null(node);
        if (i < 3)
            assert_ptr_equal(ag_block(node, true), node);
        else
            assert_true(ag_hook(node, distort, NULL));
        tally sum = {.l = ledger_on(t, NULL, NULL)};
        train(sum.l, 60, 5, count_over, &sum);
        assert_int_equal(sum.rows, 12);
        assert_in_range(sum.over, 9, 12);
        qkv_probe_ledger_free(sum.l);
        qkv_trainer_free(t);
    }
}

/* ---- ways, by finite differences ---- */

static void put_back(ag_node *node, void *ctx) {
    memcpy(node->val.x, ctx, node->val.n * sizeof(real));
}

static real *copy_of(const real *x, size_t n) {
    real *copy = calloc(n, sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, x, n * sizeof *copy);
    return copy;
}

/* The loss after a step, with a node's value held at what it was before. */
static double loss_with_held(qkv_trainer *t, const real *to, ag_node *node) {
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    real *held = copy_of(node->val.x, node->val.n);
    qkv_probe_params_copy(qkv_trainer_params(t), (real *)(size_t)to, true);
    assert_true(ag_hook(node, put_back, held));
    assert_true(qkv_probe_replay(w));
    ag_unhook(node, put_back, held);
    free(held);
    return (double)w->out.loss->val.x[0];
}

static void load(qkv_trainer *t, const real *at) {
    qkv_trainer_worker *w = qkv_trainer_any_worker(t);
    qkv_trainer_load(t, w, "valid", 0, w->B, w->B);
    qkv_probe_params_copy(qkv_trainer_params(t), (real *)(size_t)at, true);
    assert_true(qkv_probe_replay(w));
}

static double part_named(const qkv_probe_ledger *l, const qkv_probe_ledger_row *row,
                         const char *name) {
    for (int i = 0; i < qkv_probe_ledger_columns(l); i++)
        if (strcmp(qkv_probe_ledger_column_at(l, i)->name, name) == 0) return row->part[i];
    fail_msg("no column %s", name);
    return 0;
}

/* Holding the scores leaves the values' way and the one past; holding the values the scores' and that. */
static void finite_differences_confirm_ways(void **state) {
    (void)state;
    if (!DOUBLE) skip();
    char error[QKV_IO_ERROR] = "";
    qkv_trainer *t = trainer_on(NULL, small("pairs"));
    ag_params *p = qkv_trainer_params(t);
    const size_t size = ag_params_size(p);
    for (int step = 0; step < 100; step++) {
        qkv_trainer_step s;
        assert_true(qkv_trainer_gradient(t, step, &s, error));
        qkv_trainer_update(t, step, &s);
    }
    const int n = qkv_trainer_any_worker(t)->B;
    qkv_probe_ledger *l =
        qkv_probe_ledger_new(t, &(qkv_probe_ledger_options){n, "layer0.attn", NULL}, error);
    real *from = calloc(size, sizeof *from), *to = calloc(size, sizeof *to);
    assert_true(l && from && to);
    qkv_probe_params_copy(p, from, false);
    for (size_t i = 0; i < size; i++) to[i] = from[i] + (real)1e-6 * (real)sin((double)i);
    load(t, from);
    const double before = (double)qkv_trainer_any_worker(t)->out.loss->val.x[0];
    qkv_probe_site *site;
    tensor_arena *arena = tensor_arena_new(NULL);
    int sites;
    site = qkv_probe_sites(t, qkv_trainer_any_worker(t), arena, &sites);
    assert_int_equal(sites, 1);
    load(t, from);
    const double no_scores = loss_with_held(t, to, site->weights->in[0]) - before;
    load(t, from);
    const double no_values = loss_with_held(t, to, site->v) - before;
    qkv_probe_ledger_row row;
    assert_true(qkv_probe_ledger_step(l, from, to, &row, error));
    const double scores = part_named(l, &row, "way.scores"),
                 values = part_named(l, &row, "way.values"), past = part_named(l, &row, "way.past");
    assert_true(fabs(scores) > 1e-9 && fabs(values) > 1e-9 && fabs(past) > 1e-9);
    assert_close(values + past, no_scores, 1e-5 * row.size);
    assert_close(scores + past, no_values, 1e-5 * row.size);
    tensor_arena_free(arena);
    free(from);
    free(to);
    qkv_probe_ledger_free(l);
    qkv_trainer_free(t);
}

/* ---- the training ---- */

static void no_bit_of_training_changes(void **state) {
    (void)state;
    qkv_config c = small("pairs");
    c.dropout = 0.1, c.layers = 2, c.scores_from = 3;
    for (int i = 0; i < 2; i++) {
        char error[QKV_IO_ERROR];
        qkv_trainer *with = trainer_on(NULL, c), *without = trainer_on(NULL, c);
        qkv_probe_ledger *l = ledger_on(with, i ? "all" : NULL, "embed.key");
        tally sum = {.l = l};
        train(l, STEPS, 1 + i, count_over, &sum);
        int step = 0;
        const qkv_trainer_calls none = {.updated = NULL};
        assert_int_equal(qkv_trainer_train(without, &step, STEPS, NULL, &none, error),
                         QKV_TRAINER_ENDED);
        for (int k = 0; k < ag_params_count(qkv_trainer_params(with)); k++) {
            const ag_param_entry *a = ag_params_at(qkv_trainer_params(with), k),
                                 *b = ag_params_at(qkv_trainer_params(without), k);
            assert_same_bits(a->val.x, b->val.x, a->val.n);
        }
        qkv_probe_ledger_free(l);
        qkv_trainer_free(with);
        qkv_trainer_free(without);
    }
}

/* A step that begins where the last one ended costs one gradient less; another's numbers are the same. */
static void what_is_known_is_used(void **state) {
    (void)state;
    char error[QKV_IO_ERROR];
    qkv_trainer *t = trainer_on(NULL, small("pairs"));
    ag_params *p = qkv_trainer_params(t);
    const size_t size = ag_params_size(p);
    real *x[3];
    for (int i = 0; i < 3; i++) {
        qkv_trainer_step s;
        assert_non_null(x[i] = calloc(size, sizeof(real)));
        qkv_probe_params_copy(p, x[i], false);
        assert_true(qkv_trainer_gradient(t, i, &s, error));
        qkv_trainer_update(t, i, &s);
    }
    qkv_probe_ledger *one = ledger_on(t, NULL, NULL), *other = ledger_on(t, NULL, NULL);
    qkv_probe_ledger_row a, b;
    assert_true(qkv_probe_ledger_step(one, x[0], x[1], &a, error));
    assert_int_equal(a.gradients % 2, 1);
    assert_true(qkv_probe_ledger_step(one, x[1], x[2], &a, error));
    assert_int_equal(a.gradients % 2, 0);
    assert_true(qkv_probe_ledger_step(other, x[1], x[2], &b, error));
    assert_int_equal(a.gradients + 1, b.gradients);
    assert_same_bits(a.part, b.part, (size_t)qkv_probe_ledger_columns(one));
    for (int i = 0; i < 3; i++) free(x[i]);
    qkv_probe_ledger_free(one);
    qkv_probe_ledger_free(other);
    qkv_trainer_free(t);
}

/* ---- what does not fit ---- */

static void refused(qkv_trainer *t, qkv_probe_ledger_options o, const char *says) {
    char error[QKV_IO_ERROR] = "";
    assert_null(qkv_probe_ledger_new(t, &o, error));
    if (!strstr(error, says)) fail_msg("'%s' does not say '%s'", error, says);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    qkv_trainer *t = trainer_on(NULL, small("pairs"));
    refused(t, (qkv_probe_ledger_options){8, "layer7.attn", NULL},
            "there are: layer0.attn, or all");
    refused(t, (qkv_probe_ledger_options){8, NULL, "layer0.attn.wq"}, "no table of embeddings");
    refused(t, (qkv_probe_ledger_options){8, NULL, "embed.nobody"}, "'embed.nobody'");
    refused(NULL, (qkv_probe_ledger_options){8, NULL, NULL}, "NULL");
    qkv_trainer_free(t);
    qkv_config c = small("pairs");
    strcpy(c.block, "linear");
    t = trainer_on(NULL, c);
    refused(t, (qkv_probe_ledger_options){8, "all", NULL}, "cannot be told apart");
    qkv_trainer_free(t);
}

/* Trained with all its memory, or a sentence. */
static bool with_memory(const tensor_allocator *mem, void *ctx) {
    char error[QKV_IO_ERROR] = "";
    int step = 0;
    tally sum = {.rows = 0};
    (void)ctx;
    qkv_trainer *t = trainer_on(mem, small("pairs"));
    if (!t) return false;
    sum.l = qkv_probe_ledger_new(t, &(qkv_probe_ledger_options){4, "all", "embed.key"}, error);
    bool ok = sum.l && qkv_probe_ledger_train(sum.l, &step, 1, 1, count_over, &sum, error) ==
                           QKV_TRAINER_ENDED;
    assert_true(ok || *error);
    qkv_probe_ledger_free(sum.l);
    qkv_trainer_free(t);
    return ok;
}

static void memory_may_run_out(void **state) {
    (void)state;
    check_every_failure(with_memory, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(parts_add_up),
    cmocka_unit_test(frozen_matrices_get_zero),
    cmocka_unit_test(shut_scores_get_zero),
    cmocka_unit_test(wrong_gradients_show),
    cmocka_unit_test(finite_differences_confirm_ways),
    cmocka_unit_test(no_bit_of_training_changes),
    cmocka_unit_test(what_is_known_is_used),
    cmocka_unit_test(what_does_not_fit_is_refused),
    cmocka_unit_test(memory_may_run_out),
};
CHECK_MAIN(tests)
