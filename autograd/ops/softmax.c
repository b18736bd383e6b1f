/* softmax.c - the weights of attention: y[s] = exp(x[s] - max) / sum over r of exp(x[r] - max), over the
 * last dimension.
 *   dx[s] = y[s] (dy[s] - sum over r of y[r] dy[r])
 * Each row sees the places s that the mask lets it see; all others get weight 0 and are never read. A
 * row that sees nothing, or only -infinity, is all zeros; NaN stays NaN. The query's number, which the
 * mask wants, is the index in the dimension before the last; the batch row is that in the first. */
#include "autograd/op.h"
#include "tensor/scalar.h"

static bool shape(ag_node *node) {
    node->val.shape = node->in[0]->val.shape;
    if (node->val.shape.rank < 1) return ag_fail(node, "a scalar has no rows");
    return ag_mask_fits(node, *(const ag_mask *)node->attr, node->val.shape);
}

static void forward(ag_node *node) {
    const tensor_shape dim = node->val.shape;
    const int S = tensor_width(dim);
    const real *x = node->in[0]->val.x;
    real *y = node->val.x;
    for (size_t row = 0; row < tensor_rows(dim); row++, x += S, y += S) {
        const ag_mask mask = ag_mask_of_row(*(const ag_mask *)node->attr, dim, row);
        real max = (real)-INFINITY, sum = 0;
        for (int s = 0; s < S; s++)
            if (ag_sees(mask, s, S) && x[s] > max) max = x[s];
        if (max == (real)-INFINITY) max = 0;  // nothing, or only -infinity: all exponentials are 0
        for (int s = 0; s < S; s++) {
            y[s] = ag_sees(mask, s, S) ? (real)tensor_exp((double)(x[s] - max)) : 0;
            sum += y[s];
        }
        for (int s = 0; s < S; s++)
            if (ag_sees(mask, s, S) && sum != 0) y[s] /= sum;
    }
}

static void backward(ag_node *node) {
    const tensor_shape dim = node->val.shape;
    const int S = tensor_width(dim);
    const real *y = node->val.x, *dy = node->grad;
    real *dx = ag_grad(node->in[0]);
    for (size_t row = 0; row < tensor_rows(dim); row++, y += S, dy += S, dx += S) {
        const ag_mask mask = ag_mask_of_row(*(const ag_mask *)node->attr, dim, row);
        real mean = 0;  // of dy, as attention weighs it
        for (int s = 0; s < S; s++)
            if (ag_sees(mask, s, S)) mean += ag_cut(dy[s], y[s]);
        // y[s] = exp(x[s]) / sum of exp(x)
        for (int s = 0; s < S; s++)
            if (ag_sees(mask, s, S)) dx[s] += ag_cut(dy[s] - mean, y[s]);
    }
}

static ag_node *sample(ag_graph *g, int i) { return ag_sample_masked(g, ag_softmax, i); }

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    const tensor_shape s = tensor_dims(4, z->B, z->H, z->T, z->T);
    return ag_softmax(ag_sample(g, AG_SAMPLE_NORMAL, s), (ag_mask){.causal = true});
}

static const char *arguments(const ag_node *node) {
    return ag_text_mask(node, *(const ag_mask *)node->attr);
}

const ag_op ag_op_softmax = {
    .name = "softmax",
    .facts = AG_NO_X,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "softmax(x[0], mask)",
};

ag_node *ag_softmax(ag_node *x, ag_mask mask) {
    return ag_apply(&ag_op_softmax, AG_IN(x), &mask, sizeof mask);
}
