/* bench_ops.c - qkv bench --ops: where a training step's time goes, op by op, and how near each comes to
 * what the machine can do. Ops that the step does not use are timed alone, at the step's sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/sample.h"
#include "train/cli/bench.h"
#include "train/cli/cli.h"
#include "train/cli/json.h"
#include "train/cli/progress.h"

/* A node's op, with a clock around it: it takes the op's place in the node. */
typedef struct {
    ag_op op;  // first, so that a node's op is its meter
    const ag_op *real_op;
    double forward, backward;  // seconds
} meter;

/* Runs the node as it would be without a meter. */
static double seconds_of(void (*run)(ag_node *), ag_node *node, const meter *m) {
    const double began = qkv_io_seconds();
    node->op = m->real_op;
    run(node);
    node->op = &m->op;
    return qkv_io_seconds() - began;
}

static void forward(ag_node *node) {
    meter *m = (meter *)node->op;
    m->forward += seconds_of(ag_node_forward, node, m);
}

static void backward(ag_node *node) {
    meter *m = (meter *)node->op;
    m->backward += seconds_of(ag_node_backward, node, m);
}

static void attach(ag_node *node, meter *m) {
    *m = (meter){.op = *node->op, .real_op = node->op};
    m->op.forward = forward;
    m->op.backward = backward;
    node->op = &m->op;
}

/* ---- what an op has to do at least ---- */

static void add_sizes(bench_cost *c, const ag_node *node, double times) {
    double in = 0, wanted = 0, out = (double)node->val.n;
    const double f = node->op->flops ? node->op->flops(node) : 0;
    for (int i = 0; i < node->n_in; i++) {
        in += (double)node->in[i]->val.n;
        if (node->in[i]->wants_grad) wanted += (double)node->in[i]->val.n;
        // a product has two factors, and each one's gradient is a product again; a bias is none
        if (i < 2 && node->in[i]->wants_grad) c->flops_backward += times * f;
    }
    c->flops_forward += times * f;
    if (node->val.x != node->in[0]->val.x)  // a view moves nothing
        c->bytes_forward += times * (double)sizeof(real) * (in + out);
    if (node->wants_grad) c->bytes_backward += times * (double)sizeof(real) * (in + out + wanted);
}

/* ---- within a step ---- */

static bench_cost *find(bench_cost *costs, int *n, const char *name) {
    for (int i = 0; i < *n; i++)
        if (strcmp(costs[i].name, name) == 0) return &costs[i];
    costs[*n] = (bench_cost){.name = name};
    return &costs[(*n)++];
}

/* Runs steps for so many seconds with a meter in each node; `whole` is the time of one, update included. */
static bool run_steps(qkv_trainer *t, meter *meters, double seconds, bench_cost *costs, int *n,
                      double *whole, char *error) {
    ag_graph *g = qkv_trainer_training_worker(t)->graph;
    const qkv_config *c = qkv_trainer_config(t);
    double micro_batches = c->batch / (double)qkv_trainer_training_worker(t)->B, began = 0, now = 0;
    int steps = -2;  // to warm up
    for (; steps < 3 || now - began < seconds; steps++) {
        if (steps == 0) {
            for (int i = 0; i < ag_count(g); i++) meters[i].forward = meters[i].backward = 0;
            began = qkv_io_seconds();
        }
        qkv_trainer_step s;
        if (!qkv_trainer_gradient(t, steps + 2, &s, error)) return false;
        qkv_trainer_update(t, steps + 2, &s);
        now = qkv_io_seconds();
    }
    *whole = (now - began) / steps;
    for (int i = 0; i < ag_count(g); i++) {
        ag_node *node = ag_at(g, i);
        if (!node->op) continue;
        bench_cost *to = find(costs, n, node->op->name);
        to->nodes++;
        to->forward += meters[i].forward / steps;
        to->backward += meters[i].backward / steps;
        add_sizes(to, node, micro_batches);
    }
    return true;
}

static bool measure_step(qkv_trainer *t, double seconds, bench_cost *costs, int *n, double *whole,
                         char *error) {
    ag_graph *g = qkv_trainer_training_worker(t)->graph;
    meter *meters = calloc((size_t)ag_count(g), sizeof *meters);
    if (!meters) return qkv_io_fail(error, "out of memory");
    for (int i = 0; i < ag_count(g); i++)
        if (ag_at(g, i)->op) attach(ag_at(g, i), &meters[i]);
    bool ok = run_steps(t, meters, seconds, costs, n, whole, error);
    for (int i = 0; i < ag_count(g); i++)
        if (ag_at(g, i)->op) ag_at(g, i)->op = meters[i].real_op;
    free(meters);
    return ok;
}

/* ---- alone ---- */

static void run_forward(void *node) { ag_node_forward(node); }
static void run_backward(void *ctx) {
    ag_node *node = ctx;
    for (int i = 0; i < node->n_in; i++) node->in[i]->has_grad = false;
    if (node->op->backward) ag_node_backward(node);
}

