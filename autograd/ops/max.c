/* max.c - y = the greatest x over axes; of nothing: an error. NaN passes through.
 *   dx = dy at the first of the greatest (or at the first NaN), 0 elsewhere */
#include <string.h>

#include "autograd/reduce.h"
#include "autograd/row.h"

static bool shape(ag_node *node) {
    size_t n;
    if (!ag_reduce_shape(node)) return false;
    if (ag_reduce_count(node) == 0) return ag_fail(node, "the max of nothing");
    if (!tensor_count(node->val.shape, &n)) return ag_fail(node, "too many elements");
    node->n_save = 2 * n;  // y, and in backward: is its x still to be found?
    return true;
}

static vmask found(vreal x, vreal y) { return (x == y) | (x != x); }

/* The first of x[0..n-1] that is y, or NaN; n if none is. */
static ptrdiff_t first_of(const real *x, ptrdiff_t n, real y) {
    ptrdiff_t i = 0;
    while (i + VEC <= n && !vec_any(found(vec_load(x + i), vec_set(y)))) i += VEC;
    while (i < n && !(x[i] == y || x[i] != x[i])) i++;
    return i;
}

/* The greatest of so_far and a row, the first of them if 0 and -0 are; the first NaN, if there is one. */
static real greatest(const real *x, ptrdiff_t n, real so_far) {
    const real most = row_max(x, n, so_far);
    vmask nan = {0};
    ROW_EACH(i, n) {
        const vreal v = row_get(x, i, n, 0);
        nan |= v != v;
    }
    if (so_far != so_far) return so_far;
    if (vec_any(nan)) return x[first_of(x, n, (real)NAN)];
    if (most == so_far) return so_far;
    return most != 0 ? most : x[first_of(x, n, 0)];
}

static void forward(ag_node *node) {
    tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *x = node->in[0]->val.x;
    real *y = node->save;
    for (size_t i = 0; i < node->val.n; i++) y[i] = (real)-INFINITY;
    for (ag_rows r = ag_rows_of(full, kept, kept); ag_rows_next(&r);) {
        const ptrdiff_t n = (ptrdiff_t)r.n;
        if (r.step_a) ROW_EACH(i, n) {
                const vreal v = row_get(x + r.y, i, n, 0), so_far = row_get(y + r.a, i, n, 0);
                row_put(y + r.a, i, n, vec_select((v > so_far) | (v != v), v, so_far));
            }
        else
            y[r.a] = greatest(x + r.y, n, y[r.a]);
    }
    memcpy(node->val.x, y, node->val.n * sizeof *y);
}

static void backward(ag_node *node) {
    tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *x = node->in[0]->val.x, *y = node->save, *dy = node->grad;
    real *wanted = node->save + node->val.n, *dx = ag_grad(node->in[0]);
    for (size_t i = 0; i < node->val.n; i++) wanted[i] = 1;
    // y = x of the first, in order, at which the walk found it
    for (ag_rows r = ag_rows_of(full, kept, kept); ag_rows_next(&r);) {
        const ptrdiff_t n = (ptrdiff_t)r.n;
        if (!r.step_a) {
            const ptrdiff_t at = wanted[r.a] != 0 ? first_of(x + r.y, n, y[r.a]) : n;
            if (at == n) continue;
            dx[r.y + (size_t)at] += dy[r.a];
            wanted[r.a] = 0;
            continue;
        }
        ROW_EACH(i, n) {
            const vreal v = row_get(x + r.y, i, n, 0), w = row_get(wanted + r.a, i, n, 0);
            const vreal so_far = row_get(dx + r.y, i, n, 0);
            const vmask here = (w != 0) & found(v, row_get(y + r.a, i, n, 0));
            row_put(dx + r.y, i, n, vec_select(here, so_far + row_get(dy + r.a, i, n, 0), so_far));
            row_put(wanted + r.a, i, n, vec_select(here, vec_set(0), w));
        }
    }
}

static ag_node *sample(ag_graph *g, int i) { return ag_sample_reduced(g, ag_max, i, false); }

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    return ag_max(ag_sample_x(g, z), 1, (const int[]){-1});
}

const ag_op ag_op_max = {
    .name = "max",
    .has_kinks = true,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = ag_reduce_arguments,
    .torch = "greatest(x[0], axes)",
};

ag_node *ag_max(ag_node *x, int n_axes, const int *axes) {
    ag_axes attr;
    if (!ag_axes_set(ag_graph_of(x), "max", n_axes, axes, &attr))
        return ag_fail_graph(ag_graph_of(x), "max");
    return ag_apply(&ag_op_max, AG_IN(x), &attr, sizeof attr);
}
