/* mutants_spoil.c - running the right op in wrong ways. */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/mutants_internal.h"

mutant_state mutant_now;

ag_op mutant_of(const mutant *m, const ag_op *right, int input) {
    mutant_now = (mutant_state){right, input, m->flaw, !m->tracks};
    ag_op op = *right;
    op.forward = m->forward ? m->forward : mutant_right_forward;
    if (op.backward) op.backward = m->backward ? m->backward : mutant_right_backward;
    return op;
}

/* A node that has its own op again runs by that one's fast form, or by its plain loops. */
static void run_right(ag_node *node, void (*run)(ag_node *)) {
    const ag_op *wrong = node->op;
    node->op = mutant_now.right;
    run(node);
    node->op = wrong;
}
void mutant_right_forward(ag_node *node) { run_right(node, ag_node_forward); }
void mutant_right_backward(ag_node *node) { run_right(node, ag_node_backward); }

bool mutant_differed(void) { return mutant_now.differed; }

void *mutant_take(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    if (!p) abort();
    return p;
}

real *mutant_gradient(const ag_node *in) {
    real *copy = mutant_take(in->val.n, sizeof *copy);
    if (in->has_grad && in->val.n) memcpy(copy, in->grad, in->val.n * sizeof *copy);
    return copy;
}

void mutant_spoil(ag_node *node, mutant_spoiler *how, bool keep_before) {
    ag_node *in = mutant_now.input < node->n_in ? node->in[mutant_now.input] : NULL;
    if (!in || !in->wants_grad) {
        mutant_right_backward(node);
        return;
    }
    size_t n = in->val.n;
    real *before = mutant_gradient(in), *added = mutant_take(n, sizeof *added);
    mutant_right_backward(node);
    for (size_t i = 0; in->has_grad && i < n; i++) added[i] = in->grad[i] - before[i];
    how(node, in, added, n);
    for (size_t i = 0; in->has_grad && i < n; i++)
        in->grad[i] = (keep_before ? before[i] : 0) + added[i];
    free(before);
    free(added);
}

/* Runs the right backward with `wanted` as the only input that learns, or with all but that one. */
void mutant_backward_for(ag_node *node, const ag_node *wanted, bool only) {
    bool *kept = mutant_take((size_t)node->n_in, sizeof *kept), any = false;
    for (int k = 0; k < node->n_in; k++) kept[k] = node->in[k]->wants_grad;
    for (int k = 0; k < node->n_in; k++) {
        if ((node->in[k] == wanted) != only) node->in[k]->wants_grad = false;
        any |= node->in[k]->wants_grad;
    }
    if (any) mutant_right_backward(node);
    for (int k = 0; k < node->n_in; k++) node->in[k]->wants_grad = kept[k];
    free(kept);
}

void mutant_under(ag_node *node, real (*other)(real)) {
    size_t n = node->val.n;
    real *kept = mutant_gradient(node);
    EACH(node->grad[i] = other(kept[i]));
    mutant_right_backward(node);
    if (n) memcpy(node->grad, kept, n * sizeof *kept);
    free(kept);
}
void mutant_part(ag_node *node, bool (*counts)(const ag_node *node, size_t i)) {
    ag_node *in = mutant_now.input < node->n_in ? node->in[mutant_now.input] : NULL;
    if (!in || !in->wants_grad) {
        mutant_right_backward(node);
        return;
    }
    mutant_backward_for(node, in, false);
    const size_t n = node->val.n;
    real *kept = mutant_gradient(node);
    EACH(if (!counts(node, i)) node->grad[i] = 0);
    mutant_backward_for(node, in, true);
    if (n) memcpy(node->grad, kept, n * sizeof *kept);
    free(kept);
}

double mutant_argument(const ag_node *node, const char *name) {
    const char *at = node->op->arguments ? strstr(node->op->arguments(node), name) : NULL;
    double x = at ? strtod(at + strlen(name) + 2, NULL) : 1;  // behind ":
    return x != 0 ? x : 1;
}
