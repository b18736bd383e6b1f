/* attention.c - multi-head attention        x: [B,T,D], memory: [B,S,D] -> [B,T,D]
 *
 *     the matching line   q = x Wq, k = m Wk -> scores = q k^T / sqrt(d_k) -> weights = softmax(scores)
 *     the content line    v = m Wv
 *     where they meet     mix = weights v, then Wo maps the heads' results back to width D
 *
 * m is the memory (cross-attention) or x itself. Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2. */
#include <math.h>

#include "autograd/sample.h"
#include "layers/affine.h"

/* x times the matrix "NAME.wM" (with the bias "NAME.bM"); the node is called "NAME.M". */
static ag_node *project(ag_node *x, const char *name, const char *m, int O, const nn_init *init) {
    ag_graph *g = x->graph;
    ag_node *y = nn_affine(x, ag_text(g, "%s.w%s", name, m), ag_text(g, "%s.b%s", name, m), O, init);
    return ag_name(y, "%s.%s", name, m);
}

ag_node *nn_attention(ag_node *x, ag_node *memory, const char *name, const nn_attention_config *c) {
    ag_node *m = memory ? memory : x;
    ag_node *q = project(x, name, "q", c->heads * c->d_k, &c->init);     // [B,T,H*E]
    ag_node *k = project(m, name, "k", c->kv_heads * c->d_k, &c->init);  // [B,S,G*E]
    ag_node *v = project(m, name, "v", c->kv_heads * c->d_v, &c->init);  // [B,S,G*E]

    ag_node *scores = ag_name(ag_scores(q, k, c->heads, 1 / sqrt(c->d_k), c->mask), "%s.scores", name);
    ag_node *weights = ag_name(ag_softmax(scores, c->mask), "%s.weights", name);  // [B,H,T,S]
    ag_node *mix = ag_name(ag_mix(weights, v, c->kv_heads, c->mask), "%s.mix", name);

    return project(mix, name, "o", tensor_width(x->val.shape), &c->init);
}

ag_node *nn_sample_attention(ag_graph *g, int i) {
    nn_attention_config c[] = {{1, 1, 3, 3, {.causal = true}, {.gain = 1}},
                               {2, 2, 2, 3, {0}, {.gain = 1, .bias = true}},
                               {4, 2, 2, 1, {.no_self = true}, {.gain = 1}},
                               {2, 1, 3, 2, {.memory = 2}, {.gain = 1, .uniform = true}}};
    if (i >= 4) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 4));
    ag_node *memory = i == 1 ? ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 5, 4)) : NULL;
    return nn_attention(x, memory, "attn", &c[i]);
}
