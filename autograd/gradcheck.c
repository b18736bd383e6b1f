/* gradcheck.c - samples, and the comparison with differences. */

#include <math.h>
#include <stdio.h>

#include "autograd/gradcheck_internal.h"

enum { NO_LEAF = -1, MOST_SAMPLES = 1000, MOST_INPUTS = 16 };
static const double STEP = 1e-3;

bool ag_check_fail(ag_check *c, const char *format, const char *name, size_t at, double a,
                   double b) {
    char what[200];
    snprintf(what, sizeof what, format, a, b);
    snprintf(c->report->reason, sizeof c->report->reason, "sample %d, '%s'[%zu]: %s", c->i, name,
             at, what);
    return c->report->passed = false;
}

static void fail_with(ag_check *c, const char *sentence) {
    snprintf(c->report->reason, sizeof c->report->reason, "sample %d: %s", c->i, sentence);
    c->report->passed = false;
}

bool ag_check_record(ag_check *c, int frozen) {
    ag_graph_free(c->graph);
    ag_params_free(c->params);
    c->params = ag_params_new(NULL, (uint64_t)c->i);
    c->graph = c->params ? ag_graph_new(c->params) : NULL;
    if (!c->graph) return false;
    c->graph->samples = rng_stream(1, "sample", (uint64_t)c->i);
    c->graph->frozen_leaf = frozen;
    c->root = c->sample(c->graph, c->i);
    return c->root && !ag_error(c->graph);
}

void ag_check_gradients(ag_check *c, const real *cotangent, int times, real *out) {
    ag_grads_zero(c->graph);
    for (int k = 0; k < times; k++) ag_backward(c->root, cotangent);
    for (int i = 0; i < c->graph->leaves.n; i++) {
        ag_node *leaf = ag_check_leaf(c, i);
        size_t n = leaf->val.n;
        if (ag_check_has_gradient(leaf))
            memcpy(out, leaf->grad, n * sizeof *out);
        else
            memset(out, 0, n * sizeof *out);
        out += n;
    }
}

static double loss(const ag_check *c, int k) {
    double sum = 0;
    for (size_t i = 0; i < c->root->val.n; i++)
        sum += (double)c->cotangent[k][i] * (double)c->root->val.x[i];
    return sum;
}

/* The 4th-order central difference of each loss with respect to one coordinate. */
static void differences(ag_check *c, real *x, double h, double out[CHECK_COTANGENTS]) {
    static const double shift[] = {-2, -1, 1, 2}, weight[] = {1, -8, 8, -1};
    real kept = *x;
    for (int k = 0; k < CHECK_COTANGENTS; k++) out[k] = 0;
    for (int j = 0; j < 4; j++) {
        *x = (real)((double)kept + shift[j] * h);
        ag_forward(c->graph);
        for (int k = 0; k < CHECK_COTANGENTS; k++) out[k] += weight[j] * loss(c, k) / (12 * h);
    }
    *x = kept;
}

static double tolerance(double largest, double numeric) {
    return 1e-9 * (largest > 1 ? largest : 1) + 1e-7 * fabs(numeric);
}

/* One coordinate against all cotangents. */
static bool coordinate(ag_check *c, ag_node *leaf, size_t at, size_t flat, size_t total,
                       const double *largest) {
    double numeric[CHECK_COTANGENTS], finer[CHECK_COTANGENTS];
    bool inconclusive = false;
    differences(c, leaf->val.x + at, STEP, numeric);
    c->report->coordinates++;
    for (int k = 0; k < CHECK_COTANGENTS; k++) {
        double analytic = (double)c->grads[(size_t)k * total + flat];
        if (!isfinite(analytic) || !isfinite(numeric[k]))
            return ag_check_fail(c, "not finite: analytic %g, numeric %g", leaf->name, at, analytic,
                                 numeric[k]);
        c->points++;
        c->nonzero += numeric[k] != 0 && fabs(numeric[k]) > 1e-9;
        double tol = tolerance(largest[k], numeric[k]), err = fabs(analytic - numeric[k]);
        if (err / tol > c->report->worst && !c->has_kinks) c->report->worst = err / tol;
        if (!(err <= tol)) {
            differences(c, leaf->val.x + at, STEP / 2, finer);
            bool kink = !(fabs(finer[k] - numeric[k]) <= 1e-6 * (1 + fabs(numeric[k])));
            if (!kink || !c->has_kinks)
                return ag_check_fail(c, "analytic %.12g, numeric %.12g", leaf->name, at, analytic,
                                     numeric[k]);
            c->open++;
            inconclusive = true;
        } else if (err / tol > c->report->worst) {
            c->report->worst = err / tol;
        }
    }
    c->report->inconclusive += inconclusive;
    return true;
}

/* Is the node's gradient another than 0? One that was cut away proves nothing of its backward. */
static bool has_slope(const ag_node *node) {
    bool some = false;
    for (size_t i = 0; node->has_grad && node->grad && i < node->val.n; i++)
        some |= node->grad[i] != 0;
    return some;
}

/* Which of the op's inputs a gradient reached, of those there are. */
static void note_inputs(ag_check *c) {
    for (int i = 0; c->op && i < c->graph->nodes.n; i++) {
        const ag_node *node = c->graph->nodes.at[i];
        if (node->op != c->op || !has_slope(node)) continue;
        c->reached = true;
        for (int k = 0; k < node->n_in && k < MOST_INPUTS; k++) {
            if (node->in[k]->val.n == 0) continue;
            c->inputs |= 1u << k;
            if (node->in[k]->wants_grad) c->compared |= 1u << k;
        }
    }
}

