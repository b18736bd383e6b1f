/* embedding.c - y = the sum of one row of each table.
 *   d tables[i][ids[i]] += dy; duplicates add up
 * Several streams of ids are summed in one pass: what a token is, where it stands, which part it
 * plays. A stream whose ids are NULL gives each position its own row (learned positions). An id of
 * -1 adds nothing. */
#include "autograd/attr.h"
#include "autograd/op.h"

static bool shape(ag_node *node) {
    const ag_embedding_attr *a = node->attr;
    tensor_shape first = node->in[0]->val.shape;
    size_t n;
    if (!a->listed) return ag_fail(node, "ids is NULL");
    if (!tensor_count(a->s, &n)) return ag_fail(node, "bad shape of ids, or too many");
    if (a->s.rank >= TENSOR_MAXRANK) return ag_fail(node, "too many dimensions");
    if (node->n_in > AG_EMBED_MAX)
        return ag_fail(node, "%d tables; %d are possible", node->n_in, AG_EMBED_MAX);
    for (int i = 0; i < node->n_in; i++) {
        tensor_shape t = node->in[i]->val.shape;
        if (t.rank != 2 || t.dim[1] != first.dim[1])
            return ag_fail(node, "tables must be [V,D] with one D");
        if (!a->ids[i] && t.dim[0] < tensor_width(a->s))
            return ag_fail(node, "%d positions, but only %d rows for them", tensor_width(a->s),
                           t.dim[0]);
    }
    node->val.shape = a->s;
    node->val.shape.dim[node->val.shape.rank++] = first.dim[1];
    return true;
}

/* The row of table i for position n; -1: none. */
static int row_of(const ag_node *node, int i, size_t n) {
    const ag_embedding_attr *a = node->attr;
    return a->ids[i] ? a->ids[i][n] : (int)(n % (size_t)tensor_width(a->s));
}

static bool ids_in_range(ag_node *node) {
    for (int i = 0; i < node->n_in; i++)
        for (size_t n = 0; n < tensor_rows(node->val.shape); n++) {
            const int id = row_of(node, i, n), V = node->in[i]->val.shape.dim[0];
            if (id < -1 || id >= V)
                return ag_fail(node, "id %d of table '%s' is outside 0..%d", id, node->in[i]->name,
                               V - 1);
        }
    return true;
}

static void forward(ag_node *node) {
    const int D = tensor_width(node->val.shape);
    if (!ids_in_range(node)) return;
    for (size_t n = 0; n < tensor_rows(node->val.shape); n++) {
        real *y = node->val.x + n * (size_t)D;
        for (int d = 0; d < D; d++) y[d] = 0;
        for (int i = 0; i < node->n_in; i++) {
            const int id = row_of(node, i, n);
            const real *row = node->in[i]->val.x + (id < 0 ? 0 : id) * (ptrdiff_t)D;
            for (int d = 0; id >= 0 && d < D; d++) y[d] += row[d];
        }
    }
}

static void backward(ag_node *node) {
    const int D = tensor_width(node->val.shape);
    for (int i = 0; i < node->n_in; i++) {
        real *dtable = ag_grad(node->in[i]);
        for (size_t n = 0; dtable && n < tensor_rows(node->val.shape); n++) {
            const int id = row_of(node, i, n);
            const real *dy = node->grad + n * (size_t)D;
            real *drow = dtable + (id < 0 ? 0 : id) * (ptrdiff_t)D;
            for (int d = 0; id >= 0 && d < D; d++) drow[d] += dy[d];  // y[d] += row[d]
        }
    }
}

static ag_node *sample(ag_graph *g, int i) {
    static const int V[] = {3, 5, 4, 1}, tables[] = {1, 2, 3, 2, 2, 1},
                     widths[] = {5, 3, 1, 17, 2, 4};
    const tensor_shape shapes[] = {tensor_dims(1, 7), tensor_dims(2, 3, 5), tensor_dims(2, 2, 7),
                                   tensor_dims(0),    tensor_dims(1, 0),    tensor_dims(2, 3, 4)};
    if (i >= 6) return NULL;
    size_t n = 0;
    tensor_count(shapes[i], &n);
    ag_node *table[3] = {0};
    const int *ids[3] = {0};
    for (int t = 0; t < tables[i]; t++) {
        table[t] = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, V[t], widths[i]));
        ids[t] = ag_sample_ids(g, (int)n, V[t], t > 0);
    }
    if (i == 4) table[1] = table[0];  // one table for two streams
    if (i == 5)
        ids[0] = NULL, table[0] = ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, 4, widths[i]));
    return ag_embedding(tables[i], table, ids, shapes[i]);
}

static ag_node *timed(ag_graph *g, const ag_sizes *z) {
    const int N = z->B * z->T;
    const int *ids[] = {ag_sample_ids(g, N, z->V, false)};
    ag_node *table[] = {ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(2, z->V, z->D))};
    return ag_embedding(1, table, ids, tensor_dims(1, N));
}

static const char *arguments(const ag_node *node) {
    const ag_embedding_attr *a = node->attr;
    size_t n = 0;
    tensor_count(a->s, &n);
    const char *text = "";
    for (int i = 0; i < node->n_in; i++)
        text = ag_text(node->graph, "%s%s%s", text, i ? "," : "",
                       a->ids[i] ? ag_text_ints(node->graph, n, a->ids[i]) : "null");
    return ag_text(node->graph, "\"ids\":[%s]", text);
}

const ag_op ag_op_embedding = {
    .name = "embedding",
    .facts = AG_NO_X | AG_NO_Y | AG_LINEAR,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .sample = sample,
    .timed = timed,
    .arguments = arguments,
    .torch = "embedding(x, ids, shape[:-1])",
};

ag_node *ag_embedding(int n, ag_node *const *tables, const int *const *ids, tensor_shape s) {
    ag_embedding_attr a = {.s = s, .listed = ids != NULL};
    for (int i = 0; ids && i < n && i < AG_EMBED_MAX; i++) a.ids[i] = ids[i];
    return ag_apply(&ag_op_embedding, n, tables, &a, sizeof a);
}
