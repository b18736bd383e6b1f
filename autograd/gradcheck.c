/* gradcheck.c - nudges every coordinate of every sample and compares. */
#include "autograd/gradcheck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autograd/graph_internal.h"

enum { COTANGENTS = 3, NO_LEAF = -1, MOST_SAMPLES = 1000 };
static const double STEP = 1e-3;

typedef struct {
    ag_sample_fn *sample;
    bool has_kinks;
    ag_check_report *report;
    ag_params *params;
    ag_graph *graph;
    ag_node *root;
    int i;  // the sample under check
    // Of y; of all leaves, one after the other.
    real *cotangent[COTANGENTS], *values, *again, *grads;
} check;

static bool fail(check *c, const char *format, const char *name, size_t at, double a, double b) {
    char what[200];
    snprintf(what, sizeof what, format, a, b);
    snprintf(c->report->reason, sizeof c->report->reason, "sample %d, '%s'[%zu]: %s", c->i, name,
             at, what);
    return c->report->passed = false;
}

static void fail_with(check *c, const char *sentence) {
    snprintf(c->report->reason, sizeof c->report->reason, "sample %d: %s", c->i, sentence);
    c->report->passed = false;
}

/* Records sample i on fresh parameters, with one leaf frozen (or none). False when there is no
 * such sample, or on an error. */
