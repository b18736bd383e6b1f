/* log_softmax.c - y = x - log sum exp x, over the last dimension.
 *   dx = dy - p sum of dy, p = softmax(x)
 * The sum is of exp(x - max), so logits of any size are exact; and log(1 + s), s that of all but the
 * greatest, keeps the digits of a row that is nearly sure. So does its dx where p is near 1:
 * (1 - p) dy - p times the sum of the others' dy, 1 - p = s / (1 + s). A row of only -infinity is NaN. */
#include "autograd/op.h"
#include "autograd/row.h"
#include "tensor/log.h"

static bool shape(ag_node *node) {
    if (node->in[0]->val.shape.rank < 1) return ag_fail(node, "a scalar has no rows");
    node->n_save =
        node->in[0]->val.n + tensor_rows(node->in[0]->val.shape);  // p; of each row 1 - p
    return ag_same_shape(node);
}

static void forward(ag_node *node) {
    const int V = tensor_width(node->val.shape);
    real *rest = node->save + node->val.n;
    for (size_t at = 0; at < node->val.n; at += (size_t)V) {
        const real *x = node->in[0]->val.x + at;
        real *y = node->val.x + at, max;
        const real others = row_softmax(x, V, node->save + at, &max);
        const real log_sum = vec_log1p(vec_set(others))[0];
        *rest++ = others / (1 + others);
        ROW_EACH(c, V) row_put(y, c, V, (row_get(x, c, V, 0) - max) - log_sum);
    }
}

static void backward(ag_node *node) {
    const int V = tensor_width(node->val.shape);
    const real *rest = node->save + node->val.n;
    real *dX = ag_grad(node->in[0]);
    for (size_t at = 0; at < node->val.n; at += (size_t)V) {
        const real *p = node->save + at, *dy = node->grad + at;
        vreal sum = {0}, small = {0};  // of dy; of dy where p <= 1/2
        ROW_EACH(c, V) {
            const vreal d = row_get(dy, c, V, 0);
            sum += d;
            small += vec_select(row_get(p, c, V, 0) > (real)0.5, vec_set(0), d);
        }
        const vreal total = vec_set(vec_sum(sum)), others = vec_set(vec_sum(small)),
                    left = vec_set(*rest++);
        // y[c] = x[c] - log sum exp x
        ROW_EACH(c, V) {
            const vreal q = row_get(p, c, V, 0), d = row_get(dy, c, V, 0);
            const vmask sure = q > (real)0.5;
            row_add(dX + at, c, V,
                    vec_select(sure, vec_cut(d, left), d) -
                        vec_cut(vec_select(sure, others, total), q));
        }
    }
}

static ag_node *sample(ag_graph *g, int i) {
    // The first shape is a scalar.
    return ag_sample_unary(g, ag_log_softmax, i + 1, AG_SAMPLE_NORMAL);
}

const ag_op ag_op_log_softmax = {
    .name = "log_softmax",
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "F.log_softmax(x[0], -1)",
};

ag_node *ag_log_softmax(ag_node *x) { return ag_apply(&ag_op_log_softmax, AG_IN(x), NULL, 0); }
