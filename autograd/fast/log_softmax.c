/* log_softmax.c - some rows at a time, in vectors. Where p is near 1, dx keeps its digits, too: it is
 * (1 - p) dy - p times the sum of the others' dy, 1 - p = s / (1 + s). */
#include "autograd/fast.h"
#include "autograd/fast/row_math.h"
#include "tensor/log.h"

static size_t save(const ag_node *node) {  // p; of each row 1 - p
    return node->val.n + tensor_rows(node->val.shape);
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

const ag_fast ag_fast_log_softmax = {
    .op = &ag_op_log_softmax,
    .forward = forward,
    .backward = backward,
    .save = save,
    .facts = AG_NO_Y,
};
