/* linear_attention.c - a layer of one's own: attention without the softmax.
 *
 *     softmax:   weight of s  ~  exp(q . k_s)
 *     linear:    weight of s  ~  phi(q) . phi(k_s)        phi(x) = e^x, number by number
 *
 * Softmax has to compare every query with every key. A product of features need not: the sums over
 * s of phi(k_s) and of phi(k_s) v_s are a state of fixed size, so a row ten times as long costs ten
 * times as much and not a hundred. The price is focus, and the picture of its attention shows it.
 * Source: Katharopoulos et al., "Transformers are RNNs", 2020, equations 4, 5 and 7; there phi(x)
 * is elu(x) + 1.
 *
 *     qkv gradcheck --plugin linear_attention.c linear_attention
 *     qkv train --plugin linear_attention.c --block linear_attention --out runs/linear
 *
 * Here all T x T weights are made nevertheless, so that they can be looked at. */
#include "autograd/op.h"
#include "train/config/plugin.h"

/* Each row divided by its sum: [B,H,T,S] -> [B,H,T,S]. */
static ag_node *normalised(ag_node *x) {
    tensor_shape one_each = x->val.shape;
    one_each.dim[3] = 1;
    return ag_div(x, ag_reshape(ag_sum(x, 1, (int[]){3}), one_each));
}

/* x: [B,T,D] -> [B,T,D]; name: "layer0", "layer1" ... */
static ag_node *linear_attention(ag_node *x, ag_node *memory, const char *name,
                                 const nn_model_config *c) {
    ag_graph *g = x->graph;
    const nn_attention_config *a = &c->attention;
    if (memory) return ag_fail_graph(g, "linear_attention: there is no attention to a memory here");
    if (a->mask.no_self)
        return ag_fail_graph(g, "linear_attention: without itself the first position sees nothing");

    // H heads of queries and G of keys and values, each of width E: q [B,T,H*E], k and v [B,S,G*E]
    int H = a->heads, G = a->kv_heads;
    ag_node *in = nn_norm(x, ag_text(g, "%s.norm1", name), c->norm);  // x itself without --norm
    ag_node *q = nn_linear(in, ag_text(g, "%s.attn.q", name), H * a->d_k, &c->init);
    ag_node *k = nn_linear(in, ag_text(g, "%s.attn.k", name), G * a->d_k, &c->init);
    ag_node *v = nn_linear(in, ag_text(g, "%s.attn.v", name), G * a->d_v, &c->init);

    ag_node *scores = ag_scores(ag_exp(q), ag_exp(k), H, 1, a->mask);  // [B,H,T,S], 0 where masked
    // The name that qkv looks for.
    ag_node *weights = ag_name(normalised(scores), "%s.attn.weights", name);
    ag_node *mix = ag_mix(weights, v, G, a->mask);  // [B,T,H*E]
    return ag_add(x, nn_linear(mix, ag_text(g, "%s.attn.o", name), c->d_model, &c->init));
}

/* For the gradient check: a causal one; one whose heads share their keys, with normalisation. */
static ag_node *sample(ag_graph *g, int i) {
    if (i >= 2) return NULL;
    nn_model_config c = {.d_model = 4, .norm = i ? NN_NORM_RMS : NN_NORM_NONE, .init = {.gain = 1}};
    c.attention = (nn_attention_config){.heads = 2, .kv_heads = 2 - i, .d_k = 3, .d_v = 2};
    c.attention.mask.causal = i == 0;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 4));  // [B,T,D]
    return linear_attention(x, NULL, "layer0", &c);
}

static const qkv_config_plugin_block blocks[] = {
    {"linear_attention", "attention without the softmax", linear_attention, sample, false},
    {NULL, NULL, NULL, NULL, false},
};

const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), .blocks = blocks};
