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

const char *ag_text_mask(ag_graph *g, ag_mask mask) {
    const int of[] = {mask.causal, mask.no_self, mask.memory};
    return ag_text(g, "\"mask\":%s", ag_text_ints(g, 3, of));
}

const char *ag_text_weight(ag_graph *g, const real *weight) {
    return weight ? ag_text(g, "\"weight\":%.17g", (double)*weight) : "\"weight\":null";
}
