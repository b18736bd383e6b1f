/* alibi.c - positions as a handicap: y[b,h,t,s] = x[b,h,t,s] - m_h |t - s|, m_h = 2^(-8 (h+1) / H);
 * 0 where the mask hides s from t.        dx = dy where visible
 * The further away a key stands, the lower its score; each head has a slope of its own, none of them
 * learned. Source: Press et al., "Train Short, Test Long: Attention with Linear Biases Enables Input
 * Length Extrapolation", 2022, section 3 (there H is a power of two). */
#include <stdlib.h>

#include "autograd/op.h"
#include "tensor/scalar.h"

static bool shape(ag_node *node) {
    const tensor_shape x = node->in[0]->val.shape;
    if (x.rank != 4) return ag_fail(node, "scores must be [B,H,T,S]");
    node->val.shape = x;
    return ag_mask_fits(node, *(const ag_mask *)node->attr, x);
}

static void forward(ag_node *node) {
    const tensor_shape dim = node->val.shape;  // [B,H,T,S]
    const int H = dim.dim[1], T = dim.dim[2], S = dim.dim[3];
    const real *x = node->in[0]->val.x;
    real *y = node->val.x;
    for (size_t row = 0; row < tensor_rows(dim); row++, x += S, y += S) {
        const ag_mask mask = ag_mask_of_row(*(const ag_mask *)node->attr, dim, row);
        const int h = (int)(row / (size_t)T % (size_t)H);
        const real slope = (real)tensor_pow(2, -8.0 * (h + 1) / H);
        for (int s = 0; s < S; s++)
            y[s] = ag_sees(mask, s, S) ? x[s] - slope * (real)abs(mask.first - s) : 0;
    }
}

static void backward(ag_node *node) {
    const tensor_shape dim = node->val.shape;
    const int S = tensor_width(dim);
    const real *dy = node->grad;
    real *dx = ag_grad(node->in[0]);
    for (size_t row = 0; row < tensor_rows(dim); row++, dx += S, dy += S) {
        const ag_mask mask = ag_mask_of_row(*(const ag_mask *)node->attr, dim, row);
        // y[s] = x[s] - slope |t - s|
        for (int s = 0; s < S; s++)
            if (ag_sees(mask, s, S)) dx[s] += dy[s];
    }
}

static ag_node *sample(ag_graph *g, int i) {
    const struct {
        tensor_shape shape;
        ag_mask mask;
    } c[] = {
        {tensor_dims(4, 1, 1, 1, 1), {0}},
        {tensor_dims(4, 2, 3, 4, 5), {0}},
        {tensor_dims(4, 1, 2, 4, 4), {.causal = true}},
        {tensor_dims(4, 1, 2, 5, 5), {.causal = true, .no_self = true}},
        {tensor_dims(4, 2, 1, 3, 6), {.memory = 4}},
        {tensor_dims(4, 1, 2, 3, 0), {0}},
        {tensor_dims(4, 3, 2, 3, 5), {.length = ag_sample_lengths(g, 3, 5)}},
        {tensor_dims(4, 1, 2, 2, 5), {.causal = true, .first = 2}},
        {tensor_dims(4, 2, 2, 3, 7), {.causal = true, .places = ag_sample_places(g, 2, 3, 7)}}};
    if (i >= (int)(sizeof c / sizeof *c)) return NULL;
    return ag_alibi(ag_sample(g, AG_SAMPLE_NORMAL, c[i].shape), c[i].mask);
}

static const char *arguments(const ag_node *node) {
    return ag_text_mask(node, *(const ag_mask *)node->attr);
}

const ag_op ag_op_alibi = {
    .name = "alibi",
    .facts = AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .arguments = arguments,
};

ag_node *ag_alibi(ag_node *x, ag_mask mask) {
    return ag_apply(&ag_op_alibi, AG_IN(x), &mask, sizeof mask);
}
