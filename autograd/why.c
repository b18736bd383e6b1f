/* why.c - what a number is made of: an op's backward, run on a node that stands in for the real one. Its
 * inputs have gradients of their own there, so that nothing of the graph is touched, each input is seen
 * by itself (one node may be two of them), and a frozen one is seen, too. */
#include "autograd/why.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/graph_internal.h"

// Numbers that the backward passes for one gradient may walk over: about a second.
#define MOST_WORK 1e9

typedef struct {
    ag_private own, *in;  // y and its inputs
    ag_node **at;
    const ag_node *real;
    size_t room;  // reals of y
} stand_in;

typedef struct {
    tensor_arena *mem;
    ag_reasons *out;
    ag_term *term;
    size_t room;
    double work;  // that is left
} search;

static bool fail(ag_reasons *out, const char *sentence) {
    out->wrong = sentence;
    return false;
}

/* Memory for y's cotangent and for the gradients of the inputs that are to be seen; -1: all. */
static bool stand(stand_in *s, ag_node *node, int input, tensor_arena *mem) {
    const size_t n_in = (size_t)node->n_in;
    s->real = node;
    s->own = *ag_own(node);
    s->in = tensor_arena_take(mem, n_in, sizeof *s->in);
    s->at = tensor_arena_take(mem, n_in, sizeof(ag_node *));
    s->own.node.grad = tensor_arena_reals(mem, node->val.n);
    if (!s->in || !s->at || !s->own.node.grad) return false;
    s->own.node.in = s->at;
    for (size_t k = 0; k < n_in; k++) {
        s->in[k] = *ag_own(node->in[k]);
        ag_node *in = s->at[k] = &s->in[k].node;
        in->wants_grad = input < 0 || input == (int)k;
        in->grad = in->wants_grad ? tensor_arena_reals(mem, in->val.n) : NULL;
        if (in->wants_grad && !in->grad) return false;
    }
    return true;
}

/* Passes the stand-in's cotangent back. */
static void run(stand_in *s) {
    for (int k = 0; k < s->own.node.n_in; k++) s->in[k].node.has_grad = false;
    s->own.next = s->own.previous = NULL;
    s->own.last = &s->own.node;
    s->own.node.has_grad = true;
    if (s->own.node.op->backward) ag_node_backward(&s->own.node);
}

/* What the last run passed to number i of an input. */
static double slope_of(const stand_in *s, int input, size_t i) {
    const ag_node *in = s->at[input];
    return in->has_grad && in->wants_grad ? (double)in->grad[i] : 0;
}

static bool add(search *s, ag_term term) {
    ag_reasons *out = s->out;
    if (!s->term || out->n == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        ag_term *more = tensor_arena_take(s->mem, room, sizeof *more);
        if (!more) return fail(out, "out of memory");
        if (s->term) memcpy(more, s->term, out->n * sizeof *more);
        out->term = s->term = more;
        s->room = room;
    }
    s->term[out->n++] = term;
    return true;
}

static double size_of(const ag_term *t) { return fabs(t->linear ? t->part : t->slope); }

/* Largest first; among equals as they stand in the graph. */
static int by_size(const void *a, const void *b) {
    const ag_term *s = a, *t = b;
    const double x = size_of(s), y = size_of(t);
    if (x != y && !(isnan(x) && isnan(y))) return x > y || isnan(x) ? -1 : 1;
    if (s->node != t->node) return s->node->index < t->node->index ? -1 : 1;
    if (s->input != t->input) return s->input < t->input ? -1 : 1;
    return s->at < t->at ? -1 : s->at > t->at;
}

static int by_input(const void *a, const void *b) {
    const ag_term *s = a, *t = b;
    return s->input != t->input ? (s->input < t->input ? -1 : 1) : by_size(a, b);
}

static bool sort(search *s, int (*how)(const void *, const void *)) {
    if (s->term && s->out->n > 1) qsort(s->term, s->out->n, sizeof *s->term, how);
    return true;
}

/* Is the number there to be looked at? */
static bool begin(ag_node *x, size_t i, tensor_arena *mem, ag_reasons *out) {
    if (!out) return false;
    *out = (ag_reasons){0};
    if (!x || !mem) return fail(out, "there is no node, or no memory, to look with");
    if (ag_error(x->graph)) return fail(out, ag_error(x->graph));
    if (i >= x->val.n) return fail(out, "the node has no such place");
    return true;
}

static bool store_inputs(ag_node *y) {
    for (int k = 0; k < y->n_in; k++) ag_store(y->in[k]);
    ag_store(y);
    return !y->graph->failed;
}

/* ---- y[j] ---- */

double ag_why_rest(const ag_reasons *r, int input) {
    double rest = r ? r->value : 0;
    for (size_t k = 0; r && k < r->n; k++)
        if (r->together || r->term[k].input == input) rest -= r->term[k].part;
    return rest;
}

static bool slopes_of_input(search *s, const stand_in *one, int k) {
    ag_node *in = one->real->in[k];
    const bool linear = one->real->op->facts & AG_LINEAR_IN(k);
    for (size_t i = 0; i < in->val.n; i++) {
        const double slope = slope_of(one, k, i), value = (double)in->val.x[i];
        if (slope == 0) continue;
        const ag_term term = {in, k, i, 1, value, slope, linear, linear ? value * slope : 0};
        if (!add(s, term)) return false;
    }
    return true;
}

