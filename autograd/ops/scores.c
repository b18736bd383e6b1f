/* scores.c - where Q and K meet: y[b,h,t,s] = factor q[b,t,h] . k[b,s,h]; 0 where the mask hides s.
 * dq = factor dy k,  dk = factor dy^T q
 *
 * The factor is usually 1/sqrt(E), E the head's own width. With fewer key heads than query heads
 * (G < H), each key head serves H/G neighbouring query heads.
 * Source: Vaswani et al., "Attention Is All You Need", 2017, equation 1. Grouping: Ainslie et al.,
 * "GQA: Training Generalized Multi-Query Transformer Models", 2023. */
#include "autograd/attr.h"
#include "autograd/op.h"

static bool shape(ag_node *node) {
    const ag_scores_attr *a = node->attr;
    tensor_shape q = node->in[0]->val.shape, k = node->in[1]->val.shape;
    if (q.rank != 3 || k.rank != 3) return ag_fail(node, "q must be [B,T,H*E] and k [B,S,G*E]");
    if (q.dim[0] != k.dim[0]) return ag_fail(node, "batches of %d and %d", q.dim[0], k.dim[0]);
    if (a->heads < 1 || q.dim[2] % a->heads)
        return ag_fail(node, "%d heads do not divide width %d", a->heads, q.dim[2]);
    int E = q.dim[2] / a->heads, G = E > 0 ? k.dim[2] / E : a->heads;
    if (G < 1 || G * E != k.dim[2] || a->heads % G)
        return ag_fail(node, "k of width %d has no whole number of heads of width %d dividing %d",
                       k.dim[2], E, a->heads);
    if (!isfinite(a->factor)) return ag_fail(node, "factor %g is not finite", a->factor);
    node->val.shape = tensor_dims(4, q.dim[0], a->heads, q.dim[1], k.dim[1]);
    return ag_mask_fits(node, a->mask, node->val.shape);
}

/* A row of y is one query of one head: its E numbers begin at q, those of key s at k + s * step. */
typedef struct {
    int E, S;
    size_t q, k, step;
    ag_mask mask;
} place;

static place place_of(const ag_node *node, size_t row) {
    const ag_scores_attr *a = node->attr;
    const tensor_shape y = node->val.shape;
    const size_t H = (size_t)y.dim[1], T = (size_t)y.dim[2], S = (size_t)y.dim[3];
    const size_t E = (size_t)node->in[0]->val.shape.dim[2] / H,
                 step = (size_t)node->in[1]->val.shape.dim[2];
    const size_t G = E > 0 ? step / E : H, b = row / T / H, h = row / T % H, t = row % T;
    return (place){.E = (int)E,
                   .S = (int)S,
                   .q = (b * T + t) * H * E + h * E,
                   .k = b * S * step + h / (H / G) * E,  // H/G heads share a key head
                   .step = step,
                   .mask = ag_mask_of_row(a->mask, y, row)};
}

static void forward(ag_node *node) {
    const real factor = (real)((const ag_scores_attr *)node->attr)->factor;
    real *y = node->val.x;
    for (size_t row = 0; row < tensor_rows(node->val.shape); row++) {
        const place at = place_of(node, row);
        const real *q = node->in[0]->val.x + at.q, *k = node->in[1]->val.x + at.k;
        for (int s = 0; s < at.S; s++, k += at.step) {
            const bool sees = ag_sees(at.mask, s, at.S);
            real dot = 0;
            for (int e = 0; sees && e < at.E; e++) dot += q[e] * k[e];
            *y++ = sees ? factor * dot : 0;
        }
    }
}

static void backward(ag_node *node) {
    const real factor = (real)((const ag_scores_attr *)node->attr)->factor, *dy = node->grad;
    real *dQ = ag_grad(node->in[0]), *dK = ag_grad(node->in[1]);
    for (size_t row = 0; row < tensor_rows(node->val.shape); row++) {
        const place at = place_of(node, row);
        const real *q = node->in[0]->val.x + at.q;
        for (int s = 0; s < at.S; s++) {
            const real each = factor * *dy++;
            const size_t key = at.k + (size_t)s * at.step;
            const real *k = node->in[1]->val.x + key;
            if (!ag_sees(at.mask, s, at.S)) continue;
            // y[s] = factor q . k
            for (int e = 0; dQ && e < at.E; e++) dQ[at.q + (size_t)e] += each * k[e];
            for (int e = 0; dK && e < at.E; e++) dK[key + (size_t)e] += each * q[e];
        }
    }
}

static ag_node *sample(ag_graph *g, int i) {
    const struct {
        int B, T, S, H, G, E;
        double factor;
        ag_mask mask;
    } c[] = {{1, 1, 1, 1, 1, 1, 1, {0}},
             {2, 3, 5, 2, 2, 3, 0.6, {0}},
             {2, 4, 4, 1, 1, 5, 0.4, {.causal = true}},
             {1, 5, 5, 2, 1, 2, 0.7, {.causal = true, .no_self = true}},
             {1, 4, 4, 4, 2, 3, -0.5, {.no_self = true}},
             {2, 3, 6, 1, 1, 17, 0.2, {.memory = 4}},
             {1, 66, 66, 1, 1, 2, 0.7, {.causal = true}},
             {1, 0, 3, 1, 1, 2, 1, {0}},
             {3, 4, 5, 2, 1, 3, 0.6, {.length = ag_sample_lengths(g, 3, 5)}},
             {2, 4, 4, 2, 2, 2, 0.6, {.no_self = true, .length = ag_sample_lengths(g, 2, 4)}},
             {2, 2, 5, 2, 1, 2, 0.6, {.causal = true, .no_self = true, .first = 2}},
             {2, 3, 7, 2, 1, 2, 0.6, {.causal = true, .places = ag_sample_places(g, 2, 3, 7)}}};
    const int n = (int)(sizeof c / sizeof *c);
    if (i == n) {  // one node as queries and as keys
        ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 4));
        return ag_scores(x, x, 2, 0.5, (ag_mask){0});
    }
    if (i > n) return NULL;
    ag_node *q = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, c[i].B, c[i].T, c[i].H * c[i].E));
    ag_node *k = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, c[i].B, c[i].S, c[i].G * c[i].E));
    return ag_scores(q, k, c[i].H, c[i].factor, c[i].mask);
}

static double flops(const ag_node *node) {
    return 2.0 * (double)node->val.n * tensor_width(node->in[0]->val.shape) /
           node->val.shape.dim[1];
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    ag_node *q = ag_sample_x(g, z);
    return ag_scores(q, ag_sample_x(g, z), z->H, 1, (ag_mask){.causal = true});
}

static const char *arguments(const ag_node *node) {
    const ag_scores_attr *a = node->attr;
    return ag_text(node->graph, "\"heads\":%d,\"factor\":%.17g,%s", a->heads, a->factor,
                   ag_text_mask(node, a->mask));
}

const ag_op ag_op_scores = {
    .name = "scores",
    .facts = AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .flops = flops,
    .timed = timed,
    .arguments = arguments,
    .torch = "scores(x[0], x[1], heads, factor, mask)",
};

ag_node *ag_scores(ag_node *q, ag_node *k, int heads, double factor, ag_mask mask) {
    return ag_apply(&ag_op_scores, AG_IN(q, k), &(ag_scores_attr){heads, factor, mask},
                    sizeof(ag_scores_attr));
}
