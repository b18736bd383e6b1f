/* backward.c - the reverse walk, and where gradients live. */
#include <string.h>

#include "autograd/graph_internal.h"

static void point_into(ag_graph *g, real *flat) {
    g->grads = flat;
    for (int i = 0; i < g->leaves.n; i++) {
        ag_node *leaf = g->leaves.at[i];
        if (!leaf->param || !leaf->wants_grad) continue;
        leaf->grad = flat + leaf->param->offset;
        leaf->has_grad = true;  // the buffer came zeroed
    }
}

void ag_grads_into(ag_graph *g, real *flat) {
    if (!g->failed) point_into(g, flat);
}

real *ag_grads(ag_graph *g) { return g->grads; }

void ag_grads_zero(ag_graph *g) {
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
    point_into(g, longer);
    return true;
}

static bool is_inner(const ag_node *node) {
    return node->op && node->wants_grad && !node->streamed;
}

/* The smallest free block that n numbers fit into, or a new one. None is empty: an empty one would stand
 * where the next one does, and be taken for it. */
static real *block_take(ag_graph *g, size_t n) {
    ag_block *best = NULL;
    if (n == 0) n = 1;
    for (ag_block *b = g->blocks; b < g->blocks + g->n_blocks; b++)
        if (!b->taken && b->n >= n && (!best || b->n < best->n)) best = b;
    if (!best) {
        best = &g->blocks[g->n_blocks++];
        *best = (ag_block){ag_take(g, n, sizeof(real)), n, false};
    }
    best->taken = true;
    return best->x;
}

static void block_return(ag_graph *g, const real *x) {
    for (ag_block *b = g->blocks; b < g->blocks + g->n_blocks; b++)
        if (b->x == x) b->taken = false;
}

/* Room for one more block a node; those there are become free. */
static bool blocks_begin(ag_graph *g) {
    if (g->block_room < g->nodes.n) {
        ag_block *more = ag_take(g, (size_t)g->nodes.n, sizeof *more);
        if (!more) return false;
        if (g->n_blocks) memcpy(more, g->blocks, (size_t)g->n_blocks * sizeof *more);
        g->blocks = more;
        g->block_room = g->nodes.n;
    }
    for (int i = 0; i < g->n_blocks; i++) g->blocks[i].taken = false;
    return true;
}

static void provide_inputs(ag_graph *g, const ag_node *node) {
    for (int k = 0; k < node->n_in; k++)
        if (is_inner(node->in[k]) && !node->in[k]->grad)
            node->in[k]->grad = block_take(g, node->in[k]->val.n);
}

/* An inner node's gradient is needed from the first backward that adds to it to its own: so few live
 * at a time that they stay in cache. 2 to 5 % of a step of width 64. */
static bool provide_shared(ag_graph *g) {
    if (g->nodes_with_grads == g->nodes.n) return true;
    if (!blocks_begin(g)) return false;
    for (int i = 0; i < g->nodes.n; i++)
        if (is_inner(g->nodes.at[i])) g->nodes.at[i]->grad = NULL;
    for (int i = g->nodes.n - 1; i >= 0; i--) {
        ag_node *node = g->nodes.at[i];
        if (!is_inner(node)) continue;
        if (!node->grad) node->grad = block_take(g, node->val.n);
        provide_inputs(g, node);
        for (ag_node *m = node->flow ? node->flow->next : NULL; m; m = m->flow->next)
            provide_inputs(g, m);  // they run when it does
        block_return(g, node->grad);
        if (g->failed) return false;
    }
    return true;
}

/* Memory for the gradients of nodes recorded since the last backward; none in the steady state. */
static bool provide(ag_graph *g) {
    if (!own_grads(g) || (g->share_grads && !provide_shared(g))) return false;
    for (int i = g->nodes_with_grads; i < g->nodes.n; i++) {
        ag_node *node = g->nodes.at[i];
        if (!node->wants_grad || node->grad || node->streamed) continue;
        if (node->param)
            point_into(g, g->grads);
        else
            node->grad = ag_take(g, node->val.n, sizeof(real));
        if (!node->grad) return false;
    }
    g->nodes_with_grads = g->nodes.n;
    return true;
}

void ag_keep_grads(ag_graph *g, bool keep) {
    if (g->share_grads == !keep) return;
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
    ag_graph *g = node->graph;
    ag_store(node);
    if (g->failed || !provide(g)) return false;
    if (!node->wants_grad) return true;
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i]->op) g->nodes.at[i]->has_grad = false;
    start(node, cotangent);
    for (int i = node->index; i >= 0 && !g->failed; i--) {
        ag_node *at = g->nodes.at[i];
        if (at->op && at->has_grad) at->op->backward(at);
    }
    return !g->failed;
}
