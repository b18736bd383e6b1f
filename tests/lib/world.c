#include "tests/lib/world.h"

#include <string.h>

const batch SOME_BATCH = {{1, 2, 3, 4, 5, 6, 0, 1, 1, 2},
                          {0, 1, 2, 3, 4, 0, 1, 2, 3, 4},
                          {2, 3, -1, 5, 6, 0, 1, -1, 2, 3}};

ag_node *weight(ag_graph *g, const char *name, int in, int out) {
    return ag_param(g, name, tensor_dims(2, in, out), (ag_init){.kind = AG_NORMAL, .scale = 0.3});
}
ag_node *vector(ag_graph *g, const char *name, int n, ag_init_kind kind) {
    return ag_param(g, name, tensor_dims(1, n), (ag_init){.kind = kind, .scale = 0});
}
static ag_node *norm(ag_node *x, const char *gain, const char *bias) {
    return ag_layer_norm(x, vector(x->graph, gain, D, AG_ONES), vector(x->graph, bias, D, AG_ZEROS),
                         1e-5);
}
static ag_node *attention(ag_node *x) {
    const ag_mask mask = {.causal = true};
    ag_graph *g = x->graph;
    ag_node *q = ag_linear(x, weight(g, "q.w", D, D), NULL),
            *k = ag_linear(x, weight(g, "k.w", D, D), NULL);
    ag_node *v = ag_linear(x, weight(g, "v.w", D, D), NULL);
    ag_node *w = ag_name(ag_softmax(ag_scores(q, k, H, 0.5, mask), mask), "weights");
    return ag_linear(ag_mix(w, v, H, mask), weight(g, "o.w", D, D), NULL);
}

ag_node *record(ag_graph *g, const batch *b) {
    ag_node *table = weight(g, "table", V, D);
    ag_node *both[] = {table, weight(g, "place", T, D)};
    const int *ids[] = {b->words, b->seats};
    ag_node *x = ag_name(ag_embedding(2, both, ids, tensor_dims(2, B, T)), "x");
    x = ag_add(x, attention(norm(x, "n1.g", "n1.b")));
    ag_node *h =
        ag_linear(norm(x, "n2.g", "n2.b"), weight(g, "up.w", D, F), vector(g, "up.b", F, AG_ZEROS));
    x = ag_add(x, ag_linear(ag_gelu(h, AG_GELU_ERF), weight(g, "down.w", F, D), NULL));
    ag_node *logits = ag_linear(x, weight(g, "out.w", D, V), NULL);
    return ag_name(ag_cross_entropy(logits, b->targets, NULL), "loss");
}

void open_world(world *w) {
    check_allocator_init(&w->memory, 0, false);
    w->params = ag_params_new(&w->memory.mem, 7);
    w->g = ag_graph_new(w->params);
    assert_non_null(w->g);
}
void close_world(world *w) {
    ag_graph_free(w->g);
    ag_params_free(w->params);
    assert_int_equal(w->memory.live, 0);
}

void no_error(const ag_graph *g) {
    if (ag_error(g)) fail_msg("error: %s", ag_error(g));
}
void error_says(const ag_graph *g, const char *part) {
    const char *error = ag_error(g);
    if (!error)
        fail_msg("no error, expected one with '%s'", part);
    else if (!strstr(error, part))
        fail_msg("'%s' does not say '%s'", error, part);
}

ag_node *counting(ag_graph *g, const char *name, tensor_shape shape, double start) {
    ag_node *x = ag_want_grad(ag_input(g, name, shape));
    for (size_t i = 0; i < x->val.n; i++) x->val.x[i] = (real)(start + (double)i);
    return x;
}
