/* rope.c - rotary positions: the pair (x[2i], x[2i+1]) of each head, at position t (row 0 is at
 * `first`, or each row at its place), is turned by
 * the angle a = t base^(-2i/E), so that a query's dot product with a key depends on how far apart
 * they are.
 *   y[2i] = x[2i] cos a - x[2i+1] sin a,  y[2i+1] = x[2i] sin a + x[2i+1] cos a
 *   dx is dy turned back
 * Pairs are neighbours, as in the paper (some models pair i with i + E/2: the same but for the
 * order of columns). Source: Su et al., "RoFormer: Enhanced Transformer with Rotary Position
 * Embedding", 2021, equations 15 and 34; base 10000 there. */
#include "autograd/op.h"
#include "tensor/scalar.h"

typedef struct {
    int heads;
    double base;
    int first;
    ag_places places;
} attr;

/* cos a and sin a of every position and pair, [T,E/2,2], once and for all replays. */
static bool make_table(ag_node *node, int T, int E, const attr *a) {
    node->n_save = (size_t)T * (size_t)E;
    real *at = node->save = ag_take(node->graph, node->n_save, sizeof(real));
    for (int t = 0; at && t < T; t++)
        for (int i = 0; i < E; i += 2, at += 2) {
            double angle = (a->first + t) * tensor_pow(a->base, -(double)i / E);
            at[0] = (real)tensor_cos(angle);
            at[1] = (real)tensor_sin(angle);
        }
    return node->save;
}

static bool shape(ag_node *node) {
    const attr *a = node->attr;
    tensor_shape x = node->in[0]->val.shape;
    if (x.rank < 2) return ag_fail(node, "x must be [..,T,H*E]");
    int W = tensor_width(x);
    if (a->heads < 1 || W % a->heads)
        return ag_fail(node, "%d heads do not divide width %d", a->heads, W);
    if (W / a->heads % 2)
        return ag_fail(node, "a head of width %d is not made of pairs", W / a->heads);
    if (!(a->base > 0 && isfinite(a->base)))
        return ag_fail(node, "base %g is no number above 0", a->base);
    node->val.shape = x;
    return ag_places_fit(node, a->places, x) &&
           make_table(node, a->places.at ? a->places.of : x.dim[x.rank - 2], W / a->heads, a);
}

/* The row of the table for row r of x. */
static const real *turn_of(const ag_node *node, size_t r, int E) {
    const ag_places p = ((const attr *)node->attr)->places;
    const tensor_shape s = node->val.shape;
    const size_t T = (size_t)(p.at ? p.of : s.dim[s.rank - 2]);
    return node->save + ag_place_of(p, s, r) % T * (size_t)E;
}

static void forward(ag_node *node) {
    tensor_shape s = node->val.shape;
    int W = tensor_width(s), H = ((const attr *)node->attr)->heads, E = W / H;
    const real *x = node->in[0]->val.x;
    real *y = node->val.x;
    for (size_t r = 0, rows = tensor_rows(s); r < rows; r++) {
        const real *restrict turn = turn_of(node, r, E);
        for (int h = 0; h < H; h++, x += E, y += E)
            for (int e = 0; e < E; e += 2) {
                const real first = x[e], second = x[e + 1];  // y may be x
                y[e] = first * turn[e] - second * turn[e + 1];
                y[e + 1] = first * turn[e + 1] + second * turn[e];
            }
    }
}

static void backward(ag_node *node) {
    tensor_shape s = node->val.shape;
    int W = tensor_width(s), H = ((const attr *)node->attr)->heads, E = W / H;
    const real *dy = node->grad;
    bool first = false;
    real *dx = ag_grad_or_first(node->in[0], &first);
    for (size_t r = 0, rows = tensor_rows(s); r < rows; r++) {
        const real *restrict turn = turn_of(node, r, E);
        for (int h = 0; h < H; h++, dy += E, dx += E)
            for (int e = 0; e < E; e += 2) {
                // y[e] = x[e] * turn[e] - x[e + 1] * turn[e + 1]
                // y[e + 1] = x[e] * turn[e + 1] + x[e + 1] * turn[e]
                const real one = dy[e] * turn[e] + dy[e + 1] * turn[e + 1];  // dx may be dy
                const real two = dy[e + 1] * turn[e] - dy[e] * turn[e + 1];
                dx[e] = (first ? 0 : dx[e]) + one;
                dx[e + 1] = (first ? 0 : dx[e + 1]) + two;
            }
    }
}

static ag_node *sample(ag_graph *g, int i) {
    static const int heads[] = {1, 2, 3, 1, 1, 2, 2}, first[] = {0, 0, 4, 0, 0, 0, 0};
    static const double base[] = {10000, 10000, 7, 10000, 10000, 10000, 100};
    const tensor_shape shapes[] = {tensor_dims(3, 1, 3, 2),  tensor_dims(3, 2, 5, 12),
                                   tensor_dims(3, 1, 2, 18), tensor_dims(2, 7, 34),
                                   tensor_dims(3, 2, 0, 4),  tensor_dims(3, 2, 3, 0),
                                   tensor_dims(3, 2, 2, 8)};
    if (i >= 7) return NULL;
    ag_node *x = ag_sample(g, AG_SAMPLE_NORMAL, shapes[i]);
    return i == 6 ? ag_rope_at(x, heads[i], base[i], ag_sample_places(g, 2, 2, 5))
                  : ag_rope(x, heads[i], base[i], first[i]);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    return ag_rope(ag_sample_x(g, z), z->H, 10000, 0);
}

static const char *arguments(const ag_node *node) {
    const attr *a = node->attr;
    return ag_text(node->graph, "\"heads\":%d,\"base\":%.17g,\"first\":%d,\"places\":%s", a->heads,
                   a->base, a->first, ag_text_places(node, a->places));
}

const ag_op ag_op_rope = {
    .name = "rope",
    .facts = AG_IN_PLACE | AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "rope(x[0], heads, base, first, places)",
};

ag_node *ag_rope(ag_node *x, int heads, double base, int first) {
    return ag_apply(&ag_op_rope, AG_IN(x), &(attr){.heads = heads, .base = base, .first = first},
                    sizeof(attr));
}

ag_node *ag_rope_at(ag_node *x, int heads, double base, ag_places places) {
    return ag_apply(&ag_op_rope, AG_IN(x), &(attr){heads, base, 0, places}, sizeof(attr));
}
