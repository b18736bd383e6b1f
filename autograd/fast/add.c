/* add.c - y = a + b, a row at a time, in vectors. */
#include <string.h>

#include "autograd/broadcast.h"
#include "autograd/fast.h"
#include "autograd/row.h"

/* y [n] = a + b, each of them n numbers or one. y may be either. */
VEC_INLINE void add_row(ptrdiff_t n, const real *a, const bool step_a, const real *b,
                        const bool step_b, real *y) {
    ROW_EACH(i, n) {
        const vreal x = step_a ? row_get(a, i, n, 0) : vec_set(*a);
        row_put(y, i, n, x + (step_b ? row_get(b, i, n, 0) : vec_set(*b)));
    }
}

static void forward(ag_node *node) {
    const tensor *a = &node->in[0]->val, *b = &node->in[1]->val;
    for (ag_rows r = ag_rows_of(node->val.shape, a->shape, b->shape); ag_rows_next(&r);) {
        const ptrdiff_t n = (ptrdiff_t)r.n;
        const real *of_a = a->x + r.a, *of_b = b->x + r.b;
        if (r.step_a && r.step_b)
            add_row(n, of_a, true, of_b, true, node->val.x + r.y);
        else
            add_row(n, of_a, r.step_a, of_b, r.step_b, node->val.x + r.y);
    }
}

static void backward(ag_node *node) {
    tensor_shape full = node->val.shape, sa = node->in[0]->val.shape, sb = node->in[1]->val.shape;
    const real *dY = node->grad;
    for (int i = 0; i < 2; i++) {
        ag_node *in = node->in[i];
        bool first = false, whole = in->val.n == node->val.n;
        real *d = whole ? ag_grad_or_first(in, &first) : ag_grad(in);
        if (!d) continue;
        // A residual's gradient: copied, not added to zeros, unless it stands there already.
        if (first && d == dY) continue;
        if (first)
            memcpy(d, dY, in->val.n * sizeof *d);
        else if (i == 0)
            AG_BROADCAST(full, sa, sb, d[ia] += dY[iy])
        else
            AG_BROADCAST(full, sa, sb, d[ib] += dY[iy])
    }
}

const ag_fast ag_fast_add = {
    .op = &ag_op_add,
    .forward = forward,
    .backward = backward,
    .facts = AG_IN_PLACE,
};
