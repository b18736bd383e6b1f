/* muon.c - a matrix moves as far in every direction of its space: the step is the gradient's mean with
 * its singular values made equal, U V^T instead of U S V^T, found by a Newton-Schulz iteration.
 *
 *     m = b1 m + (1 - b1) g,  x = orthogonal(b1 m + (1 - b1) g),  w -= lr 0.2 sqrt(max(I,O)) x
 *
 * The factor gives x's numbers the root mean square that Adam's steps have, so that one rate serves
 * both. Source: Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024; the
 * factor: Liu et al., "Muon is Scalable for LLM Training", 2025, equation 4. */
#include "train/optim/muon.h"

#include <math.h>

#include "tensor/gemm.h"

/* x becomes A x + (B a + C a a) x for a = x x^T: a polynomial in the singular values that pulls them
 * towards 1. The smaller of x x^T and x^T x is taken. y [rows,cols], a and b [n,n]. */
static void pull(int rows, int cols, real *x, real *y, real *a, real *b) {
    static const real A = (real)3.4445, B = (real)-4.7750, C = (real)2.0315;
    const bool wide = rows <= cols;
    const int n = wide ? rows : cols, k = wide ? cols : rows;
    const gemm_view as_is = {x, cols, 1}, turned = {x, 1, cols}, square = {a, n, 1}, f = {b, n, 1};
    gemm_mul(GEMM_SET, n, n, k, wide ? as_is : turned, wide ? turned : as_is, a, n);
    gemm_mul_scaled(GEMM_SET, C, n, n, n, square, square, b, n);
    for (int i = 0; i < n * n; i++) b[i] += B * a[i];
    gemm_mul(GEMM_SET, rows, cols, n, wide ? f : as_is, wide ? as_is : f, y, cols);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)rows * cols; i++) x[i] = A * x[i] + y[i];
}

void qkv_optim_orthogonalise(int rows, int cols, real *x, real *scratch) {
    enum { ROUNDS = 5 };
    const size_t n = (size_t)rows * (size_t)cols;
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += (double)x[i] * (double)x[i];
    const real inverse = squares > 0 ? (real)(1 / sqrt(squares)) : 0;  // no singular value above 1
    for (size_t i = 0; i < n; i++) x[i] *= inverse;
    for (int round = 0; round < ROUNDS; round++)
        pull(rows, cols, x, scratch, scratch + n, scratch + 2 * n);
}

void qkv_optim_muon(const qkv_optim_rule *r, real decay, int rows, int cols, real *w, const real *g,
                    real *const m[QKV_OPTIM_MOMENTS], real *scratch) {
    const size_t n = (size_t)rows * (size_t)cols;
    const real b1 = (real)r->beta1, c1 = (real)(1 - r->beta1), scale = (real)r->grad_scale;
    const real rate = (real)(r->lr * 0.2 * sqrt(rows > cols ? rows : cols)),
               keep = (real)(1 - r->lr * (double)decay);
    real *mean = m[0], *x = scratch;
    for (size_t i = 0; i < n; i++) {
        mean[i] = b1 * mean[i] + c1 * scale * g[i];
        x[i] = b1 * mean[i] + c1 * scale * g[i];  // a look ahead, as Nesterov's
    }
    qkv_optim_orthogonalise(rows, cols, x, scratch + n);
    for (size_t i = 0; i < n; i++) w[i] = keep * w[i] - rate * x[i];
}
