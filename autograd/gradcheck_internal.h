/* gradcheck_internal.h - what the two halves of the gradient check share: gradcheck.c compares with
 * differences, gradcheck_laws.c asks for what holds exactly. */
#pragma once

#include <string.h>

#include "autograd/gradcheck.h"
#include "autograd/graph_internal.h"

enum { CHECK_COTANGENTS = 3 };
#define AG_CHECK_STEP 1e-3  // over which slopes are taken

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
    bool sized;   // y's size and the inputs' are noted:
    bool varies,
        constant;            // the inputs' size differs between samples; y's does not
    size_t y_size, in_size;  // of the first sample
    int i;                   // the sample under check
    real *cotangent[CHECK_COTANGENTS], *values, *again,
        *grads;  // of y; of all leaves, one after the other
} ag_check;

/* Notes what is wrong, in printf's words for two doubles; returns false. */
bool ag_check_fail(ag_check *c, const char *format, const char *name, size_t at, double a,
                   double b);

/* A fresh graph on fresh parameters, with one leaf frozen (or none: -1); and with sample i recorded. False
 * when there is no such sample, or on an error. */
bool ag_check_begin(ag_check *c, int frozen);
bool ag_check_record(ag_check *c, int frozen);

/* Gradients of all leaves under one cotangent, `times` backward passes, copied one after the other
 * into out. */
void ag_check_gradients(ag_check *c, const real *cotangent, int times, real *out);

/* Moves every leaf a little away from zero and replays, so that what forward keeps must be renewed
 * by a replay. */
void ag_check_move_leaves(ag_check *c);

/* The slope of each loss with respect to one coordinate: the 4th-order central difference over steps of
 * h. What an analytic one may differ from it, where `largest` is the largest gradient. */
void ag_check_slopes(ag_check *c, real *x, double h, double out[CHECK_COTANGENTS]);
double ag_check_tolerance(double largest, double numeric);

/* What a gradient is that differs from the slope of loss k: wrong, or right where the slope bends or
 * jumps close by. */
typedef enum { AG_CHECK_RIGHT, AG_CHECK_KNEE, AG_CHECK_KINK, AG_CHECK_WRONG } ag_check_point;
ag_check_point ag_check_look_closer(ag_check *c, real *x, int k, double analytic, double largest);

/* Does any number of y, which c->again has, change with one coordinate, near by or far off? Where relu
 * is flat it does. */
bool ag_check_moves(ag_check *c, real *x);

/* What holds exactly, whatever the op computes. */
bool ag_check_laws(ag_check *c);

/* The same bits where values and gradients are written over, and where it is run by rows. */
bool ag_check_memory(ag_check *c);

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
