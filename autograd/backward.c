/* backward.c - the reverse walk, and where gradients live. */
#include <string.h>

#include "autograd/graph_internal.h"

static bool has_parameter(const ag_node *leaf) { return leaf->param && leaf->wants_grad; }

/* `kept`: what stands there is added to; else it is overwritten. */
static void point_into(ag_graph *g, real *flat, bool kept) {
    g->grads = flat;
    for (int i = 0; i < g->leaves.n; i++) {
        ag_node *leaf = g->leaves.at[i];
        if (!has_parameter(leaf)) continue;
        leaf->grad = flat + leaf->param->offset;
        leaf->has_grad = kept;
    }
}

void ag_grads_into(ag_graph *g, real *flat) {
    if (!g || g->failed) return;
    g->grads = NULL;
    if (!flat) flat = g->own_grads;
    if (flat) point_into(g, flat, false);
}

/* Parameters that nothing was added to: the first backward into a buffer fills all of it. */
static void zero_the_rest(ag_graph *g) {
    for (int i = 0; i < g->leaves.n; i++)
        if (has_parameter(g->leaves.at[i])) ag_grad(g->leaves.at[i]);
}

real *ag_grads(ag_graph *g) { return g ? g->grads : NULL; }

void ag_grads_zero(ag_graph *g) {
    if (!g) return;
    if (g->own_grads) memset(g->own_grads, 0, g->own_size * sizeof(real));
    for (int i = 0; i < g->leaves.n; i++)
        if (!g->leaves.at[i]->param) g->leaves.at[i]->has_grad = false;
}

/* The graph's own buffer, unless the caller gave one; a longer one after parameters were added. */
static bool own_grads(ag_graph *g) {
    size_t size = g->params->size;
    if (g->grads != g->own_grads || (g->grads && size == g->own_size)) return true;
    real *longer = ag_take(g, size, sizeof(real));
    if (!longer) return false;
    if (g->own_size) memcpy(longer, g->own_grads, g->own_size * sizeof(real));
    g->own_grads = longer;
    g->own_size = size;
    point_into(g, longer, true);
    return true;
}

static bool is_inner(const ag_node *node) {
    return node->op && node->wants_grad && !node->streamed;
}

/* ---- shared memory ----
 *
 * An inner node's gradient is needed from the first backward that adds to it to its own: so few live
 * at a time that they stay in cache. 2 to 5 % of a step of width 64. */

enum { NOWHERE = -1, LINE = 64 / (int)sizeof(real) };

/* The lowest place where n numbers fit between what is taken. */
static void span_take(ag_graph *g, ag_node *node) {
    const size_t n = node->val.n / LINE * LINE + LINE;
    size_t at = 0;
    int i = 0;
    for (; i < g->n_spans && g->spans[i].from - at < n; i++) at = g->spans[i].from + g->spans[i].n;
    memmove(g->spans + i + 1, g->spans + i, (size_t)(g->n_spans++ - i) * sizeof *g->spans);
    g->spans[i] = (ag_span){at, n};
    node->grad_at = at;
}

static void span_return(ag_graph *g, const ag_node *node) {
    int i = 0;
    while (g->spans[i].from != node->grad_at) i++;
    memmove(g->spans + i, g->spans + i + 1, (size_t)(--g->n_spans - i) * sizeof *g->spans);
}

/* Room for one span a node, none of them taken. */
static bool spans_begin(ag_graph *g) {
    if (g->span_room < g->nodes.n) {
        g->spans = ag_take(g, (size_t)g->nodes.n, sizeof *g->spans);
        g->span_room = g->nodes.n;
    }
    g->n_spans = 0;
    return g->spans != NULL;
}

static bool has_place(const ag_node *node) { return node->grad_at != (size_t)NOWHERE; }

static void place_inputs(ag_graph *g, const ag_node *node) {
    for (int k = 0; k < node->n_in; k++)
        if (is_inner(node->in[k]) && !has_place(node->in[k])) span_take(g, node->in[k]);
}

/* May its first input's gradient take its own one's place? Nobody has added to it yet then. */
static bool hands_over(const ag_node *node) {
    const ag_node *in = node->in[0];
    if (!node->op->over_dy || !is_inner(in) || has_place(in) || in->val.n != node->val.n)
        return false;
    for (int k = 1; k < node->n_in; k++)
        if (node->in[k] == in) return false;
    return true;
}

