/* label_smoothing.c - rows added up and added to in vectors. */
#include "autograd/fast.h"
#include "autograd/fast/row_math.h"

static void forward(ag_node *node) {
    const ag_targets_attr *a = node->attr;
    const int V = tensor_width(node->in[0]->val.shape);
    const size_t rows = tensor_rows(node->in[0]->val.shape);
    const int scored = ag_count_scored(node);
    if (scored < 0) return;
    double sum = 0;
    for (size_t r = 0; r < rows; r++) {
        if (a->targets[r] < 0) continue;
        const real *x = node->in[0]->val.x + r * (size_t)V;
        sum += (double)x[a->targets[r]] - (double)vec_sum(row_sum_parts(x, V, 0)) / V;
    }
    const double weight = a->weight ? (double)*a->weight : scored ? 1 / (double)scored : 0;
    node->save[0] = ag_get_run(node->graph).training ? (real)(a->p * weight) : 0;
    node->val.x[0] = node->save[0] != 0 ? (real)(sum * (double)node->save[0]) : 0;
}

static void backward(ag_node *node) {
    const ag_targets_attr *a = node->attr;
    const int V = tensor_width(node->in[0]->val.shape);
    const size_t rows = tensor_rows(node->in[0]->val.shape);
    const real each = node->grad[0] * node->save[0];
    real *DX = ag_grad(node->in[0]);
    for (size_t r = 0; r < rows; r++) {
        if (a->targets[r] < 0) continue;
        real *dx = DX + r * (size_t)V;
        // y += p weight (x[target] - mean of x)
        ROW_EACH(c, V) row_add(dx, c, V, vec_set(-each / (real)V));
        dx[a->targets[r]] += each;
    }
}

const ag_fast ag_fast_label_smoothing = {
    .op = &ag_op_label_smoothing,
    .forward = forward,
    .backward = backward,
};
