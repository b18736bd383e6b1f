/* label_smoothing.c - what smoothed labels add to cross_entropy(logits, targets, weight):
 *     y = p weight * sum over scored rows r of x[r,target[r]] - mean over c of x[r,c]
 *   dx[r] = p weight (onehot(target[r]) - 1/V)
 * The sum of both is the cross-entropy against targets of 1 - p + p/V on the right class and p/V on
 * every other one: the logarithm of the softmax's sum is the same for every target, and drops out.
 * Only while training (ag_set_run()); else y = 0, so that what is measured is the plain loss.
 * Targets and weight as for cross_entropy. Source: Szegedy et al., "Rethinking the Inception
 * Architecture for Computer Vision", 2016, section 7. */
#include "autograd/attr.h"
#include "autograd/op.h"

static bool shape(ag_node *node) {
    const double p = ((const ag_targets_attr *)node->attr)->p;
    const tensor_shape x = node->in[0]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar is no row of logits");
    if (!((const ag_targets_attr *)node->attr)->targets && tensor_rows(x) > 0)
        return ag_fail(node, "targets is NULL");
    if (!(p >= 0 && p <= 1)) return ag_fail(node, "probability %g is outside [0,1]", p);
    if (!ag_fits_int(node, tensor_rows(x), "rows")) return false;
    node->val.shape = tensor_dims(0);
    node->n_save = 1;  // p weight, or 0
    return true;
}

static void forward(ag_node *node) {
    const ag_targets_attr *a = node->attr;
    const int V = tensor_width(node->in[0]->val.shape), scored = ag_count_scored(node);
    if (scored < 0) return;
    const real *x = node->in[0]->val.x;
    double sum = 0;
    for (size_t r = 0; r < tensor_rows(node->in[0]->val.shape); r++, x += V) {
        if (a->targets[r] < 0) continue;
        sum += (double)x[a->targets[r]];
        for (int c = 0; c < V; c++) sum -= (double)x[c] / V;
    }
    const double weight = a->weight ? (double)*a->weight : scored ? 1 / (double)scored : 0;
    node->save[0] = ag_get_run(node->graph).training ? (real)(a->p * weight) : 0;
    node->val.x[0] = node->save[0] != 0 ? (real)(sum * (double)node->save[0]) : 0;
}

static void backward(ag_node *node) {
    const int *target = ((const ag_targets_attr *)node->attr)->targets;
    const int V = tensor_width(node->in[0]->val.shape);
    const real each = node->grad[0] * node->save[0];
    real *dx = ag_grad(node->in[0]);
    for (size_t r = 0; r < tensor_rows(node->in[0]->val.shape); r++, dx += V)
        for (int c = 0; target[r] >= 0 && c < V; c++)
            // y += p weight (x[target] - mean of x)
            dx[c] += (c == target[r] ? each : 0) - each / (real)V;
}

static ag_node *sample(ag_graph *g, int i) {
    static const real weight = (real)0.3;
    const tensor_shape shapes[] = {tensor_dims(2, 5, 4),     tensor_dims(1, 7),
                                   tensor_dims(3, 2, 3, 17), tensor_dims(2, 3, 1),
                                   tensor_dims(2, 0, 4),     tensor_dims(2, 3, 5)};
    if (i >= 6) return NULL;
    ag_set_run(g, (ag_run){.training = i != 5});
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, shapes[i]);
    const int *targets =
        ag_sample_ids(g, (int)tensor_rows(shapes[i]), tensor_width(shapes[i]), i % 2 == 0);
    return ag_label_smoothing(x, targets, i < 2 ? NULL : &weight, 0.2);
}

static const char *arguments(const ag_node *node) {
    const ag_targets_attr *a = node->attr;
    const size_t rows = tensor_rows(node->in[0]->val.shape);
    return ag_text(node->graph, "\"targets\":%s,\"p\":%.17g,%s",
                   ag_text_ints(node->graph, rows, a->targets), a->p,
                   ag_text_weight(node->graph, a->weight));
}

const ag_op ag_op_label_smoothing = {.name = "label_smoothing",
                                     .facts = AG_NO_X | AG_NO_Y | AG_LINEAR,
                                     .shape = shape,
                                     .forward = forward,
                                     .backward = backward,
                                     .sample = sample,
                                     .arguments = arguments};

ag_node *ag_label_smoothing(ag_node *logits, const int *targets, const real *weight, double p) {
    return ag_apply(&ag_op_label_smoothing, AG_IN(logits), &(ag_targets_attr){targets, weight, p},
                    sizeof(ag_targets_attr));
}
