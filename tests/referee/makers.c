/* makers.c - the pool that random graphs are drawn from: one line an op in the table at the end.
 * (Its definition in PyTorch is one line in referee.py.) An op that is in ops.def but not here is
 * reported as never covered, and fails the run. */
#include <stdio.h>

#include "autograd/op.h"
#include "tests/referee/builder.h"

static const char *mask_text(builder *b, ag_mask m) {
    return ag_text(b->graph, "\"mask\":[%d,%d,%d]", m.causal, m.no_self, m.memory);
}

/* The mask is noted down for mix, which may be given the same one. */
static ag_node *with_mask(builder *b, ag_node *node, ag_mask m) {
    ag_mask *copy = ag_take(b->graph, 1, sizeof *copy);
    if (copy && node->index >= 0) *copy = m, b->mask[node->index] = copy;
    return node;
}

static const ag_mask *mask_of(const builder *b, const ag_node *x) {
    return x->index < 0 ? NULL : b->mask[x->index];
}

static int last_dim(const ag_node *x) { return tensor_width(x->val.shape); }

/* One of 1, 2, 3, 4 that divides n. */
static int dividing(builder *b, int n) {
    int d = 1 + below(b, 4);
    return n % d ? 1 : d;
}

/* ---- elementwise ---- */

static ag_node *make_scale(builder *b) {
    static const double factors_[] = {0, 1, -1, 0.3};
    ag_node *x = pick(b);
    double factor = chance(b, 1, 2) ? rng_normal(&b->random) : factors_[below(b, 4)];
    return with(b, ag_scale(x, factor), "\"factor\":%.17g", factor);
}

static ag_node *make_gelu(builder *b) {
    bool tanh_form = chance(b, 1, 2);
    ag_node *x = pick(b);
    return with(b, ag_gelu(x, tanh_form ? AG_GELU_TANH : AG_GELU_ERF), "\"form\":\"%s\"",
                tanh_form ? "tanh" : "none");
}

/* Which elements fall is shown by a dropout of ones under the same name. */
static ag_node *dropped(builder *b, ag_node *x) {
    static const double p_[] = {0, 0.1, 0.5, 0.9};
    double p = p_[below(b, 4)];
    const char *name = ag_text(b->graph, "drop%d", below(b, 3));
    ag_node *ones = ag_input(b->graph, "ones", x->val.shape);
    for (size_t i = 0; i < ones->val.n; i++) ones->val.x[i] = 1;
    ag_node *fell = ag_dropout(ones, p, name);
    const char *args =
        ag_text(b->graph, "\"p\":%.17g,\"training\":%d,\"fell\":%d", p, b->training, fell->index);
    with(b, fell, "%s", args);
    return with(b, ag_dropout(x, p, name), "%s", args);
}
static ag_node *make_dropout(builder *b) { return dropped(b, pick(b)); }

/* ---- products ---- */

static ag_node *make_matmul(builder *b) {
    ag_node *x = pick_rank(b, 2, 4), *y;
    tensor_shape s = x->val.shape;
    bool x_first = chance(b, 1, 2);
    int k = x_first ? s.dim[s.rank - 1] : s.dim[s.rank - 2], other = 1 + below(b, 5);
    for (int i = 0; i < s.rank - 2; i++)  // leading dimensions: equal, repeated, or more of them
        if (chance(b, 1, 3)) s.dim[i] = s.dim[i] == 1 ? 1 + below(b, 3) : 1;
    if (chance(b, 1, 3)) s.rank = 2;
    s.dim[s.rank - 2] = x_first ? k : other;
    s.dim[s.rank - 1] = x_first ? other : k;
    y = operand(b, s);
    return x_first ? ag_matmul(x, y) : ag_matmul(y, x);
}

