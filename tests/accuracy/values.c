/* values.c - values and gradients of every op, for accuracy.py to judge.
 *
 *     values SEED ELEMENTS WIDE [spoil|plain]
 *
 * WIDE is ",add,exp,...,": ops to be tried over the whole range of numbers, at least ELEMENTS of them;
 * the others are tried on the shapes and arguments of their samples, their inputs normal numbers of
 * any size. On stdout first {"ops":[..],"bytes":4}, the names of ops.def and the size of a
 * number; then for each case one line of JSON
 *
 *     {"op":"exp","wide":1,"spoiled":0,"root":1,"nodes":[..]}
 *
 * with the nodes as in tests/referee/graphs.c, followed by the numbers: the value of every node, the
 * gradient of every leaf that wants one, the root's cotangent. With `spoil` one number in every
 * second case is made wrong. With `plain` ops run by their plain loops, those alone that have a fast form
 * beside them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/op.h"
#include "tests/referee/builder.h"

#ifdef QKV_DOUBLE
enum { LOWEST = -1074, HIGHEST = 1024, FAR = 800 };
#else
enum { LOWEST = -149, HIGHEST = 128, FAR = 120 };
#endif

/* ---- inputs ---- */

/* Any number there is: of any size; near 1; where exponentials end; beside a power of two; or one of
 * those with a name. */
static real any_number(builder *b, bool finite) {
    static const double named[] = {0, -0.0, 1, -1, 0.5, -0.5};
    const double sign = chance(b, 1, 2) ? 1 : -1, u = rng_double(&b->random);
    switch (below(b, 8)) {
        case 0: return (real)named[below(b, 6)];
        case 1: {
            const int which = finite ? 3 : below(b, 4);
            return (real)(which == 0   ? sign * INFINITY
                          : which == 1 ? NAN
                          : which == 2 ? sign * (double)REAL_MIN
                                       : sign * ldexp(1, LOWEST));
        }
        case 2: return (real)(sign * u * FAR);
        case 3: return (real)(sign * u * 16);
        case 4: return (real)(sign * u * 2);
        case 5: {
            const double power = ldexp(1, below(b, 16) - 8);
            return (real)(sign * power * (1 + (below(b, 9) - 4) * (double)REAL_EPSILON));
        }
        default: return (real)(sign * ldexp(0.5 + u / 2, LOWEST + 1 + below(b, HIGHEST - LOWEST)));
    }
}

/* Only the leaves that the builder made: others have a meaning. */
static bool is_drawn(const ag_node *x) { return !x->op && strncmp(x->name, "leaf", 4) == 0; }

static void fill(builder *b, bool wide, bool finite) {
    for (int i = 0; i < ag_count(b->graph); i++) {
        ag_node *x = ag_at(b->graph, i);
        if (!is_drawn(x)) continue;
        const double size = pow(10, below(b, 9) - 4);
        for (size_t k = 0; k < x->val.n; k++)
            x->val.x[k] = wide ? any_number(b, finite) : (real)(size * rng_normal(&b->random));
    }
}

/* ---- a case ---- */

/* The op's node, of its sample of that number: over the whole range with leaves of 120 numbers each. */
static ag_node *record(builder *b, const ag_op *op, int sample, bool wide) {
    b->elements = wide ? 120 : -1;
    if (!add_sample(b, op, sample))
        die(ag_error(b->graph) ? ag_error(b->graph) : "a sample is gone");
    for (int i = ag_count(b->graph) - 1; i >= 0; i--)
        if (ag_at(b->graph, i)->op == op) return ag_at(b->graph, i);
    die("a sample does not make its op");
}

/* The greatest normal number of n made larger by one part in 2^digits; false if there is none. */
static bool spoil(size_t n, real *x, int digits) {
    size_t most = n;
    for (size_t i = 0; i < n; i++)
        if (isfinite((double)x[i]) && real_abs(x[i]) > REAL_MIN * 1000 &&
            (most == n || real_abs(x[i]) > real_abs(x[most])))
            most = i;
    if (most < n) x[most] *= (real)(1 + ldexp(1, -digits));
    return most < n;
}

/* The value's, or that of a gradient that is there. */
static bool spoil_one(ag_node *root, bool wide, bool gradient) {
    const int digits = wide ? (sizeof(real) == sizeof(float) ? 19 : 48) : 8;
    for (int i = 0; gradient && i < root->n_in; i++)
        if (!root->in[i]->op && root->in[i]->wants_grad &&
            spoil(root->in[i]->val.n, root->in[i]->grad, digits))
            return true;
    const bool own = root->val.x != root->in[0]->val.x;  // a reshape's value is its input's
    return own && spoil(root->val.n, root->val.x, digits);
}

