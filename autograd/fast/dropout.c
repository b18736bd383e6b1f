/* dropout.c - y = m x: m drawn a piece at a time, multiplied in vectors; by rows it is drawn again. */
#include "autograd/fast.h"
#include "autograd/row.h"

/* The numbers of m are drawn one after the other: those from `from` on. */
typedef struct {
    rng r;
    uint32_t dropped;
    real kept;
    bool drops;
} draws;

static draws draws_from(const ag_node *node, size_t from) {
    const ag_dropout_attr *a = node->attr;
    const ag_run run = ag_get_run(node->graph);
    draws d = {ag_dropout_stream(node), (uint32_t)(a->p * 0x1p32),  // p < 1: at most 2^32 - 1
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
    ROW_EACH(i, n) row_put(y, i, n, vec_cut(row_get(m, i, n, 0), row_get(x, i, n, 0)));
}
static void times_back(const real *m, const real *dy, ptrdiff_t n, bool first, real *dx) {
    ROW_EACH(i, n) {
        const vreal part = vec_cut(row_get(m, i, n, 0), row_get(dy, i, n, 0));
        row_put(dx, i, n, (first ? vec_set(0) : row_get(dx, i, n, 0)) + part);
    }
}

/* The n numbers from `at` on, whose mask begins with element `from` of all. */
static void forward_part(ag_node *node, size_t at, size_t n, size_t from) {
    draws d = draws_from(node, from);
    for (size_t end = at + n, some; at < end; at += some) {
        some = end - at < PIECE ? end - at : PIECE;
        draw(&d, some, node->save + at);
        times(node->save + at, node->in[0]->val.x + at, (ptrdiff_t)some, node->val.x + at);
    }
}

static ag_places places_of(const ag_node *node) {
    return ((const ag_dropout_attr *)node->attr)->places;
}

static void forward(ag_node *node) {
    const tensor_shape s = node->val.shape;
    const ag_places p = places_of(node);
    const size_t W = p.at ? (size_t)tensor_width(s) : node->val.n;
    for (size_t r = 0; r * W < node->val.n; r++)  // without places all of it at once
        forward_part(node, r * W, W, ag_place_of(p, s, r) * W);
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
    const size_t row =
        ag_place_of(places_of(node), node->val.shape, b->plane * (size_t)b->T + (size_t)(b->t + r));
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

static const ag_by_rows by_rows = {.forward = forward_rows, .backward = backward_rows};

const ag_fast ag_fast_dropout = {
    .op = &ag_op_dropout,
    .forward = forward,
    .backward = backward,
    .rows = &by_rows,
    .facts = AG_IN_PLACE,
};
