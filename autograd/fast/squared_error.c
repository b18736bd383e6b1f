/* squared_error.c - the sum in eight parts side by side: one alone would wait for itself. */
#include "autograd/fast.h"

static void forward(ag_node *node) {
    const real *weight = *(const real *const *)node->attr;
    const real *a = node->in[0]->val.x, *b = node->in[1]->val.x;
    size_t n = node->in[0]->val.n;
    double part[8] = {0}, sum = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++) {
            const double d = (double)a[i + k] - (double)b[i + k];
            part[k] += d * d;
        }
    for (size_t k = 0; i < n; i++, k++) {
        const double d = (double)a[i] - (double)b[i];
        part[k] += d * d;
    }
    for (int k = 0; k < 8; k++) sum += part[k];
    node->save[0] = weight ? *weight : n ? 1 / (real)n : 0;
    node->val.x[0] = n ? (real)(sum * (double)node->save[0]) : 0;
}

static void backward(ag_node *node) {
    const real *restrict a = node->in[0]->val.x, *restrict b = node->in[1]->val.x;
    const real each = 2 * node->save[0] * node->grad[0];
    size_t n = node->in[0]->val.n;
    // y += weight * (a[i] - b[i])^2
    for (int k = 0; k < 2; k++) {
        bool first = false;
        real *restrict d = ag_grad_or_first(node->in[k], &first);
        const real own = k == 0 ? each : -each;
        for (size_t i = 0; d && i < n; i++)
            d[i] = (first ? 0 : d[i]) + (each == 0 ? 0 : own * (a[i] - b[i]));
    }
}

const ag_fast ag_fast_squared_error = {
    .op = &ag_op_squared_error,
    .forward = forward,
    .backward = backward,
};
