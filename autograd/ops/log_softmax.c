/* log_softmax.c - y = x - log sum exp x, over the last dimension.
 *   dx = dy - softmax(x) sum of dy
 * The sum is of exp(x - max), so logits of any size are exact. A row of only -infinity is NaN. */
#include "autograd/op.h"
#include "autograd/row.h"

static bool shape(ag_node *node) {
    if (node->in[0]->val.shape.rank < 1) return ag_fail(node, "a scalar has no rows");
    node->n_save = node->in[0]->val.n;  // softmax(x)
    return ag_same_shape(node);
}

static void forward(ag_node *node) {
    int V = tensor_width(node->val.shape);
    for (size_t at = 0; at < node->val.n; at += (size_t)V) {
        const real *restrict x = node->in[0]->val.x + at;
        real *restrict y = node->val.x + at, max;
        const real log_sum = real_log(row_softmax(x, V, node->save + at, &max));
        for (int c = 0; c < V; c++) y[c] = (x[c] - max) - log_sum;
    }
}

static void backward(ag_node *node) {
    int V = tensor_width(node->val.shape);
    real *dX = ag_grad(node->in[0]);
    for (size_t at = 0; at < node->val.n; at += (size_t)V) {
        const real *restrict p = node->save + at, *restrict dy = node->grad + at;
        const real total = row_sum(dy, V, 0);
        real *restrict dx = dX + at;
        // y[c] = x[c] - log sum exp x
        for (int c = 0; c < V; c++) dx[c] += dy[c] - p[c] * total;
    }
}

static ag_node *sample(ag_graph *g, int i) {
    return ag_sample_unary(g, ag_log_softmax, i + 1,
                           AG_SAMPLE_NORMAL);  // the first shape is a scalar
}

const ag_op ag_op_log_softmax = {"log_softmax", false, shape, forward, backward, sample, NULL};

ag_node *ag_log_softmax(ag_node *x) { return ag_apply(&ag_op_log_softmax, AG_IN(x), NULL, 0); }
