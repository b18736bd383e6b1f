/* What is streamed has the bits of what is stored: forward and backward, over all options of
 * attention. */
#include "tests/lib/stream.h"

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
            assert_true(!weights->val.x && !scores->val.x);
            rows_are_the_same(weights, ag_find(stored.g, "attn.weights"), 1 + o->T / 3);
            assert_null(weights->val.x);
        }
        if (n == 1) assert_ptr_equal(ag_find(stream.g, "attn.weights"), weights);
        if (n == 2) assert_ptr_equal(ag_find(stream.g, "attn.scores"), scores);
        if (n >= 1) assert_non_null(weights->val.x);
        if (n >= 1)
            assert_same_bits(weights->val.x, ag_find(stored.g, "attn.weights")->val.x,
                             weights->val.n);
    }
    close_world(&stored);
    close_world(&stream);
}

/* Every eleventh of all combinations: each three options together in all their ways. */
static void the_same_bits_under_all_options(void **state) {
    (void)state;
    static const int lengths[] = {2, 17, 64, 65, 130, 200};
    static const nn_scale scales[] = {NN_SCALE_SQRT, NN_SCALE_LEARNED, NN_SCALE_VALUE};
    for (int n = 0; n < 6 * MASKS * 48; n += 11) {
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_same_bits_under_all_options),
    cmocka_unit_test(the_same_bits_under_all_variants),
};
CHECK_MAIN(tests)
