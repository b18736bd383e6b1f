/* What is streamed has the bits of what is stored: forward and backward, over all options of
 * attention; and whoever looks gets it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/gradcheck.h"
#include "autograd/op.h"
#include "layers/nn.h"
#include "tensor/rng.h"
#include "tests/check.h"

typedef struct {
    check_allocator memory;
    ag_params *params;
    ag_graph *g;
} world;

static void open_world(world *w) {
    check_allocator_init(&w->memory, 0, false);
    w->params = ag_params_new(&w->memory.mem, 1);
    w->g = ag_graph_new(w->params);
    ag_set_run(w->g, (ag_run){.seed = 5, .step = 7, .micro_batch = 2, .training = true});
}

static void open_streaming(world *w) {
    open_world(w);
    ag_keep_grads(w->g, false);
    ag_stream(w->g, 1);
}

static void close_world(world *w) {
    if (ag_error(w->g)) fail_msg("%s", ag_error(w->g));
    ag_graph_free(w->g);
    ag_params_free(w->params);
    assert_int_equal(w->memory.live, 0);
}

static ag_node *leaf(ag_graph *g, const char *name, tensor_shape shape) {
    ag_node *x = ag_want_grad(ag_input(g, name, shape));
    rng r = rng_stream(3, name, 0);
    for (size_t i = 0; i < x->val.n; i++) x->val.x[i] = (real)rng_normal(&r);
    return x;
}

/* ---- attention under one set of options ---- */

typedef struct {
    int B, T, S;  // S 0: attention to itself
    nn_attention_config c;
    bool open;  // the gate's state
} options;

static ag_node *record(ag_graph *g, const options *o) {
    ag_node *x = leaf(g, "x", tensor_dims(3, o->B, o->T, 8));
    ag_node *memory = o->S ? leaf(g, "memory", tensor_dims(3, o->B, o->S, 8)) : NULL;
    ag_node *y = nn_attention(x, memory, "attn", &o->c);
    ag_node *gate = o->c.gated ? ag_find(g, "gate") : NULL;
    if (gate) gate->val.x[0] = o->open;
    return ag_name(y, "y");
}

static int streamed(const ag_graph *g) {
    int n = 0;
    for (int i = 0; i < ag_count(g); i++) n += ag_at((ag_graph *)g, i)->streamed;
    return n;
}

/* A forward and a backward pass, the cotangent from a fixed stream. */
static void pass(world *w, ag_node *y) {
    rng r = rng_stream(4, "cotangent", 0);
    real *c = calloc(y->val.n, sizeof *c);
    for (size_t i = 0; i < y->val.n; i++) c[i] = (real)rng_normal(&r);
    ag_grads_zero(w->g);
    assert_true(ag_forward(w->g) && ag_backward(y, c));
    free(c);
}

static bool same_bits(const real *a, const real *b, size_t n) {
    return n == 0 || memcmp(a, b, n * sizeof *a) == 0;
}

/* The outcome and all gradients of leaves. */
static bool same(const world *a, const world *b) {
    for (int i = 0; i < ag_count(a->g); i++) {
        const ag_node *x = ag_at(a->g, i), *y = ag_at(b->g, i);
        if (x->streamed || y->streamed) continue;
        if (!same_bits(x->val.x, y->val.x, x->val.n)) return false;
        if (x->op || !x->wants_grad) continue;
        if (x->has_grad != y->has_grad) return false;
        if (x->has_grad && !same_bits(x->grad, y->grad, x->val.n)) return false;
    }
    return true;
}

/* All rows of a node, a few at a time, are those of its stored twin. */
static void rows_are_the_same(ag_node *streamed_one, const ag_node *stored, int at_once) {
    const int *dim = stored->val.shape.dim, T = dim[2], S = dim[3];
    real *rows = calloc((size_t)at_once * (size_t)S, sizeof *rows);
    for (int p = 0; p < dim[0] * dim[1]; p++)
        for (int t = 0; t < T; t += at_once) {
            const int n = T - t < at_once ? T - t : at_once;
            assert_true(ag_read_rows(streamed_one, (size_t)p, t, n, rows));
            assert_same_bits(rows, stored->val.x + ((ptrdiff_t)p * T + t) * S, (size_t)(n * S));
        }
    free(rows);
}

