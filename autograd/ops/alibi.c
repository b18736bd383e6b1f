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

static ag_mask mask_of(const ag_node *node) { return ((const attr *)node->attr)->mask; }

static int cols(const ag_node *node, int t) {
    return ag_mask_limit(mask_of(node), t, node->val.shape.dim[3]);
}

static void forward(ag_node *node, const ag_band *b) {
    const ag_mask mask = ag_mask_of_plane(mask_of(node), node->val.shape, b->plane);
    const size_t H = (size_t)node->val.shape.dim[1];
    const real slope = (real)tensor_pow(2, -8.0 * (double)(b->plane % H + 1) / (double)H);
    const ag_strip x = ag_band_of(node->in[0], b), y = ag_band_of(node, b);
    for (int r = 0; r < b->n; r++)
        for (int s = 0; s < b->cols; s++)
            y.x[r * y.ld + s] = x.x[r * x.ld + s] - slope * (real)abs(mask.first + b->t + r - s);
    ag_clear_masked(mask, b, y);
}

static void backward(ag_node *node, const ag_band *b) {
    bool first;
    const ag_strip dy = ag_band_dy(node, b), dx = ag_band_grad(node->in[0], b, &first);
    ag_clear_masked(ag_mask_of_plane(mask_of(node), node->val.shape, b->plane), b,
                    dy);  // the constant 0 there has no gradient to pass on
    // y = x - slope |t - s|
    for (int r = 0; r < b->n; r++)
        for (int s = 0; s < b->cols; s++)
            dx.x[r * dx.ld + s] = (first ? 0 : dx.x[r * dx.ld + s]) + dy.x[r * dy.ld + s];
}

static const ag_by_rows by_rows = {.forward = forward, .backward = backward, .cols = cols};

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

static const char *arguments(const ag_node *node) { return ag_text_mask(node, mask_of(node)); }

const ag_op ag_op_alibi = {.name = "alibi",
                           .facts = AG_IN_PLACE | AG_NO_X | AG_NO_Y,
                           .shape = shape,
                           .forward = ag_rows_forward,
                           .backward = ag_rows_backward,
                           .sample = sample,
                           .rows = &by_rows,
                           .arguments = arguments};

ag_node *ag_alibi(ag_node *x, ag_mask mask) {
    return ag_apply(&ag_op_alibi, AG_IN(x), &(attr){mask}, sizeof(attr));
}
