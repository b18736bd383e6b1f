/* embedding.c - rows added up in vectors, with loops of their own for one and for two tables. */
#include "autograd/fast.h"
#include "autograd/row.h"

/* Inlined for the numbers of rows that there mostly are. */
VEC_INLINE void add_up(int rows, const real *const *row, int D, real *y) {
    ROW_EACH(d, D) {
        vreal sum = {0};
        for (int i = 0; i < rows; i++) sum += row_get(row[i], d, D, 0);
        row_put(y, d, D, sum);
    }
}

static void forward(ag_node *node) {
    const int D = tensor_width(node->val.shape);
    size_t n = tensor_rows(node->val.shape);
    if (!ag_ids_in_range(node)) return;
    for (size_t p = 0; p < n; p++) {
        const real *row[AG_EMBED_MAX];
        int rows = 0;
        for (int i = 0; i < node->n_in; i++) {
            int id = ag_embedding_row(node, i, p);
            if (id >= 0) row[rows++] = node->in[i]->val.x + (size_t)id * (size_t)D;
        }
        real *y = node->val.x + p * (size_t)D;
        if (rows == 1)
            add_up(1, row, D, y);
        else if (rows == 2)
            add_up(2, row, D, y);
        else
            add_up(rows, row, D, y);
    }
}

static void backward(ag_node *node) {
    const int D = tensor_width(node->val.shape);
    size_t n = tensor_rows(node->val.shape);
    for (int i = 0; i < node->n_in; i++) {
        real *dtable = ag_grad(node->in[i]);
        if (!dtable) continue;
        for (size_t p = 0; p < n; p++) {
            int id = ag_embedding_row(node, i, p);
            const real *dy = node->grad + p * (size_t)D;
            // y[d] = ... + table[id * D + d]
            if (id >= 0)
                ROW_EACH(d, D) row_add(dtable + (size_t)id * (size_t)D, d, D, row_get(dy, d, D, 0));
        }
    }
}

const ag_fast ag_fast_embedding = {
    .op = &ag_op_embedding,
    .forward = forward,
    .backward = backward,
};
