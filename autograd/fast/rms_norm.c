/* rms_norm.c - the norm of some rows at a time, in vectors. A row whose squares leave the range of
 * numbers is scaled. */
#include "autograd/fast/norm.h"

enum { R, SCALE, KEPT };  // of each row: r, its scale

static size_t save(const ag_node *node) { return KEPT * tensor_rows(node->val.shape); }

/* Of some rows that are x times `scale`: `square`, mean(x^2) + eps. */
static void sizes(const real *X, int D, int rows, real eps, real scale, real *kept,
                  real square[ROW_SOME]) {
    vreal part[ROW_SOME];
    real root[ROW_SOME];
    for (int n = 0; n < rows; n++) {
        const real *x = X + n * (ptrdiff_t)D;
        part[n] = row_dot_parts(x, x, D);
    }
    row_fold_sums(part, rows, square);
    ROW_EACH(n, ROW_SOME) {
        const vreal v = vec_load(square + n) / (real)D + eps * scale * scale;
        vec_store(square + n, v);
        vec_store(root + n, 1 / vec_sqrt(v));
    }
    for (int n = 0; n < rows; n++, kept += KEPT) {
        kept[R] = root[n];
        kept[SCALE] = scale;
    }
}

static void forward_some(const ag_node *node, size_t from, size_t rows) {
    const int D = tensor_width(node->val.shape);
    const real *g = node->in[1]->val.x, *X = node->in[0]->val.x + from * (size_t)D;
    const real eps = (real) * (const double *)node->attr;
    real *y = node->val.x + from * (size_t)D, *kept = node->save + from * KEPT, square[ROW_SOME];
    sizes(X, D, (int)rows, eps, 1, kept, square);
    for (size_t n = 0; n < rows; n++, y += D, kept += KEPT) {
        const real *x = X + n * (size_t)D;
        if (!ag_norm_in_range(square[n])) {
            const real scale = ag_norm_scaled(x, D, eps, y);
            real own[ROW_SOME];
            sizes(x = y, D, 1, eps, scale, kept, own);
        }
        const real r = kept[R];
        ROW_EACH(d, D) row_put(y, d, D, row_get(x, d, D, 0) * r * row_get(g, d, D, 0));
    }
}

static void forward(ag_node *node) {
    const int D = tensor_width(node->val.shape);
    const size_t N = tensor_rows(node->val.shape);
    for (size_t n = 0, some; n < N && D > 0; n += some)
        forward_some(node, n, some = row_some(D, N - n));
}

/* Adds to dgain; leaves the sum of w xh of each row, in VEC parts. */
static void backward_sums(const ag_node *node, size_t from, size_t rows, real *dg,
                          vreal parts[ROW_SOME]) {
    const int D = tensor_width(node->val.shape);
    const real *g = node->in[1]->val.x, *x = node->in[0]->val.x + from * (size_t)D;
    const real *dy = node->grad + from * (size_t)D, *kept = node->save + from * KEPT;
    for (size_t n = 0; n < rows; n++, x += D, dy += D, kept += KEPT) {
        const real scale = kept[SCALE], r = kept[R];
        vreal sum_wx = {0};
        // y[d] = xh * g[d]
        ROW_EACH(d, D) {
            const vreal xh = row_get(x, d, D, 0) * scale * r, e = row_get(dy, d, D, 0);
            sum_wx += vec_cut(vec_cut(e, row_get(g, d, D, 0)), xh);
            if (dg) row_add(dg, d, D, vec_cut(e, xh));
        }
        parts[n] = sum_wx;
    }
}

static void backward_rows(const ag_node *node, size_t from, size_t rows, const real *sum_wx,
                          bool first, real *dx) {
    const int D = tensor_width(node->val.shape);
    const real *g = node->in[1]->val.x, *x = node->in[0]->val.x + from * (size_t)D;
    const real *dy = node->grad + from * (size_t)D, *kept = node->save + from * KEPT;
    for (size_t n = 0; n < rows; n++, x += D, dy += D, dx += D, kept += KEPT) {
        const real scale = kept[SCALE], r = kept[R];
        const vreal mean_wx = vec_set(sum_wx[n] / (real)D);
        // xh = x[d] * r
        ROW_EACH(d, D) {
            const vreal w = vec_cut(row_get(dy, d, D, 0), row_get(g, d, D, 0));
            const vreal xh = row_get(x, d, D, 0) * scale * r;
            row_put(dx, d, D,
                    (first ? vec_set(0) : row_get(dx, d, D, 0)) +
                        vec_cut(w - vec_cut(mean_wx, xh), vec_set(r * scale)));
        }
    }
}

static void backward(ag_node *node) {
    const int D = tensor_width(node->val.shape);
    const size_t N = tensor_rows(node->val.shape);
    bool first;
    real *dx = ag_norm_grad(node, &first), *dg = ag_grad(node->in[1]);  // may be one
    for (size_t n = 0, some; n < N && D > 0; n += some) {
        vreal parts[ROW_SOME];
        real sum_wx[ROW_SOME];
        some = row_some(D, N - n);
        backward_sums(node, n, some, dg, parts);
        if (!dx) continue;
        row_fold_sums(parts, (int)some, sum_wx);
        backward_rows(node, n, some, sum_wx, first, dx + n * (size_t)D);
    }
}

const ag_fast ag_fast_rms_norm = {
    .op = &ag_op_rms_norm,
    .forward = forward,
    .backward = backward,
    .save = save,
};
