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

bool ag_mask_fits(ag_node *node, ag_mask mask, tensor_shape s) {
    if ((mask.causal || mask.no_self) && s.rank < 2)
        return ag_fail(node, "this mask needs [..,T,S]");
    return !mask.length || s.rank > 2 || ag_fail(node, "lengths need [B,..,T,S]");
}

ag_mask ag_mask_of_plane(ag_mask mask, tensor_shape s, size_t plane) {
    if (!mask.length) return mask;
    const size_t planes = tensor_rows(s) / (size_t)s.dim[s.rank - 2];
    return ag_mask_row(mask, (int)(plane / (planes / (size_t)s.dim[0])));
}

ag_mask ag_mask_of_row(ag_mask mask, tensor_shape s, size_t row) {
    const size_t T = s.rank > 1 ? (size_t)s.dim[s.rank - 2] : 1;
    mask = ag_mask_of_plane(mask, s, row / T);
    mask.first += (int)(row % T);
    return mask;
}