bool ag_why(ag_node *y, size_t j, tensor_arena *mem, ag_reasons *out) {
    if (!begin(y, j, mem, out)) return false;
    search s = {.mem = mem, .out = out};
    stand_in one;
    if (!store_inputs(y)) return fail(out, ag_error(y->graph));
    out->value = (double)y->val.x[j];
    if (!y->op) return true;
    if (!stand(&one, y, -1, mem)) return fail(out, "out of memory");
    one.own.node.grad[j] = 1;
    run(&one);
    // slopes that no number has a part in are the same for all inputs at once
    out->together = (y->op->facts & (AG_LINEAR | AG_NO_X)) == (AG_LINEAR | AG_NO_X);
    for (int k = 0; k < y->n_in; k++)
        if (!slopes_of_input(&s, &one, k)) return false;
    return sort(&s, out->together ? by_size : by_input);
}

/* ---- dL/dx[i] ---- */

typedef struct {
    stand_in stand;
    ag_node *reader;
    int input;
    size_t i;
    double each;  // numbers that a pass walks over
} reading;

/* Another number for each place: what several have in common does not cancel by chance. */
static real probe(size_t j) {
    const double x = (double)j * 0.61803398874989485;
    return (real)(1 + x - floor(x));
}

typedef enum { AS_IT_IS, AS_ONES, AS_PROBE } cotangent;

/* What reaches x[i] from y's numbers from .. to-1 under a cotangent. */
static double passed(search *s, reading *r, size_t from, size_t to, cotangent kind) {
    real *c = r->stand.own.node.grad;
    for (size_t j = from; j < to; j++) {
        const real dy = r->reader->grad[j];
        c[j] = kind == AS_IT_IS ? dy : dy == 0 ? 0 : kind == AS_ONES ? 1 : probe(j);
    }
    run(&r->stand);
    memset(c + from, 0, (to - from) * sizeof *c);
    s->work -= r->each;
    return slope_of(&r->stand, r->input, r->i);
}

/* Halves that nothing reaches x[i] from are passed over. */
static bool parts_from(search *s, reading *r, size_t from, size_t to) {
    bool some = false;
    for (size_t j = from; j < to; j++) some |= r->reader->grad[j] != 0;
    if (!some) return true;
    ag_term term = {r->reader, r->input, from, to - from, 0, 0, true, 0};
    if (term.n == 1) {
        term.value = (double)r->reader->grad[from];
        term.slope = passed(s, r, from, to, AS_ONES);
        term.part = term.slope == 0 ? 0 : term.value * term.slope;
        return term.slope == 0 || add(s, term);
    }
    if (passed(s, r, from, to, AS_PROBE) == 0) return true;
    if (s->work < 0) {
        term.part = passed(s, r, from, to, AS_IT_IS);
        return add(s, term);
    }
    const size_t middle = from + (to - from) / 2;
    return parts_from(s, r, from, middle) && parts_from(s, r, middle, to);
}

static double size_of_pass(const ag_node *node) {
    double n = (double)node->val.n + (node->op->flops ? node->op->flops(node) : 0);
    for (int k = 0; k < node->n_in; k++) n += (double)node->in[k]->val.n;
    return n;
}

static bool parts_of_reader(search *s, ag_node *reader, ag_node *x, size_t i) {
    for (int k = 0; k < reader->n_in; k++) {
        if (reader->in[k] != x) continue;
        reading r = {.reader = reader, .input = k, .i = i, .each = size_of_pass(reader)};
        if (!store_inputs(reader)) return fail(s->out, ag_error(x->graph));
        if (!stand(&r.stand, reader, k, s->mem)) return fail(s->out, "out of memory");
        if (!parts_from(s, &r, 0, reader->val.n)) return false;
    }
    return true;
}

bool ag_why_grad(ag_node *x, size_t i, tensor_arena *mem, ag_reasons *out) {
    if (!begin(x, i, mem, out)) return false;
    const ag_graph *g = x->graph;
    search s = {.mem = mem, .out = out, .work = MOST_WORK};
    if (g->share_grads) return fail(out, "gradients were not kept (ag_keep_grads)");
    if (!x->wants_grad)
        return fail(out, "nothing wants that gradient (ag_want_all, before it is recorded)");
    out->together = true;
    out->value = x->has_grad && x->grad ? (double)x->grad[i] : 0;
    for (int b = x->index + 1; b < g->nodes.n; b++) {
        ag_node *reader = g->nodes.at[b];
        if (reader->op && reader->has_grad && reader->grad && !parts_of_reader(&s, reader, x, i))
            return false;
    }
    return sort(&s, by_size);
}

bool ag_why_path(ag_node *x, size_t i, tensor_arena *mem, ag_reasons *out) {
    if (!begin(x, i, mem, out)) return false;
    search s = {.mem = mem, .out = out};
    ag_reasons step;
    for (bool first = true;; first = false) {
        if (!ag_why_grad(x, i, mem, &step)) return fail(out, step.wrong);
        if (first) out->value = step.value;
        if (step.n == 0 || size_of(step.term) == 0) return true;
        if (!add(&s, *step.term)) return false;
        if (step.term->n > 1) return true;
        x = step.term->node;
        i = step.term->at;
    }
}
