/* graphs.c - writes random graphs, with all their numbers, for referee.py to judge.
 *
 *     graphs SEED FIRST COUNT [spoil]
 *
 * On stdout first {"ops":{"neg":"-x[0]",..}}, the catalogue with what each op is in PyTorch (null: it has
 * no peer, and is left out); then for each graph one line of JSON
 *
 *     {"graph":7,"spoiled":0,"nodes":[{"op":"leaf","shape":[2,3],"wants":1},
 *      {"op":"sum","shape":[3],"in":[0],"axes":[0]}],"roots":[1]}
 *
 * followed by its doubles, as they stand in memory: the value of every node, the gradient of every
 * leaf that wants one, the cotangent of every root. With `spoil` one leaf's gradient in a thousand
 * graphs is made wrong by 1e-6 of itself: what a referee must not overlook. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/referee/builder.h"

enum { MOST_ROOTS = 3, MOST_NODES = 192, MOST_ADDED = 32, MOST_OPS = 256 };

typedef struct {
    int n, node[MOST_ROOTS];
    real *cotangent[MOST_ROOTS];
} root_list;

/* ---- recording ---- */

/* The ops that have a peer, and how many samples each has. */
static struct {
    const ag_op *op;
    int samples;
} pool[MOST_OPS];
static int n_pool;

static void fill_pool(void) {
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = params ? ag_graph_new(params) : NULL;
    if (!g) die("out of memory");
    for (int i = 0; ag_ops[i]; i++) {
        if (!ag_ops[i]->torch) continue;
        if (n_pool == MOST_OPS) die("too many ops");
        int n = 0;
        while (ag_ops[i]->sample(g, n) && !ag_error(g)) n++, ag_graph_reset(g);
        if (n == 0) die("an op has no samples");
        pool[n_pool].op = ag_ops[i];
        pool[n_pool++].samples = n;
    }
    if (n_pool == 0) die("no op has a peer: nothing to compare");
    ag_graph_free(g);
    ag_params_free(params);
}

static void record(builder *b) {
    int steps = 3 + below(b, 18);
    for (int i = 0; i < steps && ag_count(b->graph) < MOST_NODES - 2 * MOST_ADDED; i++) {
        const int k = below(b, n_pool);
        if (!add_sample(b, pool[k].op, below(b, pool[k].samples)))
            die(ag_error(b->graph) ? ag_error(b->graph) : "a sample is gone");
    }
}

/* ---- backward ---- */

static bool moderate(const ag_node *x) {
    for (size_t i = 0; i < x->val.n; i++)
        if (!(fabs((double)x->val.x[i]) <= 1e6)) return false;
    return x->op && x->wants_grad && x->val.n > 0;
}

static int add_root(builder *b, root_list *roots, ag_node *x) {
    real *c = malloc(x->val.n * sizeof *c);
    if (!c) die("out of memory");
    bool ones = chance(b, 1, 4);
    for (size_t i = 0; i < x->val.n; i++) c[i] = ones ? 1 : (real)rng_normal(&b->random);
    if (!ag_backward(x, ones ? NULL : c)) die(ag_error(b->graph));
    roots->node[roots->n] = x->index;
    roots->cotangent[roots->n] = c;
    return ++roots->n;
}

/* Several roots are either summed up in the graph or each propagated on its own, and add up in the
 * leaves; now and then a root is no last node but one that others were made of. */
static void propagate(builder *b, root_list *roots) {
    int n = ag_count(b->graph), wanted = 1 + below(b, MOST_ROOTS);
    ag_node *sum = NULL;
    for (int tries = 0; tries < 30 && wanted > 0; tries++) {
        ag_node *x = ag_at(b->graph, n - 1 - below(b, n < 8 || chance(b, 1, 4) ? n : 8));
        if (!moderate(x)) continue;
        wanted--;
        ag_node *part = ag_scale(ag_sum(x, 0, NULL), rng_normal(&b->random));
        sum = sum ? ag_add(sum, part) : part;
    }
    if (!sum || !ag_forward(b->graph)) return;
    if (chance(b, 1, 3) && moderate(sum)) {
        add_root(b, roots, sum);
        return;
    }
    for (int i = ag_count(b->graph) - 1; i >= n && roots->n < MOST_ROOTS; i--) {
        ag_node *part = ag_at(b->graph, i);
        if (part->op == &ag_op_sum) add_root(b, roots, part->in[0]);
    }
}

