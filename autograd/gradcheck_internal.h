/* gradcheck_internal.h - what the two halves of the gradient check share: gradcheck.c compares with
 * differences, gradcheck_laws.c asks for what holds exactly. */
#ifndef AUTOGRAD_GRADCHECK_INTERNAL_H
#define AUTOGRAD_GRADCHECK_INTERNAL_H

#include <string.h>

#include "autograd/gradcheck.h"
#include "autograd/graph_internal.h"

enum { CHECK_COTANGENTS = 3 };

typedef struct {
    ag_sample_fn *sample;
    bool has_kinks;
    ag_check_report *report;
    ag_params *params;
    ag_graph *graph;
    ag_node *root;
    const ag_op *op;  // that is checked; NULL: something made of ops
    bool plain;       // by its plain loops, not by its fast form
    bool reached;     // by a gradient, in some sample
    unsigned inputs,
        compared;  // of the op, by bits: those with numbers; those that wanted gradients
    long points, open,
        nonzero;  // comparisons; inconclusive ones; those of a derivative that is not 0
    int i;        // the sample under check
    real *cotangent[CHECK_COTANGENTS], *values, *again,
        *grads;  // of y; of all leaves, one after the other
} ag_check;

/* Notes what is wrong, in printf's words for two doubles; returns false. */
bool ag_check_fail(ag_check *c, const char *format, const char *name, size_t at, double a,
                   double b);

/* Records sample i on fresh parameters, with one leaf frozen (or none: -1). False when there is no
 * such sample, or on an error. */
bool ag_check_record(ag_check *c, int frozen);

/* Gradients of all leaves under one cotangent, `times` backward passes, copied one after the other
 * into out. */
void ag_check_gradients(ag_check *c, const real *cotangent, int times, real *out);

/* Moves every leaf a little away from zero and replays, so that what forward keeps must be renewed
 * by a replay. */
void ag_check_move_leaves(ag_check *c);

/* What holds exactly, whatever the op computes. */
bool ag_check_laws(ag_check *c);

static inline ag_node *ag_check_leaf(const ag_check *c, int i) { return c->graph->leaves.at[i]; }
static inline bool ag_check_has_gradient(const ag_node *leaf) {
    return leaf->wants_grad && leaf->grad && leaf->has_grad;
}
static inline size_t ag_check_leaf_reals(const ag_check *c) {
    size_t n = 0;
    for (int i = 0; i < c->graph->leaves.n; i++) n += ag_check_leaf(c, i)->val.n;
    return n;
}
static inline bool ag_check_same_bits(const real *a, const real *b, size_t n) {
    return n == 0 || memcmp(a, b, n * sizeof *a) == 0;
}

#endif
