/* hooks.c - functions that look at a node, or overwrite it, after its forward. */
#include "autograd/graph_internal.h"

void ag_run_hooks(ag_node *node) {
    for (ag_hook_entry *h = node->hooks, *next; h; h = next) {
        next = h->next;
        h->fn(node, h->ctx);
    }
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
    for (ag_hook_entry **h = &node->hooks; *h; h = &(*h)->next)
        if ((*h)->fn == fn && (*h)->ctx == ctx) {
            *h = (*h)->next;
            return;
        }
}
