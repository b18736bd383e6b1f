/* oracle.h - every op a second time: its definition written plainly over complex numbers, apart
 * from the library.
 *
 * It is a judge twice over. At real inputs its value must be the op's value. And as every
 * definition is analytic, its derivative needs no step size: f(x + ih) = f(x) + ih f'(x) up to h^2,
 * so with h = 1e-100 the imaginary part divided by h is f'(x) to the last bits, with no subtraction
 * in it. Source: Squire and Trapp, "Using Complex Variables to Estimate Derivatives of Real
 * Functions", 1998. Where a definition is not analytic (relu, max, a mask) the real part decides.
 */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include <complex.h>

#include "autograd/ag.h"

typedef double complex number;
typedef struct {
    tensor_shape shape;
    size_t n;
    number *x;
} oracle_tensor;

typedef struct {
    const char *name;  // of the op
    /* Records the i-th case as one node of the op whose inputs are leaves; NULL ends the list. A
     * null pointer stands for those of the op's own samples that are one node: enough where an op
     * has no arguments beside its inputs. */
    ag_node *(*record)(ag_graph *g, int i);
    /* Computes case i by definition into y->x. False when y has another shape than the definition
     * gives. */
    bool (*value)(int i, int n_in, const oracle_tensor *in, oracle_tensor *y);
} oracle;

const oracle *oracle_at(int i);  // the i-th of all; NULL after the last

const oracle *oracle_of(const char *op);  // NULL if there is none

#endif
