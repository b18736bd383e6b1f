/* alibi.c - positions as a handicap, by bands. */
#include <stdlib.h>

#include "autograd/fast/attend.h"
#include "tensor/scalar.h"

static ag_mask mask_of(const ag_node *node) { return *(const ag_mask *)node->attr; }

static int cols(const ag_node *node, int t) {
    return ag_mask_cols(mask_of(node), t, node->val.shape.dim[3]);
}

static void forward(ag_node *node, const ag_band *b) {
    const ag_mask mask = ag_mask_of_plane(mask_of(node), node->val.shape, b->plane);
    const size_t H = (size_t)node->val.shape.dim[1];
    const real slope = (real)tensor_pow(2, -8.0 * (double)(b->plane % H + 1) / (double)H);
    const ag_strip x = ag_band_of(node->in[0], b), y = ag_band_of(node, b);
    for (int r = 0; r < b->n; r++) {
        const int t = ag_mask_position(mask, b->t + r);
        for (int s = 0; s < b->cols; s++)
            y.x[r * y.ld + s] = x.x[r * x.ld + s] - slope * (real)abs(t - s);
    }
    ag_clear_masked(mask, b, y);
}

static void backward(ag_node *node, const ag_band *b) {
    bool first;
    const ag_strip dy = ag_band_dy(node, b), dx = ag_band_grad(node->in[0], b, &first);
    ag_clear_masked(ag_mask_of_plane(mask_of(node), node->val.shape, b->plane), b,
                    dy);  // the constant 0 there has no gradient to pass on
    // y = x - slope |t - s|
    for (int r = 0; r < b->n; r++)
        for (int s = 0; s < b->cols; s++)
            dx.x[r * dx.ld + s] = (first ? 0 : dx.x[r * dx.ld + s]) + dy.x[r * dy.ld + s];
}

static const ag_by_rows by_rows = {.forward = forward, .backward = backward, .cols = cols};

const ag_fast ag_fast_alibi = {.op = &ag_op_alibi,
                               .forward = ag_rows_forward,
                               .backward = ag_rows_backward,
                               .rows = &by_rows,
                               .facts = AG_IN_PLACE};
