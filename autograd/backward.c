/* backward.c - the reverse walk. */
#include <string.h>

#include "autograd/graph_internal.h"

/* The cotangent may stand where the node's own gradient does, as ag_backward(y, y->grad) has it. */
static void start(ag_node *node, const real *cotangent) {
    bool first = false;
    real *grad = ag_grad_or_first(node, &first);
    if (first && cotangent) memmove(grad, cotangent, node->val.n * sizeof *grad);
    if (first && cotangent) return;
    for (size_t i = 0; i < node->val.n; i++)
        grad[i] = (first ? 0 : grad[i]) + (cotangent ? cotangent[i] : 1);
}

ag_node *ag_block(ag_node *node, bool block) {
    if (!node) return NULL;
    ag_node *stored = block ? ag_store(node) : node;
    if (stored == node) ag_own(node)->blocked = block;
    return stored;
}

bool ag_backward(ag_node *node, const real *cotangent) {
    ag_graph *g = node ? node->graph : NULL;
    if (!g) return false;
    ag_store(node);
    if (g->failed || !ag_plan_grads(g)) return false;
    if (!node->wants_grad) return true;
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i]->op) g->nodes.at[i]->has_grad = false;
    start(node, cotangent);
    for (int i = node->index; i >= 0 && !g->failed; i--) {
        ag_node *at = g->nodes.at[i];
        if (!at->op || !at->has_grad || ag_own(at)->blocked) continue;
        if (!at->op->backward) return ag_fail(at, "it has no backward()");
        ag_node_backward(at);
    }
    ag_zero_the_rest(g);
    return !g->failed;
}
