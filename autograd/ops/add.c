/* add.c - y = a + b, broadcast as numpy does.
 * dy/da = 1, dy/db = 1, summed over repeated dimensions */
#include <string.h>

#include "autograd/broadcast.h"
#include "autograd/row.h"

/* A row's numbers from i on: of an operand that steps, or one number again and again. */
VEC_INLINE vreal operand(const real *x, int step, ptrdiff_t i, ptrdiff_t n) {
    return step ? row_get(x, i, n, 0) : vec_set(*x);
}

static void forward(ag_node *node) {
    const tensor *a = &node->in[0]->val, *b = &node->in[1]->val;
    for (ag_rows r = ag_rows_of(node->val.shape, a->shape, b->shape); ag_rows_next(&r);)
        ROW_EACH(i, r.n) {
            const vreal x = operand(a->x + r.a, r.step_a, i, (ptrdiff_t)r.n);
            row_put(node->val.x + r.y, i, (ptrdiff_t)r.n,
                    x + operand(b->x + r.b, r.step_b, i, (ptrdiff_t)r.n));
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

static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_pair(g, ag_add, i, AG_SAMPLE_NORMAL);
}

const ag_op ag_op_add = {
    .name = "add",
    .shape = ag_broadcast_shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .over_dy = true,
    .over_x = true,
    .forgets = true,
    .rows = &ag_elementwise,
    .torch = "x[0] + x[1]",
};

ag_node *ag_add(ag_node *a, ag_node *b) { return ag_apply(&ag_op_add, AG_IN(a, b), NULL, 0); }
