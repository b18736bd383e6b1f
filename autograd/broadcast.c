/* broadcast.c - one loop for two operands. */
#include "autograd/broadcast.h"

/* Strides of an operand along the dimensions of the full shape, 0 where it is repeated. */
static void strides(tensor_shape full, tensor_shape s, size_t *stride) {
    size_t step = 1;
    for (int i = full.rank - 1, j = s.rank - 1; i >= 0; i--, j--) {
        bool repeated = j < 0 || (s.dim[j] == 1 && full.dim[i] != 1);
        stride[i] = repeated ? 0 : step;
        if (j >= 0) step *= (size_t)s.dim[j];
    }
}

ag_rows ag_rows_of(tensor_shape full, tensor_shape a, tensor_shape b) {
    size_t sa[TENSOR_MAXRANK + 1] = {1}, sb[TENSOR_MAXRANK + 1] = {1},
                               dim[TENSOR_MAXRANK + 1] = {1};
    int rank = full.rank ? full.rank : 1;
    if (full.rank) {
        strides(full, a, sa);
        strides(full, b, sb);
        for (int i = 0; i < rank; i++) dim[i] = (size_t)full.dim[i];
    }
    ag_rows r = {0};
    for (int i = 0; i < rank; i++) r.empty |= dim[i] == 0;
    for (int i = rank - 1; i > 0;
         i--) {  // merge dimension i into the one before where both operands run on
        bool mergeable = sa[i - 1] == sa[i] * dim[i] && sb[i - 1] == sb[i] * dim[i];
        if (dim[i] != 1 && dim[i - 1] != 1 && !mergeable) continue;
        if (dim[i] != 1) {
            sa[i - 1] = sa[i];
            sb[i - 1] = sb[i];
        }
        dim[i - 1] *= dim[i];
        for (int j = i; j + 1 < rank; j++) {
            dim[j] = dim[j + 1];
            sa[j] = sa[j + 1];
            sb[j] = sb[j + 1];
        }
        rank--;
    }
    r.n = dim[rank - 1];
    r.step_a = sa[rank - 1] != 0;
    r.step_b = sb[rank - 1] != 0;
    r.rank = rank - 1;
    for (int i = 0; i < r.rank; i++) {
        r.dim[i] = dim[i];
        r.stride_a[i] = sa[i];
        r.stride_b[i] = sb[i];
    }
    return r;
}

bool ag_rows_next(ag_rows *r) {
    if (r->empty) return false;
    if (!r->started) return r->started = true;
    r->y += r->n;
    for (int i = r->rank - 1; i >= 0; i--) {
        r->a += r->stride_a[i];
        r->b += r->stride_b[i];
        if (++r->at[i] < r->dim[i]) return true;
        r->a -= r->stride_a[i] * r->dim[i];
        r->b -= r->stride_b[i] * r->dim[i];
        r->at[i] = 0;
    }
    return false;
}

bool ag_broadcast_shape(ag_node *node) {
    if (tensor_broadcast(node->in[0]->val.shape, node->in[1]->val.shape, &node->val.shape))
        return true;
    return ag_fail(node, "the shapes do not broadcast");
}

ag_node *ag_sample_pair(ag_graph *g, ag_node *(*op)(ag_node *, ag_node *), int i,
                        ag_sample_kind second) {
    const tensor_shape pairs[][2] = {{tensor_dims(2, 3, 4), tensor_dims(1, 4)},
                                     {tensor_dims(1, 5), tensor_dims(2, 3, 1)},
                                     {tensor_dims(3, 2, 1, 5), tensor_dims(3, 1, 3, 1)},
                                     {tensor_dims(0), tensor_dims(2, 2, 3)},
                                     {tensor_dims(3, 2, 3, 5), tensor_dims(3, 2, 1, 5)},
                                     {tensor_dims(2, 0, 4), tensor_dims(1, 4)},
                                     {tensor_dims(3, 2, 3, 4), tensor_dims(3, 2, 3, 1)},
                                     {tensor_dims(2, 2, 17), tensor_dims(1, 1)},
                                     {tensor_dims(4, 2, 1, 3, 1), tensor_dims(3, 4, 1, 2)}};
    tensor_shape s;
    if (ag_sample_shape(i, &s)) {
        ag_node *a = ag_sample(g, AG_SAMPLE_NORMAL, s);  // drawn in this order by every compiler
        return op(a, ag_sample(g, second, s));
    }
    for (int n = 0; ag_sample_shape(n, &s); n++) i--;
    if (i == 0) {  // the same node on both sides
        ag_node *x = ag_sample(g, second, tensor_dims(2, 3, 5));
        return op(x, x);
    }
    if (--i >= (int)(sizeof pairs / sizeof *pairs)) return NULL;
    ag_node *a = ag_sample(g, AG_SAMPLE_NORMAL, pairs[i][0]);
    return op(a, ag_sample(g, second, pairs[i][1]));
}
