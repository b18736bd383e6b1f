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
    if ((mask.length || mask.places.at) && s.rank < 3)
        return ag_fail(node, "lengths and places need [B,..,T,S]");
    return ag_places_fit(node, mask.places, s);
}

ag_mask ag_mask_of_plane(ag_mask mask, tensor_shape s, size_t plane) {
    if (!mask.length && !mask.places.at) return mask;
    size_t each = 1;  // planes of a batch row
    for (int i = 1; i < s.rank - 2; i++) each *= (size_t)s.dim[i];
    return ag_mask_row(mask, (int)(plane / each));
}

ag_mask ag_mask_of_row(ag_mask mask, tensor_shape s, size_t row) {
    const size_t T = s.rank > 1 ? (size_t)s.dim[s.rank - 2] : 1;
    mask = ag_mask_of_plane(mask, s, row / T);
    mask.first = ag_mask_position(mask, (int)(row % T));
    mask.places = (ag_places){0};
    return mask;
}

bool ag_places_fit(ag_node *node, ag_places p, tensor_shape s) {
    return !p.at || (s.rank > 2 && s.dim[s.rank - 2] == p.n && p.of >= p.n) ||
           ag_fail(node, "places of %d rows of %d do not fit", p.n, p.of);
}

size_t ag_place_of(ag_places p, tensor_shape s, size_t r) {
    if (!p.at) return r;
    const size_t n = (size_t)p.n, plane = r / n, planes = tensor_rows(s) / n / (size_t)s.dim[0];
    return plane * (size_t)p.of + (size_t)p.at[plane / planes * n + r % n];
}