static ag_node *make_linear(builder *b) {
    ag_node *x = pick_rank(b, 1, 4);
    int O = 1 + below(b, 9);
    ag_node *w = operand(b, tensor_dims(2, last_dim(x), O));
    ag_node *bias = chance(b, 2, 3) ? operand(b, tensor_dims(1, O)) : NULL;
    return ag_linear(x, w, bias);
}

/* ---- reductions ---- */

/* n axes of x, some of them counted from the end. */
static int random_axes(builder *b, const ag_node *x, int n, int axes[TENSOR_MAXRANK]) {
    int scratch[TENSOR_MAXRANK], rank = x->val.shape.rank;
    rng_choose(&b->random, rank, n, axes, scratch);
    for (int i = 0; i < n; i++)
        if (chance(b, 1, 3)) axes[i] -= rank;
    return n;
}

static ag_node *reduce(builder *b, ag_node *(*op)(ag_node *, int, const int *), ag_node *x) {
    int axes[TENSOR_MAXRANK], n = random_axes(b, x, below(b, x->val.shape.rank + 1), axes);
    return with(b, op(x, n, axes), "\"axes\":%s", list_text(b, n, axes));
}

static ag_node *make_sum(builder *b) { return reduce(b, ag_sum, pick(b)); }
static ag_node *make_mean(builder *b) { return reduce(b, ag_mean, pick_rank(b, 0, 4)); }
static ag_node *make_max(builder *b) {
    return reduce(b, ag_max, confine(b, pick_rank(b, 0, 4), DISTINCT));
}

/* ---- views and selections ---- */

static ag_node *make_reshape(builder *b) {
    ag_node *x = pick(b);
    tensor_shape s = factors(b, x->val.n, x->val.n == 1 ? below(b, 4) : 1 + below(b, 4));
    return with(b, ag_reshape(x, s), "\"to\":%s", list_text(b, s.rank, s.dim));
}

static ag_node *make_permute(builder *b) {
    int axes[TENSOR_MAXRANK];
    ag_node *x = pick(b);
    int n = random_axes(b, x, x->val.shape.rank, axes);
    return with(b, ag_permute(x, n, axes), "\"axes\":%s", list_text(b, n, axes));
}

static ag_node *make_slice(builder *b) {
    ag_node *x = pick_rank(b, 1, 4);
    int axis = below(b, x->val.shape.rank), dim = x->val.shape.dim[axis];
    int begin = below(b, dim), end = begin + !chance(b, 1, 20);  // a few are empty
    if (end > begin) end += below(b, dim - begin);
    if (chance(b, 1, 3)) begin -= dim;
    if (end < dim && chance(b, 1, 3)) end -= dim;
    return with(b, ag_slice(x, axis, begin, end), "\"cut\":[%d,%d,%d]", axis, begin, end);
}

static ag_node *make_concat(builder *b) {
    ag_node *part[4] = {pick_rank(b, 1, 4)};
    tensor_shape s = part[0]->val.shape;
    int n = 1 + below(b, 4), axis = below(b, s.rank);
    for (int i = 1; i < n; i++) {
        if (chance(b, 1, 2)) s.dim[axis] = below(b, 4);
        part[i] = chance(b, 1, 4) ? part[below(b, i)] : operand(b, s);
    }
    if (chance(b, 1, 3)) axis -= s.rank;
    return with(b, ag_concat(n, part, axis), "\"axis\":%d", axis);
}

