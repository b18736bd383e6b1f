/* permute.c - a copy of x with its dimensions in another order: dimension i of y is dimension
 * axes[i] of x. Every number stands at its new place in y; backward, its gradient returns to the
 * old one. */
#include "autograd/reduce.h"
#include "autograd/row.h"

static bool shape(ag_node *node) {
    const ag_axes *a = node->attr;
    tensor_shape x = node->in[0]->val.shape;
    bool seen[TENSOR_MAXRANK] = {false};
    if (a->n_axes != x.rank) return ag_fail(node, "%d axes for %d dimensions", a->n_axes, x.rank);
    node->val.shape = x;
    for (int i = 0; i < x.rank; i++) {
        int from = ag_axis(x, a->axes[i]);
        if (from < 0 || seen[from])
            return ag_fail(node, "axis %d is out of range or named twice", a->axes[i]);
        seen[from] = true;
        node->val.shape.dim[i] = x.dim[from];
    }
    return true;
}

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

static ag_node *sample(ag_graph *g, int i) {
    static const int axes[][5] = {
        {0}, {0}, {1, 0}, {2, 0, 1}, {0, 2, 1, 3}, {-1, 1, -5, 3, 2}, {1, 0}, {0, 1}, {1, 0}};
    const tensor_shape shapes[] = {
        tensor_dims(0),          tensor_dims(1, 7),          tensor_dims(2, 3, 17),
        tensor_dims(3, 2, 3, 5), tensor_dims(4, 2, 3, 2, 5), tensor_dims(5, 2, 3, 1, 2, 2),
        tensor_dims(2, 0, 4),    tensor_dims(2, 3, 4),       tensor_dims(2, 17, 18)};
    if (i >= 9) return NULL;
    return ag_permute(ag_sample(g, AG_SAMPLE_NORMAL, shapes[i]), shapes[i].rank, axes[i]);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    return ag_permute(ag_sample_x(g, z), 3, (const int[]){1, 0, 2});
}

const ag_op ag_op_permute = {
    .name = "permute",
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = ag_reduce_arguments,
    .torch = "x[0].permute(axes)",
};

ag_node *ag_permute(ag_node *x, int n_axes, const int *axes) {
    ag_axes attr;
    if (!ag_axes_set(ag_graph_of(x), "permute", n_axes, axes, &attr))
        return ag_fail_graph(ag_graph_of(x), "permute");
    return ag_apply(&ag_op_permute, AG_IN(x), &attr, sizeof attr);
}
