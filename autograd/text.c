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

const char *ag_text_places(const ag_node *node, ag_places p) {
    const char *text = "";
    for (int b = 0; p.at && b < node->val.shape.dim[0]; b++)
        text = ag_text(node->graph, "%s%s%s", text, b ? "," : "",
                       ag_text_ints(node->graph, (size_t)p.n, p.at + (ptrdiff_t)b * p.n));
    return ag_text(node->graph, "[%s]", text);
}

const char *ag_text_mask(const ag_node *node, ag_mask mask) {
    const int lengths = mask.length ? node->val.shape.dim[0] : 0;
    const char *first =
        mask.places.at ? ag_text_places(node, mask.places) : ag_text(node->graph, "%d", mask.first);
    const char *text = ag_text(node->graph, "\"mask\":[%d,%d,%d,%s", mask.causal, mask.no_self,
                               mask.memory, first);
    for (int b = 0; b < lengths; b++) text = ag_text(node->graph, "%s,%d", text, mask.length[b]);
    return ag_text(node->graph, "%s]", text);
}

const char *ag_text_weight(ag_graph *g, const real *weight) {
    return weight ? ag_text(g, "\"weight\":%.17g", (double)*weight) : "\"weight\":null";
}
