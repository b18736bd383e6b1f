/* linear_block.c - a layer whose attention has no softmax        x: [B,T,D] -> [B,T,D]
 *
 *     weight of s at t  =  phi(q_t) . phi(k_s) / sum over s' of the same        phi(x) = e^x
 *
 * Because it is a product of features, what came before can be kept as two sums, of phi(k_s) v_s and of
 * phi(k_s): d_k (d_v + 1) numbers for a head, however long the row. Here the weights are made, so that
 * they can be looked at; a test makes the sums instead, and finds the same.
 *
 * Two more are to be compared with it: the same without the division, and without either, where
 * phi(x) = x. The last is the recurrent block that forgets nothing. Both keep one sum, d_k d_v numbers.
 * Source: Katharopoulos et al., "Transformers are RNNs", 2020, equations 4, 5 and 7; there phi(x) is
 * elu(x) + 1. */
#include "autograd/sample.h"
#include "layers/affine.h"

static ag_node *sum_block(ag_node *x, ag_node *memory, const char *name, const nn_model_config *c,
                          bool positive, bool divided) {
    if (!x || !name || !c) return nn_missing_of(x ? x : memory, "linear_block");
    ag_graph *g = x->graph;
    const nn_attention_config *a = &c->attention;
    if (memory) return ag_fail_graph(g, "a block without softmax attends to no memory");
    if (divided && a->mask.no_self)
        return ag_fail_graph(g, "the block 'linear': without itself the first position sees none");
    ag_node *in = nn_norm(x, ag_text(g, "%s.norm1", name), c->norm);
    ag_node *q = nn_linear(in, ag_text(g, "%s.attn.q", name), a->heads * a->d_k, &c->init);
    ag_node *k = nn_linear(in, ag_text(g, "%s.attn.k", name), a->kv_heads * a->d_k, &c->init);
    ag_node *v = nn_linear(in, ag_text(g, "%s.attn.v", name), a->kv_heads * a->d_v, &c->init);
    ag_node *s = ag_scores(positive ? ag_exp(q) : q, positive ? ag_exp(k) : k, a->heads, 1,
                           a->mask);  // [B,H,T,S], 0 where masked
    tensor_shape one_each = s->val.shape;
    one_each.dim[one_each.rank > 0 ? one_each.rank - 1 : 0] = 1;
    ag_node *weights = s;
    if (divided)
        weights = ag_name(ag_div(s, ag_reshape(ag_sum(s, 1, (int[]){3}), one_each)),
                          "%s.attn.weights", name);
    ag_node *mix = ag_name(ag_mix(weights, v, a->kv_heads, a->mask), "%s.attn.mix", name);
    ag_node *o = nn_linear(mix, ag_text(g, "%s.attn.o", name), c->d_model, &c->init);
    return ag_name(c->residual ? ag_add(x, o) : ag_scale(o, 1), "%s.out", name);
}

ag_node *nn_linear_block(ag_node *x, ag_node *memory, const char *name, const nn_model_config *c) {
    return sum_block(x, memory, name, c, true, true);
}
ag_node *nn_positive_sum(ag_node *x, ag_node *memory, const char *name, const nn_model_config *c) {
    return sum_block(x, memory, name, c, true, false);
}
ag_node *nn_signed_sum(ag_node *x, ag_node *memory, const char *name, const nn_model_config *c) {
    return sum_block(x, memory, name, c, false, false);
}

ag_node *nn_sample_linear_block(ag_graph *g, int i) {
    if (i >= 4) return NULL;
    nn_model_config c = {.d_model = 4,
                         .norm = i == 1 ? NN_NORM_RMS : NN_NORM_NONE,
                         .residual = i == 0,
                         .attention = {2, 2 - (i == 1), 3, 2, .mask = {.causal = true}},
                         .init = {.gain = 1}};
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 4));
    return sum_block(x, NULL, "layer0", &c, i < 3, i < 2);
}
