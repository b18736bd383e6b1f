/* record.c - an op becomes a node: its shape, its place, its memory, its first value; then replay, and
 * looking, which makes a value stored. */
#include <string.h>

#include "autograd/graph_internal.h"

/* Shape, memory and first run of a node whose inputs and attr are set. */
static bool build(ag_node *node) {
    ag_graph *g = node->graph;
    for (int i = 0; i < node->n_in; i++)
        if (!ag_rows_of(node) || ag_own(node->in[i])->taker) ag_store(node->in[i]);
    if (g->failed) return false;
    node->val.shape.rank = -1;
    if (!node->op->shape(node))
        return ag_fail(node, "its shape rule refuses this without a reason: it must ag_fail()");
    if (g->failed) return false;
    if (node->val.shape.rank < 0)
        return ag_fail(node, "its shape rule sets no shape: val.shape, as ag_same_shape() does");
    if (!node->op->forward) return ag_fail(node, "it has no forward()");
    if (!tensor_count(node->val.shape, &node->val.n)) return ag_fail(node, "too many elements");
    if (ag_own(node)->fast->save) node->n_save = ag_own(node)->fast->save(node);
    ag_plan_value(node);
    return ag_own(node)->streamed ? !g->failed : ag_make(node);
}

ag_node *ag_apply(const ag_op *op, int n_in, ag_node *const *in, const void *attr,
                  size_t attr_size) {
    ag_graph *g = NULL;
    for (int i = 0; in && i < n_in && !g; i++) g = ag_graph_of(in[i]);
    if (!g) return NULL;
    if (!op || !op->name || !op->shape) return ag_fail_graph(g, "an op lacks its name or shape()");
    ag_node *node = ag_new_node(g);
    if (node == &g->inert.node) return node;
    node->op = op;
    ag_own(node)->fast = ag_fast_of(g, op);
    node->name = ag_text(g, "%s#%d", op->name, node->index);
    node->n_in = n_in;
    node->in = ag_take(g, (size_t)n_in, sizeof *node->in);
    void *copy = attr_size ? ag_take(g, 1, attr_size) : NULL;
    if (g->failed) return &g->inert.node;
    if (attr_size) memcpy(copy, attr, attr_size);
    node->attr = copy;
    for (int i = 0; i < n_in; i++) {
        if (!in[i]) return ag_fail_graph(g, "%s: input %d is NULL", op->name, i);
        if (in[i]->graph != g)
            return ag_fail_graph(g, "%s: inputs belong to different graphs", op->name);
        node->in[i] = in[i];
        node->wants_grad |= in[i]->wants_grad;
    }
    return build(node) ? node : &g->inert.node;
}

/* ---- replay, and looking ---- */

bool ag_forward(ag_graph *g) {
    if (!g) return false;
    for (int i = 0; i < g->nodes.n && !g->failed; i++) {
        ag_node *node = g->nodes.at[i];
        const ag_private *own = ag_own(node);
        if (node->op && !own->streamed && !own->taker) ag_run_node(node);
        if (own->hooks) ag_run_hooks(node);
    }
    return !g->failed;
}

ag_node *ag_find(ag_graph *g, const char *name) {
    ag_node *node = ag_find_unseen(g, name);
    return node && ag_store(node) == node ? node : NULL;
}

/* ---- the catalogue ---- */

const ag_op *const ag_ops[] = {
#define AG_OP(name, arguments, shapes, formula) &ag_op_##name,
#include "autograd/ops.def"
#undef AG_OP
    NULL};