static bool all_coordinates(ag_check *c) {
    size_t total = ag_check_leaf_reals(c), flat = 0;
    double largest[CHECK_COTANGENTS] = {0};
    for (int k = 0; k < CHECK_COTANGENTS; k++) {
        ag_check_gradients(c, c->cotangent[k], 1, c->grads + (size_t)k * total);
        for (size_t i = 0; i < total; i++)
            largest[k] = real_greater(largest[k], fabs((double)c->grads[(size_t)k * total + i]));
    }
    note_inputs(c);
    for (int i = 0; i < c->graph->leaves.n; i++) {
        ag_node *leaf = ag_check_leaf(c, i);
        for (size_t at = 0; leaf->wants_grad && at < leaf->val.n; at++)
            if (!coordinate(c, leaf, at, flat + at, total, largest)) return false;
        flat += leaf->val.n;
    }
    ag_forward(c->graph);
    return true;
}

void ag_check_move_leaves(ag_check *c) {
    for (int i = 0; i < c->graph->leaves.n; i++)
        for (size_t k = 0; k < ag_check_leaf(c, i)->val.n; k++)
            ag_check_leaf(c, i)->val.x[k] *= (real)1.015625;
    ag_forward(c->graph);
}

static bool one_sample(ag_check *c, tensor_arena *arena) {
    size_t n = c->root->val.n, total = ag_check_leaf_reals(c);
    rng r = rng_stream(2, "cotangent", (uint64_t)c->i);
    bool room = true;
    for (int k = 0; k < CHECK_COTANGENTS; k++) {
        c->cotangent[k] = tensor_arena_reals(arena, n);
        room = room && c->cotangent[k];
        for (size_t i = 0; room && i < n; i++) c->cotangent[k][i] = (real)rng_normal(&r);
    }
    c->values = tensor_arena_reals(arena, total);
    c->again = tensor_arena_reals(arena, n);
    c->grads = tensor_arena_reals(arena, CHECK_COTANGENTS * total);
    if (!room || !c->values || !c->again || !c->grads)
        return ag_check_fail(c, "out of memory", "", 0, 0, 0);
    c->report->samples++;
    memcpy(c->again, c->root->val.x, n * sizeof(real));
    ag_forward(c->graph);
    if (!ag_check_same_bits(c->again, c->root->val.x, n))
        return ag_check_fail(c, "a replay differs from the recording", c->root->name, 0, 0, 0);
    ag_check_move_leaves(c);
    return all_coordinates(c) && ag_check_laws(c);
}

/* A check that compared nothing has not passed. */
static void something_was_compared(const ag_check *c) {
    const bool passes = !c->op || c->op->backward;  // else what stands before it gets nothing
    const unsigned missed = passes ? c->inputs & ~c->compared : 0;
    int input = 0;
    while (missed >> input > 1) input++;
    char *reason = c->report->reason;
    const size_t size = sizeof c->report->reason;
    if (c->report->samples == 0)
        snprintf(reason, size, "there are no samples");
    else if (c->op && passes && !c->reached)
        snprintf(reason, size,
                 "nothing was compared: no sample has a gradient that goes through the op "
                 "to numbers that want one (ag_sample() makes them, or ag_want_grad())");
    else if (c->points == 0)
        snprintf(reason, size,
                 "nothing was compared: no sample has numbers that want a gradient "
                 "(ag_sample() makes them, or ag_want_grad())");
    else if (2 * c->open > c->points)
        snprintf(reason, size, "%s: %ld of %ld points are at kinks, inconclusive",
                 c->open == c->points ? "nothing was compared" : "too little was compared", c->open,
                 c->points);
    else if (c->nonzero == 0)
        snprintf(reason, size,
                 "nothing was compared: all derivatives are 0, no sample's result depends "
                 "on the numbers that were changed");
    else if (missed)
        snprintf(reason, size,
                 "nothing was compared for input %d, which wants a gradient in no sample "
                 "(what has none is an argument of the op, no input)",
                 input);
    c->report->passed = reason[0] == '\0';
}

static bool check(const ag_op *op, ag_sample_fn *sample, bool has_kinks, ag_check_report *report) {
    *report = (ag_check_report){.passed = true};
    ag_check c = {.sample = sample, .has_kinks = has_kinks, .report = report, .op = op};
    tensor_arena *arena = tensor_arena_new(NULL);
    bool more = arena && sample;
    for (; more && report->passed; c.i++) {
        if (c.i == MOST_SAMPLES) fail_with(&c, "sample() never returns NULL");
        tensor_arena_reset(arena);
        more = ag_check_record(&c, NO_LEAF);
        if (more)
            one_sample(&c, arena);
        else if (!c.graph)
            ag_check_fail(&c, "out of memory", "", 0, 0, 0);
        else if (ag_error(c.graph))
            fail_with(&c, ag_error(c.graph));
    }
    if (!arena) fail_with(&c, "out of memory");
    if (report->passed) something_was_compared(&c);
    ag_graph_free(c.graph);
    ag_params_free(c.params);
    tensor_arena_free(arena);
    return report->passed;
}

bool ag_gradcheck(ag_sample_fn *sample, bool has_kinks, ag_check_report *report) {
    return check(NULL, sample, has_kinks, report);
}

bool ag_gradcheck_op(const ag_op *op, ag_check_report *report) {
    return check(op, op->sample, op->has_kinks, report);
}
