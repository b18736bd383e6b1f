/* hooks.c - functions that look at a node, or overwrite it, after its forward. */
#include "autograd/graph_internal.h"

/* A removed hook stays in the list without its function: hooks may remove themselves or each other
 * while they run, and hooking anew takes the place at the list's end without asking for memory. */
void ag_run_hooks(ag_node *node) {
    for (ag_hook_entry *h = node->hooks; h; h = h->next)
        if (h->fn) h->fn(node, h->ctx);
}

bool ag_hook(ag_node *node, ag_hook_fn *fn, void *ctx) {
    if (!node || ag_store(node) == &node->graph->inert) return false;
    ag_hook_entry **end = &node->hooks;  // after the last hook that is in use
    for (ag_hook_entry **at = end; *at; at = &(*at)->next)
        if ((*at)->fn) end = &(*at)->next;
    if (!*end) *end = ag_take(node->graph, 1, sizeof **end);
    if (!*end) return false;
    (*end)->fn = fn;
    (*end)->ctx = ctx;
    return true;
}

void ag_unhook(ag_node *node, ag_hook_fn *fn, void *ctx) {
    for (ag_hook_entry *h = node ? node->hooks : NULL; h; h = h->next)
        if (h->fn == fn && h->ctx == ctx) {
            h->fn = NULL;
            return;
        }
}
