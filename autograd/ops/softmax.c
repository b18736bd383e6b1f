/* softmax.c - y[s] = exp(x[s] - max) / sum over visible s of exp(x[s] - max), over the last
 * dimension.
 *   dx = y (dy - sum of y dy)
 * Masked entries are neither read nor written through: their weight is exactly 0. A row that sees
 * nothing (or only -infinity) is all zeros; NaN stays NaN. The query's number, which the mask
 * wants, is the index in the dimension before the last. */
#include <string.h>

#include "autograd/attend.h"
#include "autograd/row.h"

typedef struct {
    ag_mask mask;
} attr;

static bool shape(ag_node *node) {
    ag_mask m = ((const attr *)node->attr)->mask;
    tensor_shape x = node->in[0]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar has no rows");
    if ((m.causal || m.no_self) && x.rank < 2) return ag_fail(node, "this mask needs [..,T,S]");
    node->val.shape = x;
    return true;
}

static void forward(ag_node *node) {
    ag_mask mask = ((const attr *)node->attr)->mask;
    tensor_shape s = node->val.shape;
    int S = tensor_width(s), T = s.rank > 1 ? s.dim[s.rank - 2] : 1, begin[2], end[2];
    size_t rows = tensor_rows(s);
    for (size_t r = 0; r < rows; r++) {
        const real *x = node->in[0]->val.x + r * (size_t)S;
        real *y = node->val.x + r * (size_t)S, max = (real)-INFINITY, sum = 0;
        int ranges = ag_visible(mask, (int)(r % (size_t)T), S, begin, end);
        if (ranges != 1 || begin[0] != 0 || end[0] != S) memset(y, 0, (size_t)S * sizeof *y);
        for (int i = 0; i < ranges; i++) max = row_max(x + begin[i], end[i] - begin[i], max);
        if (max == (real)-INFINITY) {  // or NaN, which row_max passes over
            for (int i = 0; i < ranges; i++)
                for (int k = begin[i]; k < end[i]; k++) y[k] = x[k] == max ? 0 : x[k];
            continue;
        }
        for (int i = 0; i < ranges; i++)
            sum += row_exp(x + begin[i], end[i] - begin[i], max, y + begin[i]);
        for (int i = 0; i < ranges; i++) row_scale(y + begin[i], end[i] - begin[i], 1 / sum);
    }
}

static void backward(ag_node *node) {
    ag_mask mask = ((const attr *)node->attr)->mask;
    tensor_shape s = node->val.shape;
    int S = tensor_width(s), T = s.rank > 1 ? s.dim[s.rank - 2] : 1, begin[2], end[2];
    size_t rows = tensor_rows(s);
    bool first = false;
    real *DX = ag_grad_or_first(node->in[0], &first);
    for (size_t r = 0; r < rows; r++) {
        const real *y = node->val.x + r * (size_t)S, *dy = node->grad + r * (size_t)S;
        real *dx = DX + r * (size_t)S, mean = 0;
        int ranges = ag_visible(mask, (int)(r % (size_t)T), S, begin, end);
        if (first && (ranges != 1 || begin[0] != 0 || end[0] != S))
            memset(dx, 0, (size_t)S * sizeof *dx);
        for (int i = 0; i < ranges; i++)
            mean += row_dot(y + begin[i], dy + begin[i], end[i] - begin[i]);
        for (int i = 0; i < ranges; i++) ROW_EACH(k, end[i] - begin[i]) {
                const int n = end[i] - begin[i], at = begin[i];
                const vreal d = row_get(y + at, k, n, 0) * (row_get(dy + at, k, n, 0) - mean);
                row_put(dx + at, k, n, first ? d : row_get(dx + at, k, n, 0) + d);
            }
    }
}

static ag_node *sample(ag_graph *g, int i) {
    const struct {
        tensor_shape shape;
        ag_mask mask;
    } c[] = {{tensor_dims(1, 7), {0}},
             {tensor_dims(1, 1), {0}},
             {tensor_dims(2, 3, 17), {0}},
             {tensor_dims(3, 2, 3, 5), {.memory = 3}},
             {tensor_dims(4, 1, 2, 4, 4), {.causal = true}},
             {tensor_dims(3, 2, 5, 5), {.causal = true, .no_self = true}},
             {tensor_dims(3, 1, 4, 6), {.no_self = true}},
             {tensor_dims(2, 2, 33), {0}},
             {tensor_dims(2, 0, 4), {0}},
             {tensor_dims(2, 3, 0), {0}}};
    if (i >= 10) return NULL;
    return ag_softmax(ag_sample(g, AG_SAMPLE_NORMAL, c[i].shape), c[i].mask);
}

const ag_op ag_op_softmax = {"softmax", false, shape, forward, backward, sample};

ag_node *ag_softmax(ag_node *x, ag_mask mask) {
    return ag_apply(&ag_op_softmax, AG_IN(x), &(attr){mask}, sizeof(attr));
}
