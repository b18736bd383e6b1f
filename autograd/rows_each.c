/* rows_each.c - elementwise ops by rows: the op's own forward and backward, run on a node that is one
 * row long and stands in for the real one. */
#include "autograd/graph_internal.h"

/* A node for one row; how far its rows, and its inputs' rows, are apart. */
typedef struct {
    ag_private own;  // of the node, by whose form it is run
    ag_node in[AG_EACH_MOST], *at[AG_EACH_MOST];
    ptrdiff_t step, step_in[AG_EACH_MOST];
    bool first[AG_EACH_MOST];  // nothing was added yet to the gradient's rows
} stand_in;

/* Where row t of a plane of `full` begins in an operand that broadcasts to it. */
static size_t row_of(tensor_shape full, tensor_shape s, size_t plane, int t, ptrdiff_t *step) {
    size_t at = 0, stride = (size_t)(s.rank > 0 ? s.dim[s.rank - 1] : 1);
    *step = 0;
    for (int i = full.rank - 2, j = s.rank - 2; j >= 0; i--, j--) {
        const size_t index = i == full.rank - 2 ? (size_t)t : plane % (size_t)full.dim[i];
        if (i < full.rank - 2) plane /= (size_t)full.dim[i];
        if (s.dim[j] > 1) {
            at += index * stride;
            if (i == full.rank - 2) *step = (ptrdiff_t)stride;
        }
        stride *= (size_t)s.dim[j];
    }
    return at;
}

static void put_shape(ag_node *row, int width) {
    row->val.shape = tensor_dims(1, width);
    row->val.n = (size_t)width;
}

static void operand(stand_in *s, ag_node *node, int k, const ag_band *b, bool backward) {
    ag_node *in = node->in[k], *row = &s->in[k];
    const tensor_shape full = node->val.shape;
    *row = *in;
    s->at[k] = row;
    if (tensor_same_shape(in->val.shape, full)) {
        const ag_strip x = ag_band_of(in, b);
        row->val.x = x.x;
        s->step_in[k] = x.ld;
        put_shape(row, b->cols);
        row->grad = backward ? ag_band_grad(in, b, &s->first[k]).x : NULL;
        return;
    }
    const size_t at = row_of(full, in->val.shape, b->plane, b->t, &s->step_in[k]);
    row->val.x = in->val.x + at;
    put_shape(row, tensor_width(in->val.shape) == 1 ? 1 : b->cols);
    row->grad = backward ? ag_grad(in) : NULL;
    if (row->grad) row->grad += at;
}

static void begin(stand_in *s, ag_node *node, const ag_band *b, bool backward) {
    const ag_strip y = ag_band_of(node, b);
    s->own = *ag_own(node);
    s->own.node.in = s->at;
    s->own.node.val.x = y.x;
    s->own.node.grad = backward ? ag_band_dy(node, b).x : NULL;
    s->step = y.ld;
    put_shape(&s->own.node, b->cols);
    for (int k = 0; k < node->n_in; k++) {
        s->first[k] = false;
        operand(s, node, k, b, backward);
        for (int j = 0; j < k; j++)
            if (node->in[j] == node->in[k]) s->at[k] = s->at[j];
    }
}

static void next(stand_in *s) {
    s->own.node.val.x += s->step;
    if (s->own.node.grad) s->own.node.grad += s->step;
    for (int k = 0; k < s->own.node.n_in; k++) {
        s->in[k].val.x += s->step_in[k];
        if (s->in[k].grad) s->in[k].grad += s->step_in[k];
    }
}

static void forward(ag_node *node, const ag_band *b) {
    stand_in s;
    begin(&s, node, b, false);
    for (int r = 0; r < b->n; r++, next(&s)) ag_node_forward(&s.own.node);
}

static void backward(ag_node *node, const ag_band *b) {
    stand_in s;
    begin(&s, node, b, true);
    for (int r = 0; r < b->n; r++, next(&s)) {
        for (int k = 0; k < node->n_in; k++) s.in[k].has_grad = !s.first[k];
        ag_node_backward(&s.own.node);
    }
}

const ag_by_rows ag_elementwise = {.forward = forward, .backward = backward};
