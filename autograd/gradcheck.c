/* gradcheck.c - samples, and the comparison with differences. */

#include <math.h>
#include <stdio.h>

#include "autograd/gradcheck_internal.h"

enum { NO_LEAF = -1, MOST_SAMPLES = 1000, MOST_INPUTS = 16 };

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

bool ag_check_begin(ag_check *c, int frozen) {
    ag_graph_free(c->graph);
    ag_params_free(c->params);
    c->params = ag_params_new(NULL, (uint64_t)c->i);
    c->graph = c->params ? ag_graph_new(c->params) : NULL;
    if (!c->graph) return false;
    c->graph->samples = rng_stream(1, "sample", (uint64_t)c->i);
    c->graph->frozen_leaf = frozen;
    ag_plain(c->graph, c->plain);
    return true;
}

bool ag_check_record(ag_check *c, int frozen) {
    if (!ag_check_begin(c, frozen)) return false;
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

/* One number of the gradient against the slope. False with a sentence. */
static bool compare(ag_check *c, ag_node *leaf, size_t at, int k, double numeric, double analytic,
                    double largest, bool *inconclusive) {
    if (!isfinite(analytic) || !isfinite(numeric))
        return ag_check_fail(c, "not finite: analytic %g, numeric %g", leaf->name, at, analytic,
                             numeric);
    const double ratio = fabs(analytic - numeric) / ag_check_tolerance(largest, numeric);
    c->points++;
    c->nonzero += fabs(numeric) > 1e-9;
    ag_check_point point = AG_CHECK_RIGHT;
    if (!(ratio <= 1)) point = ag_check_look_closer(c, leaf->val.x + at, k, analytic, largest);
    const bool open = point == AG_CHECK_KINK && c->has_kinks;
    c->open += open;
    *inconclusive = *inconclusive || open;
    if (open || point == AG_CHECK_KNEE) return true;
    if (!(ratio <= c->report->worst)) c->report->worst = ratio;
    return point == AG_CHECK_RIGHT ||
           ag_check_fail(
               c,
               point == AG_CHECK_KINK
                   ? "analytic %.12g, numeric %.12g; the slope jumps close by: keep samples "
                     "away from there (AG_SAMPLE_NO_KINK), or state AG_KINKS"
                   : "analytic %.12g, numeric %.12g",
               leaf->name, at, analytic, numeric);
}

/* One coordinate against all cotangents. */
static bool coordinate(ag_check *c, ag_node *leaf, size_t at, size_t flat, size_t total,
                       const double *largest) {
    double numeric[CHECK_COTANGENTS];
    bool inconclusive = false, slope = false;
    ag_check_slopes(c, leaf->val.x + at, AG_CHECK_STEP, numeric);
    c->report->coordinates++;
    for (int k = 0; k < CHECK_COTANGENTS; k++) {
        double analytic = (double)c->grads[(size_t)k * total + flat];
        if (!compare(c, leaf, at, k, numeric[k], analytic, largest[k], &inconclusive)) return false;
        slope = slope || analytic != 0 || fabs(numeric[k]) > 1e-9;
    }
    c->report->inconclusive += inconclusive;
    c->report->unmoved += !slope && !ag_check_moves(c, leaf->val.x + at);
    return true;
}

/* Is the node's gradient another than 0? One that was cut away proves nothing of its backward. */
static bool has_slope(const ag_node *node) {
    bool some = false;
    for (size_t i = 0; node->has_grad && node->grad && i < node->val.n; i++)
        some |= node->grad[i] != 0;
    return some;
}

/* Is y of one size, whatever the inputs'? */
static void note_sizes(ag_check *c, const ag_node *node) {
    size_t in = 0;
    for (int k = 0; k < node->n_in; k++) in += node->in[k]->val.n;
    if (!c->sized) c->y_size = node->val.n, c->in_size = in, c->constant = true;
    c->sized = true;
    c->varies = c->varies || in != c->in_size;
    c->constant = c->constant && node->val.n == c->y_size;
}

/* Which of the op's inputs a gradient reached, of those there are. */
static void note_inputs(ag_check *c) {
    for (int i = 0; c->op && i < c->graph->nodes.n; i++) {
        const ag_node *node = c->graph->nodes.at[i];
        if (node->op == c->op) note_sizes(c, node);
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
    memcpy(c->again, c->root->val.x, c->root->val.n * sizeof(real));
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
    else if (c->constant && (c->varies || c->y_size == 1) &&
             2 * c->report->unmoved > c->report->coordinates)
        snprintf(
            reason, size,
            "%ld of %ld numbers of the inputs move nothing in y, which has the size %zu in every "
            "sample: does shape() set val.shape as it should?",
            c->report->unmoved, c->report->coordinates, c->y_size);
    else if (missed)
        snprintf(reason, size,
                 "nothing was compared for input %d, which wants a gradient in no sample "
                 "(what has none is an argument of the op, no input)",
                 input);
    c->report->passed = reason[0] == '\0';
}

static bool check(ag_check c) {
    ag_check_report *report = c.report;
    ag_sample_fn *sample = c.sample;
    if (!report) return false;
    *report = (ag_check_report){.passed = true};
    tensor_arena *arena = tensor_arena_new(NULL);
    bool more = arena && sample;
    for (; more && report->passed; c.i++) {
        if (c.i == MOST_SAMPLES) {
            fail_with(&c, "sample() never returns NULL");
            break;
        }
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
    return check((ag_check){.sample = sample, .has_kinks = has_kinks, .report = report});
}

static void say_which(ag_check_report *report) {
    char reason[sizeof report->reason];
    memcpy(reason, report->reason, sizeof reason);
    snprintf(report->reason, sizeof report->reason, "plain loops: %.*s", (int)sizeof reason - 16,
             reason);
}

bool ag_gradcheck_op(const ag_op *op, ag_check_report *report) {
    ag_check_report plain;
    if (!op || !report) return false;
    ag_check c = {.sample = op->sample, .has_kinks = op->facts & AG_KINKS, .op = op};
    c.report = report;
    if (!check(c) || !ag_has_fast(op)) return report->passed;
    c.report = &plain;
    c.plain = true;
    check(c);
    if (!plain.passed) say_which(&plain);
    plain.coordinates += report->coordinates;
    if (report->worst > plain.worst) plain.worst = report->worst;
    *report = plain;
    return plain.passed;
}
