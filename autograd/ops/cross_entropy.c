/* cross_entropy.c - y = weight * sum over scored rows r of (log sum_c exp x[r,c]) - x[r,target[r]].
 *   dx[r] = weight (softmax(x[r]) - onehot(target[r]))
 * A target of -1 is not scored. `weight` points to the caller's number, read at every replay (1 /
 * scored rows of the whole batch, so that shards add up to the batch's mean); NULL: 1 / scored
 * rows of this call. Nothing scored: 0. */
#include "autograd/op.h"
#include "autograd/row.h"

typedef struct {
    const int *targets;  // the caller's, [rows]
    const real *weight;
} attr;

enum {
    SCORED,
    WEIGHT,
    HEADER
};  // save: how many rows were scored, the weight used, then softmax [rows,V]

static bool shape(ag_node *node) {
    tensor_shape x = node->in[0]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar is no row of logits");
    if (!ag_fits_int(node, tensor_rows(x), "rows")) return false;
    node->val.shape = tensor_dims(0);
    node->n_save = HEADER + node->in[0]->val.n;
    return true;
}

static void forward(ag_node *node) {
    const attr *a = node->attr;
    int V = tensor_width(node->in[0]->val.shape), scored = 0;
    size_t rows = tensor_rows(node->in[0]->val.shape);
    for (size_t r = 0; r < rows; r++) {
        if (a->targets[r] < -1 || a->targets[r] >= V) {
            ag_fail(node, "target %d of row %zu is outside 0..%d", a->targets[r], r, V - 1);
            return;
        }
        scored += a->targets[r] >= 0;
    }
    double loss = 0;
    for (size_t r = 0; r < rows; r++) {
        if (a->targets[r] < 0) continue;
        const real *x = node->in[0]->val.x + r * (size_t)V;
        real max, sum = row_softmax(x, V, node->save + HEADER + r * (size_t)V, &max);
        loss += (double)real_log(sum) + ((double)max - (double)x[a->targets[r]]);
    }
    node->save[SCORED] = (real)scored;
    node->save[WEIGHT] = a->weight ? *a->weight : scored ? 1 / (real)scored : 0;
    node->val.x[0] = scored ? (real)(loss * (double)node->save[WEIGHT]) : 0;
}

static void backward(ag_node *node) {
    const attr *a = node->attr;
    int V = tensor_width(node->in[0]->val.shape);
    size_t rows = tensor_rows(node->in[0]->val.shape);
    const real each = node->grad[0] * node->save[WEIGHT];
    real *DX = ag_grad(node->in[0]);
    for (size_t r = 0; r < rows; r++) {
        if (a->targets[r] < 0) continue;
        const real *p = node->save + HEADER + r * (size_t)V;
        real *dx = DX + r * (size_t)V;
        // loss += log sum exp x - x[target]
        ROW_EACH(c, V) row_add(dx, c, V, each * row_get(p, c, V, 0));
        dx[a->targets[r]] -= each;
    }
}

int ag_cross_entropy_scored(const ag_node *node) {
    return node->op && node->op->shape == shape ? (int)node->save[SCORED] : 0;
}

static ag_node *sample(ag_graph *g, int i) {
    static const real weight = (real)0.3;
    const tensor_shape shapes[] = {tensor_dims(2, 5, 4),     tensor_dims(1, 7),
                                   tensor_dims(3, 2, 3, 17), tensor_dims(2, 3, 1),
                                   tensor_dims(2, 6, 3),     tensor_dims(2, 0, 4)};
    if (i >= 6) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, shapes[i]);
    const int *targets =
        ag_sample_ids(g, (int)tensor_rows(shapes[i]), tensor_width(shapes[i]), i % 2 == 0);
    return ag_cross_entropy(x, targets, i < 3 ? NULL : &weight);
}

const ag_op ag_op_cross_entropy = {"cross_entropy", false, shape, forward, backward, sample, NULL};

ag_node *ag_cross_entropy(ag_node *logits, const int *targets, const real *weight) {
    return ag_apply(&ag_op_cross_entropy, AG_IN(logits), &(attr){targets, weight}, sizeof(attr));
}