static void check_options(const options *o, const char *what) {
    world stored, stream;
    open_world(&stored);
    open_streaming(&stream);
    ag_node *a = record(stored.g, o), *b = record(stream.g, o);
    assert_non_null(ag_at(stream.g, ag_count(stream.g) - 1));
    if (streamed(stream.g) < 2) fail_msg("%s: %d streamed", what, streamed(stream.g));
    assert_int_equal(streamed(stored.g), 0);
    for (int n = 0; n < 4; n++) {
        pass(&stored, a);
        pass(&stream, b);
        if (!same(&stored, &stream)) fail_msg("%s: other bits in pass %d", what, n);
        ag_node *weights = NULL, *scores = NULL;
        for (int i = 0; i < ag_count(stream.g); i++) {
            ag_node *x = ag_at(stream.g, i);
            if (strcmp(x->name, "attn.weights") == 0) weights = x;
            if (strcmp(x->name, "attn.scores") == 0) scores = x;
        }
        if (n == 0) {
            assert_true(weights->streamed && scores->streamed && !weights->val.x);
            rows_are_the_same(weights, ag_find(stored.g, "attn.weights"), 1 + o->T / 3);
            assert_true(weights->streamed);
        }
        if (n == 1) assert_ptr_equal(ag_find(stream.g, "attn.weights"), weights);
        if (n == 2) assert_ptr_equal(ag_find(stream.g, "attn.scores"), scores);
        if (n >= 1) assert_false(weights->streamed);
        if (n >= 1)
            assert_same_bits(weights->val.x, ag_find(stored.g, "attn.weights")->val.x,
                             weights->val.n);
    }
    close_world(&stored);
    close_world(&stream);
}

static const nn_init init = {.gain = 1, .bias = true};
static const ag_mask masks[] = {{0},
                                {.causal = true},
                                {.no_self = true},
                                {.causal = true, .no_self = true},
                                {.memory = 5},
                                {.causal = true, .memory = 70}};
enum { MASKS = sizeof masks / sizeof *masks };

/* Every fifth of all combinations, each option with each other. */
static void the_same_bits_under_all_options(void **state) {
    (void)state;
    static const int lengths[] = {2, 17, 64, 65, 130, 200};
    static const nn_scale scales[] = {NN_SCALE_SQRT, NN_SCALE_LEARNED, NN_SCALE_VALUE};
    for (int n = 0; n < 6 * MASKS * 48; n += 5) {
        const int T = lengths[n / 48 / MASKS], mask = n / 48 % MASKS, more = n % 48;
        options o = {.B = 2,
                     .T = T,
                     .S = more & 2 ? T + 3 : 0,
                     .open = more & 8,
                     .c = {.heads = more & 1 ? 4 : 2,
                           .kv_heads = 2,
                           .d_k = 3,
                           .d_v = more & 4 ? 17 : 3,
                           .dropout = more & 4 ? 0.3 : 0,
                           .gated = (more & 8) || (more & 1),
                           .scale = scales[more / 16],
                           .mask = masks[mask],
                           .init = init}};
        char what[100];
        snprintf(what, sizeof what, "T %d, mask %d, options %d", T, mask, more);
        check_options(&o, what);
    }
}

/* And with what else may stand before the softmax, or in its place. */
static void the_same_bits_under_all_variants(void **state) {
    (void)state;
    const nn_attention_config variants[] = {
        {.softmax_one = true},
        {.alibi = true},
        {.soft_cap = 0.5},
        {.qk_norm = true, .rotary = true},
        {.scale = NN_SCALE_EXP},
        {.softmax_one = true, .alibi = true, .soft_cap = 2, .qk_norm = true, .dropout = 0.2}};
    enum { VARIANTS = sizeof variants / sizeof *variants };
    for (int n = 0; n < VARIANTS * MASKS * 2; n++) {
        options o = {.B = 2, .T = n % 2 ? 130 : 17, .open = true, .c = variants[n / 2 / MASKS]};
        char what[100];
        o.c.heads = 4, o.c.kv_heads = 2, o.c.d_k = o.c.d_v = 4;
        o.c.mask = masks[n / 2 % MASKS], o.c.init = init;
        snprintf(what, sizeof what, "variant %d, T %d, mask %d", n / 2 / MASKS, o.T, n / 2 % MASKS);
        check_options(&o, what);
    }
}

/* ---- chains of other ops ---- */

enum { B = 2, H = 2, E = 3, SEATS = 70 };

typedef struct {
    ag_node *q, *k, *v, *s;  // scores [B,H,T,S]
} parts;

static parts begin(ag_graph *g) {
    const tensor_shape s = tensor_dims(3, B, SEATS, H * E);
    parts p = {leaf(g, "q", s), leaf(g, "k", s), leaf(g, "v", s), NULL};
    p.s = ag_scores(p.q, p.k, H, 0.6, (ag_mask){.causal = true});
    return p;
}
static ag_node *end(parts p, ag_node *s) {
    const ag_mask causal = {.causal = true};
    return ag_mix(ag_softmax(s, causal), p.v, H, causal);
}

