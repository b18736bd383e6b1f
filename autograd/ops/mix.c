/* mix.c - where V enters: y[b,t,h] = sum over visible s of w[b,h,t,s] v[b,s,h].
 *   dw = dy v^T,  dv = w^T dy
 * w must be 0 where the mask hides s from t, as softmax leaves it. With G = kv_heads < H, each
 * value head serves H/G neighbouring heads.
 * Source: Vaswani et al., "Attention Is All You Need", 2017, equation 1. */
#include "autograd/attr.h"
#include "autograd/op.h"

static bool shape(ag_node *node) {
    int G = ((const ag_mix_attr *)node->attr)->kv_heads;
    tensor_shape w = node->in[0]->val.shape, v = node->in[1]->val.shape;
    if (w.rank != 4 || v.rank != 3) return ag_fail(node, "w must be [B,H,T,S] and v [B,S,G*E]");
    if (w.dim[0] != v.dim[0] || w.dim[3] != v.dim[1])
        return ag_fail(node, "w and v disagree on B or S");
    if (G < 1 || w.dim[1] % G || v.dim[2] % G)
        return ag_fail(node, "%d value heads do not divide %d heads and width %d", G, w.dim[1],
                       v.dim[2]);
    if (!ag_fits_int(node, (size_t)w.dim[1] * (size_t)(v.dim[2] / G), "columns")) return false;
    node->val.shape = tensor_dims(3, w.dim[0], w.dim[2], w.dim[1] * (v.dim[2] / G));
    return ag_mask_fits(node, ((const ag_mix_attr *)node->attr)->mask, w);
}

/* A row of w is one query of one head: its E numbers begin at y, those of value s at v + s * step. */
typedef struct {
    int E, S;
    size_t y, v, step;
    ag_mask mask;
} place;

static place place_of(const ag_node *node, size_t row) {
    const ag_mix_attr *a = node->attr;
    const tensor_shape w = node->in[0]->val.shape;
    const size_t H = (size_t)w.dim[1], T = (size_t)w.dim[2], S = (size_t)w.dim[3];
    const size_t G = (size_t)a->kv_heads, step = (size_t)node->in[1]->val.shape.dim[2],
                 E = step / G;
    const size_t b = row / T / H, h = row / T % H, t = row % T;
    return (place){.E = (int)E,
                   .S = (int)S,
                   .y = (b * T + t) * H * E + h * E,
                   .v = b * S * step + h / (H / G) * E,  // H/G heads share a value head
                   .step = step,
                   .mask = ag_mask_of_row(a->mask, w, row)};
}

static void forward(ag_node *node) {
    const real *w = node->in[0]->val.x;
    for (size_t row = 0; row < tensor_rows(node->in[0]->val.shape); row++) {
        const place at = place_of(node, row);
        const real *v = node->in[1]->val.x + at.v;
        real *y = node->val.x + at.y;
        for (int e = 0; e < at.E; e++) y[e] = 0;
        for (int s = 0; s < at.S; s++, w++, v += at.step)
            for (int e = 0; e < at.E && ag_sees(at.mask, s, at.S); e++) y[e] += *w * v[e];
    }
}

static void backward(ag_node *node) {
    real *dW = ag_grad(node->in[0]), *dV = ag_grad(node->in[1]);
    for (size_t row = 0, i = 0; row < tensor_rows(node->in[0]->val.shape); row++) {
        const place at = place_of(node, row);
        const real *dy = node->grad + at.y;
        for (int s = 0; s < at.S; s++, i++) {
            const size_t value = at.v + (size_t)s * at.step;
            const real *v = node->in[1]->val.x + value, w = node->in[0]->val.x[i];
            if (!ag_sees(at.mask, s, at.S)) continue;
            // y[e] += w v[e]
            for (int e = 0; dW && e < at.E; e++) dW[i] += dy[e] * v[e];
            for (int e = 0; dV && e < at.E; e++) dV[value + (size_t)e] += dy[e] * w;
        }
    }
}

static ag_node *sample(ag_graph *g, int i) {
    const struct {
        int B, H, G, T, S, E;
        ag_mask mask;
    } c[] = {{1, 1, 1, 1, 1, 1, {0}},
             {2, 2, 2, 3, 5, 3, {0}},
             {2, 1, 1, 4, 4, 5, {.causal = true}},
             {1, 4, 2, 3, 3, 2, {.no_self = true}},
             {1, 2, 1, 5, 5, 2, {.causal = true, .no_self = true}},
             {2, 1, 1, 3, 6, 17, {.memory = 4}},
             {1, 1, 1, 66, 66, 2, {.causal = true}},
             {1, 1, 1, 2, 0, 3, {0}},
             {3, 2, 1, 4, 5, 3, {.length = ag_sample_lengths(g, 3, 5)}},
             {2, 2, 2, 4, 4, 2, {.no_self = true, .length = ag_sample_lengths(g, 2, 4)}},
             {2, 2, 1, 2, 5, 2, {.causal = true, .no_self = true, .first = 2}},
             {2, 2, 1, 3, 7, 2, {.causal = true, .places = ag_sample_places(g, 2, 3, 7)}}};
    if (i >= (int)(sizeof c / sizeof *c)) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(4, c[i].B, c[i].H, c[i].T, c[i].S));
    ag_node *v = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, c[i].B, c[i].S, c[i].G * c[i].E));
    ag_node *w = i < 2 ? x : ag_softmax(x, c[i].mask);  // where there is a mask, 0 behind it
    return ag_mix(w, v, c[i].G, c[i].mask);
}

static double flops(const ag_node *node) {
    return 2.0 * (double)node->val.n * node->in[0]->val.shape.dim[3];
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    const tensor_shape s = tensor_dims(4, z->B, z->H, z->T, z->T);
    const ag_mask causal = {.causal = true};
    ag_node *w = ag_softmax(ag_sample(g, AG_SAMPLE_NORMAL, s), causal);
    return ag_mix(w, ag_sample_x(g, z), z->H, causal);
}

static const char *arguments(const ag_node *node) {
    const ag_mix_attr *a = node->attr;
    return ag_text(node->graph, "\"kv_heads\":%d,%s", a->kv_heads, ag_text_mask(node, a->mask));
}

const ag_op ag_op_mix = {
    .name = "mix",
    .facts = AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .flops = flops,
    .timed = timed,
    .arguments = arguments,
    .torch = "mix(x[0], x[1], kv_heads, mask)",
};

ag_node *ag_mix(ag_node *w, ag_node *v, int kv_heads, ag_mask mask) {
    return ag_apply(&ag_op_mix, AG_IN(w, v), &(ag_mix_attr){kv_heads, mask}, sizeof(ag_mix_attr));
}
