/* unary.h - the loops of an op that makes each element of y from the one of x; internal to
 * autograd/. ops/exp.c shows all of it. The shape rule is ag_same_shape, the samples are
 * ag_sample_unary. */
#ifndef AUTOGRAD_UNARY_H
#define AUTOGRAD_UNARY_H

#include <string.h>

#include "autograd/op.h"

/* Forward: runs the statement for every i; in it, x[i] is the input and y[i] is to be set. */
#define AG_EACH(node, ...)                                               \
    {                                                                    \
        const real *restrict x = (node)->in[0]->val.x;                   \
        real *restrict y = (node)->val.x;                                \
        for (size_t i = 0, n_ = (node)->val.n; i < n_; i++) __VA_ARGS__; \
    }

/* Backward: the same with dy[i], the gradient of y[i]; dx[i] is to be added to. What is not written
 * yet is zeroed a piece at a time, while it is in the first-level cache. */
#define AG_EACH_BACK(node, ...)                                              \
    {                                                                        \
        const real *restrict x = (node)->in[0]->val.x;                       \
        const real *restrict y = (node)->val.x, *restrict dy = (node)->grad; \
        bool first_ = false;                                                 \
        real *restrict dx = ag_grad_or_first((node)->in[0], &first_);        \
        (void)x, (void)y;                                                    \
        for (size_t at_ = 0, n_ = (node)->val.n, to_; at_ < n_; at_ = to_) { \
            to_ = n_ - at_ > 1024 ? at_ + 1024 : n_;                         \
            if (first_) memset(dx + at_, 0, (to_ - at_) * sizeof *dx);       \
            for (size_t i = at_; i < to_; i++) __VA_ARGS__;                  \
        }                                                                    \
    }

#endif
