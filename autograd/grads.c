/* grads.c - the flat buffer in which the gradients of all parameters stand, and how an op adds to one. */
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
        leaf->has_grad = kept && leaf->has_grad;
    }
}

void ag_grads_into(ag_graph *g, real *flat) {
    if (!g || g->failed) return;
    g->grads = NULL;
    if (!flat) flat = g->own_grads;
    if (flat) point_into(g, flat, false);
}

bool ag_own_grads(ag_graph *g) {
    size_t size = g->params->size;
    if (g->grads != g->own_grads || (g->grads && size == g->own_size)) return true;
    real *longer = ag_take(g, size, sizeof(real));  // also after parameters were added
    if (!longer) return false;
    if (g->own_size) memcpy(longer, g->own_grads, g->own_size * sizeof(real));
    g->own_grads = longer;
    g->own_size = size;
    point_into(g, longer, true);
    return true;
}

real *ag_grads(ag_graph *g) { return g ? g->grads : NULL; }

real *ag_param_grad(ag_graph *g, const ag_param_entry *p) {
    for (int i = 0; g && i < g->leaves.n; i++) {
        const ag_node *leaf = g->leaves.at[i];
        if (leaf->param == p && p) return leaf->wants_grad && leaf->has_grad ? leaf->grad : NULL;
    }
    return NULL;
}

void ag_grads_zero(ag_graph *g) {
    if (!g) return;
    if (g->own_grads) memset(g->own_grads, 0, g->own_size * sizeof(real));
    for (int i = 0; i < g->leaves.n; i++) {
        ag_node *leaf = g->leaves.at[i];
        if (leaf->param && leaf->grad) memset(leaf->grad, 0, leaf->val.n * sizeof(real));
        leaf->has_grad = false;
    }
}

void ag_zero_the_rest(ag_graph *g) {
    for (int i = 0; i < g->leaves.n; i++) {
        const ag_node *leaf = g->leaves.at[i];
        if (has_parameter(leaf) && !leaf->has_grad)
            memset(leaf->grad, 0, leaf->val.n * sizeof(real));
    }
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