static void write_case(const builder *b, const ag_node *root, bool wide, bool spoiled,
                       const real *cotangent) {
    const int n = ag_count(b->graph);
    printf("{\"op\":\"%s\",\"wide\":%d,\"spoiled\":%d,\"root\":%d,\"nodes\":[", root->op->name,
           wide, spoiled, root->index);
    for (int i = 0; i < n; i++) write_node(ag_at(b->graph, i));
    printf("]}\n");
    for (int i = 0; i < n; i++) write_numbers(ag_at(b->graph, i)->val.n, ag_at(b->graph, i)->val.x);
    for (int i = 0; i < n; i++) {
        const ag_node *x = ag_at(b->graph, i);
        for (size_t k = 0; !x->op && x->wants_grad && k < x->val.n; k++)
            write_numbers(1, x->has_grad ? x->grad + k : &(const real){0});
    }
    write_numbers(root->val.n, cotangent);
}

/* How many samples an op has. */
static int samples_of(const ag_op *op) {
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = params ? ag_graph_new(params) : NULL;
    int n = 0;
    if (!g) die("out of memory");
    while (op->sample(g, n) && !ag_error(g)) n++, ag_graph_reset(g);
    ag_graph_free(g);
    ag_params_free(params);
    if (n == 0) die("an op has no samples");
    return n;
}

/* Returns how many numbers were tried. */
static size_t one_case(uint64_t seed, const ag_op *op, int samples, int number, bool wide,
                       bool want_spoiled, bool plain) {
    builder b = {.random = rng_stream(seed, op->name, (uint64_t)number)};
    b.run = (ag_run){.seed = seed, .step = (uint64_t)number, .training = true};
    b.params = ag_params_new(NULL, seed);
    b.graph = b.params ? ag_graph_new(b.params) : NULL;
    if (!b.graph) die("out of memory");
    ag_set_run(b.graph, b.run);
    ag_plain(b.graph, plain);
    ag_node *root = record(&b, op, number % samples, wide);
    const size_t n = root->val.n;
    fill(&b, wide, root->n_in > 1);
    real *cotangent = malloc((n + 1) * sizeof *cotangent);
    if (!cotangent || !ag_forward(b.graph)) die("no forward pass");
    for (size_t i = 0; i < n; i++) cotangent[i] = wide ? 1 : (real)rng_normal(&b.random);
    if (!ag_backward(root, cotangent)) die("no backward pass");
    const bool spoiled = want_spoiled && n > 0 && spoil_one(root, wide, number % 4 == 3);
    write_case(&b, root, wide, spoiled, cotangent);
    free(cotangent);
    ag_graph_free(b.graph);
    ag_params_free(b.params);
    return n;
}

static bool is_wide(const char *list, const char *op) {
    const size_t length = strlen(op);
    for (const char *at = strstr(list, op); at; at = strstr(at + 1, op))
        if (at > list && at[-1] == ',' && at[length] == ',') return true;
    return false;
}

int main(int argc, char **argv) {
    if (argc < 4) die("usage: values SEED ELEMENTS WIDE [spoil|plain]");
    const uint64_t seed = strtoull(argv[1], NULL, 10);
    const size_t wanted = strtoull(argv[2], NULL, 10);
    const bool spoils = argc > 4 && strcmp(argv[4], "spoil") == 0;
    const bool plain = argc > 4 && strcmp(argv[4], "plain") == 0;
    const char *comma = "";
    printf("{\"ops\":[");
    for (int i = 0; ag_ops[i]; i++) {
        if (plain && !ag_has_fast(ag_ops[i])) continue;
        printf("%s\"%s\"", comma, ag_ops[i]->name);
        comma = ",";
    }
    printf("],\"bytes\":%zu}\n", sizeof(real));
    for (int i = 0; ag_ops[i]; i++) {
        if (plain && !ag_has_fast(ag_ops[i])) continue;
        const bool wide = is_wide(argv[3], ag_ops[i]->name);
        const int samples = samples_of(ag_ops[i]);
        size_t done = 0;
        for (int number = 0; done < (wide ? wanted : wanted / 4) || number < samples; number++)
            done +=
                1 + one_case(seed, ag_ops[i], samples, number, wide, spoils && number % 2, plain);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
