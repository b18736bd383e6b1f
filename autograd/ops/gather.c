/* gather.c - y[i] = x[rows[i]]: some rows of x, in any order; a row of -1 is zero.
 *   dx[rows[i]] += dy[i] */
#include <string.h>

#include "autograd/op.h"

typedef struct {
    const int *rows;  // the caller's, read again at every replay
    int n;
} attr;

static bool shape(ag_node *node) {
    tensor_shape x = node->in[0]->val.shape;
    const attr *a = node->attr;
    if (x.rank < 1) return ag_fail(node, "a scalar has no rows");
    if (!a->rows && a->n > 0) return ag_fail(node, "rows is NULL");
    if (!ag_fits_int(node, tensor_rows(x), "rows")) return false;
    node->val.shape = tensor_dims(2, a->n, tensor_width(x));
    return node->val.shape.rank == 2 || ag_fail(node, "a negative number of rows");
}

static void forward(ag_node *node) {
    const attr *a = node->attr;
    size_t D = (size_t)tensor_width(node->val.shape);
    int N = (int)tensor_rows(node->in[0]->val.shape);
    for (int i = 0; i < a->n; i++)
        if (a->rows[i] < -1 || a->rows[i] >= N) {
            ag_fail(node, "row %d is outside 0..%d", a->rows[i], N - 1);
            return;
        }
    for (int i = 0; i < a->n; i++) {
        real *y = node->val.x + (size_t)i * D;
        if (a->rows[i] < 0)
            memset(y, 0, D * sizeof *y);
        else
            memcpy(y, node->in[0]->val.x + (size_t)a->rows[i] * D, D * sizeof *y);
    }
}

static void backward(ag_node *node) {
    const attr *a = node->attr;
    size_t D = (size_t)tensor_width(node->val.shape);
    real *dx = ag_grad(node->in[0]);
    for (int i = 0; i < a->n; i++) {
        if (a->rows[i] < 0) continue;
        const real *restrict dy = node->grad + (size_t)i * D;
        real *restrict row = dx + (size_t)a->rows[i] * D;
        for (size_t d = 0; d < D; d++) row[d] += dy[d];  // y[i] = x[rows[i]]
    }
}

static ag_node *sample(ag_graph *g, int i) {
    static const int counts[] = {5, 1, 0, 9};
    const tensor_shape shapes[] = {tensor_dims(2, 3, 4), tensor_dims(1, 17), tensor_dims(2, 3, 2),
                                   tensor_dims(3, 2, 3, 5)};
    if (i >= 4) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, shapes[i]);
    return ag_gather(x, ag_sample_ids(g, counts[i], (int)tensor_rows(shapes[i]), i == 3),
                     counts[i]);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    const int N = z->B * z->T;
    return ag_gather(ag_sample_x(g, z), ag_sample_ids(g, N, N, false), N);
}

static const char *arguments(const ag_node *node) {
    const attr *a = node->attr;
    return ag_text(node->graph, "\"rows\":%s", ag_text_ints(node->graph, (size_t)a->n, a->rows));
}

const ag_op ag_op_gather = {
    .name = "gather",
    .facts = AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "rows_of(x[0].reshape(-1, x[0].shape[-1]), rows)",
};

ag_node *ag_gather(ag_node *x, const int *rows, int n) {
    return ag_apply(&ag_op_gather, AG_IN(x), &(attr){rows, n}, sizeof(attr));
}
