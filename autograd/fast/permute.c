/* permute.c - planes of numbers turned around a block at a time, in vectors. */
#include "autograd/fast.h"
#include "autograd/reduce.h"
#include "autograd/row.h"

/* A permutation of `from` as planes: [..,R,..,C] becomes [..,C,..,R], C and R being the last dimensions of
 * each. What else there is counts the planes. Where the last dimension stays, there is no C. */
typedef struct {
    tensor_shape to;
    size_t stride[TENSOR_MAXRANK], stride_to[TENSOR_MAXRANK];  // of to's dimensions, in each
    int c;                       // from's last dimension, in to; -1: it stays the last
    size_t R, C, step, step_to;  // rows are `step` apart in from; columns `step_to` in to
} planes;

static planes planes_of(tensor_shape from, const int axes[TENSOR_MAXRANK]) {
    planes p = {.to = from, .c = -1, .C = 1, .step = 1};
    for (int i = 0; i < from.rank; i++) {
        p.to.dim[i] = from.dim[axes[i]];
        p.stride[i] = p.step = ag_inner(from, axes[i]);
    }
    for (int i = 0; i < from.rank; i++) {
        p.stride_to[i] = ag_inner(p.to, i);
        if (i < from.rank - 1 && axes[i] == from.rank - 1) p.c = i;
    }
    p.R = (size_t)tensor_width(p.to);
    if (p.c >= 0) p.C = (size_t)p.to.dim[p.c];
    if (p.c >= 0) p.step_to = p.stride_to[p.c];
    return p;
}

/* Where plane k begins in from and in to. */
static void begin(const planes *p, size_t k, size_t *from, size_t *to) {
    size_t x = 0, y = 0;
    for (int i = p->to.rank - 2; i >= 0; i--) {
        if (i == p->c) continue;
        const size_t dim = (size_t)p->to.dim[i], at = k % dim;
        x += at * p->stride[i];
        y += at * p->stride_to[i];
        k /= dim;
    }
    *from = x;
    *to = y;
}

typedef enum { COPY, FIRST, ADD } way;  // FIRST: added to 0

VEC_INLINE void put(real *to, vreal v, way how) {
    vec_store(to, how == COPY ? v : (how == ADD ? vec_load(to) : vec_set(0)) + v);
}
VEC_INLINE void put_one(real *to, real x, way how) {
    *to = how == COPY ? x : (how == ADD ? *to : 0) + x;
}

/* to[c * step_to + r] = from[r * step + c] of rows r and columns c; VEC x VEC at a time. */
VEC_INLINE void turn(const real *from, size_t step, size_t rows, size_t cols, real *to,
                     size_t step_to, way how) {
    size_t r = 0;
    for (; r + VEC <= rows && cols >= VEC; r += VEC) {
        size_t c = 0;
        for (; c + VEC <= cols; c += VEC) {
            vreal at[VEC];
            for (size_t k = 0; k < VEC; k++) at[k] = vec_load(from + (r + k) * step + c);
            vec_transpose(at);
            for (size_t k = 0; k < VEC; k++) put(to + (c + k) * step_to + r, at[k], how);
        }
        for (; c < cols; c++)
            for (size_t k = r; k < r + VEC; k++)
                put_one(to + c * step_to + k, from[k * step + c], how);
    }
    for (size_t c = 0; c < cols; c++)
        for (size_t k = r; k < rows; k++) put_one(to + c * step_to + k, from[k * step + c], how);
}

VEC_INLINE void move(const planes *p, size_t n, const real *x, real *y, way how) {
    for (size_t k = 0; k * p->R * p->C < n; k++) {
        size_t from, to, r = 0;
        begin(p, k, &from, &to);
        if (p->c >= 0) {
            turn(x + from, p->step, p->R, p->C, y + to, p->step_to, how);
            continue;
        }
        const real *row = x + from;
        real *out = y + to;
        for (const size_t R = p->R; r + VEC <= R; r += VEC) put(out + r, vec_load(row + r), how);
        for (const size_t R = p->R; r < R; r++) put_one(out + r, row[r], how);
    }
}

static void forward(ag_node *node) {
    const ag_axes *a = node->attr;
    const tensor_shape s = node->in[0]->val.shape;
    int axes[TENSOR_MAXRANK] = {0};
    for (int i = 0; i < s.rank; i++) axes[i] = ag_axis(s, a->axes[i]);
    const planes p = planes_of(s, axes);
    move(&p, node->val.n, node->in[0]->val.x, node->val.x, COPY);
}

static void backward(ag_node *node) {
    const ag_axes *a = node->attr;
    const tensor_shape s = node->in[0]->val.shape;
    int back[TENSOR_MAXRANK] = {0};
    for (int i = 0; i < s.rank; i++) back[ag_axis(s, a->axes[i])] = i;
    const planes p = planes_of(node->val.shape, back);
    bool first = false;
    real *dx = ag_grad_or_first(node->in[0], &first);
    if (first)
        move(&p, node->val.n, node->grad, dx, FIRST);
    else
        move(&p, node->val.n, node->grad, dx, ADD);
}

const ag_fast ag_fast_permute = {
    .op = &ag_op_permute,
    .forward = forward,
    .backward = backward,
};
