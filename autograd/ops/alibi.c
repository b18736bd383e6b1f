/* alibi.c - positions as a handicap: y[b,h,t,s] = x[b,h,t,s] - m_h |t - s|, m_h = 2^(-8 (h+1) / H);
 * 0 where the mask hides s from t.        dx = dy where visible
 * The further away a key stands, the lower its score; each head has a slope of its own, none of them
 * learned. Source: Press et al., "Train Short, Test Long: Attention with Linear Biases Enables Input
 * Length Extrapolation", 2022, section 3 (there H is a power of two). */
#include <stdlib.h>

#include "autograd/attend.h"
#include "tensor/scalar.h"

typedef struct {
    ag_mask mask;
} attr;

static bool shape(ag_node *node) {
    const tensor_shape x = node->in[0]->val.shape;
    if (x.rank != 4) return ag_fail(node, "scores must be [B,H,T,S]");
    node->val.shape = x;
    return true;
}

/* y = x - slope |t - s|, of one [T,S] plane whose first query stands at `first`. */
static void plane(const real *x, int first, int T, int S, real slope, real *y) {
    for (int t = first; t < first + T; t++)
        for (int s = 0; s < S; s++, x++, y++) *y = *x - slope * (real)abs(t - s);
}

static void forward(ag_node *node) {
    const ag_mask mask = ((const attr *)node->attr)->mask;
    const int *dim = node->val.shape.dim, B = dim[0], H = dim[1], T = dim[2], S = dim[3];
    for (int h = 0; h < H; h++) {
        const real slope = (real)tensor_pow(2, -8.0 * (h + 1) / H);
        for (int b = 0; b < B; b++) {
            const size_t at = ((size_t)b * (size_t)H + (size_t)h) * (size_t)T * (size_t)S;
            plane(node->in[0]->val.x + at, mask.first, T, S, slope, node->val.x + at);
            ag_clear_masked(ag_mask_row(mask, b), T, S, node->val.x + at);
        }
    }
}

static void backward(ag_node *node) {
    const ag_mask mask = ((const attr *)node->attr)->mask;
    const tensor_shape shape = node->val.shape;
    const int T = shape.dim[2], S = shape.dim[3];
    real *DX = ag_grad(node->in[0]);
    for (size_t r = 0, rows = tensor_rows(shape); r < rows; r++) {
        const real *dy = node->grad + r * (size_t)S;
        real *dx = DX + r * (size_t)S;
        const ag_mask seen = ag_mask_at(mask, shape, r);
        int begin[2], end[2], ranges = ag_visible(seen, (int)(r % (size_t)T), S, begin, end);
        // y[s] = x[s] - m |t - s|
        for (int i = 0; i < ranges; i++)
            for (int s = begin[i]; s < end[i]; s++) dx[s] += dy[s];
    }
}

static ag_node *sample(ag_graph *g, int i) {
    const struct {
        tensor_shape shape;
        ag_mask mask;
    } c[] = {{tensor_dims(4, 1, 1, 1, 1), {0}},
             {tensor_dims(4, 2, 3, 4, 5), {0}},
             {tensor_dims(4, 1, 2, 4, 4), {.causal = true}},
             {tensor_dims(4, 1, 2, 5, 5), {.causal = true, .no_self = true}},
             {tensor_dims(4, 2, 1, 3, 6), {.memory = 4}},
             {tensor_dims(4, 1, 2, 3, 0), {0}},
             {tensor_dims(4, 3, 2, 3, 5), {.length = ag_sample_lengths(g, 3, 5)}},
             {tensor_dims(4, 1, 2, 2, 5), {.causal = true, .first = 2}}};
    if (i >= 8) return NULL;
    return ag_alibi(ag_sample(g, AG_SAMPLE_NORMAL, c[i].shape), c[i].mask);
}

static const char *arguments(const ag_node *node) {
    return ag_text_mask(node, ((const attr *)node->attr)->mask);
}

const ag_op ag_op_alibi = {.name = "alibi",
                           .shape = shape,
                           .forward = forward,
                           .backward = backward,
                           .sample = sample,
                           .arguments = arguments};

ag_node *ag_alibi(ag_node *x, ag_mask mask) {
    return ag_apply(&ag_op_alibi, AG_IN(x), &(attr){mask}, sizeof(attr));
}
