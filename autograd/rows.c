/* rows.c - running a node by rows: band after band, and for each the streamed nodes that it asks
 * for. */
#include "autograd/graph_internal.h"
#include "autograd/row.h"

tensor_shape ag_planes(const ag_node *node) {
    const ag_by_rows *r = ag_rows_of(node);
    return r->planes ? r->planes(node) : node->val.shape;
}

/* How many numbers of row t anybody in the chain can see. */
static int cols_of(const ag_node *node, int t, int S) {
    int most = -1;
    for (const ag_node *m = node; m; m = ag_own(m)->next) {
        const int cols = ag_rows_of(m)->cols ? ag_rows_of(m)->cols(m, t) : -1;
        if (cols > most) most = cols;
    }
    return most < 0 ? S : most;
}

/* ---- a walk over all bands ---- */

typedef struct {
    ag_band band;
    size_t planes;
} walk;

static walk walk_of(const ag_node *node) {
    const tensor_shape s = ag_planes(node);
    walk w = {.band = {.T = s.rank > 1 ? s.dim[s.rank - 2] : 1, .S = tensor_width(s)}, .planes = 1};
    for (int i = 0; i < s.rank - 2; i++) w.planes *= (size_t)s.dim[i];
    if (w.band.T == 0) w.planes = 0;
    return w;
}

/* Steps to the next band; at first, when it has no rows yet, to the first one. */
static bool step(walk *w, const ag_node *node) {
    ag_band *b = &w->band;
    b->t += b->n;
    if (b->t == b->T) b->t = 0, b->plane++;
    if (b->plane >= w->planes) return false;
    const int rows = ag_band_rows(b->T, b->S), left = b->T - b->t;
    b->n = rows < left ? rows : left;
    b->first = b->t == 0;
    b->last = b->n == left;
    b->cols = cols_of(node, b->t + b->n - 1, b->S);
    b->ld = ag_band_ld(b->cols);
    return true;
}

static void zero_rest(const ag_band *b, ag_strip s) {
    for (int r = 0; b->cols < b->S && r < b->n; r++)
        row_zero(s.x + r * s.ld + b->cols, b->S - b->cols);
}

void ag_rows_forward(ag_node *node) {
    const bool is_plane = tensor_same_shape(ag_planes(node), node->val.shape);
    for (walk w = walk_of(node); step(&w, node);) {
        for (ag_node *m = ag_own(node)->last; m != node; m = ag_own(m)->previous)
            ag_rows_of(m)->forward(m, &w.band);
        ag_rows_of(node)->forward(node, &w.band);
        if (is_plane) zero_rest(&w.band, ag_band_of(node, &w.band));
    }
}

void ag_rows_backward(ag_node *node) {
    walk w = walk_of(node);
    for (w.band.again = true; step(&w, node);) {
        for (ag_node *m = ag_own(node)->last; m != node; m = ag_own(m)->previous) {
            ag_rows_of(m)->forward(m, &w.band);
            m->has_grad = false;
        }
        ag_rows_of(node)->backward(node, &w.band);
        for (ag_node *m = ag_own(node)->next; m; m = ag_own(m)->next) {
            if (m->has_grad) ag_rows_of(m)->backward(m, &w.band);
            m->has_grad = false;
        }
    }
}

/* ---- what an op asks for ---- */

static real *buffer(const ag_node *node, int i) { return i < 0 ? NULL : node->graph->buffers[i].x; }

static size_t row_index(const ag_band *b) { return b->plane * (size_t)b->T + (size_t)b->t; }

ag_strip ag_band_of(const ag_node *node, const ag_band *b) {
    if (ag_own(node)->streamed) return (ag_strip){buffer(node, ag_own(node)->x), b->ld};
    return (ag_strip){node->val.x + row_index(b) * (size_t)b->S, b->S};
}

ag_strip ag_band_dy(const ag_node *node, const ag_band *b) {
    if (ag_own(node)->streamed) return (ag_strip){buffer(node, ag_own(node)->dx), b->ld};
    return (ag_strip){node->grad + row_index(b) * (size_t)b->S, b->S};
}

ag_strip ag_band_grad(ag_node *in, const ag_band *b, bool *first) {
    *first = false;
    if (!in->wants_grad) return (ag_strip){NULL, 0};
    const size_t rows = tensor_rows(in->val.shape);
    if (!in->has_grad && !ag_own(in)->streamed) ag_own(in)->unwritten = rows;
    *first = ag_own(in)->streamed ? !in->has_grad : ag_own(in)->unwritten == rows - row_index(b);
    in->has_grad = true;
    const ag_strip s = ag_band_dy(in, b);
    if (*first && !ag_own(in)->streamed) {
        ag_own(in)->unwritten -= (size_t)b->n;
        zero_rest(b, s);
    }
    return s;
}

real *ag_plane_memory(const ag_node *node) { return buffer(node, ag_own(node)->room); }

real *ag_kept_rows(const ag_node *node, const ag_band *b) {
    const int each = ag_rows_of(node)->keeps;
    return ag_own(node)->kept ? ag_own(node)->kept + row_index(b) * (size_t)each : NULL;
}
