#include "autograd/unary.h"

ag_node *ag_sample_unary(ag_graph *g, ag_node *(*op)(ag_node *), int i, ag_sample_kind kind) {
    tensor_shape s;
    if (ag_sample_shape(i, &s)) return op(ag_sample(g, kind, s));
    if (ag_sample_shape(i - 1, &s)) {
        ag_node *x = ag_sample(g, kind, tensor_dims(2, 3, 5));
        return ag_add(op(x), x);
    }
    return NULL;
}
