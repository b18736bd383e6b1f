/* unary.h - the loops of an op that makes each element of y from the one of x; internal to
 * autograd/. ops/exp.c shows all of it. The shape rule is ag_same_shape, the samples are
 * ag_sample_unary. Where dy is exactly 0, so is what is added to dx, whatever the slope. */
#pragma once

#include <string.h>

#include "autograd/op.h"
#include "autograd/row.h"

/* Forward: runs the statement for every i; in it, x[i] is the input and y[i] is to be set. */
#define AG_EACH(node, ...)                                               \
    {                                                                    \
        const real *restrict x = (node)->in[0]->val.x;                   \
        real *restrict y = (node)->val.x;                                \
        for (size_t i = 0, n_ = (node)->val.n; i < n_; i++) __VA_ARGS__; \
    }

/* The same a vector at a time, where the function has a form for vectors: the statement sets `y` from
 * `x`; backward it sets `slope`, dy/dx, from x and y, or `part`, what is added to dx, from dy too. dx may
 * stand where dy does, and y where x did, which is gone then (AG_IN_PLACE). */
#define AG_VECTORS(node, ...)                          \
    {                                                  \
        const real *x_ = (node)->in[0]->val.x;         \
        real *y_ = (node)->val.x;                      \
        const ptrdiff_t n_ = (ptrdiff_t)(node)->val.n; \
        ROW_EACH(i_, n_) {                             \
            const vreal x = row_get(x_, i_, n_, 0);    \
            vreal y;                                   \
            __VA_ARGS__;                               \
            row_put(y_, i_, n_, y);                    \
        }                                              \
    }
#define AG_VECTORS_BACK(node, ...) \
    AG_VECTORS_ADD(node, {         \
        vreal slope;               \
        __VA_ARGS__;               \
        part = vec_cut(dy, slope); \
    })
#define AG_VECTORS_ADD(node, ...)                                        \
    { /* what is not stored is not asked for: the other stands for it */ \
        const real *in_ = (node)->in[0]->val.x, *out_ = (node)->val.x;   \
        const real *x_ = in_ ? in_ : out_, *y_ = out_ ? out_ : in_;      \
        const real *dy_ = (node)->grad;                                  \
        const ptrdiff_t n_ = (ptrdiff_t)(node)->val.n;                   \
        bool first_ = false;                                             \
        real *dx_ = ag_grad_or_first((node)->in[0], &first_);            \
        ROW_EACH(i_, n_) {                                               \
            const vreal x = row_get(x_, i_, n_, 0);                      \
            const vreal y = row_get(y_, i_, n_, 0);                      \
            const vreal dy = row_get(dy_, i_, n_, 0);                    \
            vreal part, dx = {0};                                        \
            (void)x, (void)y;                                            \
            __VA_ARGS__;                                                 \
            if (!first_) dx = row_get(dx_, i_, n_, 0);                   \
            row_put(dx_, i_, n_, dx + part);                             \
        }                                                                \
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
