#include "tests/referee/builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "autograd/op.h"

/* ---- chance ---- */

int below(builder *b, int n) { return n < 1 ? 0 : (int)rng_below(&b->random, (uint32_t)n); }

bool chance(builder *b, int k, int of) { return below(b, of) < k; }

ag_mask random_mask(builder *b, int rank) {
    ag_mask m = {0};
    if (chance(b, 1, 2)) return m;
    m.causal = rank >= 2 && chance(b, 1, 2);
    m.no_self = rank >= 2 && chance(b, 1, 3);
    if (chance(b, 1, 3)) m.memory = 1 + below(b, 5);
    return m;
}

const int *random_ids(builder *b, int n, int bound, bool absent) {
    int *ids = ag_take(b->graph, (size_t)n, sizeof *ids);
    for (int i = 0; ids && i < n; i++)
        ids[i] = bound < 1 || (absent && chance(b, 1, 5)) ? -1 : below(b, bound);
    return ids;
}

/* ---- text ---- */

ag_node *with(builder *b, ag_node *node, const char *format, ...) {
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (node->index >= 0 && node->index < MOST_NODES)
        b->args[node->index] = ag_text(b->graph, "%s", text);
    return node;
}

const char *list_text(builder *b, int n, const int *x) {
    char text[2048] = "[";
    int at = 1;
    for (int i = 0; i < n && at < (int)sizeof text - 16; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, i ? ",%d" : "%d", x[i]);
    return ag_text(b->graph, "%s]", text);
}

/* ---- shapes ---- */

static tensor_shape random_shape(builder *b) {
    static const int ranks[] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 4};
    static const int dims[] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 17, 33};
    tensor_shape s = {.rank = ranks[below(b, 10)]};
    int room = 150;
    for (int i = 0; i < s.rank; i++) {
        s.dim[i] = dims[below(b, 15)];
        if (s.dim[i] > room) s.dim[i] = 1;
        room /= s.dim[i];
    }
    return s;
}

/* Some divisor of n, small ones more often. */
static int divisor(builder *b, size_t n) {
    for (int tries = 0; tries < 6; tries++) {
        int d = 1 + below(b, 9);
        if (n % (size_t)d == 0) return d;
    }
    return 1;
}

tensor_shape factors(builder *b, size_t n, int rank) {
    tensor_shape s = {.rank = rank};
    for (int i = 0; i < rank - 1; i++) {
        s.dim[i] = divisor(b, n);
        n /= (size_t)s.dim[i];
    }
    if (rank) s.dim[rank - 1] = (int)n;
    return s;
}

/* ---- leaves ---- */

static void fill(builder *b, ag_node *x, bool exact) {
    for (size_t i = 0; i < x->val.n; i++)
        x->val.x[i] = (real)(exact ? (below(b, 7) - 3) / 2.0 : rng_normal(&b->random));
}

ag_node *leaf(builder *b, tensor_shape s, bool exact) {
    const char *name = ag_text(b->graph, "leaf%d", b->leaves++);
    ag_node *x;
    if (chance(b, 1, 2)) {
        if (chance(b, 1, 10)) ag_params_freeze_matching(b->params, name);
        x = ag_param(b->graph, name, s, (ag_init){.kind = AG_ZEROS});
    } else {
        x = ag_input(b->graph, name, s);
        if (chance(b, 4, 5)) ag_want_grad(x);
    }
    fill(b, x, exact);
    return x;
}

/* A tied parameter is asked for again by its name, as layers do. */
static ag_node *again(ag_node *x) {
    return x->param ? ag_param(x->graph, x->name, x->val.shape, (ag_init){.kind = AG_ZEROS}) : x;
}

/* ---- choosing ---- */

static double largest(const ag_node *x) {
    double most = 0;
    for (size_t i = 0; i < x->val.n; i++) {
        double v = fabs((double)x->val.x[i]);
        if (!(v <= most)) most = v;  // NaN too
    }
    return most;
}

/* Large numbers would turn rounding into differences, and are left unused. */
static bool usable(const ag_node *x) { return x->val.n <= MOST_ELEMENTS && largest(x) <= 100; }

ag_node *pick(builder *b) {
    int n = ag_count(b->graph), recent = n < 6 ? n : 6;
    if (chance(b, 1, 8)) n = 0;
    for (int tries = 0; n && tries < 8; tries++) {
        ag_node *x = ag_at(b->graph, n - 1 - below(b, chance(b, 1, 2) ? recent : n));
        if (usable(x)) return again(x);
    }
    return leaf(b, random_shape(b), false);
}

ag_node *pick_rank(builder *b, int least, int most) {
    ag_node *x = NULL;
    for (int tries = 0; tries < 4; tries++) {
        x = pick(b);
        if (x->val.n > 0 && x->val.shape.rank >= least && x->val.shape.rank <= most) return x;
    }
    if (x->val.n == 0) x = leaf(b, tensor_dims(2, 3, 4), false);
    tensor_shape s = factors(b, x->val.n, least + below(b, most - least + 1));
    if (s.rank == 0) return leaf(b, s, false);
    return with(b, ag_reshape(x, s), "\"to\":%s", list_text(b, s.rank, s.dim));
}

ag_node *operand(builder *b, tensor_shape s) {
    int n = ag_count(b->graph), from = below(b, n);
    for (int i = 0; i < n && i < 3 * n / 4; i++) {
        ag_node *x = ag_at(b->graph, (from + i) % n);
        if (tensor_same_shape(x->val.shape, s) && usable(x)) return again(x);
    }
    return leaf(b, s, false);
}

/* ---- domains ---- */

static bool is_distinct(const ag_node *x) {
    for (size_t i = 0; i < x->val.n; i++)
        for (size_t j = 0; j < i; j++)
            if (!(fabs((double)(x->val.x[i] - x->val.x[j])) > 1e-6)) return false;
    return true;
}

static double least(const ag_node *x, bool absolute) {
    double least = INFINITY;
    for (size_t i = 0; i < x->val.n; i++) {
        double v = absolute ? fabs((double)x->val.x[i]) : (double)x->val.x[i];
        if (v < least) least = v;
    }
    return least;
}

static ag_node *scaled(builder *b, ag_node *x, double factor) {
    return with(b, ag_scale(x, factor), "\"factor\":%.17g", factor);
}

static ag_node *positive(builder *b, ag_node *x) {
    if (chance(b, 1, 3)) return ag_exp(confine(b, x, SMALL));
    if (chance(b, 1, 2)) return ag_sigmoid(confine(b, x, SMALL));
    ag_node *one = ag_input(b->graph, ag_text(b->graph, "leaf%d", b->leaves++), tensor_dims(0));
    ag_want_grad(one)->val.x[0] = (real)(0.5 + rng_double(&b->random));
    return ag_add(ag_mul(x, x), one);
}

ag_node *confine(builder *b, ag_node *x, domain d) {
    bool is_leaf = !x->op;
    double most = largest(x);
    switch (d) {
        case ANY: return x;
        case SMALL: return most <= 3 ? x : chance(b, 1, 2) ? ag_tanh(x) : scaled(b, x, 3 / most);
        case POSITIVE: return least(x, false) >= 0.04 ? x : positive(b, x);
        case NO_KINK: return is_leaf || least(x, true) > 1e-6 ? x : leaf(b, x->val.shape, true);
        case DISTINCT: return is_leaf || is_distinct(x) ? x : leaf(b, x->val.shape, true);
    }
    return x;
}
