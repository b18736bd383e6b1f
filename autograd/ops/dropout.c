/* dropout.c - y = m x; in training m is 0 with probability p, else 1 / (1 - p); else it is 1.
 *   dx = m dy
 * The mask is a pure function of (seed, step, shard) of ag_set_run(), of the name given here (a
 * later ag_name() does not change it) and of the element's index: the same on replay, on any
 * number of threads, after a resume. Two dropouts of one name drop the same elements. Without
 * training, or with p = 0, y has the bits of x.
 * Source: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting",
 * 2014, section 10. */
#include "autograd/op.h"
#include "tensor/rng.h"

typedef struct {
    double p;
    const char *name;
} attr;

static bool shape(ag_node *node) {
    double p = ((const attr *)node->attr)->p;
    if (!(p >= 0 && p < 1)) return ag_fail(node, "probability %g is outside [0,1)", p);
    node->n_save = node->in[0]->val.n;  // m
    return ag_same_shape(node);
}

/* The stream of this node's mask: (seed, name, step) give a key, (key, shard) the stream. */
static rng stream(const ag_run *run, const char *name) {
    rng r = rng_stream(run->seed, name, run->step);
    uint64_t high = rng_u32(&r), key = high << 32 | rng_u32(&r);
    return rng_stream(key, "dropout", run->shard);
}

/* The numbers of m are drawn one after the other: those from `from` on. */
typedef struct {
    rng r;
    uint32_t dropped;
    real kept;
    bool drops;
} draws;

static draws draws_from(const ag_node *node, size_t from) {
    const attr *a = node->attr;
    const ag_run run = ag_get_run(node->graph);
    draws d = {stream(&run, a->name), (uint32_t)(a->p * 0x1p32),  // p < 1: at most 2^32 - 1
               (real)(1 / (1 - a->p)), run.training && a->p > 0};
    rng_advance(&d.r, from);
    return d;
}

static real draw(draws *d) { return !d->drops ? 1 : rng_u32(&d->r) < d->dropped ? 0 : d->kept; }

static void forward(ag_node *node) {
    const real *restrict x = node->in[0]->val.x;
    real *restrict y = node->val.x, *restrict m = node->save;
    draws d = draws_from(node, 0);
    for (size_t i = 0; i < node->val.n; i++) m[i] = draw(&d);
    for (size_t i = 0; i < node->val.n; i++) y[i] = m[i] * x[i];
}

static void backward(ag_node *node) {
    const real *restrict m = node->save, *restrict dy = node->grad;
    real *restrict dx = ag_grad(node->in[0]);
    for (size_t i = 0; i < node->val.n; i++) dx[i] += m[i] * dy[i];  // y[i] = m[i] * x[i]
}

static draws draws_of_row(const ag_node *node, const ag_band *b, int r) {
    return draws_from(node, (b->plane * (size_t)b->T + (size_t)(b->t + r)) * (size_t)b->S);
}

static void forward_rows(ag_node *node, const ag_band *b) {
    const ag_strip x = ag_band_of(node->in[0], b), y = ag_band_of(node, b);
    for (int r = 0; r < b->n; r++) {
        draws d = draws_of_row(node, b, r);
        for (int i = 0; i < b->cols; i++) y.x[r * y.ld + i] = draw(&d) * x.x[r * x.ld + i];
    }
}

static void backward_rows(ag_node *node, const ag_band *b) {
    bool first;
    const ag_strip dy = ag_band_dy(node, b), dx = ag_band_grad(node->in[0], b, &first);
    for (int r = 0; r < b->n; r++) {
        draws d = draws_of_row(node, b, r);
        for (int i = 0; i < b->cols; i++)
            dx.x[r * dx.ld + i] =
                (first ? 0 : dx.x[r * dx.ld + i]) + draw(&d) * dy.x[r * dy.ld + i];
    }
}

static const ag_by_rows by_rows = {
    .forward = forward_rows, .backward = backward_rows, .in_place = true, .whole = true};

static ag_node *sample(ag_graph *g, int i) {
    static const double p[] = {0.5, 0, 0.9};
    tensor_shape s;
    if (!ag_sample_shape(i / 2, &s)) return NULL;
    ag_set_run(g, (ag_run){.seed = 1, .step = (uint64_t)i, .shard = 3, .training = i % 2 == 0});
    return ag_dropout(ag_sample(g, AG_SAMPLE_NORMAL, s), p[i / 2 % 3], "drop");
}

const ag_op ag_op_dropout = {"dropout", false, shape, forward, backward, sample, &by_rows};

ag_node *ag_dropout(ag_node *x, double p, const char *name) {
    attr a = {.p = p, .name = ag_text(x->graph, "%s", name)};
    return ag_name(ag_apply(&ag_op_dropout, AG_IN(x), &a, sizeof a), "%s", name);
}