bool bench_alone(const ag_op *op, const ag_sizes *z, bool plain, double seconds, bench_cost *out,
                 char *error) {
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = params ? ag_graph_new(params) : NULL;
    ag_plain(g, plain);
    ag_node *node = g ? ag_sample_timed(g, op, z) : NULL;
    bool ok = node && ag_backward(node, NULL);
    if (ok) {
        *out = (bench_cost){.name = op->name};
        out->forward = bench_time(run_forward, node, seconds / 2);
        if (node->wants_grad && op->backward)  // nothing may learn through it
            out->backward = bench_time(run_backward, node, seconds / 2);
        add_sizes(out, node, 1);
    } else
        qkv_io_fail(error, "%s: %s", op->name,
                    !g            ? "out of memory"
                    : ag_error(g) ? ag_error(g)
                                  : "it has no sample to be timed on");
    if (g) ag_graph_free(g);
    if (params) ag_params_free(params);
    return ok;
}

/* ---- the table ---- */

/* A rate in GFLOP/s or GB/s, and its share of the peak. */
typedef struct {
    double rate, share;
    bool flops;
} rate;

static rate rate_of(double seconds, double flops, double bytes, bench_peak peak) {
    if (seconds <= 0) return (rate){0, 0, flops > 0};
    if (flops > 0) return (rate){flops / seconds / 1e9, flops / seconds / peak.flops, true};
    return (rate){bytes / seconds / 1e9, bytes / seconds / peak.bytes, false};
}

static void print_cell(double seconds, rate r) {
    if (r.rate <= 0) {
        cli_print(" %9.1f %11s %5s", 1e6 * seconds, "-", "-");
        return;
    }
    cli_print(" %9.1f %6.0f %s %4.0f%%", 1e6 * seconds, r.rate, r.flops ? "GF/s" : "GB/s",
              100 * r.share);
}

static void print(const bench_cost *c, double whole, bench_peak peak, bool json) {
    rate f = rate_of(c->forward, c->flops_forward, c->bytes_forward, peak),
         b = rate_of(c->backward, c->flops_backward, c->bytes_backward, peak);
    double share = c->nodes ? (c->forward + c->backward) / whole : 0;
    if (json) {
        cli_print_json(json_pack("{s:s,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:o}", "op", c->name,
                                 "nodes", c->nodes, "forward_us", cli_json_number(1e6 * c->forward),
                                 "backward_us", cli_json_number(1e6 * c->backward), "forward_rate",
                                 cli_json_number(f.rate), "backward_rate", cli_json_number(b.rate),
                                 "forward_of_peak", cli_json_number(f.share), "backward_of_peak",
                                 cli_json_number(b.share), "unit", f.flops ? "GFLOP/s" : "GB/s",
                                 "of_step", cli_json_number(share)));
        return;
    }
    printf("%-14s", c->name);
    c->nodes ? printf(" %3d", c->nodes) : printf("   -");
    print_cell(c->forward, f);
    print_cell(c->backward, b);
    if (c->nodes)
        cli_print("  %5.1f%%\n", 100 * share);
    else
        printf("       -\n");
}

static int dearest_first(const void *a, const void *b) {
    const bench_cost *x = a, *y = b;
    double p = x->forward + x->backward, q = y->forward + y->backward;
    return (p < q) - (p > q);
}

int bench_ops(qkv_trainer *t, double seconds, bool json) {
    char error[QKV_IO_ERROR];
    bench_cost costs[256];
    int n = 0, in_step;
    double whole = 0, sum = 0;
    const qkv_config *c = qkv_trainer_config(t);
    const data_spec *spec = qkv_trainer_spec(t);
    bench_peak peak = bench_measure_peak();
    if (!measure_step(t, seconds / 2, costs, &n, &whole, error))
        return cli_error(CLI_FAILED, "bench", "%s", error);
    in_step = n;
    qsort(costs, (size_t)n, sizeof *costs, dearest_first);
    ag_sizes z = {qkv_trainer_training_worker(t)->B, spec->side[DATA_SEQUENCE].T, c->d_model,
                  c->heads, spec->readout[0].classes};
    for (int i = 0; ag_ops[i]; i++) {
        bool known = false;
        for (int k = 0; k < in_step; k++)
            known = known || strcmp(costs[k].name, ag_ops[i]->name) == 0;
        if (!known && !bench_alone(ag_ops[i], &z, false, seconds / 60, &costs[n++], error))
            return cli_error(CLI_FAILED, "bench", "%s", error);
    }
    cli_progress_end();
    if (!json) {
        cli_print(
            "peak of one core: %.0f GFLOP/s, %.0f GB/s read and written in the first-level cache\n",
            peak.flops / 1e9, peak.bytes / 1e9);
        cli_print("a step: %.1f us; %d of %d sequences at a time\n\n", 1e6 * whole, z.B, c->batch);
        printf("%-14s %3s %9s %11s %5s %9s %11s %5s  %6s\n", "op", "n", "forward us", "rate",
               "peak", "backward", "rate", "peak", "step");
    }
    for (int i = 0; i < n; i++) {
        if (i == in_step && !json)
            cli_print("%-14s     %60s %5.1f%%\nalone, one call at [%d,%d,%d]:\n", "update, data",
                      "", 100 * (1 - sum / whole), z.B, z.T, z.D);
        print(&costs[i], whole, peak, json);
        sum += costs[i].forward + costs[i].backward;
    }
    return CLI_OK;
}