static ag_node *make_embedding(builder *b) {
    ag_node *table[3] = {pick_rank(b, 2, 2)};
    tensor_shape first = table[0]->val.shape, s = {.rank = below(b, 3), .dim = {1, 1}};
    const int *ids[3];
    char texts[1024] = "";
    int n = 1 + below(b, 3), at = 0;
    for (int i = 0; i < s.rank; i++) s.dim[i] = 1 + below(b, 4);
    for (int i = 0; i < n; i++) {
        int V = i == 0 || chance(b, 1, 2) ? first.dim[0] : 1 + below(b, 6);
        if (i > 0) table[i] = operand(b, tensor_dims(2, V, first.dim[1]));
        int count = s.rank == 0 ? 1 : s.rank == 1 ? s.dim[0] : s.dim[0] * s.dim[1];
        bool positions = V >= tensor_width(s) && chance(b, 1, 3);
        ids[i] = positions ? NULL : random_ids(b, count, V, true);
        at += snprintf(texts + at, sizeof texts - (size_t)at, "%s%s", i ? "," : "",
                       positions ? "null" : list_text(b, count, ids[i]));
    }
    return with(b, ag_embedding(n, table, ids, s), "\"ids\":[%s],\"of\":%s", texts,
                list_text(b, s.rank, s.dim));
}

static ag_node *make_gather(builder *b) {
    ag_node *x = pick_rank(b, 1, 4);
    int n = below(b, 7);
    const int *rows = random_ids(b, n, (int)tensor_rows(x->val.shape), true);
    return with(b, ag_gather(x, rows, n), "\"rows\":%s", list_text(b, n, rows));
}

/* ---- normalisation ---- */

static double random_eps(builder *b) {
    static const double eps[] = {1e-5, 1e-3, 0.1};
    return eps[below(b, 3)];
}

static ag_node *make_layer_norm(builder *b) {
    ag_node *x = pick_rank(b, 1, 4);
    double eps = random_eps(b);
    ag_node *gain = operand(b, tensor_dims(1, last_dim(x)));
    ag_node *bias = operand(b, tensor_dims(1, last_dim(x)));
    return with(b, ag_layer_norm(x, gain, bias, eps), "\"eps\":%.17g", eps);
}

static ag_node *make_rms_norm(builder *b) {
    ag_node *x = pick_rank(b, 1, 4);
    double eps = random_eps(b);
    return with(b, ag_rms_norm(x, operand(b, tensor_dims(1, last_dim(x))), eps), "\"eps\":%.17g",
                eps);
}

/* ---- attention ---- */

static ag_node *make_rope(builder *b) {
    static const double bases[] = {10000, 100, 1, 0.5};
    ag_node *x = pick_rank(b, 2, 4);
    if (last_dim(x) % 2) x = operand(b, tensor_dims(3, 1 + below(b, 2), 1 + below(b, 5), 8));
    int heads = dividing(b, last_dim(x) / 2);
    double base = bases[below(b, 4)];
    return with(b, ag_rope(x, heads, base), "\"heads\":%d,\"base\":%.17g", heads, base);
}

static ag_node *make_scores(builder *b) {
    ag_node *q = pick_rank(b, 3, 3);
    if (chance(b, 1, 2)) q = operand(b, tensor_dims(3, 1 + below(b, 2), 1 + below(b, 5), 8));
    tensor_shape s = q->val.shape;
    int H = dividing(b, s.dim[2]), G = dividing(b, H), E = s.dim[2] / H;
    double factor = chance(b, 1, 2) ? 1 / sqrt(E) : rng_normal(&b->random);
    int S = chance(b, 1, 2) ? s.dim[1] : 1 + below(b, 6);
    ag_node *k = operand(b, tensor_dims(3, s.dim[0], S, G * E));
    ag_mask m = random_mask(b, 4);
    ag_node *y = ag_scores(q, k, H, factor, m);
    with(b, y, "\"heads\":%d,\"factor\":%.17g,%s", H, factor, mask_text(b, m));
    return with_mask(b, y, m);
}

static ag_node *softmax_of(builder *b, ag_node *x) {
    const ag_mask *of_scores = mask_of(b, x);
    ag_mask m = of_scores && chance(b, 2, 3) ? *of_scores : random_mask(b, x->val.shape.rank);
    return with_mask(b, with(b, ag_softmax(x, m), "%s", mask_text(b, m)), m);
}
static ag_node *make_log_softmax(builder *b) { return ag_log_softmax(pick_rank(b, 1, 4)); }
static ag_node *make_softmax(builder *b) { return softmax_of(b, pick_rank(b, 1, 4)); }