/* Deals out places, in the order in which backward will run; returns how many numbers they are. */
static size_t deal(ag_graph *g) {
    size_t most = 0;
    for (int i = 0; i < g->nodes.n; i++) g->nodes.at[i]->grad_at = (size_t)NOWHERE;
    for (int i = g->nodes.n - 1; i >= 0; i--) {
        ag_node *node = g->nodes.at[i];
        if (!is_inner(node)) continue;
        if (!has_place(node)) span_take(g, node);
        const bool over = hands_over(node);
        if (over) node->in[0]->grad_at = node->grad_at;
        place_inputs(g, node);
        for (ag_node *m = node->flow ? node->flow->next : NULL; m; m = m->flow->next)
            place_inputs(g, m);  // they run when it does
        const ag_span *last = &g->spans[g->n_spans - 1];
        if (last->from + last->n > most) most = last->from + last->n;
        if (!over) span_return(g, node);
    }
    return most;
}

static bool provide_shared(ag_graph *g) {
    if (g->nodes_with_grads == g->nodes.n) return true;
    if (!spans_begin(g)) return false;
    const size_t n = deal(g);
    if (n > g->n_shared) {
        g->shared = ag_take(g, n, sizeof(real));
        g->n_shared = n;
    }
    for (int i = 0; i < g->nodes.n && g->shared; i++)
        if (is_inner(g->nodes.at[i])) g->nodes.at[i]->grad = g->shared + g->nodes.at[i]->grad_at;
    return !g->failed;
}

/* Memory for the gradients of nodes recorded since the last backward; none in the steady state. */
static bool provide(ag_graph *g) {
    if (!own_grads(g) || (g->share_grads && !provide_shared(g))) return false;
    for (int i = g->nodes_with_grads; i < g->nodes.n; i++) {
        ag_node *node = g->nodes.at[i];
        if (!node->wants_grad || node->grad || node->streamed) continue;
        if (node->param) {
            node->grad = g->grads + node->param->offset;
            node->has_grad = g->grads == g->own_grads;
        } else
            node->grad = ag_take(g, node->val.n, sizeof(real));
        if (!node->grad) return false;
    }
    g->nodes_with_grads = g->nodes.n;
    return true;
}

void ag_keep_grads(ag_graph *g, bool keep) {
    if (!g || g->share_grads == !keep) return;
    g->share_grads = !keep;
    for (int i = 0; keep && i < g->nodes.n; i++) ag_store(g->nodes.at[i]);
    for (int i = 0; i < g->nodes.n; i++)
        if (is_inner(g->nodes.at[i])) {
            g->nodes.at[i]->grad = NULL;
            g->nodes.at[i]->has_grad = false;
        }
    g->nodes_with_grads = 0;
}

real *ag_grad(ag_node *in) {
    bool first = false;
    real *grad = ag_grad_or_first(in, &first);
    if (grad && first) memset(grad, 0, in->val.n * sizeof(real));
    return grad;
}

real *ag_grad_or_first(ag_node *in, bool *first) {
    if (!in->wants_grad) return NULL;
    *first = !in->has_grad;
    in->has_grad = true;
    return in->grad;
}

/* The cotangent may stand where the node's own gradient does, as ag_backward(y, y->grad) has it. */
static void start(ag_node *node, const real *cotangent) {
    bool first = false;
    real *grad = ag_grad_or_first(node, &first);
    if (first && cotangent) memmove(grad, cotangent, node->val.n * sizeof *grad);
    if (first && cotangent) return;
    for (size_t i = 0; i < node->val.n; i++)
        grad[i] = (first ? 0 : grad[i]) + (cotangent ? cotangent[i] : 1);
}

bool ag_backward(ag_node *node, const real *cotangent) {
    ag_graph *g = node ? node->graph : NULL;
    if (!g) return false;
    ag_store(node);
    if (g->failed || !provide(g)) return false;
    if (!node->wants_grad) return true;
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i]->op) g->nodes.at[i]->has_grad = false;
    start(node, cotangent);
    for (int i = node->index; i >= 0 && !g->failed; i--) {
        ag_node *at = g->nodes.at[i];
        if (!at->op || !at->has_grad) continue;
        if (at->op->backward)
            at->op->backward(at);
        else
            ag_fail(at, "it has no backward()");
    }
    zero_the_rest(g);
    return !g->failed;
}
