/* dropout.c - y = m x; in training m is 0 with probability p, else 1 / (1 - p); else it is 1.
 *   dx = m dy
 * A dropped place is 0 whatever x is there.
 * The mask is a pure function of (seed, step, micro-batch) of ag_set_run(), of the name given here (a
 * later ag_name() does not change it) and of the element's index: the same on replay, on any
 * number of threads, after a resume. Two dropouts of one name drop the same elements. Without
 * training, or with p = 0, y has the bits of x.
 * Source: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting",
 * 2014, section 10. */
#include "autograd/op.h"
#include "autograd/row.h"
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

/* The stream of this node's mask: (seed, name, step) give a key, (key, micro-batch) the stream. */
static rng stream(const ag_run *run, const char *name) {
    rng r = rng_stream(run->seed, name, run->step);
    uint64_t high = rng_u32(&r), key = high << 32 | rng_u32(&r);
    return rng_stream(key, "dropout", run->micro_batch);
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

/* The next n of them. */
enum { PIECE = 2048 };
static void draw(draws *d, size_t n, real *m) {
    uint32_t drawn[PIECE];
    const uint32_t dropped = d->dropped;
    const real kept = d->drops ? d->kept : 1;
    for (size_t some; n > 0; m += some, n -= some) {
        some = n < PIECE ? n : PIECE;
        if (d->drops) {
            rng_fill(&d->r, drawn, some);
            for (size_t i = 0; i < some; i++) m[i] = drawn[i] < dropped ? 0 : kept;
        } else
            for (size_t i = 0; i < some; i++) m[i] = kept;
    }
}

/* y = m x, and dx += m dy: 0 where m is, whatever the other is. y may be x. */
static void times(const real *m, const real *x, ptrdiff_t n, real *y) {
    ROW_EACH(i, n)
    row_put(y, i, n, vec_cut(row_get(m, i, n, 0), row_get(x, i, n, 0)));
}
static void times_back(const real *m, const real *dy, ptrdiff_t n, bool first, real *dx) {
    ROW_EACH(i, n) {
        const vreal part = vec_cut(row_get(m, i, n, 0), row_get(dy, i, n, 0));
        row_put(dx, i, n, (first ? vec_set(0) : row_get(dx, i, n, 0)) + part);
    }
}

static void forward(ag_node *node) {
    draws d = draws_from(node, 0);
    for (size_t at = 0, n = node->val.n, some; at < n; at += some) {
        some = n - at < PIECE ? n - at : PIECE;
        draw(&d, some, node->save + at);
        times(node->save + at, node->in[0]->val.x + at, (ptrdiff_t)some, node->val.x + at);
    }
}

static void backward(ag_node *node) {
    bool first = false;
    real *dx = ag_grad_or_first(node->in[0], &first);
    times_back(node->save, node->grad, (ptrdiff_t)node->val.n, first, dx);  // y = m x
}

/* By rows nothing is kept: m is drawn again, a piece at a time. */
typedef struct {
    draws d;
    int at, n;
    real m[256];
} piece;

static piece piece_of_row(const ag_node *node, const ag_band *b, int r) {
    const size_t row = b->plane * (size_t)b->T + (size_t)(b->t + r);
    return (piece){.d = draws_from(node, row * (size_t)b->S)};
}

static bool next_piece(piece *p, int cols) {
    p->at += p->n;
    p->n = cols - p->at < 256 ? cols - p->at : 256;
    if (p->n > 0) draw(&p->d, (size_t)p->n, p->m);
    return p->n > 0;
}

static void forward_rows(ag_node *node, const ag_band *b) {
    const ag_strip x = ag_band_of(node->in[0], b), y = ag_band_of(node, b);
    for (int r = 0; r < b->n; r++)
        for (piece p = piece_of_row(node, b, r); next_piece(&p, b->cols);)
            times(p.m, x.x + r * x.ld + p.at, p.n, y.x + r * y.ld + p.at);
}

static void backward_rows(ag_node *node, const ag_band *b) {
    bool first;
    const ag_strip dy = ag_band_dy(node, b), dx = ag_band_grad(node->in[0], b, &first);
    for (int r = 0; r < b->n; r++)
        for (piece p = piece_of_row(node, b, r); next_piece(&p, b->cols);)
            times_back(p.m, dy.x + r * dy.ld + p.at, p.n, first, dx.x + r * dx.ld + p.at);
}

static const ag_by_rows by_rows = {
    .forward = forward_rows, .backward = backward_rows, .in_place = true, .whole = true};

static ag_node *sample(ag_graph *g, int i) {
    static const double p[] = {0.5, 0, 0.9};
    tensor_shape s;
    if (!ag_sample_shape(i / 2, &s)) return NULL;
    ag_set_run(g,
               (ag_run){.seed = 1, .step = (uint64_t)i, .micro_batch = 3, .training = i % 2 == 0});
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
                   drops ? ((const attr *)node->attr)->p : 0,
                   ag_text_ints(node->graph, node->val.n, kept));
}

const ag_op ag_op_dropout = {
    .name = "dropout",
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .over_x = true,
    .forgets = true,
    .rows = &by_rows,
    .timed = timed,
    .arguments = arguments,
    .torch = "x[0] * torch.tensor(kept).reshape(shape) / (1 - p)",
};

ag_node *ag_dropout(ag_node *x, double p, const char *name) {
    ag_graph *g = ag_graph_of(x);
    if (!name) return ag_fail_graph(g, "dropout: name is NULL");
    attr a = {.p = p, .name = ag_text(g, "%s", name)};
    return ag_name(ag_apply(&ag_op_dropout, AG_IN(x), &a, sizeof a), "%s", name);
}
