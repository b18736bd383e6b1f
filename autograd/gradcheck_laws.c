/* gradcheck_laws.c - what holds exactly, whatever an op computes. */
#include <math.h>
#include <stdio.h>

#include "autograd/gradcheck_internal.h"

/* All leaves' values, one after the other. */
static void leaf_values(const ag_check *c, real *out) {
    for (int i = 0; i < c->graph->leaves.n; out += ag_check_leaf(c, i++)->val.n)
        memcpy(out, ag_check_leaf(c, i)->val.x, ag_check_leaf(c, i)->val.n * sizeof *out);
}

static bool sums_and_scales(ag_check *c) {
    size_t total = ag_check_leaf_reals(c), n = c->root->val.n;
    real *first = c->grads, *other = c->grads + total, *scaled = c->again;
    const char *name = c->root->name;
    memcpy(c->again, c->root->val.x, n * sizeof(real));
    leaf_values(c, c->values);
    ag_forward(c->graph);
    if (!ag_check_same_bits(c->again, c->root->val.x, n))
        return ag_check_fail(c, "a replay gives other bits", name, 0, 0, 0);
    ag_check_gradients(c, c->cotangent[0], 1, first);
    leaf_values(c, other);
    if (!ag_check_same_bits(c->values, other, total))
        return ag_check_fail(c, "an input was changed", name, 0, 0, 0);
    ag_check_gradients(c, c->cotangent[0], 2, other);
    for (size_t i = 0; i < total; i++)  // exactly twice, but for the rounding of one more sum
        if (!(fabs((double)(other[i] - 2 * first[i])) <= 1e-13 * (1 + fabs((double)first[i]))))
            return ag_check_fail(c, "two passes give %g, one %g: backward must add (+=)", name, i,
                                 (double)other[i], (double)first[i]);
    for (size_t i = 0; i < n; i++) scaled[i] = 2 * c->cotangent[0][i];
    ag_check_gradients(c, scaled, 1, other);
    for (size_t i = 0; i < total; i++)
        if (other[i] != 2 * first[i])
            return ag_check_fail(c, "under 2c %g, under c %g", name, i, (double)other[i],
                                 (double)first[i]);
    memset(scaled, 0, n * sizeof(real));
    ag_check_gradients(c, scaled, 1, other);
    for (size_t i = 0; i < total; i++)
        if (other[i] != 0)
            return ag_check_fail(c, "gradient %g under c = 0", name, i, (double)other[i], 0);
    return true;
}

/* Does its value stand in an input's memory? */
static bool is_view(const ag_node *node) {
    for (int k = 0; k < node->n_in; k++) {
        const tensor *in = &node->in[k]->val;
        if (node->val.x >= in->x && node->val.x < in->x + in->n) return true;
    }
    return false;
}

/* Forward writes every number of y. One that both it and backward forget would be 0, and right. */
static bool writes_all(ag_check *c) {
    const size_t n = c->root->val.n;
    memcpy(c->again, c->root->val.x, n * sizeof(real));
    for (int i = 0; i < c->graph->nodes.n; i++) {
        const ag_node *node = c->graph->nodes.at[i];
        if (!node->op || is_view(node)) continue;
        for (size_t k = 0; node->val.x && k < node->val.n; k++) node->val.x[k] = (real)NAN;
    }
    ag_forward(c->graph);
    for (size_t k = 0; k < n; k++)
        if (!ag_check_same_bits(c->again + k, c->root->val.x + k, 1))
            return ag_check_fail(c, "forward does not write it", c->root->name, k, 0, 0);
    return true;
}

/* With one leaf frozen after the other, all other gradients keep their bits. Leaves c->grads'
 * first part as it was. */
static bool freezing(ag_check *c) {
    size_t total = ag_check_leaf_reals(c);
    real *all = c->grads, *other = c->grads + total;
    int leaves = c->graph->leaves.n;
    ag_check_gradients(c, c->cotangent[0], 1, all);
    for (int frozen = 0; frozen < leaves; frozen++) {
        if (!ag_check_record(c, frozen))
            return ag_check_fail(c, "recording again failed", "", 0, 0, 0);
        ag_check_move_leaves(c);
        snprintf(c->report->reason, sizeof c->report->reason,  // for whoever watches it crash
                 "sample %d, backward, while nobody wants the gradient of '%s': ag_grad() returns "
                 "NULL there, test for it",
                 c->i, ag_check_leaf(c, frozen)->name);
        ag_check_gradients(c, c->cotangent[0], 1, other);
        c->report->reason[0] = '\0';
        size_t flat = 0;
        for (int i = 0; i < leaves; flat += ag_check_leaf(c, i++)->val.n) {
            ag_node *leaf = ag_check_leaf(c, i);
            if (i == frozen && ag_check_has_gradient(leaf))
                return ag_check_fail(c, "frozen, but it got a gradient", leaf->name, 0, 0, 0);
            if (i != frozen && !ag_check_same_bits(all + flat, other + flat, leaf->val.n))
                return ag_check_fail(c, "its gradient changed when leaf %g was frozen", leaf->name,
                                     0, frozen, 0);
        }
    }
    return true;
}

bool ag_check_laws(ag_check *c) {
    return writes_all(c) && sums_and_scales(c) && freezing(c) && ag_check_memory(c);
}
