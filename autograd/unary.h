/* unary.h - the loops of an op that makes each element of y from the one of x; internal to
 * autograd/. ops/exp.c shows all of it. The shape rule is ag_same_shape, the samples are
 * ag_sample_unary. */
#ifndef AUTOGRAD_UNARY_H
#define AUTOGRAD_UNARY_H

#include "autograd/op.h"

/* Forward: runs the statement for every i; in it, x[i] is the input and y[i] is to be set. */
#define AG_EACH(node, ...)                                               \
    {                                                                    \
        const real *restrict x = (node)->in[0]->val.x;                   \
        real *restrict y = (node)->val.x;                                \
        for (size_t i = 0, n_ = (node)->val.n; i < n_; i++) __VA_ARGS__; \
    }

/* Backward: the same with dy[i], the gradient of y[i]; dx[i] is to be added to. */
#define AG_EACH_BACK(node, ...)                                              \
    {                                                                        \
        const real *restrict x = (node)->in[0]->val.x;                       \
        const real *restrict y = (node)->val.x, *restrict dy = (node)->grad; \
        real *restrict dx = ag_grad((node)->in[0]);                          \
        (void)x, (void)y;                                                    \
        for (size_t i = 0, n_ = (node)->val.n; i < n_; i++) __VA_ARGS__;     \
    }

#endif
