/* dropout.c - y = m x; in training m is 0 with probability p, else 1 / (1 - p); else it is 1.
 *   dx = m dy
 * A dropped place is 0 whatever x is there.
 * The mask is a pure function of (seed, step, micro-batch) of ag_set_run(), of the name given here (a
 * later ag_name() does not change it) and of the element's index: the same on replay, on any
 * number of threads, after a resume. Two dropouts of one name drop the same elements. Without
 * training, or with p = 0, y has the bits of x.
 * Source: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting",
 * 2014, section 10. */
#include "autograd/attr.h"
#include "autograd/op.h"

static bool shape(ag_node *node) {
    const ag_dropout_attr *a = node->attr;
    if (!(a->p >= 0 && a->p < 1)) return ag_fail(node, "probability %g is outside [0,1)", a->p);
    if (!ag_places_fit(node, a->places, node->in[0]->val.shape)) return false;
    node->n_save = node->in[0]->val.n;  // m
    return ag_same_shape(node);
}

/* (seed, name, step) give a key, (key, micro-batch) the stream. */
rng ag_dropout_stream(const ag_node *node) {
    const ag_run run = ag_get_run(node->graph);
    rng r = rng_stream(run.seed, ((const ag_dropout_attr *)node->attr)->name, run.step);
    uint64_t high = rng_u32(&r), key = high << 32 | rng_u32(&r);
    return rng_stream(key, "dropout", run.micro_batch);
}

/* One row, whose mask is that of the row where it stood. */
static void forward_row(ag_node *node, size_t row, size_t W) {
    const ag_dropout_attr *a = node->attr;
    const bool drops = ag_get_run(node->graph).training && a->p > 0;
    const uint32_t dropped = (uint32_t)(a->p * 0x1p32);  // p < 1: at most 2^32 - 1
    const real kept = drops ? (real)(1 / (1 - a->p)) : 1, *x = node->in[0]->val.x;
    rng r = ag_dropout_stream(node);
    rng_advance(&r, ag_place_of(a->places, node->val.shape, row) * W);
    for (size_t i = row * W; i < (row + 1) * W; i++) {
        node->save[i] = drops && rng_u32(&r) < dropped ? 0 : kept;
        node->val.x[i] = ag_cut(node->save[i], x[i]);
    }
}

static void forward(ag_node *node) {
    const size_t W = (size_t)tensor_width(node->val.shape);
    for (size_t row = 0; row * W < node->val.n; row++) forward_row(node, row, W);
}

static void backward(ag_node *node) {
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0; i < node->val.n; i++)
        dx[i] += ag_cut(node->save[i], node->grad[i]);  // y[i] = m[i] x[i]
}

static ag_node *sample(ag_graph *g, int i) {
    static const double p[] = {0.5, 0, 0.9};
    tensor_shape s;
    const bool all = ag_sample_shape(i / 2, &s);
    ag_set_run(g,
               (ag_run){.seed = 1, .step = (uint64_t)i, .micro_batch = 3, .training = i % 2 == 0});
    if (!all) {  // rows that were taken out: of [B,T,D] and of [B,H,T,S]
        for (int n = 0; ag_sample_shape(n / 2, &s); n++) i--;
        if (i > 1) return NULL;
        const ag_places places = ag_sample_places(g, 2, 3, 5);
        s = i ? tensor_dims(4, 2, 2, 3, 9) : tensor_dims(3, 2, 3, 9);
        ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, s);  // what measures accuracy gives a row of it
        return ag_dropout_at(x, 0.5, "drop",
                             tensor_same_shape(x->val.shape, s) ? places : (ag_places){0});
    }
    return ag_dropout(ag_sample(g, AG_SAMPLE_NORMAL, s), p[i / 2 % 3], "drop");
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    ag_set_run(g, (ag_run){.training = true});
    return ag_dropout(ag_sample_x(g, z), 0.1, "dropout");
}

static const char *arguments(const ag_node *node) {
    const bool drops = ag_get_run(node->graph).training;
    int *kept = ag_take(node->graph, node->val.n, sizeof *kept);
    for (size_t i = 0; kept && i < node->val.n; i++) kept[i] = node->save[i] != 0;
    return ag_text(node->graph, "\"p\":%.17g,\"kept\":%s",
                   drops ? ((const ag_dropout_attr *)node->attr)->p : 0,
                   ag_text_ints(node->graph, node->val.n, kept));
}

const ag_op ag_op_dropout = {
    .name = "dropout",
    .facts = AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "x[0] * torch.tensor(kept).reshape(shape) / (1 - p)",
};

ag_node *ag_dropout_at(ag_node *x, double p, const char *name, ag_places places) {
    ag_graph *g = ag_graph_of(x);
    if (!name) return ag_fail_graph(g, "dropout: name is NULL");
    ag_dropout_attr a = {p, ag_text(g, "%s", name), places};
    return ag_name(ag_apply(&ag_op_dropout, AG_IN(x), &a, sizeof a), "%s", name);
}

ag_node *ag_dropout(ag_node *x, double p, const char *name) {
    return ag_dropout_at(x, p, name, (ag_places){0});
}
