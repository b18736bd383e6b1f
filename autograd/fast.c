/* fast.c - the table of fast forms. */
#include "autograd/graph_internal.h"

static const ag_fast none;

#ifdef QKV_PLAIN
const ag_fast *ag_fast_of(const ag_graph *g, const ag_op *op) {
    return g->claimed && g->claimed->op == op ? g->claimed : &none;
}
#else
#define AG_FAST(name)
#define AG_FACTS(name, ...) static const ag_fast facts_##name = {.op = &ag_op_##name, __VA_ARGS__};
#include "autograd/fast.def"
#undef AG_FAST
#undef AG_FACTS

static const ag_fast *const forms[] = {
#define AG_FAST(name)       &ag_fast_##name,
#define AG_FACTS(name, ...) &facts_##name,
#include "autograd/fast.def"
#undef AG_FAST
#undef AG_FACTS
    NULL};

const ag_fast *ag_fast_of(const ag_graph *g, const ag_op *op) {
    if (g->claimed && g->claimed->op == op) return g->claimed;
    for (int i = 0; !g->plain && forms[i]; i++)
        if (forms[i]->op == op) return forms[i];
    return &none;
}
#endif

void ag_plain(ag_graph *g, bool plain) { g->plain = plain; }

bool ag_has_fast(const ag_op *op) {
    const ag_graph ordinary = {.plain = false};
    const ag_fast *form = ag_fast_of(&ordinary, op);
    return form->forward || form->backward;
}

void ag_node_forward(ag_node *node) {
    const bool fast = node->fast->forward && node->fast->op == node->op;
    (fast ? node->fast->forward : node->op->forward)(node);
}

void ag_node_backward(ag_node *node) {
    const bool fast = node->fast->backward && node->fast->op == node->op;
    (fast ? node->fast->backward : node->op->backward)(node);
}
