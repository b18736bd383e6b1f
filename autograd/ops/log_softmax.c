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

static void forward_some(const ag_node *node, size_t from, int rows, real *rest) {
    const int V = tensor_width(node->val.shape);
    real log_sum[ROW_SOME];
    row_soft s;
    for (int r = 0; r < rows; r++) {
        const size_t at = (from + (size_t)r) * (size_t)V;
        s.x[r] = node->in[0]->val.x + at;
        s.p[r] = node->save + at;
    }
    row_softmax(&s, rows, V);
    ROW_EACH(r, rows) {
        const vreal others = vec_load(s.others + r);
        row_put(rest, r, rows, others / (1 + others));
        vec_store(log_sum + r, vec_log1p(others));
    }
    for (int r = 0; r < rows; r++) {
        real *y = node->val.x + (from + (size_t)r) * (size_t)V;
        const vreal max = vec_set(s.max[r]), log = vec_set(log_sum[r]);
        ROW_EACH(c, V) row_put(y, c, V, (row_get(s.x[r], c, V, 0) - max) - log);
    }
}

static void forward(ag_node *node) {
    const int V = tensor_width(node->val.shape);
    const size_t rows = V > 0 ? tensor_rows(node->val.shape) : 0;
    real *rest = node->save + node->val.n;
    for (size_t from = 0, some; from < rows; from += some) {
        some = row_some(V, rows - from);
        forward_some(node, from, (int)some, rest + from);
    }
}

static void backward(ag_node *node) {
    const int V = tensor_width(node->val.shape);
    const real *rest = node->save + node->val.n;
    bool first;
    real *dX = ag_grad_or_first(node->in[0], &first);
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
            row_put(dX + at, c, V,
                    (first ? vec_set(0) : row_get(dX + at, c, V, 0)) +
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
    .facts = AG_NO_X | AG_NO_Y,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "F.log_softmax(x[0], -1)",
};

ag_node *ag_log_softmax(ag_node *x) { return ag_apply(&ag_op_log_softmax, AG_IN(x), NULL, 0); }
