/* hooks.c - functions that look at a node, or overwrite it, after its forward. */
#include <string.h>

#include "autograd/graph_internal.h"

/* A removed hook stays in the list without its function: hooks may remove themselves or each other
 * while they run, and hooking anew takes the place at the list's end without asking for memory. */
void ag_run_hooks(ag_node *node) {
    for (ag_hook_entry *h = ag_own(node)->hooks; h; h = h->next)
        if (h->fn) h->fn(node, h->ctx);
}

/* A node that stands in its input's memory (a reshape) gets memory of its own, so that what a hook
 * writes stays its own; later nodes which stand there by way of it follow. False when memory is out. */
static bool own_memory(ag_node *node) {
    const ag_node_list *all = &node->graph->nodes;
    real *shared = node->val.x, *own;
    bool views = false;
    for (int k = 0; k < node->n_in; k++) views |= node->in[k]->val.x == shared;
    if (!views || node->val.n == 0) return true;
    if (!(own = ag_take(node->graph, node->val.n, sizeof *own))) return false;
    memcpy(own, shared, node->val.n * sizeof *own);
    node->val.x = own;
    for (int i = node->index + 1; i < all->n; i++)
        for (int k = 0; k < all->at[i]->n_in; k++)
            if (all->at[i]->val.x == shared && all->at[i]->in[k]->val.x == own)
                all->at[i]->val.x = own;
    return true;
}

bool ag_hook(ag_node *node, ag_hook_fn *fn, void *ctx) {
    if (!node || !fn || ag_store(node) == &node->graph->inert.node) return false;
    ag_hook_entry **end = &ag_own(node)->hooks;  // after the last hook that is in use
    for (ag_hook_entry **at = end; *at; at = &(*at)->next)
        if ((*at)->fn) end = &(*at)->next;
    if (!*end) *end = ag_take(node->graph, 1, sizeof **end);
    if (!*end || !own_memory(node)) return false;
    (*end)->fn = fn;
    (*end)->ctx = ctx;
    return true;
}

void ag_unhook(ag_node *node, ag_hook_fn *fn, void *ctx) {
    for (ag_hook_entry *h = node ? ag_own(node)->hooks : NULL; h; h = h->next)
        if (h->fn == fn && h->ctx == ctx) {
            h->fn = NULL;
            return;
        }
}
