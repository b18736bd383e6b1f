/* recurrent_block.c - a layer that is a recurrent state-space model        x: [B,T,D] -> [B,T,D]
 *
 *     h_t = a_t h_(t-1) + k_t v_t^T        the state of a head, d_k x d_v numbers
 *     y_t = q_t h_t
 *
 * a_t is a number between 0 and 1 that the input decides, a head's own: what is kept of the past. The
 * same as one sum, which is what is computed here:
 *
 *     y_t = sum over s <= t of (a_(s+1) ... a_t) (q_t . k_s) v_s
 *
 * q, k and v are what state-space models call C, B and x. Source: Dao and Gu, "Transformers are SSMs",
 * 2024, equations 1 and 8 to 10; without its convolution, gate and skip. */
#include "autograd/sample.h"
#include "layers/affine.h"

enum { KEEPING = 4 };  // a_t begins near sigmoid(4) = 0.98

/* A leaf [T,T] with 1 where s <= t: times it, a row of logarithms becomes its sums from the start. */
static ag_node *sums_to(ag_graph *g, const char *name, int T) {
    ag_node *ones = ag_input(g, ag_text(g, "%s.attn.before", name), tensor_dims(2, T, T));
    for (int t = 0; t < T && ones->val.x; t++)
        for (int s = 0; s < T; s++) ones->val.x[(ptrdiff_t)t * T + s] = s <= t;
    return ones;
}

/* [B,H,T,S]: the product of a_(s+1) .. a_t; where s > t it means nothing. */
static ag_node *kept(ag_node *in, const char *name, int H, const nn_init *init) {
    ag_graph *g = in->graph;
    const int B = in->val.shape.dim[0], T = in->val.shape.dim[1];
    ag_node *offset = ag_input(g, ag_text(g, "%s.attn.keeping", name), tensor_dims(0));
    if (offset->val.x) offset->val.x[0] = KEEPING;
    ag_node *gate = nn_linear(in, ag_text(g, "%s.attn.a", name), H, init);  // [B,T,H]
    ag_node *logs = ag_log(ag_sigmoid(ag_add(gate, offset)));
    ag_node *since = ag_matmul(sums_to(g, name, T), logs);    // [B,T,H]
    ag_node *heads = ag_permute(since, 3, (int[]){0, 2, 1});  // [B,H,T]
    ag_node *lost = ag_sub(ag_reshape(heads, tensor_dims(4, B, H, 1, T)),
                           ag_reshape(heads, tensor_dims(4, B, H, T, 1)));  // s - t: 0 and above
    return ag_exp(ag_neg(ag_relu(lost)));  // relu: no infinities from where s > t
}

ag_node *nn_recurrent_block(ag_node *x, ag_node *memory, const char *name,
                            const nn_model_config *c) {
    if (!x || !name || !c) return nn_missing_of(x ? x : memory, "recurrent_block");
    ag_graph *g = x->graph;
    const nn_attention_config *a = &c->attention;
    if (memory) return ag_fail_graph(g, "the block 'recurrent' reads no memory");
    if (!a->mask.causal || a->mask.no_self || a->mask.memory || a->kv_heads != a->heads)
        return ag_fail_graph(g,
                             "the block 'recurrent' is causal and has as many heads of keys as "
                             "of queries");
    ag_node *in = nn_norm(x, ag_text(g, "%s.norm1", name), c->norm);
    if (in->val.shape.rank != 3) return in;  // the graph has an error already
    ag_node *q = nn_linear(in, ag_text(g, "%s.attn.q", name), a->heads * a->d_k, &c->init);
    ag_node *k = nn_linear(in, ag_text(g, "%s.attn.k", name), a->heads * a->d_k, &c->init);
    ag_node *v = nn_linear(in, ag_text(g, "%s.attn.v", name), a->heads * a->d_v, &c->init);
    ag_node *s = ag_mul(ag_scores(q, k, a->heads, 1, a->mask), kept(in, name, a->heads, &c->init));
    ag_node *y = ag_name(ag_mix(s, v, a->heads, a->mask), "%s.attn.mix", name);
    ag_node *o = nn_linear(y, ag_text(g, "%s.attn.o", name), c->d_model, &c->init);
    return ag_name(c->residual ? ag_add(x, o) : ag_scale(o, 1), "%s.out", name);
}

ag_node *nn_sample_recurrent_block(ag_graph *g, int i) {
    if (i >= 2) return NULL;
    nn_model_config c = {.d_model = 4,
                         .norm = i ? NN_NORM_RMS : NN_NORM_NONE,
                         .residual = i == 0,
                         .attention = {2, 2, 3, 2, .mask = {.causal = true}},
                         .init = {.gain = 1, .bias = i == 1}};
    return nn_recurrent_block(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 4)), NULL,
                              "layer0", &c);
}
