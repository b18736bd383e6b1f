/* gradcheck.h - is the backward the derivative of the forward? To be run on the library built in
 * double.
 *
 * For each sample and three fixed random signed cotangents c, L = sum(c * y): every coordinate of
 * every leaf is nudged and the graph replayed; the 4th-order central difference must equal the
 * analytic gradient within 1e-9 max(1, largest |g|) + 1e-7 |numeric|; where it does not, smaller steps
 * and one-sided ones tell what is wrong from what is close to a bend or a jump. Beside that, for each
 * sample: replay gives the same bits, writes every number of y and leaves inputs alone; two backward
 * passes add up to twice the gradient; c = 0 exact zeros; 2c exactly double; each leaf frozen in turn
 * leaves the other gradients' bits alone; what is written over or run by rows has the stored one's
 * bits. */
#pragma once

#include "autograd/ag.h"

TENSOR_C_BEGIN

typedef ag_node *ag_sample_fn(ag_graph *g, int i);  // the i-th example, or NULL

typedef struct {
    int samples;
    long coordinates;
    long unmoved;      // of them, those that move nothing in y, however far they go
    int inconclusive;  // coordinates at a kink: the slope jumps close by
    double worst;      // largest |analytic - numeric| / tolerance; at most 1 in a right backward
    bool passed;
    char reason[320];  // what failed first, in words; "" if nothing
} ag_check_report;

/* Checks all samples. has_kinks: inconclusive points are allowed, up to half of them. A check that
 * compared nothing is not passed: no samples, none with numbers that want a gradient, all derivatives
 * 0. Returns report->passed. */
bool ag_gradcheck(ag_sample_fn *sample, bool has_kinks, ag_check_report *report);

/* The same of an op, whose every input must be compared in some sample: by its fast form, if it has one,
 * and by its plain loops. */
bool ag_gradcheck_op(const ag_op *op, ag_check_report *report);

TENSOR_C_END
