/* hooks.c - functions that look at a node, or overwrite it, after its forward. */
#include "autograd/graph_internal.h"

/* A hook may remove itself or another one: a removed entry lives on until the graph is reset, without
 * its function but with the way on. */
void ag_run_hooks(ag_node *node) {
    for (ag_hook_entry *h = node->hooks; h; h = h->next)
        if (h->fn) h->fn(node, h->ctx);
}

bool ag_hook(ag_node *node, ag_hook_fn *fn, void *ctx) {
    if (!node || node == &node->graph->inert) return false;
    ag_hook_entry *h = ag_take(node->graph, 1, sizeof *h);
    if (!h) return false;
    *h = (ag_hook_entry){.fn = fn, .ctx = ctx};
    ag_hook_entry **end = &node->hooks;
    while (*end) end = &(*end)->next;
    *end = h;
    return true;
}

void ag_unhook(ag_node *node, ag_hook_fn *fn, void *ctx) {
    if (!node) return;
    for (ag_hook_entry **at = &node->hooks; *at; at = &(*at)->next)
        if ((*at)->fn == fn && (*at)->ctx == ctx) {
            (*at)->fn = NULL;
            *at = (*at)->next;
            return;
        }
}
