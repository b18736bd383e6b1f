/* gemm.h - matrix product on strided operands.
 *
 * An operand is a view: element (i,j) stands at x[i*row + j*col] (as in BLIS). A transpose, or one
 * head of a packed [T, H*E] tensor, is two integers in the call, not a copy. Single-threaded; one
 * call's result does not depend on where its operands lie in memory. Large products take up to
 * 1.3 MiB of stack (384 KiB in a portable build). No pointer may be NULL where numbers are read or
 * written: where m, n (and for an operand k) are above 0. */
#pragma once

#include <stddef.h>

#include "tensor/real.h"

TENSOR_C_BEGIN

typedef struct {
    const real *x;
    ptrdiff_t row, col;  // strides, in elements
} gemm_view;

typedef enum { GEMM_SET, GEMM_ADD } gemm_mode;  // C = A B, or C += A B

/* c[m,n] (rows `ldc` apart, columns adjacent) = or += a[m,k] b[k,n]. c overlaps neither a nor b. k
 * = 0 gives zeros under GEMM_SET. IEEE: 0 * inf is NaN and is not skipped. */
void gemm_mul(gemm_mode mode, int m, int n, int k, gemm_view a, gemm_view b, real *c,
              ptrdiff_t ldc);

/* The same with factor a b. */
void gemm_mul_scaled(gemm_mode mode, real factor, int m, int n, int k, gemm_view a, gemm_view b,
                     real *c, ptrdiff_t ldc);

/* c[m,n] = a[m,k] b[k,n] + bias[n], the same bias in every row. */
void gemm_mul_bias(int m, int n, int k, gemm_view a, gemm_view b, const real *bias, real *c,
                   ptrdiff_t ldc);

TENSOR_C_END
