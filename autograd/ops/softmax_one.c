/* softmax_one.c - y[s] = exp(x[s]) / (1 + sum over visible s of exp(x[s])), over the last dimension:
 * a softmax with one more place, of score 0, that holds nothing. Attention may look at nothing.
 *   dx = y (dy - sum of y dy), as for softmax
 * Computed as exp(x - m) / (exp(-m) + ...), m the greatest of 0 and the row. Masked entries are
 * neither read nor written through: their weight is 0, and so is a whole row that sees nothing.
 * Source: Miller, "Attention Is Off By One", 2023. */
#include "autograd/weigh.h"

static ag_node *sample(ag_graph *g, int i) { return ag_weigh_sample(g, ag_softmax_one, i); }

const ag_op ag_op_softmax_one = {
    .name = "softmax_one",
    .facts = AG_IN_PLACE | AG_NO_X,
    .shape = ag_weigh_shape,
    .forward = ag_rows_forward,
    .backward = ag_rows_backward,
    .sample = sample,
    .rows = &ag_weigh_by_rows,
    .arguments = ag_weigh_arguments,
};

ag_node *ag_softmax_one(ag_node *x, ag_mask mask) {
    const ag_weights attr = {mask, 0};
    return ag_apply(&ag_op_softmax_one, AG_IN(x), &attr, sizeof attr);
}
