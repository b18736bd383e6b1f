/* anomaly.c - where a number that is not finite came from. */
#include "train/trainer/anomaly.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool finite_all(const real *x, size_t n) {
    real sum = 0;  // 0 times what is not finite is NaN
    for (size_t i = 0; i < n; i++) sum += 0 * x[i];
    return sum == 0;
}

static bool bad_value(ag_node *node) { return !finite_all(ag_store(node)->val.x, node->val.n); }

static bool bad_gradient(const ag_node *node) {
    return node->wants_grad && node->has_grad && node->grad && !finite_all(node->grad, node->val.n);
}

bool qkv_trainer_all_finite(ag_graph *g) {
    for (int i = 0; i < ag_count(g); i++)
        if (bad_value(ag_at(g, i)) || bad_gradient(ag_at(g, i))) return false;
    return true;
}

static bool reads(const ag_node *node, const ag_node *in) {
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i] == in) return true;
    return false;
}

/* A gradient is a sum over the nodes that read its node; once it is not finite it stays so. This
 * adds the parts anew, in the order of the backward pass, until one spoils the sum. */
static const ag_node *spoiler(ag_graph *g, ag_node *in) {
    memset(in->grad, 0, in->val.n * sizeof(real));
    for (int i = ag_count(g) - 1; i > in->index; i--) {
        ag_node *reader = ag_at(g, i);
        if (!reader->op || !reader->has_grad || !reads(reader, in)) continue;
        ag_node_backward(reader);
        if (bad_gradient(in)) return reader;
    }
    return NULL;
}

qkv_trainer_anomaly qkv_trainer_first_not_finite(ag_graph *g) {
    qkv_trainer_anomaly first = {NULL, NULL};
    for (int i = 0; i < ag_count(g); i++)
        if (bad_value(ag_at(g, i))) return (qkv_trainer_anomaly){ag_at(g, i), NULL};
    for (int i = ag_count(g) - 1; i >= 0; i--) {
        ag_node *in = ag_at(g, i);
        const ag_node *by = bad_gradient(in) ? spoiler(g, in) : NULL;
        if (by && (!first.node || by->index > first.node->index))
            first = (qkv_trainer_anomaly){by, in};
    }
    return first;
}

static const char *kind(const ag_node *node) {
    return node->op ? node->op->name : node->param ? "parameter" : "input";
}

char *qkv_trainer_anomaly_text(qkv_trainer_anomaly a, char *out, size_t size) {
    if (!a.node)
        snprintf(out, size, "every number on the way is finite, only a sum of them is not");
    else if (!a.of)
        snprintf(out, size,
                 "the first value that is not finite is in node '%.90s' (%.30s), forward",
                 a.node->name, kind(a.node));
    else
        snprintf(out, size,
                 "the first gradient that is not finite is made by node '%.90s' (%.30s), backward, "
                 "for '%.90s'",
                 a.node->name, kind(a.node), a.of->name);
    return out;
}

const ag_param_entry *qkv_trainer_first_bad_parameter(ag_params *p) {
    for (int i = 0; i < ag_params_count(p); i++)
        if (!finite_all(ag_params_at(p, i)->val.x, ag_params_at(p, i)->val.n))
            return ag_params_at(p, i);
    return NULL;
}
