/* why.h - what a number of a graph is made of, for every op by its own backward: run alone, with a
 * cotangent that is 1 at y[j] and 0 elsewhere, it writes the row dy[j]/dx.
 *
 *     ag_why        y[j] by its inputs: each x[i] with the slope dy[j]/dx[i]; where y is linear
 *                   (AG_LINEAR), slopes times values add up to it
 *     ag_why_grad   dL/dx[i] by all y[j] that read x[i]: dL/dy[j] dy[j]/dx[i] add up to it
 *     ag_why_path   from x[i] on by the largest of those, up to L
 *
 * Nothing that is computed changes; a value that is not stored is stored from then on (ag_store()). Memory
 * comes from `mem`, the caller's. A call that fails returns false, and says why in `wrong`; the graph
 * itself bears no error. */
#pragma once

#include "autograd/ag.h"

TENSOR_C_BEGIN

typedef struct {
    ag_node *node;  // where the other number is: y's input, or a reader of x
    int input;      // which of its inputs y reads it as, or the reader reads x as
    size_t at, n;   // its place; n > 1: numbers at .. at+n-1 together, where there were too many
    double value;   // the number there, or its gradient; 0 where n > 1
    double slope;   // of y[j] by it, or of it by x[i]; 0 where n > 1
    bool linear;    // `part` is a summand
    double part;    // value times slope; 0 where it is no summand
} ag_term;

typedef struct {
    double value;         // y[j], or dL/dx[i]
    bool together;        // ag_why: the terms of all inputs add up to y, not those of each input
    size_t n;             // terms; those whose slope is 0 are left out
    const ag_term *term;  // largest first; ag_why: input by input, unless together
    const char *wrong;    // the sentence, or NULL
} ag_reasons;

/* What a term of an input leaves: y[j] without the terms of that input, or of all if they are together. */
double ag_why_rest(const ag_reasons *r, int input);

bool ag_why(ag_node *y, size_t j, tensor_arena *mem, ag_reasons *out);

/* After one ag_backward(): gradients must be kept (ag_keep_grads()) and those of leaves have been zero
 * before. What frozen leaves and inputs get, and what passes to them, is there only if they want it
 * (ag_want_all()). A reader with very many numbers is looked at in part, and the others together. */
bool ag_why_grad(ag_node *x, size_t i, tensor_arena *mem, ag_reasons *out);

/* term[k] is the largest term of the gradient of term[k-1]'s number, term[0] of x[i]'s; the last one is at
 * the loss. Of a gradient that is 0 there is none. */
bool ag_why_path(ag_node *x, size_t i, tensor_arena *mem, ag_reasons *out);

TENSOR_C_END
