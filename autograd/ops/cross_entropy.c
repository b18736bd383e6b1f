/* cross_entropy.c - y = weight * sum over scored rows r of (log sum_c exp x[r,c]) - x[r,target[r]].
 *   dx[r] = weight (softmax(x[r]) - onehot(target[r]))
 * With s the sum of exp(x - max) over all but the greatest, the loss of a row is (max - x[target]) +
 * log(1 + s), and the 1 - p of a target that is the greatest s / (1 + s): nothing cancels, so a row
 * that is nearly sure keeps its digits.
 * A target of -1 is not scored. `weight` points to the caller's number, read at every replay (1 /
 * scored rows of the whole batch, so that micro-batches add up to the batch's mean); NULL: 1 / scored
 * rows of this call. Nothing scored: 0. */
#include "autograd/op.h"
#include "autograd/row.h"
#include "tensor/log.h"

typedef struct {
    const int *targets;  // the caller's, [rows]
    const real *weight;
} attr;

// save: how many rows were scored, the weight used; softmax - onehot [rows,V], aligned; then s [rows].
enum { SCORED, WEIGHT, HEADER = 16 };

static bool shape(ag_node *node) {
    tensor_shape x = node->in[0]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar is no row of logits");
    if (!((const attr *)node->attr)->targets && tensor_rows(x) > 0)
        return ag_fail(node, "targets is NULL");
    if (!ag_fits_int(node, tensor_rows(x), "rows")) return false;
    node->val.shape = tensor_dims(0);
    node->n_save = HEADER + node->in[0]->val.n + tensor_rows(x);
    return true;
}

static bool targets_in_range(ag_node *node, size_t rows, int V, int *scored) {
    const attr *a = node->attr;
    *scored = 0;
    for (size_t r = 0; r < rows; r++) {
        if (a->targets[r] < -1 || a->targets[r] >= V)
            return ag_fail(node, "target %d of row %zu is outside 0..%d", a->targets[r], r, V - 1);
        *scored += a->targets[r] >= 0;
    }
    return true;
}

/* d = softmax(x) - onehot(target) of the next scored rows from *r on; `others` is left to be made
 * log(1 + s). Adds max - x[target] to the loss. */
static void some_rows(const ag_node *node, size_t *r, size_t rows, double *loss) {
    const int *targets = ((const attr *)node->attr)->targets,
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
    const attr *a = node->attr;
    const int V = tensor_width(node->in[0]->val.shape);
    const size_t rows = tensor_rows(node->in[0]->val.shape);
    int scored;
    if (!targets_in_range(node, rows, V, &scored)) return;
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
    const attr *a = node->attr;
    const int V = tensor_width(node->in[0]->val.shape);
    const size_t rows = tensor_rows(node->in[0]->val.shape);
    const real each = node->grad[0] * node->save[WEIGHT];
    const real *d = node->save + HEADER;
    bool first = false;
    real *dx = ag_grad_or_first(node->in[0], &first);
    for (size_t r = 0; r < rows; r++, d += V, dx += V)
        if (a->targets[r] >= 0 && each != 0)  // loss += log sum exp x - x[target]
            ROW_EACH(c, V)
    row_put(dx, c, V, (first ? vec_set(0) : row_get(dx, c, V, 0)) + each * row_get(d, c, V, 0));
    else if (first) row_zero(dx, V);
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
    const attr *a = node->attr;
    const size_t rows = tensor_rows(node->in[0]->val.shape);
    return ag_text(node->graph, "\"targets\":%s,%s", ag_text_ints(node->graph, rows, a->targets),
                   ag_text_weight(node->graph, a->weight));
}

const ag_op ag_op_cross_entropy = {
    .name = "cross_entropy",
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "cross_entropy(x[0], targets, weight)",
};

ag_node *ag_cross_entropy(ag_node *logits, const int *targets, const real *weight) {
    return ag_apply(&ag_op_cross_entropy, AG_IN(logits), &(attr){targets, weight}, sizeof(attr));
}
