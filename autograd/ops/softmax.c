/* softmax.c - y[s] = exp(x[s] - max) / sum over visible s of exp(x[s] - max), over the last
 * dimension.
 *   dx = y (dy - sum of y dy)
 * Masked entries are neither read nor written through: their weight is exactly 0. A row that sees
 * nothing (or only -infinity) is all zeros; NaN stays NaN. The query's number, which the mask
 * wants, is the index in the dimension before the last; the batch row is that in the first. */
#include "autograd/weigh.h"

static ag_node *sample(ag_graph *g, int i) { return ag_weigh_sample(g, ag_softmax, i); }

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    const tensor_shape s = tensor_dims(4, z->B, z->H, z->T, z->T);
    return ag_softmax(ag_sample(g, AG_SAMPLE_NORMAL, s), (ag_mask){.causal = true});
}

const ag_op ag_op_softmax = {
    .name = "softmax",
    .facts = AG_IN_PLACE | AG_NO_X,
    .shape = ag_weigh_shape,
    .forward = ag_rows_forward,
    .backward = ag_rows_backward,
    .sample = sample,
    .rows = &ag_weigh_by_rows,
    .timed = timed,
    .arguments = ag_weigh_arguments,
    .torch = "softmax(x[0], mask)",
};

ag_node *ag_softmax(ag_node *x, ag_mask mask) {
    const ag_weights attr = {mask, (real)-INFINITY};
    return ag_apply(&ag_op_softmax, AG_IN(x), &attr, sizeof attr);
}
