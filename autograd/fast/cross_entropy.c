/* cross_entropy.c - some rows at a time, in vectors.
 * With s the sum of exp(x - max) over all but the greatest, the loss of a row is (max - x[target]) +
 * log(1 + s), and the 1 - p of a target that is the greatest s / (1 + s): nothing cancels, so a row
 * that is nearly sure keeps its digits. */
#include "autograd/fast.h"
#include "autograd/fast/row_math.h"
#include "tensor/log.h"

// save: how many rows were scored, the weight used; softmax - onehot [rows,V], aligned; then s [rows].
enum { SCORED, WEIGHT, HEADER = 16 };

static size_t save(const ag_node *node) {
    return HEADER + node->in[0]->val.n + tensor_rows(node->in[0]->val.shape);
}

/* d = softmax(x) - onehot(target) of the next scored rows from *r on; `others` is left to be made
 * log(1 + s). Adds max - x[target] to the loss. */
static void some_rows(const ag_node *node, size_t *r, size_t rows, double *loss) {
    const int *targets = ((const ag_targets_attr *)node->attr)->targets,
              V = tensor_width(node->in[0]->val.shape);
    real *d = node->save + HEADER, *others = d + node->in[0]->val.n;
    row_soft s;
    size_t row[ROW_SOME];
    int n = 0;
    for (const int most = (int)row_some(V, rows); *r < rows && n < most; ++*r) {
        others[*r] = 0;
        if (targets[*r] < 0) continue;
        s.x[n] = node->in[0]->val.x + *r * (size_t)V;
        s.p[n] = d + *r * (size_t)V;
        row[n++] = *r;
    }
    row_softmax(&s, n, V);
    for (int k = 0; k < n; k++) {
        const int target = targets[row[k]];
        real *own = s.p[k] + target;
        *own = *own > (real)0.5 ? -(s.others[k] / (1 + s.others[k])) : *own - 1;
        others[row[k]] = s.others[k];
        *loss += (double)s.max[k] - (double)s.x[k][target];
    }
}

static void forward(ag_node *node) {
    const ag_targets_attr *a = node->attr;
    const size_t rows = tensor_rows(node->in[0]->val.shape);
    const int scored = ag_count_scored(node);
    if (scored < 0) return;
    const real *others = node->save + HEADER + node->in[0]->val.n;
    double loss = 0;
    for (size_t r = 0; r < rows;) some_rows(node, &r, rows, &loss);
    for (size_t r = 0; r < rows; r += VEC) {
        const int n = rows - r < VEC ? (int)(rows - r) : VEC;
        const vreal logs = vec_log1p(vec_load_upto(others + r, n, 0));
        for (int i = 0; i < n; i++) loss += (double)logs[i];
    }
    node->save[SCORED] = (real)scored;
    node->save[WEIGHT] = a->weight ? *a->weight : scored ? 1 / (real)scored : 0;
    node->val.x[0] = scored ? (real)(loss * (double)node->save[WEIGHT]) : 0;
}

static void backward(ag_node *node) {
    const ag_targets_attr *a = node->attr;
    const int V = tensor_width(node->in[0]->val.shape);
    const size_t rows = tensor_rows(node->in[0]->val.shape);
    const real each = node->grad[0] * node->save[WEIGHT];
    const real *d = node->save + HEADER;
    bool first = false;
    real *dx = ag_grad_or_first(node->in[0], &first);
    for (size_t r = 0; r < rows; r++, d += V, dx += V)
        if (a->targets[r] >= 0 && each != 0)  // loss += log sum exp x - x[target]
            ROW_EACH(c, V)
                row_put(dx, c, V,
                        (first ? vec_set(0) : row_get(dx, c, V, 0)) + each * row_get(d, c, V, 0));
        else if (first)
            row_zero(dx, V);
}

const ag_fast ag_fast_cross_entropy = {
    .op = &ag_op_cross_entropy,
    .forward = forward,
    .backward = backward,
    .save = save,
};
