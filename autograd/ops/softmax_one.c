/* softmax_one.c - y[s] = exp(x[s]) / (1 + sum over visible s of exp(x[s])), over the last dimension:
 * a softmax with one more place, of score 0, that holds nothing. Attention may look at nothing.
 *   dx = y (dy - sum of y dy), as for softmax
 * Computed as exp(x - m) / (exp(-m) + ...), m the greatest of 0 and the row. Masked entries are
 * neither read nor written through: their weight is 0, and so is a whole row that sees nothing.
 * Source: Miller, "Attention Is Off By One", 2023. */
#include "autograd/op.h"
#include "tensor/scalar.h"

static void forward(ag_node *node) {
    const tensor_shape dim = node->val.shape;
    const int S = tensor_width(dim);
    const real *x = node->in[0]->val.x;
    real *y = node->val.x;
    for (size_t row = 0; row < tensor_rows(dim); row++, x += S, y += S) {
        const ag_mask mask = ag_mask_of_row(*(const ag_mask *)node->attr, dim, row);
        real max = 0;
        for (int s = 0; s < S; s++)
            if (ag_sees(mask, s, S) && x[s] > max) max = x[s];
        real sum = (real)tensor_exp(-(double)max);  // of the place that holds nothing
        for (int s = 0; s < S; s++) {
            y[s] = ag_sees(mask, s, S) ? (real)tensor_exp((double)(x[s] - max)) : 0;
            sum += y[s];
        }
        for (int s = 0; s < S; s++)
            if (ag_sees(mask, s, S)) y[s] /= sum;
    }
}

static bool shape(ag_node *node) { return ag_op_softmax.shape(node); }
static void backward(ag_node *node) { ag_op_softmax.backward(node); }
static ag_node *sample(ag_graph *g, int i) { return ag_sample_masked(g, ag_softmax_one, i); }
static const char *arguments(const ag_node *node) { return ag_op_softmax.arguments(node); }

const ag_op ag_op_softmax_one = {
    .name = "softmax_one",
    .facts = AG_NO_X,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .arguments = arguments,
};

ag_node *ag_softmax_one(ag_node *x, ag_mask mask) {
    return ag_apply(&ag_op_softmax_one, AG_IN(x), &mask, sizeof mask);
}
