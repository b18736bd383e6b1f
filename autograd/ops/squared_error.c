/* squared_error.c - y = weight * sum over elements of (a - b)^2.
 *   da = 2 weight (a - b) dy,  db = -da
 * `weight` points to the caller's number, read at every replay (as in cross_entropy, so that
 * micro-batches add up to the batch's mean); NULL: 1 / number of elements. Of nothing: 0. */
#include "autograd/op.h"

static bool shape(ag_node *node) {
    if (!tensor_same_shape(node->in[0]->val.shape, node->in[1]->val.shape))
        return ag_fail(node, "the shapes differ");
    node->val.shape = tensor_dims(0);
    node->n_save = 1;  // the weight used
    return true;
}

static void forward(ag_node *node) {
    const real *weight = *(const real *const *)node->attr;
    const real *a = node->in[0]->val.x, *b = node->in[1]->val.x;
    const size_t n = node->in[0]->val.n;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    node->save[0] = weight ? *weight : n ? 1 / (real)n : 0;
    node->val.x[0] = n ? (real)(sum * (double)node->save[0]) : 0;
}

static void backward(ag_node *node) {
    const real *a = node->in[0]->val.x, *b = node->in[1]->val.x;
    const real each = 2 * node->save[0] * node->grad[0];
    real *da = ag_grad(node->in[0]), *db = ag_grad(node->in[1]);
    for (size_t i = 0; i < node->in[0]->val.n; i++) {
        // y += weight * (a[i] - b[i])^2
        if (da) da[i] += ag_cut(each, a[i] - b[i]);
        if (db) db[i] -= ag_cut(each, a[i] - b[i]);
    }
}

static ag_node *sample(ag_graph *g, int i) {
    static const real weight = (real)0.3;
    tensor_shape s;
    if (i == 0) {  // one node for both
        ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, 3, 5));
        return ag_squared_error(x, x, NULL);
    }
    if (!ag_sample_shape(i - 1, &s)) return NULL;
    ag_node *a = ag_sample(g, AG_SAMPLE_NORMAL, s);
    return ag_squared_error(a, ag_sample(g, AG_SAMPLE_NORMAL, s), i % 2 ? NULL : &weight);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    static const real one = 1;
    ag_node *x = ag_sample_x(g, z);
    return ag_squared_error(x, ag_sample_x(g, z), &one);
}

static const char *arguments(const ag_node *node) {
    return ag_text_weight(node->graph, *(const real *const *)node->attr);
}

const ag_op ag_op_squared_error = {
    .name = "squared_error",
    .facts = AG_NO_Y,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "squared_error(x[0], x[1], weight)",
};

ag_node *ag_squared_error(ag_node *a, ag_node *b, const real *weight) {
    return ag_apply(&ag_op_squared_error, AG_IN(a, b), &weight, sizeof weight);
}
