/* attention.c - multi-head attention        x: [B,T,D], memory: [B,S,D] -> [B,T,D]
 *
 *     the matching line   q = x Wq, k = m Wk, scores = q k^T / sqrt(d_k), weights = softmax(scores)
 *     the content line    v = m Wv
 *     where they meet     mix = weights v, then Wo maps the heads' results back to width D
 *
 * m is the memory (cross-attention) or x itself. All else is a variation for study, off by default.
 * Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2. Fewer key/value heads:
 * Ainslie et al., "GQA", 2023. Latent: DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1, without its
 * separate rotary part. Normalised queries and keys: Henry et al., "Query-Key Normalization for
 * Transformers", 2020; with RMS norm: Dehghani et al., "Scaling Vision Transformers to 22 Billion
 * Parameters", 2023, section 2.1. Scores that grow with ln n: Chiang and Cholak, "Overcoming a
 * Theoretical Limitation of Self-Attention", 2022, section 5.3. */
#include <math.h>

#include "autograd/sample.h"
#include "layers/affine.h"
#include "layers/past.h"

const char *nn_attention_matrix(const nn_attention_config *c, char role) {
    if (!c) return NULL;
    if (role == 'q') return c->plain_q ? NULL : "wq";
    if (role == 'k')
        return c->plain_k ? NULL : c->tie == NN_TIE_QK || c->tie == NN_TIE_QKV ? "wq" : "wk";
    if (c->plain_v) return NULL;
    return c->tie == NN_TIE_QV || c->tie == NN_TIE_QKV ? "wq" : c->tie == NN_TIE_KV ? "wk" : "wv";
}

/* The node "NAME.ROLE": x times the matrix of that role, or a copy of x where there is none. */
static ag_node *project(ag_node *x, const char *name, char role, int O,
                        const nn_attention_config *c) {
    ag_graph *g = x->graph;
    const char *matrix = role == 'o' ? (c->plain_o ? NULL : "wo") : nn_attention_matrix(c, role);
    if (!matrix) return ag_name(ag_scale(x, 1), "%s.%c", name, role);
    const char *weight = ag_text(g, "%s.%s", name, matrix),
               *bias = ag_text(g, "%s.b%s", name, matrix + 1);
    return ag_name(nn_affine(x, weight, bias, O, &c->init), "%s.%c", name, role);
}

/* The node "NAME.latent" [B,S,latent] that keys and values are made from; x itself unless
 * configured. */
static ag_node *compress(ag_node *x, const char *name, const nn_attention_config *c) {
    if (!c->latent) return x;
    const nn_init init = {.uniform = c->init.uniform, .gain = c->init.gain};
    return ag_name(nn_affine(x, ag_text(x->graph, "%s.wd", name), "", c->latent, &init),
                   "%s.latent", name);
}

/* Every head's part of x [B,T,heads*E] brought to root mean square 1, times a gain "NAME.gain" [E]. */
static ag_node *normalise(ag_node *x, const char *name, int heads) {
    const tensor_shape s = x->val.shape;
    if (s.rank != 3 || heads < 1) return x;  // the graph has an error already
    ag_node *apart = ag_reshape(x, tensor_dims(4, s.dim[0], s.dim[1], heads, s.dim[2] / heads));
    return ag_reshape(nn_norm(apart, name, NN_NORM_RMS), s);
}

static ag_node *ones(ag_graph *g, const char *name, tensor_shape shape) {
    ag_node *x = ag_input(g, name, shape);
    for (size_t i = 0; i < x->val.n && x->val.x; i++) x->val.x[i] = 1;
    return x;
}

/* ln of how many places each query sees where that depends on the example, [B,1,T,1]; of none: 0. */
static ag_node *log_of_seen(ag_graph *g, const char *name, const int *dim, ag_mask mask) {
    ag_node *q = ones(g, ag_text(g, "%s.queries", name), tensor_dims(3, dim[0], dim[2], 1)),
            *k = ones(g, ag_text(g, "%s.keys", name), tensor_dims(3, dim[0], dim[3], 1)),
            *one = ones(g, ag_text(g, "%s.one", name), tensor_dims(0));
    ag_node *seen = ag_sum(ag_scores(q, k, 1, 1, mask), 1, (int[]){-1});
    seen = ag_reshape(seen, tensor_dims(4, dim[0], 1, dim[2], 1));
    return ag_log(ag_add(ag_relu(ag_sub(seen, one)), one));
}

/* s [B,H,T,S] times ln n, n the places that a query sees: a key that is ahead by a fixed margin then has
 * the same share of the attention among few and among many. */
static ag_node *sharpen(ag_node *s, const char *name, ag_mask mask) {
    const ag_places places = mask.places;
    const int *dim = s->val.shape.dim, T = places.at ? places.of : dim[2], S = dim[3];
    if (mask.length && !mask.causal) return ag_mul(s, log_of_seen(s->graph, name, dim, mask));
    ag_node *factor = ag_input(s->graph, ag_text(s->graph, "%s.log", name), tensor_dims(2, T, 1));
    mask.places = (ag_places){0};
    for (int t = 0; t < T && factor->val.x; t++) {
        const int limit = ag_mask_limit(mask, t, S),
                  seen = limit - (mask.no_self && mask.first + t < limit);
        factor->val.x[t] = seen > 1 ? (real)log(seen) : 0;
    }
    if (!places.at) return ag_mul(s, factor);
    factor = ag_gather(factor, places.at, dim[0] * places.n);
    return ag_mul(s, ag_reshape(factor, tensor_dims(4, dim[0], 1, places.n, 1)));
}