static ag_node *capped(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_scale(ag_tanh(ag_scale(p.s, 0.5)), 2));
}
static ag_node *bias_of_heads(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_add(p.s, leaf(g, "b", tensor_dims(3, H, SEATS, SEATS))));
}
static ag_node *bias_of_pairs(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_sub(leaf(g, "b", tensor_dims(2, SEATS, SEATS)), p.s));
}
static ag_node *bias_of_keys(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_add(p.s, leaf(g, "b", tensor_dims(4, B, 1, 1, SEATS))));
}
static ag_node *factor_of_queries(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_mul(leaf(g, "b", tensor_dims(3, H, SEATS, 1)), p.s));
}
static ag_node *factor_of_heads(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_div(p.s, ag_exp(leaf(g, "b", tensor_dims(3, H, 1, 1)))));
}
static ag_node *two_scores(ag_graph *g) {
    const parts p = begin(g);
    const tensor_shape s = tensor_dims(3, B, SEATS, H);
    ag_node *more = ag_scores(leaf(g, "q2", s), leaf(g, "k2", s), H, 1, (ag_mask){0});
    return end(p, ag_add(ag_neg(more), ag_silu(p.s)));
}
static ag_node *squared(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_neg(ag_mul(p.s, p.s)));
}
static ag_node *without_a_mask(ag_graph *g) {  // masked scores, 0, are seen
    const parts p = begin(g);
    return ag_mix(ag_softmax(p.s, (ag_mask){0}), p.v, H, (ag_mask){0});
}
static ag_node *dropped_twice(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_dropout(ag_relu(ag_dropout(p.s, 0.2, "one")), 0.4, "two"));
}
static ag_node *queries_are_keys(ag_graph *g) {
    const parts p = begin(g);
    return end(p, ag_scores(p.q, p.q, H, 1, (ag_mask){.causal = true}));
}
static ag_node *linear_attention(ag_graph *g) {  // without a softmax
    const parts p = begin(g);
    return ag_mix(p.s, p.v, H, (ag_mask){.causal = true});
}
/* What must not be streamed, or not all of it. */
static ag_node *one_for_all(ag_graph *g) {  // its gradient's parts would be added in another order
    const parts p = begin(g);
    const ag_mask causal = {.causal = true};
    return ag_mix(ag_softmax(ag_scores(p.q, p.q, H, 1, causal), causal), p.q, H, causal);
}
static ag_node *read_between(ag_graph *g) {
    const parts p = begin(g);
    ag_node *more = ag_scale(p.q, 3);
    return ag_add(end(p, p.s), more);
}
static ag_node *read_twice(ag_graph *g) {
    const parts p = begin(g);
    ag_node *first = end(p, p.s);
    return ag_add(first, end(p, ag_scale(p.s, 2)));
}
static ag_node *read_by_others(ag_graph *g) {
    const parts p = begin(g);
    ag_node *y = end(p, ag_reshape(p.s, p.s->val.shape));
    return ag_mul(y, ag_mean(ag_at(g, ag_count(g) - 2), 0, NULL));
}

static const struct {
    const char *name;
    ag_node *(*record)(ag_graph *);
    int streamed;  // so many nodes
} chains[] = {{"capped", capped, 5},
              {"bias_of_heads", bias_of_heads, 3},
              {"bias_of_pairs", bias_of_pairs, 3},
              {"bias_of_keys", bias_of_keys, 3},
              {"factor_of_queries", factor_of_queries, 3},
              {"factor_of_heads", factor_of_heads, 3},
              {"two_scores", two_scores, 6},
              {"squared", squared, 4},
              {"without_a_mask", without_a_mask, 2},
              {"dropped_twice", dropped_twice, 5},
              {"queries_are_keys", queries_are_keys, 3},
              {"linear_attention", linear_attention, 1},
              {"one_for_all", one_for_all, 1},
              {"read_between", read_between, 0},
              {"read_twice", read_twice, 3},
              {"read_by_others", read_by_others, 0}};

