/* softmax_one.c - y[s] = exp(x[s]) / (1 + sum over visible s of exp(x[s])), over the last dimension:
 * a softmax with one more place, of score 0, that holds nothing. Attention may look at nothing.
 *   dx = y (dy - sum of y dy), as for softmax
 * Computed as exp(x - m) / (exp(-m) + ...), m the greatest of 0 and the row. Masked entries are
 * neither read nor written through: their weight is 0, and so is a whole row that sees nothing.
 * Source: Miller, "Attention Is Off By One", 2023. */
#include "autograd/attend.h"
#include "autograd/row.h"

typedef struct {
    ag_mask mask;
} attr;

static bool shape(ag_node *node) {
    const ag_mask m = ((const attr *)node->attr)->mask;
    const tensor_shape x = node->in[0]->val.shape;
    if (x.rank < 1) return ag_fail(node, "a scalar has no rows");
    if (!ag_mask_fits(node, m, x)) return false;
    node->val.shape = x;
    return true;
}

static void row(const real *x, int S, ag_mask mask, int t, real *y) {
    int begin[2], end[2], ranges = ag_visible(mask, t, S, begin, end);
    real max = 0;
    for (int i = 0; i < ranges; i++) max = row_max(x + begin[i], end[i] - begin[i], max);
    real sum = vec_exp(vec_set(-max))[0];
    row_zero(y, S);
    for (int i = 0; i < ranges; i++)
        sum += row_exp(x + begin[i], end[i] - begin[i], max, y + begin[i], end[i] - begin[i]);
    row_scale(y, S, 1 / sum);
}

static void forward(ag_node *node) {
    const ag_mask mask = ((const attr *)node->attr)->mask;
    const tensor_shape s = node->val.shape;
    const int S = tensor_width(s), T = s.rank > 1 ? s.dim[s.rank - 2] : 1;
    for (size_t r = 0, rows = tensor_rows(s); r < rows; r++)
        row(node->in[0]->val.x + r * (size_t)S, S, ag_mask_at(mask, s, r), (int)(r % (size_t)T),
            node->val.x + r * (size_t)S);
}

static void backward(ag_node *node) {
    const ag_mask mask = ((const attr *)node->attr)->mask;
    const tensor_shape shape = node->val.shape;
    const int S = tensor_width(shape), T = shape.rank > 1 ? shape.dim[shape.rank - 2] : 1;
    real *DX = ag_grad(node->in[0]);
    for (size_t r = 0, rows = tensor_rows(shape); r < rows; r++) {
        const real *y = node->val.x + r * (size_t)S, *dy = node->grad + r * (size_t)S;
        real *dx = DX + r * (size_t)S, mean = 0;
        const ag_mask seen = ag_mask_at(mask, shape, r);
        int begin[2], end[2], ranges = ag_visible(seen, (int)(r % (size_t)T), S, begin, end);
        for (int i = 0; i < ranges; i++)
            mean += row_cut_dot(dy + begin[i], y + begin[i], end[i] - begin[i]);
        // y[s] = exp(x[s]) / (1 + sum of exp x)
        for (int i = 0; i < ranges; i++) ROW_EACH(k, end[i] - begin[i]) {
                const int n = end[i] - begin[i], at = begin[i];
                row_add(dx + at, k, n,
                        vec_cut(row_get(dy + at, k, n, 0) - mean, row_get(y + at, k, n, 0)));
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
             {tensor_dims(2, 0, 4), {0}},
             {tensor_dims(2, 3, 0), {0}},
             {tensor_dims(4, 3, 2, 3, 5), {.length = ag_sample_lengths(g, 3, 5)}}};
    if (i >= 9) return NULL;
    return ag_softmax_one(ag_sample(g, AG_SAMPLE_NORMAL, c[i].shape), c[i].mask);
}

static const char *arguments(const ag_node *node) {
    return ag_text_mask(node, ((const attr *)node->attr)->mask);
}

const ag_op ag_op_softmax_one = {.name = "softmax_one",
                                 .shape = shape,
                                 .forward = forward,
                                 .backward = backward,
                                 .sample = sample,
                                 .arguments = arguments};

ag_node *ag_softmax_one(ag_node *x, ag_mask mask) {
    return ag_apply(&ag_op_softmax_one, AG_IN(x), &(attr){mask}, sizeof(attr));
}
