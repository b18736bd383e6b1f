/* reduce.c - the sums of several rows side by side, each in order: sum and mean. */
#include <string.h>

#include "autograd/fast.h"
#include "autograd/reduce.h"
#include "autograd/row.h"

/* y[i] += the sum of row i, of VEC rows of n: each lane adds up a row of its own, one number after the
 * other as a single row does. */
static void sum_rows(const real *x, size_t n, real *y) {
    vreal sum = vec_load(y);
    size_t i = 0;
    for (; i + VEC <= n; i += VEC) {
        vreal at[VEC];
        for (int r = 0; r < VEC; r++) at[r] = vec_load(x + (size_t)r * n + i);
        vec_transpose(at);
        for (int k = 0; k < VEC; k++) sum += at[k];
    }
    vec_store(y, sum);
    for (int r = 0; r < VEC; r++)
        for (size_t k = i; k < n; k++) y[r] += x[(size_t)r * n + k];
}

static void sum(ag_node *node) {
    const tensor_shape full = node->in[0]->val.shape, kept = ag_reduce_kept(node);
    const real *x = node->in[0]->val.x;
    real *restrict y = node->val.x;
    memset(y, 0, node->val.n * sizeof *y);
    for (ag_rows r = ag_rows_of(full, kept, kept); ag_rows_next(&r);) {
        const int last = r.rank - 1;
        if (r.step_a)
            for (size_t i = 0; i < r.n; i++) y[r.a + i] += x[r.y + i];
        else if (last >= 0 && r.stride_a[last] == 1 && r.at[last] + VEC <= r.dim[last]) {
            sum_rows(x + r.y, r.n, y + r.a);
            for (int k = 1; k < VEC; k++) ag_rows_next(&r);
        } else
            for (size_t i = 0; i < r.n; i++) y[r.a] += x[r.y + i];
    }
}

static void mean(ag_node *node) {
    const real count = (real)ag_reduce_count(node);
    sum(node);
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] /= count;
}

const ag_fast ag_fast_sum = {.op = &ag_op_sum, .forward = sum};
const ag_fast ag_fast_mean = {.op = &ag_op_mean, .forward = mean};
