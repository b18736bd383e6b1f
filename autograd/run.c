/* run.c - forward of one node. Some values are written over by their reader's (plan.c): where
 * y = relu(x) and nobody else reads x, y stands where x did. All nodes of such a row share one memory, and
 * each of them is computed from the one before. */
#include "autograd/graph_internal.h"

/* The node is the last of its row to have been computed: what it took is gone. */
static void run_one(ag_node *node) {
    ag_node *in = ag_own(node)->over;
    ag_node_forward(node);
    if (in) in->val.x = NULL;
}

bool ag_make(ag_node *node) {
    ag_graph *g = node->graph;
    if (!node->val.x) node->val.x = ag_take(g, node->val.n, sizeof(real));
    if (!node->save) node->save = ag_take(g, node->n_save, sizeof(real));
    if (g->failed) return false;
    run_one(node);
    return !g->failed;
}

void ag_run_node(ag_node *node) {
    ag_node *first = node;
    while (ag_own(first)->over) first = ag_own(first)->over;
    for (ag_node *at = first;; at = ag_own(at)->taker) {
        at->val.x = node->val.x;
        run_one(at);
        if (at == node) return;
    }
}