/* q k^T, scaled, visible pairs only; with the factors that a study may put before the softmax. */
static ag_node *scores(ag_node *q, ag_node *k, const char *name, const nn_attention_config *c) {
    ag_graph *g = q->graph;
    bool learned = c->scale == NN_SCALE_LEARNED || c->scale == NN_SCALE_EXP;
    bool scaled = c->scale == NN_SCALE_SQRT || c->scale == NN_SCALE_LOG || learned;
    ag_node *s = ag_scores(q, k, c->heads,
                           c->scale == NN_SCALE_ZERO ? 0
                           : scaled                  ? 1 / sqrt(c->d_k)
                                                     : 1,
                           c->mask);
    if (learned) {
        const bool exponent = c->scale == NN_SCALE_EXP;
        ag_node *t = ag_param(g, ag_text(g, "%s.temperature", name), tensor_dims(0),
                              (ag_init){.kind = exponent ? AG_ZEROS : AG_ONES});
        s = ag_mul(s, exponent ? ag_exp(t) : t);
    }
    if (c->scale == NN_SCALE_LOG) s = sharpen(s, name, c->mask);
    if (c->soft_cap > 0) s = ag_soft_cap(s, c->soft_cap);
    if (c->alibi) s = ag_alibi(s, c->mask);
    if (c->gated) {
        ag_node *gate = ag_find(g, "gate");
        if (!gate) {
            gate = ag_input(g, "gate", tensor_dims(0));
            if (gate->val.n) gate->val.x[0] = 1;
        }
        s = ag_mul(s, gate);
    }
    return ag_name(s, "%s.scores", name);
}

ag_node *nn_attention(ag_node *x, ag_node *memory, const char *name, const nn_attention_config *c) {
    if (!x || !name || !c) return nn_missing_of(x ? x : memory, "attention");
    ag_graph *g = x->graph;
    ag_node *m = compress(memory ? memory : x, name, c);
    ag_node *asked = nn_rows(x, c->asked);
    ag_node *q = project(asked, name, 'q', c->heads * c->d_k, c);  // [B,T,H*E]
    ag_node *k = project(m, name, 'k', c->kv_heads * c->d_k, c);   // [B,S,G*E]
    ag_node *v = project(m, name, 'v', c->kv_heads * c->d_v, c);   // [B,S,G*E]
    if (c->qk_norm) {
        q = normalise(q, ag_text(g, "%s.q_norm", name), c->heads);
        k = normalise(k, ag_text(g, "%s.k_norm", name), c->kv_heads);
    }
    const int first = c->mask.first;
    if (c->rotary)
        q = c->asked ? ag_rope_at(q, c->heads, 10000, c->mask.places)
                     : ag_rope(q, c->heads, 10000, first),
        k = ag_rope(k, c->kv_heads, 10000, first);
    if (c->scale == NN_SCALE_VALUE) v = ag_scale(v, 1 / sqrt(c->d_k));
    k = nn_past_join(c->past, k, ag_text(g, "%s.k", name), first);
    v = nn_past_join(c->past, v, ag_text(g, "%s.v", name), first);

    ag_node *s = scores(q, k, name, c);
    ag_node *weights = c->softmax_one ? ag_softmax_one(s, c->mask) : ag_softmax(s, c->mask);
    ag_name(weights, "%s.weights", name);  // [B,H,T,S]
    if (c->dropout > 0)
        weights =
            ag_dropout_at(weights, c->dropout, ag_text(g, "%s.weights", name), c->mask.places);
    ag_node *mix = ag_name(ag_mix(weights, v, c->kv_heads, c->mask), "%s.mix", name);  // [B,T,H*E]

    return project(mix, name, 'o', tensor_width(x->val.shape), c);
}

ag_node *nn_sample_attention(ag_graph *g, int i) {
    nn_init init = {.gain = 1};
    nn_attention_config c[] = {
        {1, 1, 3, 3, .mask = {.causal = true}, .init = init},
        {2, 2, 2, 3, .init = {.gain = 1, .bias = true}},                            // with a memory
        {4, 2, 2, 1, .mask = {.no_self = true}, .init = init},                      // GQA
        {2, 1, 3, 2, .mask = {.memory = 2}, .init = {.gain = 1, .uniform = true}},  // MQA
        {2, 2, 2, 3, .latent = 3, .init = init},                                    // MLA
        {2, 2, 2, 2, .tie = NN_TIE_QK, .init = init},
        {2, 2, 2, 2, .tie = NN_TIE_KV, .scale = NN_SCALE_NONE, .init = init},
        {2, 2, 2, 2, .tie = NN_TIE_QV, .scale = NN_SCALE_VALUE, .init = init},
        {2, 2, 2, 2, .tie = NN_TIE_QKV, .scale = NN_SCALE_LEARNED, .init = init},
        {2, 2, 2, 2, .plain_q = true, .plain_k = true, .plain_v = true, .init = init},  // x itself
        {2, 2, 2, 2, .plain_o = true, .rotary = true, .mask = {.causal = true}, .init = init},
        {1, 1, 4, 4, .scale = NN_SCALE_ZERO, .gated = true, .init = init},
        {2, 1, 6, 2, .qk_norm = true, .rotary = true, .init = init},
        {2, 1, 2, 2, .softmax_one = true, .mask = {.causal = true}, .init = init},
        {2, 2, 2, 2, .alibi = true, .mask = {.causal = true, .no_self = true}, .init = init},
        {2, 1, 3, 2, .scale = NN_SCALE_LOG, .mask = {.causal = true}, .init = init},
        {2, 2, 2, 2, .soft_cap = 0.5, .alibi = true, .scale = NN_SCALE_EXP, .init = init}};
    if (i >= (int)(sizeof c / sizeof *c)) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 4));
    ag_node *memory = i == 1 ? ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 5, 4)) : NULL;
    return nn_attention(x, memory, "attn", &c[i]);
}
