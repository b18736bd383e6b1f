/* sample.c - leaves of the examples on which ops and layers are tested. */
#include "autograd/graph_internal.h"

ag_node *ag_sample(ag_graph *g, ag_sample_kind kind, tensor_shape shape) {
    if (g->source) return g->source(g, kind, shape, g->source_ctx);
    ag_node *leaf = ag_want_grad(ag_input(g, ag_text(g, "in%d", g->leaves.n), shape));
    for (size_t i = 0; i < leaf->val.n; i++) {
        double x =
            kind == AG_SAMPLE_POSITIVE ? 0.5 + rng_double(&g->samples) : rng_normal(&g->samples);
        if (kind == AG_SAMPLE_NO_KINK) x += x < 0 ? -0.05 : 0.05;
        leaf->val.x[i] = (real)x;
    }
    return leaf;
}

ag_node *ag_sample_x(ag_graph *g, const ag_sizes *z) {
    return ag_sample(g, AG_SAMPLE_POSITIVE, tensor_dims(3, z->B, z->T, z->D));
}

const int *ag_sample_ids(ag_graph *g, int n, int bound, bool absent) {
    int *ids = ag_take(g, (size_t)n, sizeof *ids);
    for (int i = 0; ids && i < n; i++) {
        ids[i] = (int)rng_below(&g->samples, (uint32_t)bound);
        if (absent && rng_below(&g->samples, 4) == 0) ids[i] = -1;
    }
    return ids;
}

bool ag_sample_shape(int i, tensor_shape *shape) {
    const tensor_shape shapes[] = {
        tensor_dims(0),       tensor_dims(1, 1),       tensor_dims(1, 7), tensor_dims(1, 17),
        tensor_dims(2, 3, 4), tensor_dims(3, 2, 3, 5), tensor_dims(1, 0), tensor_dims(2, 3, 0),
        tensor_dims(2, 0, 4), tensor_dims(2, 2, 33)};
    if (i < 0 || i >= (int)(sizeof shapes / sizeof *shapes)) return false;
    *shape = shapes[i];
    return true;
}

ag_node *ag_sample_unary(ag_graph *g, ag_node *(*op)(ag_node *), int i, ag_sample_kind kind) {
    tensor_shape s;
    return ag_sample_shape(i, &s) ? op(ag_sample(g, kind, s)) : NULL;
}
