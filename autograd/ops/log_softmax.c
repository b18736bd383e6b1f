/* log_softmax.c - y = x - log sum exp x, over the last dimension.
 *   dx = dy - p sum of dy, p = softmax(x)
 * With s the sum of exp(x - max) over all but the greatest, log sum exp x is max + log(1 + s): logits of
 * any size are exact, and a row that is nearly sure keeps its digits. Only -infinity: NaN. */
#include "autograd/op.h"
#include "tensor/scalar.h"

static bool shape(ag_node *node) {
    if (node->in[0]->val.shape.rank < 1) return ag_fail(node, "a scalar has no rows");
    return ag_same_shape(node);
}

static void forward(ag_node *node) {
    const int V = tensor_width(node->val.shape);
    const real *x = node->in[0]->val.x;
    real *y = node->val.x;
    for (size_t at = 0; at < node->val.n; at += (size_t)V, x += V, y += V) {
        int top = 0;
        for (int c = 0; c < V; c++)
            if (x[c] > x[top]) top = c;
        double others = 0;
        for (int c = 0; c < V; c++)
            if (c != top) others += tensor_exp((double)x[c] - (double)x[top]);
        for (int c = 0; c < V; c++)
            y[c] = (real)((double)x[c] - (double)x[top] - tensor_log1p(others));
    }
}

static void backward(ag_node *node) {
    const int V = tensor_width(node->val.shape);
    const real *y = node->val.x, *dy = node->grad;
    real *dx = ag_grad(node->in[0]);
    for (size_t at = 0; at < node->val.n; at += (size_t)V, y += V, dy += V, dx += V) {
        real sum = 0;
        for (int c = 0; c < V; c++) sum += dy[c];
        // y[c] = x[c] - log sum exp x
        for (int c = 0; c < V; c++) dx[c] += dy[c] - ag_cut(sum, (real)tensor_exp((double)y[c]));
    }
}

static ag_node *sample(ag_graph *g, int i) {
    // The first shape is a scalar.
    return ag_sample_unary(g, ag_log_softmax, i + 1, AG_SAMPLE_NORMAL);
}

const ag_op ag_op_log_softmax = {
    .name = "log_softmax",
    .facts = AG_NO_X,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .torch = "F.log_softmax(x[0], -1)",
};

ag_node *ag_log_softmax(ag_node *x) { return ag_apply(&ag_op_log_softmax, AG_IN(x), NULL, 0); }
