/* What is streamed has the bits of what is stored: forward and backward, over all options of
 * attention; and whoever looks gets it. */
#include <stdlib.h>
#include <string.h>

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
    ag_set_run(w->g, (ag_run){.seed = 5, .step = 7, .shard = 2, .training = true});
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

static void the_same_bits_under_all_options(void **state) {
    (void)state;
    static const int lengths[] = {2, 17, 64, 65, 130, 200};
    static const ag_mask masks[] = {{0},
                                    {.causal = true},
                                    {.no_self = true},
                                    {.causal = true, .no_self = true},
                                    {.memory = 5},
                                    {.causal = true, .memory = 70}};
    static const nn_scale scales[] = {NN_SCALE_SQRT, NN_SCALE_LEARNED, NN_SCALE_VALUE};
    long seen = 0;
    for (size_t t = 0; t < sizeof lengths / sizeof *lengths; t++)
        for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
            for (int more = 0; more < 48; more++) {
                const int T = lengths[t], heads = more & 1 ? 4 : 2;
                if (T > 130 && more > 11) continue;
                options o = {.B = 2,
                             .T = T,
                             .S = more & 2 ? T + 3 : 0,
                             .open = more & 8,
                             .c = {.heads = heads,
                                   .kv_heads = 2,
                                   .d_k = 3,
                                   .d_v = more & 4 ? 17 : 3,
                                   .dropout = more & 4 ? 0.3 : 0,
                                   .gated = (more & 8) || (more & 1),
                                   .scale = scales[more / 16],
                                   .mask = masks[m],
                                   .init = init}};
                char what[100];
                snprintf(what, sizeof what, "T %d, mask %zu, options %d", T, m, more);
                check_options(&o, what);
                seen++;
            }
    assert_true(seen > 1000);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_same_bits_under_all_options),
};
CHECK_MAIN(tests)
