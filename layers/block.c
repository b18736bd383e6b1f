/* block.c - one Transformer layer        x: [B,T,D], memory: [B,S,D] or NULL -> [B,T,D]
 * Sublayers: attention within the sequence, attention to the memory, feed-forward; each only if
 * configured. */
#include "autograd/sample.h"
#include "layers/affine.h"

ag_node *nn_rows(ag_node *x, const nn_asked *asked) {
    const tensor_shape s = x ? x->val.shape : (tensor_shape){0};
    if (!asked || s.rank != 3) return x;
    ag_node *rows = ag_gather(x, asked->row, s.dim[0] * asked->n);
    return ag_reshape(rows, tensor_dims(3, s.dim[0], asked->n, s.dim[2]));
}

static ag_places places_of(const nn_model_config *c) {
    return c->asked ? c->asked->places : (ag_places){0};
}

/* Before a sublayer (pre-norm). */
static ag_node *enter(ag_node *x, const char *name, const nn_model_config *c) {
    return c->post_norm ? x : nn_norm(x, name, c->norm);
}

/* After it: dropout (of each row by its place), residual, and normalisation (post-norm). Without a
 * residual the sublayer replaces x. */
static ag_node *leave(ag_node *x, ag_node *y, const char *name, const nn_model_config *c) {
    if (c->dropout > 0) y = ag_dropout_at(y, c->dropout, name, places_of(c));
    if (c->residual) y = ag_add(x, y);
    return c->post_norm ? nn_norm(y, name, c->norm) : y;
}

ag_node *nn_block(ag_node *x, ag_node *memory, const char *name, const nn_model_config *c) {
    if (!x || !name || !c) return nn_missing_of(x ? x : memory, "block");
    ag_graph *g = x->graph;
    if (c->self_attention) {
        const char *norm = ag_text(g, "%s.norm1", name);
        nn_attention_config within = c->attention;
        within.mask.places = places_of(c);
        within.asked = c->asked;
        ag_node *y = nn_attention(enter(x, norm, c), NULL, ag_text(g, "%s.attn", name), &within);
        x = leave(nn_rows(x, c->asked), y, norm, c);
    } else
        x = nn_rows(x, c->asked);
    if (memory) {
        const char *norm = ag_text(g, "%s.norm_cross", name);
        nn_attention_config across = c->attention;
        across.mask = c->across;  // the memory's positions are not the sequence's
        across.mask.places = places_of(c);
        across.rotary = across.alibi = false;
        across.past = NULL;
        x = leave(x, nn_attention(enter(x, norm, c), memory, ag_text(g, "%s.cross", name), &across),
                  norm, c);
    }
    if (c->d_ff > 0) {
        const char *norm = ag_text(g, "%s.norm2", name);
        ag_node *y =
            nn_mlp(enter(x, norm, c), ag_text(g, "%s.mlp", name), c->d_ff, c->activation, &c->init);
        x = leave(x, y, norm, c);
    }
    return ag_name(x, "%s.out", name);
}

ag_node *nn_sample_block(ag_graph *g, int i) {
    if (i >= 5) return NULL;
    nn_model_config c = {
        .d_model = 4,
        .d_ff = i == 2 ? 0 : 6,
        .self_attention = i != 3,
        .attention = {2, 2, 2, 2, .mask = {.causal = true}, .init = {.gain = 1, .bias = i == 0}},
        .norm = i == 0   ? NN_NORM_LAYER
                : i == 4 ? NN_NORM_RMS
                         : NN_NORM_NONE,
        .post_norm = i == 4,
        .activation = NN_ACT_GELU,
        .residual = i != 1,
        .init = {.gain = 1, .bias = i == 0}};
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 4));
    return nn_block(x, i >= 3 ? ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 5, 4)) : NULL,
                    "layer0", &c);
}
