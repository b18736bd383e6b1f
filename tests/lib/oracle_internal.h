/* oracle_internal.h - what the files of definitions share, each of which ends in its table. */
#ifndef TESTS_ORACLE_INTERNAL_H
#define TESTS_ORACLE_INTERNAL_H

#include <math.h>

#include "autograd/op.h"
#include "tests/lib/oracle.h"

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

enum { NONE = -1 };  // an id that is absent

extern const oracle oracles_elementwise[], oracles_moves[], oracles_rows[], oracles_attention[],
    oracles_variants[];

/* Where element `at` of the full shape stands in an operand of shape s, which numpy would repeat to
 * the full shape: dimensions are aligned on the right, and where s has 1 there is only index 0. */
static inline size_t repeated(tensor_shape full, size_t at, tensor_shape s) {
    size_t index = 0, step = 1;
    for (int i = full.rank - 1, j = s.rank - 1; j >= 0; i--, j--) {
        size_t here = at % (size_t)full.dim[i];
        at /= (size_t)full.dim[i];
        if (s.dim[j] != 1) index += here * step;
        step *= (size_t)s.dim[j];
    }
    return index;
}

static inline int dim_from_right(tensor_shape s, int i) {
    return i < s.rank ? s.dim[s.rank - 1 - i] : 1;
}

/* Whether y is what numpy makes of a and b. */
static inline bool is_broadcast(tensor_shape y, tensor_shape a, tensor_shape b) {
    if (y.rank != (a.rank > b.rank ? a.rank : b.rank)) return false;
    for (int i = 0; i < y.rank; i++) {
        int da = dim_from_right(a, i), db = dim_from_right(b, i);
        if (dim_from_right(y, i) != (da == 1 ? db : da)) return false;
    }
    return true;
}

#endif
