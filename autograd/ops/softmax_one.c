/* softmax_one.c - y[s] = exp(x[s]) / (1 + sum over visible s of exp(x[s])), over the last dimension:
 * a softmax with one more place, of score 0, that holds nothing. Attention may look at nothing.
 *   dx = y (dy - sum of y dy), as for softmax
 * Computed as exp(x - m) / (exp(-m) + ...), m the greatest of 0 and the row. Masked entries are
 * neither read nor written through: their weight is 0, and so is a whole row that sees nothing.
 * Source: Miller, "Attention Is Off By One", 2023. */
#include "autograd/weigh.h"

typedef struct {
    ag_mask mask;
} attr;

static ag_mask mask_of(const ag_node *node) { return ((const attr *)node->attr)->mask; }
static bool shape(ag_node *node) { return ag_weigh_shape(node, mask_of(node)); }
static int cols(const ag_node *node, int t) { return ag_weigh_cols(node, mask_of(node), t); }

static void forward(ag_node *node, const ag_band *b) {
    ag_weigh_band(ag_band_of(node->in[0], b), b,
                  ag_mask_of_plane(mask_of(node), node->val.shape, b->plane), 0,
                  ag_band_of(node, b), ag_kept_rows(node, b));
}

static void backward(ag_node *node, const ag_band *b) {
    bool first;
    const ag_strip y = ag_band_of(node, b), dy = ag_band_dy(node, b);
    const ag_strip dx = ag_band_grad(node->in[0], b, &first);
    ag_weigh_back(y, dy, b, ag_mask_of_plane(mask_of(node), node->val.shape, b->plane), first, dx);
}

static const ag_by_rows by_rows = {.forward = forward,
                                   .backward = backward,
                                   .cols = cols,
                                   .keeps = 2,
                                   .in_place = true,
                                   .reads_y = true};

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

static const char *arguments(const ag_node *node) { return ag_text_mask(node, mask_of(node)); }

const ag_op ag_op_softmax_one = {.name = "softmax_one",
                                 .shape = shape,
                                 .forward = ag_rows_forward,
                                 .backward = ag_rows_backward,
                                 .sample = sample,
                                 .rows = &by_rows,
                                 .arguments = arguments};

ag_node *ag_softmax_one(ag_node *x, ag_mask mask) {
    return ag_apply(&ag_op_softmax_one, AG_IN(x), &(attr){mask}, sizeof(attr));
}
