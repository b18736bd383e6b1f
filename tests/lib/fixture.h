/* fixture.h - parameters and a graph for a whole test program; header only. */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include "autograd/op.h"

static ag_params *params;
static ag_graph *g;

static inline int begin(void **state) {
    (void)state;
    params = ag_params_new(NULL, 1);
    g = ag_graph_new(params);
    return !g;
}
static inline int end(void **state) {
    (void)state;
    ag_graph_free(g);
    ag_params_free(params);
    return 0;
}

#endif
