/* text.c - what ops say of their arguments. */
#include <stdio.h>

#include "autograd/op.h"

const char *ag_text_ints(ag_graph *g, size_t n, const int *x) {
    enum { LONGEST = 12 };  // of an int, with its comma
    const size_t size = n * LONGEST + 3;
    char *text = ag_take(g, size, 1);
    size_t at = 0;
    if (!text) return "[]";
    text[at++] = '[';
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, size - at, i ? ",%d" : "%d", x[i]);
    text[at] = ']';
    return text;
}

const char *ag_text_mask(const ag_node *node, ag_mask mask) {
    const int lengths = mask.length ? node->val.shape.dim[0] : 0;
    int *of = ag_take(node->graph, 4 + (size_t)lengths, sizeof *of);
    if (!of) return "\"mask\":[]";
    of[0] = mask.causal, of[1] = mask.no_self, of[2] = mask.memory, of[3] = mask.first;
    for (int b = 0; b < lengths; b++) of[4 + b] = mask.length[b];
    return ag_text(node->graph, "\"mask\":%s", ag_text_ints(node->graph, 4 + (size_t)lengths, of));
}

const char *ag_text_weight(ag_graph *g, const real *weight) {
    return weight ? ag_text(g, "\"weight\":%.17g", (double)*weight) : "\"weight\":null";
}
