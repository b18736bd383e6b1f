/* cross_entropy.c - y = weight * sum over scored rows r of (log sum_c exp x[r,c]) - x[r,target[r]].
 *   dx[r] = weight (softmax(x[r]) - onehot(target[r]))
 * With s the sum of exp(x - max) over all but the greatest, the loss of a row is (max - x[target]) +
 * log(1 + s), and the 1 - p of a target that is the greatest s / (1 + s): nothing cancels, so a row
 * that is nearly sure keeps its digits.
 * A target of -1 is not scored. `weight` points to the caller's number, read at every replay (1 /
 * scored rows of the whole batch, so that micro-batches add up to the batch's mean); NULL: 1 / scored
 * rows of this call. Nothing scored: 0. */
#include "autograd/attr.h"
#include "autograd/op.h"
#include "tensor/scalar.h"

// save: how many rows were scored, the weight used; then softmax(x) - onehot(target)
// [rows,V].
enum { SCORED, WEIGHT, HEADER };

static bool shape(ag_node *node) {
    tensor_shape x = node->in[0]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar is no row of logits");
    if (!((const ag_targets_attr *)node->attr)->targets && tensor_rows(x) > 0)
        return ag_fail(node, "targets is NULL");
    if (!ag_fits_int(node, tensor_rows(x), "rows")) return false;
    node->val.shape = tensor_dims(0);
    node->n_save = HEADER + node->in[0]->val.n;
    return true;
}

int ag_count_scored(ag_node *node) {
    const int V = tensor_width(node->in[0]->val.shape);
    const int *target = ((const ag_targets_attr *)node->attr)->targets;
    int scored = 0;
    for (size_t r = 0; r < tensor_rows(node->in[0]->val.shape); r++) {
        if (target[r] < -1 || target[r] >= V) {
            ag_fail(node, "target %d of row %zu is outside 0..%d", target[r], r, V - 1);
            return -1;
        }
        scored += target[r] >= 0;
    }
    return scored;
}

static void forward(ag_node *node) {
    const ag_targets_attr *a = node->attr;
    const int V = tensor_width(node->in[0]->val.shape), scored = ag_count_scored(node);
    if (scored < 0) return;
    const real *x = node->in[0]->val.x;
    real *d = node->save + HEADER;
    double loss = 0;
    for (size_t r = 0; r < tensor_rows(node->in[0]->val.shape); r++, x += V, d += V) {
        const int target = a->targets[r];
        if (target < 0) continue;
        int top = 0;
        for (int c = 0; c < V; c++)
            if (x[c] > x[top]) top = c;
        double others = 0;
        for (int c = 0; c < V; c++)
            if (c != top) others += tensor_exp((double)x[c] - (double)x[top]);
        for (int c = 0; c < V; c++)
            d[c] = (real)(tensor_exp((double)x[c] - (double)x[top]) / (1 + others) - (c == target));
        if (top == target) d[top] = (real)(-others / (1 + others));
        loss += (double)x[top] - (double)x[target] + tensor_log1p(others);
    }
    node->save[SCORED] = (real)scored;
    node->save[WEIGHT] = a->weight ? *a->weight : scored ? 1 / (real)scored : 0;
    node->val.x[0] = scored ? (real)(loss * (double)node->save[WEIGHT]) : 0;
}

static void backward(ag_node *node) {
    const int *target = ((const ag_targets_attr *)node->attr)->targets;
    const int V = tensor_width(node->in[0]->val.shape);
    const real each = node->grad[0] * node->save[WEIGHT], *d = node->save + HEADER;
    real *dx = ag_grad(node->in[0]);
    for (size_t r = 0; r < tensor_rows(node->in[0]->val.shape); r++, d += V, dx += V)
        for (int c = 0; target[r] >= 0 && c < V; c++)
            dx[c] += ag_cut(each, d[c]);  // loss += log sum exp x - x[target]
}

int ag_cross_entropy_scored(const ag_node *node) {
    return node && node->op && node->op->shape == shape ? (int)node->save[SCORED] : 0;
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

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    const tensor_shape s = tensor_dims(3, z->B, z->T, z->V);
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, s);
    return ag_cross_entropy(x, ag_sample_ids(g, z->B * z->T, z->V, false), NULL);
}

static const char *arguments(const ag_node *node) {
    const ag_targets_attr *a = node->attr;
    const size_t rows = tensor_rows(node->in[0]->val.shape);
    return ag_text(node->graph, "\"targets\":%s,%s", ag_text_ints(node->graph, rows, a->targets),
                   ag_text_weight(node->graph, a->weight));
}

const ag_op ag_op_cross_entropy = {
    .name = "cross_entropy",
    .facts = AG_NO_X | AG_NO_Y,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "cross_entropy(x[0], targets, weight)",
};

ag_node *ag_cross_entropy(ag_node *logits, const int *targets, const real *weight) {
    return ag_apply(&ag_op_cross_entropy, AG_IN(logits), &(ag_targets_attr){targets, weight, 0},
                    sizeof(ag_targets_attr));
}