static bool record(check *c, int frozen) {
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

static ag_node *leaf_at(const check *c, int i) { return c->graph->leaves.at[i]; }
static bool has_gradient(const ag_node *leaf) {
    return leaf->wants_grad && leaf->grad && leaf->has_grad;
}

/* Gradients of all leaves under one cotangent, `times` backward passes, copied one after the other
 * into out. */
static void gradients(check *c, const real *cotangent, int times, real *out) {
    ag_grads_zero(c->graph);
    for (int k = 0; k < times; k++) ag_backward(c->root, cotangent);
    for (int i = 0; i < c->graph->leaves.n; i++) {
        ag_node *leaf = leaf_at(c, i);
        size_t n = leaf->val.n;
        if (has_gradient(leaf))
            memcpy(out, leaf->grad, n * sizeof *out);
        else
            memset(out, 0, n * sizeof *out);
        out += n;
    }
}

static size_t leaf_reals(const check *c) {
    size_t n = 0;
    for (int i = 0; i < c->graph->leaves.n; i++) n += leaf_at(c, i)->val.n;
    return n;
}

/* All leaves' values, one after the other. */
static void leaf_values(const check *c, real *out) {
    for (int i = 0; i < c->graph->leaves.n; out += leaf_at(c, i++)->val.n)
        memcpy(out, leaf_at(c, i)->val.x, leaf_at(c, i)->val.n * sizeof *out);
}

static bool same_bits(const real *a, const real *b, size_t n) {
    return memcmp(a, b, n * sizeof *a) == 0;
}

static double loss(const check *c, int k) {
    double sum = 0;
    for (size_t i = 0; i < c->root->val.n; i++)
        sum += (double)c->cotangent[k][i] * (double)c->root->val.x[i];
    return sum;
}

/* The 4th-order central difference of each loss with respect to one coordinate. */
static void differences(check *c, real *x, double h, double out[COTANGENTS]) {
    static const double shift[] = {-2, -1, 1, 2}, weight[] = {1, -8, 8, -1};
    real kept = *x;
    for (int k = 0; k < COTANGENTS; k++) out[k] = 0;
    for (int j = 0; j < 4; j++) {
        *x = (real)((double)kept + shift[j] * h);
        ag_forward(c->graph);
        for (int k = 0; k < COTANGENTS; k++) out[k] += weight[j] * loss(c, k) / (12 * h);
    }
    *x = kept;
}

static double tolerance(double largest, double numeric) {
    return 1e-9 * (largest > 1 ? largest : 1) + 1e-7 * fabs(numeric);
}

/* One coordinate against all cotangents. */
static bool coordinate(check *c, ag_node *leaf, size_t at, size_t flat, size_t total,
                       const double *largest) {
    double numeric[COTANGENTS], finer[COTANGENTS];
    differences(c, leaf->val.x + at, STEP, numeric);
    c->report->coordinates++;
    for (int k = 0; k < COTANGENTS; k++) {
        double analytic = (double)c->grads[(size_t)k * total + flat];
        if (!isfinite(analytic) || !isfinite(numeric[k]))
            return fail(c, "not finite: analytic %g, numeric %g", leaf->name, at, analytic,
                        numeric[k]);
        double tol = tolerance(largest[k], numeric[k]), err = fabs(analytic - numeric[k]);
        if (err / tol > c->report->worst && !c->has_kinks) c->report->worst = err / tol;
        if (!(err <= tol)) {
            differences(c, leaf->val.x + at, STEP / 2, finer);
            bool kink = !(fabs(finer[k] - numeric[k]) <= 1e-6 * (1 + fabs(numeric[k])));
            if (!kink || !c->has_kinks)
                return fail(c, "analytic %.12g, numeric %.12g", leaf->name, at, analytic,
                            numeric[k]);
            c->report->inconclusive++;
        } else if (err / tol > c->report->worst) {
            c->report->worst = err / tol;
        }
    }
    return true;
}

static bool all_coordinates(check *c) {
    size_t total = leaf_reals(c), flat = 0;
    double largest[COTANGENTS] = {0};
    for (int k = 0; k < COTANGENTS; k++) {
        gradients(c, c->cotangent[k], 1, c->grads + (size_t)k * total);
        for (size_t i = 0; i < total; i++)
            largest[k] = fmax(largest[k], fabs((double)c->grads[(size_t)k * total + i]));
    }
    for (int i = 0; i < c->graph->leaves.n; i++) {
        ag_node *leaf = leaf_at(c, i);
        for (size_t at = 0; leaf->wants_grad && at < leaf->val.n; at++)
            if (!coordinate(c, leaf, at, flat + at, total, largest)) return false;
        flat += leaf->val.n;
    }
    ag_forward(c->graph);
    return true;
}

/* What holds exactly, whatever the op computes. */
static bool exact_laws(check *c) {
    size_t total = leaf_reals(c), n = c->root->val.n;
    real *first = c->grads, *other = c->grads + total, *scaled = c->again;
    const char *name = c->root->name;
    memcpy(c->again, c->root->val.x, n * sizeof(real));
    leaf_values(c, c->values);
    ag_forward(c->graph);
    if (!same_bits(c->again, c->root->val.x, n))
        return fail(c, "a replay gives other bits", name, 0, 0, 0);
    gradients(c, c->cotangent[0], 1, first);
    leaf_values(c, other);
    if (!same_bits(c->values, other, total)) return fail(c, "an input was changed", name, 0, 0, 0);
    gradients(c, c->cotangent[0], 2, other);
    for (size_t i = 0; i < total; i++)  // exactly twice, but for the rounding of one more sum
        if (!(fabs((double)(other[i] - 2 * first[i])) <= 1e-13 * (1 + fabs((double)first[i]))))
            return fail(c, "two passes give %g, one %g: backward must add (+=)", name, i,
                        (double)other[i], (double)first[i]);
    for (size_t i = 0; i < n; i++) scaled[i] = 2 * c->cotangent[0][i];
    gradients(c, scaled, 1, other);
    for (size_t i = 0; i < total; i++)
        if (other[i] != 2 * first[i])
            return fail(c, "under 2c %g, under c %g", name, i, (double)other[i], (double)first[i]);
    memset(scaled, 0, n * sizeof(real));
    gradients(c, scaled, 1, other);
    for (size_t i = 0; i < total; i++)
        if (other[i] != 0) return fail(c, "gradient %g under c = 0", name, i, (double)other[i], 0);
    return true;
}

/* Moves every leaf a little away from zero and replays, so that what forward keeps must be renewed
 * by a replay. */
static void move_leaves(check *c) {
    for (int i = 0; i < c->graph->leaves.n; i++)
        for (size_t k = 0; k < leaf_at(c, i)->val.n; k++) leaf_at(c, i)->val.x[k] *= (real)1.015625;
    ag_forward(c->graph);
}

/* With one leaf frozen after the other, all other gradients keep their bits. Leaves c->grads'
 * first part as it was. */
static bool freezing(check *c) {
    size_t total = leaf_reals(c);
    real *all = c->grads, *other = c->grads + total;
    int leaves = c->graph->leaves.n;
    gradients(c, c->cotangent[0], 1, all);
    for (int frozen = 0; frozen < leaves; frozen++) {
        if (!record(c, frozen)) return fail(c, "recording again failed", "", 0, 0, 0);
        move_leaves(c);
        gradients(c, c->cotangent[0], 1, other);
        size_t flat = 0;
        for (int i = 0; i < leaves; flat += leaf_at(c, i++)->val.n) {
            ag_node *leaf = leaf_at(c, i);
            if (i == frozen && has_gradient(leaf))
                return fail(c, "frozen, but it got a gradient", leaf->name, 0, 0, 0);
            if (i != frozen && !same_bits(all + flat, other + flat, leaf->val.n))
                return fail(c, "its gradient changed when leaf %g was frozen", leaf->name, 0,
                            frozen, 0);
        }
    }
    return true;
}

static bool one_sample(check *c, tensor_arena *arena) {
    size_t n = c->root->val.n, total = leaf_reals(c);
    rng r = rng_stream(2, "cotangent", (uint64_t)c->i);
    bool room = true;
    for (int k = 0; k < COTANGENTS; k++) {
        c->cotangent[k] = tensor_arena_reals(arena, n);
        room = room && c->cotangent[k];
        for (size_t i = 0; room && i < n; i++) c->cotangent[k][i] = (real)rng_normal(&r);
    }
    c->values = tensor_arena_reals(arena, total);
    c->again = tensor_arena_reals(arena, n);
    c->grads = tensor_arena_reals(arena, COTANGENTS * total);
    if (!room || !c->values || !c->again || !c->grads) return fail(c, "out of memory", "", 0, 0, 0);
    c->report->samples++;
    memcpy(c->again, c->root->val.x, n * sizeof(real));
    ag_forward(c->graph);
    if (!same_bits(c->again, c->root->val.x, n))
        return fail(c, "a replay differs from the recording", c->root->name, 0, 0, 0);
    move_leaves(c);
    return all_coordinates(c) && exact_laws(c) && freezing(c);
}

bool ag_gradcheck(ag_sample_fn *sample, bool has_kinks, ag_check_report *report) {
    *report = (ag_check_report){.passed = true};
    check c = {.sample = sample, .has_kinks = has_kinks, .report = report};
    tensor_arena *arena = tensor_arena_new(NULL);
    bool more = arena != NULL;
    for (; more && report->passed; c.i++) {
        if (c.i == MOST_SAMPLES) fail_with(&c, "sample() never returns NULL");
        tensor_arena_reset(arena);
        more = record(&c, NO_LEAF);
        if (more)
            one_sample(&c, arena);
        else if (!c.graph)
            fail(&c, "out of memory", "", 0, 0, 0);
        else if (ag_error(c.graph))
            fail_with(&c, ag_error(c.graph));
    }
    if (report->samples == 0 && report->passed)
        fail_with(&c, arena ? "there are no samples" : "out of memory");
    ag_graph_free(c.graph);
    ag_params_free(c.params);
    tensor_arena_free(arena);
    return report->passed;
}