/* Weights are mostly a softmax, perhaps with dropout; else any node, and then without a mask. */
static ag_node *make_mix(builder *b) {
    ag_node *w = pick_rank(b, 4, 4);
    if (!mask_of(b, w) && chance(b, 2, 3)) w = softmax_of(b, w);
    ag_mask m = mask_of(b, w) ? *mask_of(b, w) : (ag_mask){0};
    if (chance(b, 1, 4)) w = dropped(b, w);
    tensor_shape s = w->val.shape;
    int G = dividing(b, s.dim[1]), E = 1 + below(b, 4);
    ag_node *v = operand(b, tensor_dims(3, s.dim[0], s.dim[3], G * E));
    return with(b, ag_mix(w, v, G, m), "\"kv_heads\":%d,%s", G, mask_text(b, m));
}

/* ---- losses ---- */

/* The caller's weight, kept in the graph's memory; or none, which is a mean. */
static const real *random_weight(builder *b) {
    real *weight = chance(b, 1, 2) ? ag_take(b->graph, 1, sizeof *weight) : NULL;
    if (weight) *weight = (real)rng_normal(&b->random);
    return weight;
}
static const char *weight_text(builder *b, const real *weight) {
    return weight ? ag_text(b->graph, "\"weight\":%.17g", (double)*weight) : "\"weight\":null";
}

static ag_node *make_cross_entropy(builder *b) {
    ag_node *x = pick_rank(b, 1, 4);
    int rows = (int)tensor_rows(x->val.shape);
    const int *targets = random_ids(b, rows, last_dim(x), chance(b, 1, 2));
    const real *weight = random_weight(b);
    return with(b, ag_cross_entropy(x, targets, weight), "\"targets\":%s,%s",
                list_text(b, rows, targets), weight_text(b, weight));
}

static ag_node *make_squared_error(builder *b) {
    ag_node *x = pick(b), *y = operand(b, x->val.shape);
    const real *weight = random_weight(b);
    return with(b, ag_squared_error(x, y, weight), "%s", weight_text(b, weight));
}

/* ---- the pool ---- */

const maker makers[] = {
    {"add", .pair = ag_add},
    {"sub", .pair = ag_sub},
    {"mul", .pair = ag_mul},
    {"div", .pair = ag_div, .last = POSITIVE},
    {"neg", .unary = ag_neg},
    {"scale", .make = make_scale},
    {"exp", .unary = ag_exp, .last = SMALL},
    {"log", .unary = ag_log, .last = POSITIVE},
    {"sqrt", .unary = ag_sqrt, .last = POSITIVE},
    {"tanh", .unary = ag_tanh},
    {"sigmoid", .unary = ag_sigmoid},
    {"relu", .unary = ag_relu, .last = NO_KINK},
    {"gelu", .make = make_gelu},
    {"silu", .unary = ag_silu},
    {"dropout", .make = make_dropout},
    {"matmul", .make = make_matmul},
    {"sum", .make = make_sum},
    {"mean", .make = make_mean},
    {"max", .make = make_max},
    {"reshape", .make = make_reshape},
    {"permute", .make = make_permute},
    {"slice", .make = make_slice},
    {"concat", .make = make_concat},
    {"linear", .make = make_linear},
    {"embedding", .make = make_embedding},
    {"gather", .make = make_gather},
    {"layer_norm", .make = make_layer_norm},
    {"rms_norm", .make = make_rms_norm},
    {"rope", .make = make_rope},
    {"scores", .make = make_scores},
    {"softmax", .make = make_softmax},
    {"log_softmax", .make = make_log_softmax},
    {"mix", .make = make_mix},
    {"cross_entropy", .make = make_cross_entropy},
    {"squared_error", .make = make_squared_error},
};
const int n_makers = sizeof makers / sizeof *makers;
