/* layer_norm.c - the norm of some rows at a time, in vectors. Mean and variance in two passes, and the
 * mean kept with what it was rounded by, so that a small spread around a large mean is exact. A row whose
 * squares leave the range of numbers is scaled. */
#include "autograd/fast/norm.h"

enum { MEAN, LOW, R, SCALE, KEPT };  // of each row: mean, what it was rounded by, r, its scale

static size_t save(const ag_node *node) { return KEPT * tensor_rows(node->val.shape); }

/* Mean, and then the rest, of some rows that are x times `scale`; `spread` is their var + eps. */
static void moments(const real *X, int D, int rows, real eps, real scale, real *kept,
                    real spread[ROW_SOME]) {
    vreal part[ROW_SOME], square[ROW_SOME];
    real sum[ROW_SOME], squares[ROW_SOME], root[ROW_SOME];
    for (int n = 0; n < rows; n++)
        part[n] = row_sum_parts(X + n * (ptrdiff_t)D, D, X[n * (ptrdiff_t)D]);
    row_fold_sums(part, rows, sum);
    for (int n = 0; n < rows; n++) {
        const real *x = X + n * (ptrdiff_t)D, mean = x[0] + sum[n] / (real)D;
        kept[n * KEPT + MEAN] = mean;
        part[n] = row_sums_parts(x, D, mean, &square[n]);
    }
    row_fold_sums(part, rows, sum);
    row_fold_sums(square, rows, squares);
    ROW_EACH(n, ROW_SOME) {
        const vreal low = vec_load(sum + n) / (real)D;
        const vreal v = vec_load(squares + n) / (real)D - low * low + eps * scale * scale;
        vec_store(sum + n, low);
        vec_store(spread + n, v);
        vec_store(root + n, 1 / vec_sqrt(v));
    }
    for (int n = 0; n < rows; n++, kept += KEPT) {
        kept[LOW] = sum[n];
        kept[R] = root[n];
        kept[SCALE] = scale;
    }
}

static void forward_some(const ag_node *node, size_t from, size_t rows) {
    const int D = tensor_width(node->val.shape);
    const real *g = node->in[1]->val.x, *b = node->in[2]->val.x;
    const real *X = node->in[0]->val.x + from * (size_t)D;
    const real eps = (real) * (const double *)node->attr;
    real *y = node->val.x + from * (size_t)D, *kept = node->save + from * KEPT, spread[ROW_SOME];
    moments(X, D, (int)rows, eps, 1, kept, spread);
    for (size_t n = 0; n < rows; n++, y += D, kept += KEPT) {
        const real *x = X + n * (size_t)D;
        if (!ag_norm_in_range(spread[n])) {
            real own[ROW_SOME];
            const real scale = ag_norm_scaled(x, D, eps, y);
            moments(x = y, D, 1, eps, scale, kept, own);
        }
        const real mean = kept[MEAN], low = kept[LOW], r = kept[R];
        ROW_EACH(d, D) {
            const vreal xh = (row_get(x, d, D, 0) - mean - low) * r;
            row_put(y, d, D, xh * row_get(g, d, D, 0) + row_get(b, d, D, 0));
        }
    }
}

static void forward(ag_node *node) {
    const int D = tensor_width(node->val.shape);
    const size_t N = tensor_rows(node->val.shape);
    for (size_t n = 0, some; n < N && D > 0; n += some)
        forward_some(node, n, some = row_some(D, N - n));
}

/* Adds to dgain and dbias; leaves the sums of w and w xh of each row, in VEC parts. */
static void backward_sums(const ag_node *node, size_t from, size_t rows, real *dg, real *db,
                          vreal parts[ROW_SOME], vreal parts_x[ROW_SOME]) {
    const int D = tensor_width(node->val.shape);
    const real *g = node->in[1]->val.x, *x = node->in[0]->val.x + from * (size_t)D;
    const real *dy = node->grad + from * (size_t)D, *kept = node->save + from * KEPT;
    for (size_t n = 0; n < rows; n++, x += D, dy += D, kept += KEPT) {
        const real scale = kept[SCALE], mean = kept[MEAN], low = kept[LOW], r = kept[R];
        vreal sum_w = {0}, sum_wx = {0};
        // y[d] = xh * g[d] + b[d]
        ROW_EACH(d, D) {
            const vreal xh = (row_get(x, d, D, 0) * scale - mean - low) * r;
            const vreal e = row_get(dy, d, D, 0);
            const vreal w = vec_cut(e, row_get(g, d, D, 0));
            sum_w += w;
            sum_wx += vec_cut(w, xh);
            if (dg) row_add(dg, d, D, vec_cut(e, xh));
            if (db) row_add(db, d, D, e);
        }
        parts[n] = sum_w;
        parts_x[n] = sum_wx;
    }
}

static void backward_rows(const ag_node *node, size_t from, size_t rows, const real *sum_w,
                          const real *sum_wx, bool first, real *dx) {
    const int D = tensor_width(node->val.shape);
    const real *g = node->in[1]->val.x, *x = node->in[0]->val.x + from * (size_t)D;
    const real *dy = node->grad + from * (size_t)D, *kept = node->save + from * KEPT;
    for (size_t n = 0; n < rows; n++, x += D, dy += D, dx += D, kept += KEPT) {
        const real scale = kept[SCALE], mean = kept[MEAN], low = kept[LOW], r = kept[R];
        const vreal mean_w = vec_set(sum_w[n] / (real)D), mean_wx = vec_set(sum_wx[n] / (real)D);
        // xh = (x[d] - mean) * r
        ROW_EACH(d, D) {
            const vreal w = vec_cut(row_get(dy, d, D, 0), row_get(g, d, D, 0));
            const vreal xh = (row_get(x, d, D, 0) * scale - mean - low) * r;
            row_put(dx, d, D,
                    (first ? vec_set(0) : row_get(dx, d, D, 0)) +
                        vec_cut(w - mean_w - vec_cut(mean_wx, xh), vec_set(r * scale)));
        }
    }
}

static void backward(ag_node *node) {
    const int D = tensor_width(node->val.shape);
    const size_t N = tensor_rows(node->val.shape);
    bool first;
    real *dx = ag_norm_grad(node, &first), *dg = ag_grad(node->in[1]),
         *db = ag_grad(node->in[2]);  // may be one
    for (size_t n = 0, some; n < N && D > 0; n += some) {
        vreal parts[ROW_SOME], parts_x[ROW_SOME];
        real sum_w[ROW_SOME], sum_wx[ROW_SOME];
        some = row_some(D, N - n);
        backward_sums(node, n, some, dg, db, parts, parts_x);
        if (!dx) continue;
        row_fold_sums(parts, (int)some, sum_w);
        row_fold_sums(parts_x, (int)some, sum_wx);
        backward_rows(node, n, some, sum_w, sum_wx, first, dx + n * (size_t)D);
    }
}

const ag_fast ag_fast_layer_norm = {
    .op = &ag_op_layer_norm,
    .forward = forward,
    .backward = backward,
    .save = save,
};
