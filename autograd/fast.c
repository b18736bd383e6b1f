/* fast.c - the table of fast forms, and running an op by one or by its plain loops. */
#include "autograd/graph_internal.h"

static const ag_fast *const forms[] = {
#ifndef QKV_PLAIN
#define AG_FAST(name) &ag_fast_##name,
#include "autograd/fast.def"
#undef AG_FAST
#endif
    NULL};

const ag_fast *ag_fast_of(const ag_graph *g, const ag_op *op) {
    static const ag_fast none;
    for (int i = 0; !g->plain && forms[i]; i++)
        if (forms[i]->op == op) return forms[i];
    return &none;
}

void ag_plain(ag_graph *g, bool plain) {
    if (g) g->plain = plain;
}

bool ag_has_fast(const ag_op *op) {
    const ag_graph ordinary = {.plain = false};
    return op && ag_fast_of(&ordinary, op)->op;
}

/* A test, or a meter, puts an op of its own in a node's op's place: that one is run, then. */
static const ag_fast *form_of(const ag_node *node) {
    const ag_fast *form = ag_own(node)->fast;
    return form->op == node->op ? form : NULL;
}

void ag_node_forward(ag_node *node) {
    if (!node || !node->op) return;
    const ag_fast *form = form_of(node);
    (form && form->forward ? form->forward : node->op->forward)(node);
}

void ag_node_backward(ag_node *node) {
    if (!node || !node->op) return;
    const ag_fast *form = form_of(node);
    (form && form->backward ? form->backward : node->op->backward)(node);
}
