/* rules.c - what the shape rules of several ops share. */
#include <limits.h>

#include "autograd/op.h"

bool ag_same_shape(ag_node *node) {
    node->val.shape = node->in[0]->val.shape;
    return true;
}

int ag_axis(tensor_shape s, int axis) {
    if (axis < 0) axis += s.rank;
    return axis >= 0 && axis < s.rank ? axis : -1;
}

size_t ag_inner(tensor_shape s, int axis) {
    size_t n = 1;
    for (int i = axis + 1; i < s.rank; i++) n *= (size_t)s.dim[i];
    return n;
}

bool ag_fits_int(ag_node *node, size_t n, const char *what) {
    return n <= INT_MAX || ag_fail(node, "%zu %s are more than %d", n, what, INT_MAX);
}
