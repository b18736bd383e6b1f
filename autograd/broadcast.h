/* broadcast.h - one loop for two operands under numpy's broadcasting; internal to autograd/. */
#pragma once

#include "autograd/op.h"

/* A walk over the full shape, row by row. A row is as long as possible: neighbouring dimensions
 * are merged, so that equal shapes make one row of everything. */
typedef struct {
    size_t n;            // elements of a row
    size_t y, a, b;      // offsets of the row in the full tensor and in the operands
    int step_a, step_b;  // 1, or 0 where the operand is repeated along the row
    int rank;
    size_t dim[TENSOR_MAXRANK], at[TENSOR_MAXRANK];  // size_t: merged dimensions can exceed an int
    size_t stride_a[TENSOR_MAXRANK], stride_b[TENSOR_MAXRANK];
    bool started, empty;
} ag_rows;

ag_rows ag_rows_of(tensor_shape full, tensor_shape a, tensor_shape b);
bool ag_rows_next(ag_rows *r);

/* Runs `statement` for every element of the full shape; in it, iy, ia and ib are the element's
 * index in the full tensor and in each operand. One loop for each way of stepping, so that the
 * compiler can vectorise it. */
#define AG_BROADCAST(full, shape_a, shape_b, statement)                         \
    for (ag_rows r_ = ag_rows_of(full, shape_a, shape_b); ag_rows_next(&r_);) { \
        if (r_.step_a && r_.step_b)                                             \
            AG_ROW_(1, 1, statement)                                            \
        else if (r_.step_a)                                                     \
            AG_ROW_(1, 0, statement)                                            \
        else if (r_.step_b)                                                     \
            AG_ROW_(0, 1, statement)                                            \
        else                                                                    \
            AG_ROW_(0, 0, statement)                                            \
    }
#define AG_ROW_(step_a_, step_b_, statement)                                             \
    for (size_t i_ = 0; i_ < r_.n; i_++) {                                               \
        const size_t iy = r_.y + i_, ia = r_.a + i_ * step_a_, ib = r_.b + i_ * step_b_; \
        (void)iy, (void)ia, (void)ib;                                                    \
        statement;                                                                       \
    }

/* Backward, for operand `k` (0: a, 1: b): adds `part`, what element iy contributes, to its gradient; one
 * that is as large as y, and to which nothing was added yet, is written. */
#define AG_BROADCAST_BACK(node, k, part) AG_BACK_(node, k, 0 + (part), d_[to_] + (part))

/* The same of a part that is a product, ag_cut(dy, slope). */
#define AG_BROADCAST_BACK_CUT(node, k, dy, slope) \
    AG_BACK_(node, k, 0 + ag_cut(dy, slope), ag_cut_add(d_[to_], dy, slope))

#define AG_BACK_(node, k, first, sum)                                                     \
    {                                                                                     \
        const ag_node *a_ = (node)->in[0], *b_ = (node)->in[1];                           \
        bool first_ = false;                                                              \
        const bool whole_ = (node)->in[k]->val.n == (node)->val.n;                        \
        real *restrict d_ =                                                               \
            whole_ ? ag_grad_or_first((node)->in[k], &first_) : ag_grad((node)->in[k]);   \
        if (d_ && first_)                                                                 \
            AG_BROADCAST((node)->val.shape, a_->val.shape, b_->val.shape, d_[iy] = first) \
        else if (d_)                                                                      \
            AG_BROADCAST((node)->val.shape, a_->val.shape, b_->val.shape, {               \
                const size_t to_ = (k) ? ib : ia;                                         \
                d_[to_] = sum;                                                            \
            })                                                                            \
    }

/* sum + a b, but sum where a is 0. Fused where an x86 processor does that, and said so: left to itself, a
 * compiler fuses in one build and not in the next, and the bits change with it. */
static inline real ag_cut_add(real sum, real a, real b) {
#if defined(__FMA__) && !defined(QKV_PORTABLE)
    return a == 0 ? sum : real_fma(a, b, sum);
#else
    return sum + ag_cut(a, b);
#endif
}

/* The shape rule of add, mul and their like. */
bool ag_broadcast_shape(ag_node *node);

/* Their samples: equal shapes, every kind of broadcast, one node on both sides; `second` is what
 * the second operand is drawn from. */
ag_node *ag_sample_pair(ag_graph *g, ag_node *(*op)(ag_node *, ag_node *), int i,
                        ag_sample_kind second);