/* Also after any one of the nodes was looked at. */
static void the_same_bits_in_all_chains(void **state) {
    (void)state;
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++)
        for (int looked = -1, more = 1; more; looked++) {
            world stored, stream;
            open_world(&stored);
            open_streaming(&stream);
            ag_node *a = chains[c].record(stored.g), *b = chains[c].record(stream.g);
            more = looked + 1 < ag_count(stored.g);
            if (streamed(stream.g) != chains[c].streamed)
                fail_msg("%s: %d are streamed", chains[c].name, streamed(stream.g));
            if (looked >= 0) ag_store(ag_at(stream.g, looked));
            for (int n = 0; n < 2; n++) {
                pass(&stored, a);
                pass(&stream, b);
                if (!same(&stored, &stream))
                    fail_msg("%s: other bits, node %d stored", chains[c].name, looked);
            }
            close_world(&stored);
            close_world(&stream);
        }
}

/* ---- looking ---- */

static void make_even(ag_node *node, void *ctx) {
    (void)ctx;
    const int S = tensor_width(node->val.shape);
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = (real)1 / (real)S;
}

static ag_node *of_op(ag_graph *g, const char *op) {
    for (int i = 0; i < ag_count(g); i++)
        if (ag_at(g, i)->op && strcmp(ag_at(g, i)->op->name, op) == 0) return ag_at(g, i);
    return NULL;
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
        assert_true(w->streamed && !w->val.x && !w->grad);
        if (way == FIND) assert_ptr_equal(ag_find(stream.g, w->name), w);
        if (way == HOOK) assert_true(ag_hook(w, make_even, NULL) && ag_hook(twin, make_even, NULL));
        if (way == STORE) assert_ptr_equal(ag_store(w), w);
        if (way == KEEP_GRADS) ag_keep_grads(stream.g, true);
        if (way == ANOTHER_READER)
            a = ag_add(a, ag_mean(twin, 0, NULL)), b = ag_add(b, ag_mean(w, 0, NULL));
        if (way == BACKWARD)
            assert_true(ag_backward(twin, NULL) && ag_backward(w, NULL) && same(&stored, &stream));
        assert_false(w->streamed);
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

/* ---- the derivative ---- */

static ag_node *sample_chain(ag_graph *g, int i) {
    ag_keep_grads(g, false);
    ag_stream(g, 1);
    if (i >= 2 * MASKS) return NULL;
    const int T = i < MASKS ? 5 : 66;
    ag_node *q = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 1, T, 4)),
            *k = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 1, T + 1, 2)),
            *v = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 1, T + 1, 1)),
            *factor = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(0));
    ag_node *s = ag_mul(ag_scores(q, k, 2, 0.5, masks[i % MASKS]), factor);
    return ag_mix(ag_softmax(s, masks[i % MASKS]), v, 1, masks[i % MASKS]);
}

static void the_derivative_is_right(void **state) {
    (void)state;
    ag_check_report report;
    if (sizeof(real) == sizeof(float)) return;  // differences want double
    if (!ag_gradcheck(sample_chain, false, &report)) fail_msg("%s", report.reason);
    assert_int_equal(report.samples, 2 * MASKS);
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
        right = at->op->rows;
        planted = faults[f].fault;
        ag_by_rows wrong = *right;
        wrong.forward = faulty_forward;
        wrong.backward = faulty_backward;
        ag_op op = *at->op;
        op.rows = &wrong;
        at->op = &op;
        for (size_t i = 0; i < b->val.n; i++)
            b->val.x[i] = (real)NAN;  // what was recorded was right
        for (int n = 0; n < 2; n++) pass(&stored, a), pass(&stream, b);
        if (same(&stored, &stream)) fail_msg("fault %zu, in %s, was not seen", f, faults[f].op);
        close_world(&stored);
        close_world(&stream);
    }
}

/* ---- memory ---- */

/* The bytes of one sequence's model, d 64, 4 heads, feed-forward and all. */
static size_t model_bytes(int T, int d) {
    world w;
    open_streaming(&w);
    ag_stream(w.g, 512);
    int *numbers = calloc((size_t)T, sizeof *numbers);
    const real weight = (real)(1. / T);
    for (int t = 0; t < T; t++) numbers[t] = t;
    int *words = calloc((size_t)T, sizeof *words);
    for (int t = 0; t < T; t++) words[t] = t * t % 61;
    const nn_model_config c = {
        .layers = 1,
        .d_model = d,
        .d_ff = 4 * d,
        .self_attention = true,
        .attention = {4, 4, d / 4, d / 4, .mask = {.causal = true}, .init = init},
        .norm = NN_NORM_LAYER,
        .positions = NN_POSITIONS_LEARNED,
        .residual = true,
        .embed_std = 1,
        .init = init};
    const nn_batch batch = {
        .B = 1,
        .sequence = {.T = T, .n_streams = 1, .stream = {"t"}, .vocab = {64}, .ids = {words}},
        .n_rows = T,
        .rows = numbers,
        .n_readouts = 1,
        .readout = {{"t", 64, words, &weight}}};
    const nn_outputs out = nn_model(w.g, &c, &batch);
    if (ag_error(w.g)) fail_msg("%s", ag_error(w.g));
    assert_int_equal(streamed(w.g), 2);
    assert_true(ag_backward(out.loss, NULL));
    const long calls = w.memory.calls;
    const size_t bytes = w.memory.bytes;
    assert_true(ag_forward(w.g) && ag_backward(out.loss, NULL));
    assert_int_equal(w.memory.calls, calls);
    close_world(&w);
    free(numbers), free(words);
    return bytes;
}

