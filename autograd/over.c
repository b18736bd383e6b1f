/* over.c - values that are written over: where y = relu(x), and nobody else reads x, y stands where x did.
 * It saves memory, and a way through the cache. */
#include "autograd/graph_internal.h"

static int times_read(const ag_node *node, const ag_node *in) {
    int n = 0;
    for (int k = 0; k < node->n_in; k++) n += node->in[k] == in;
    return n;
}

/* May a new node's value be written over that input's? */
static bool may_go(const ag_node *node, const ag_node *in) {
    if (!in->op || !in->fast->forgets || in->streamed || in->hooks || in->val.n != node->val.n ||
        times_read(node, in) > 1)
        return false;
    for (int i = in->index + 1; i < node->index; i++)
        if (times_read(node->graph->nodes.at[i], in)) return false;
    return true;
}

void ag_write_over(ag_node *node) {
    const ag_graph *g = node->graph;
    if (!node->fast->over_x || !g->stream_rows || !g->share_grads || node->val.x) return;
    for (int k = 0; k < node->n_in && !node->over; k++)
        if (may_go(node, node->in[k])) node->over = node->in[k];
    if (!node->over) return;
    node->over->lent = node;
    node->val.x = node->over->val.x;
}

void ag_run_node(ag_node *node) {
    ag_node *in = node->over;
    if (in) {
        in->val.x = node->val.x;
        ag_run_node(in);
    }
    ag_node_forward(node);
    if (in) in->val.x = NULL;
}

void ag_take_back(ag_node *node) {
    node->lent->over = NULL;
    node->lent = NULL;
    node->val.x = ag_take(node->graph, node->val.n, sizeof(real));
    if (node->val.x) ag_run_node(node);
}