/* Makes the greatest gradient of a leaf a little wrong; false if they are all too small to tell. */
static bool spoil(ag_graph *g) {
    ag_node *worst = NULL;
    double greatest = 1e-3;
    for (int i = 0; i < ag_count(g); i++) {
        ag_node *x = ag_at(g, i);
        for (size_t k = 0; !x->op && x->wants_grad && x->has_grad && k < x->val.n; k++)
            if (fabs((double)x->grad[k]) > greatest) greatest = fabs((double)x->grad[k]), worst = x;
    }
    for (size_t k = 0; worst && k < worst->val.n; k++) worst->grad[k] *= (real)(1 + 1e-6);
    return worst;
}

/* ---- writing ---- */

static void write_graph(const builder *b, int number, bool spoiled, const root_list *roots) {
    int n = ag_count(b->graph);
    printf("{\"graph\":%d,\"spoiled\":%d,\"nodes\":[", number, spoiled);
    for (int i = 0; i < n; i++) write_node(ag_at(b->graph, i));
    putchar(']');
    write_ints("roots", roots->n, roots->node);
    printf("}\n");
    for (int i = 0; i < n; i++) write_numbers(ag_at(b->graph, i)->val.n, ag_at(b->graph, i)->val.x);
    for (int i = 0; i < n; i++) {
        const ag_node *x = ag_at(b->graph, i);
        for (size_t k = 0; !x->op && x->wants_grad && k < x->val.n; k++)
            write_numbers(1, x->has_grad ? x->grad + k : &(const real){0});
    }
    for (int r = 0; r < roots->n; r++)
        write_numbers(ag_at(b->graph, roots->node[r])->val.n, roots->cotangent[r]);
}

/* Makes graph `number` and writes it; returns whether it was spoiled. */
static bool one_graph(uint64_t seed, int number, bool want_spoiled) {
    builder b = {.random = rng_stream(seed, "referee", (uint64_t)number)};
    root_list roots = {0};
    b.params = ag_params_new(NULL, seed);
    b.graph = b.params ? ag_graph_new(b.params) : NULL;
    if (!b.graph) die("out of memory");
    b.run = (ag_run){.seed = seed, .step = (uint64_t)number, .training = chance(&b, 1, 2)};
    record(&b);
    propagate(&b, &roots);
    if (ag_error(b.graph)) die(ag_error(b.graph));
    bool spoiled = want_spoiled && spoil(b.graph);
    write_graph(&b, number, spoiled, &roots);
    for (int r = 0; r < roots.n; r++) free(roots.cotangent[r]);
    ag_graph_free(b.graph);
    ag_params_free(b.params);
    return spoiled;
}

static void write_peer(const ag_op *op, bool first) {
    const char *quote = op->torch ? "\"" : "";
    printf("%s\"%s\":%s%s%s", first ? "" : ",", op->name, quote, op->torch ? op->torch : "null",
           quote);
}

int main(int argc, char **argv) {
    if (argc < 4) die("usage: graphs SEED FIRST COUNT [spoil]");
    uint64_t seed = strtoull(argv[1], NULL, 10);
    int first = atoi(argv[2]), count = atoi(argv[3]), spoiled = 0;
    bool spoils = argc > 4 && strcmp(argv[4], "spoil") == 0;
    printf("{\"ops\":{");
    for (int i = 0; ag_ops[i]; i++) write_peer(ag_ops[i], i == 0);
    printf("}}\n");
    fill_pool();
    for (int i = 0; i < count; i++)
        spoiled += one_graph(seed, first + i, spoils && i >= 1000 * spoiled + 500);
    return fflush(stdout) == 0 ? 0 : 1;
}