static void memory_is_linear_in_time(void **state) {
    (void)state;
    const size_t mib = 1 << 20;
    const size_t half = model_bytes(2048, 64), whole = model_bytes(4096, 64);
    if (whole > 52 * mib * sizeof(real) / sizeof(float)) fail_msg("%zu bytes at T = 4096", whole);
    assert_true((double)whole < 2.2 * (double)half);
}

/* The weights of one query, by definition. */
static void a_very_long_sequence(void **state) {
    (void)state;
    enum { T = 16384, W = 4, QUERY = 12345 };
    world w;
    open_streaming(&w);
    ag_stream(w.g, 512);
    const ag_mask causal = {.causal = true};
    ag_node *q = leaf(w.g, "q", tensor_dims(3, 1, T, W)),
            *k = leaf(w.g, "k", tensor_dims(3, 1, T, W)),
            *v = leaf(w.g, "v", tensor_dims(3, 1, T, W));
    ag_node *weights = ag_softmax(ag_scores(q, k, 1, 0.5, causal), causal);
    ag_node *y = ag_mix(weights, v, 1, causal);
    assert_true(weights->streamed && ag_backward(y, NULL));
    double *p = calloc(T, sizeof *p), sum = 0, mean[W] = {0};
    for (int s = 0; s <= QUERY; s++) {
        double dot = 0;
        for (int e = 0; e < W; e++)
            dot += (double)q->val.x[QUERY * W + e] * (double)k->val.x[s * W + e];
        sum += p[s] = exp(0.5 * dot);
    }
    real *row = calloc(T, sizeof *row);
    assert_true(ag_read_rows(weights, 0, QUERY, 1, row));
    for (int s = 0; s < T; s++) assert_close(row[s], p[s] / sum, 1e-6);
    for (int s = 0; s <= QUERY; s++)
        for (int e = 0; e < W; e++) mean[e] += p[s] / sum * (double)v->val.x[s * W + e];
    for (int e = 0; e < W; e++) assert_close(y->val.x[QUERY * W + e], mean[e], 1e-5);
    double all = 0;  // every query's weights are 1 together, so dv is T in all
    for (int s = 0; s < T; s++) all += (double)v->grad[s * W];
    assert_close(all / T, 1, 1e-4);
    free(p), free(row);
    close_world(&w);
}

/* Memory may run out at any time. */
static bool scenario(const tensor_allocator *mem, void *ctx) {
    (void)ctx;
    ag_params *params = ag_params_new(mem, 1);
    ag_graph *g = params ? ag_graph_new(params) : NULL;
    bool ok = g != NULL;
    if (ok) {
        ag_keep_grads(g, false);
        ag_stream(g, 1);
        ag_node *y = two_scores(g);
        ok = ag_forward(g) && ag_backward(y, NULL);
        ag_find(g, "softmax#8");
        for (int i = 0; ok && i < ag_count(g); i++) ok = ag_store(ag_at(g, i)) == ag_at(g, i);
        ok = ok && ag_backward(y, NULL) && !ag_error(g);
    }
    ag_graph_free(g);
    ag_params_free(params);
    return ok;
}

static void memory_may_run_out(void **state) {
    (void)state;
    check_every_failure(scenario, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_same_bits_under_all_options),
    cmocka_unit_test(the_same_bits_under_all_variants),
    cmocka_unit_test(the_same_bits_in_all_chains),
    cmocka_unit_test(who_looks_gets_it),
    cmocka_unit_test(only_rows_that_are_there),
    cmocka_unit_test(only_long_planes_are_streamed),
    cmocka_unit_test(the_derivative_is_right),
    cmocka_unit_test(a_planted_fault_is_found),
    cmocka_unit_test(memory_is_linear_in_time),
    cmocka_unit_test(a_very_long_sequence),
    cmocka_unit_test(memory_may_run_out),
};
CHECK_MAIN(tests)
