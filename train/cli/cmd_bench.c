/* cmd_bench.c - qkv bench: how fast is a training step, through the ordinary path: recorded graph,
 * ordinary ops and layers, Adam.
 *
 * One step of pre-norm blocks, one unless told: token + position embedding, causal attention,
 * feed-forward of 4 d with ReLU, layer norms, biases, unembedding, mean cross-entropy over all
 * positions. FLOPs, with N = B T and P = 12 L d^2 + d V: 6 P N + 12 L B T^2 d (matrix products only,
 * attention counted without its mask). */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "train/cli/bench.h"
#include "train/cli/cli.h"
#include "train/cli/json.h"
#include "train/cli/progress.h"
#include "train/study/statistics.h"

static const struct {
    const char *name;
    int batch, time, d_model, heads, vocab;
} presets[] = {{"tiny", 32, 16, 32, 2, 64},
               {"small", 64, 32, 64, 4, 64},
               {"medium", 32, 128, 128, 4, 128},
               {"large", 8, 512, 512, 8, 512},
               {"pairs", 0, 0, 0, 0, 0}};

typedef struct {
    const char *preset;
    long batch, time, d_model, heads, layers, vocab, threads, lanes;  // 0: the preset's
    double seconds;
    bool json, ops, plain, gemm, startup;
} request;

#define OF_STEPS .without = "gemm|startup"
#define SIZE(member, name, argument, most, ...) \
    CLI_INT(request, member, name, argument, 0, 1, most, __VA_ARGS__, OF_STEPS)
static const cli_option options[] = {
    CLI_CHOICE(request, preset, "preset", "tiny|small|medium|large|pairs", "sizes of the step",
               .def = "small", OF_STEPS),
    SIZE(batch, "batch", "B", 65536, "sequences of a step", .def = ""),
    SIZE(time, "time", "T", 65536, "tokens of a sequence", .def = ""),
    SIZE(d_model, "d-model", "D", 16384, "width", .def = ""),
    SIZE(heads, "heads", "H", 512, "heads", .def = ""),
    SIZE(layers, "layers", "L", 256, "blocks one after the other", .def = "1"),
    SIZE(vocab, "vocab", "V", 65536, "vocabulary", .def = ""),
    SIZE(lanes, "lanes", "N", 64, "parts of the batch that can run in parallel", .def = "4"),
    CLI_INT(request, threads, "threads", "N", 1, 1, 64, "threads", .without = "ops|gemm|startup"),
    CLI_REAL(request, seconds, "seconds", "S", 3, 1e-9, 3600, "how long to measure",
             .without = "startup"),
    CLI_FLAG(request, ops, "ops", "instead: each op, forward and backward",
             .without = "gemm|startup"),
    CLI_FLAG(request, plain, "plain", "what each fast form gains over the op's plain loops",
             .needs = "ops"),
    CLI_FLAG(request, gemm, "gemm", "instead: matrix products of the sizes that training has",
             .without = "startup"),
    CLI_FLAG(request, startup, "startup", "instead: from the start of a process to its end"),
    CLI_FLAG(request, json, "json", "lines of JSON"),
    CLI_END};

/* The sizes that are not given are those of the preset. */
static int choose_sizes(request *r) {
    size_t i = 0;
    while (strcmp(presets[i].name, r->preset) != 0) i++;
    const struct {
        long *to, usual;
    } sizes[] = {{&r->batch, presets[i].batch},
                 {&r->time, presets[i].time},
                 {&r->d_model, presets[i].d_model},
                 {&r->heads, presets[i].heads},
                 {&r->vocab, presets[i].vocab},
                 {&r->layers, 1},
                 {&r->lanes, 4}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        if (*sizes[k].to && !presets[i].batch)
            return cli_error(CLI_USAGE, "bench",
                             "--preset pairs is the default run: its sizes stay");
        if (!*sizes[k].to) *sizes[k].to = sizes[k].usual;
    }
    return CLI_OK;
}

/* ---- the task: random tokens, random answers at every position ---- */

typedef struct {
    int length, symbols;
} noise_options;

static const data_option noise_table[] = {
    DATA_INT(noise_options, length, "length", 1, 1, 1 << 20, "tokens"),
    DATA_INT(noise_options, symbols, "symbols", 1, 1, 1 << 24, "different tokens"),
    DATA_END,
};

static bool configure_noise(data_spec *s, char *error, size_t size) {
    const noise_options *o = data_chosen(s);
    (void)error, (void)size;
    s->side[DATA_SEQUENCE] = (data_side){o->length, 1, {data_plain("token", "t", o->symbols)}};
    s->n_readouts = 1;
    s->readout[0] = (data_readout){"token", "t", o->symbols, NULL, false};
    s->scored = s->entries = o->length;
    s->sees = DATA_CAUSAL;
    s->scratch = 1;
    return true;
}

static void noise(const data_spec *s, rng *r, const data_example *out) {
    const noise_options *o = data_chosen(s);
    for (int t = 0; t < o->length; t++) {
        out->ids[DATA_SEQUENCE][0][t] = (int)rng_below(r, (uint32_t)o->symbols);
        out->target[0][t] = (int)rng_below(r, (uint32_t)o->symbols);
    }
}

static const data_task task_noise = {.name = "noise",
                                     .summary = "random tokens",
                                     .options = noise_table,
                                     .configure = configure_noise,
                                     .example = noise};

static bool configure(const request *r, qkv_config *c, data_spec *spec, char *error) {
    const qkv_config_parts none = {.json = NULL};
    if (!r->batch) return qkv_config_make(&none, c, spec, error) == QKV_CONFIG_OK;
    qkv_config_default(c);
    c->batch = (int)r->batch;
    c->d_model = (int)r->d_model;
    c->heads = (int)r->heads;
    c->layers = (int)r->layers;
    c->d_ff = 4 * c->d_model;
    c->lanes = (int)r->lanes;
    c->activation = NN_ACT_RELU;
    c->norm = NN_NORM_LAYER;
    c->positions = NN_POSITIONS_LEARNED;
    c->bias = true;
    c->lr = 1e-3;
    if (!qkv_config_resolve(c, spec, error)) return false;  // the widths; then the task is replaced
    data_release(spec);
    data_options_reset(noise_table, &c->of_task);
    data_options_set(noise_table, &c->of_task, "length", (double)r->time);
    data_options_set(noise_table, &c->of_task, "symbols", (double)r->vocab);
    return data_configure(&task_noise, &c->of_task, spec, error, QKV_IO_ERROR);
}

/* ---- measuring ---- */

typedef struct {
    double *wall, *cpu, loss_first, loss_last;
    long n;
} samples;

enum { MOST_STEPS = 1000000, WARM_UP = 5 };

static bool measure(qkv_trainer *t, double seconds, samples *out, char *error) {
    double end = 0;
    for (int step = 0; out->n < MOST_STEPS; step++) {
        double wall = qkv_io_seconds(), cpu = qkv_io_clock(CLOCK_PROCESS_CPUTIME_ID);
        qkv_trainer_step s;
        if (!qkv_trainer_gradient(t, step, &s, error)) return false;
        qkv_trainer_update(t, step, &s);
        double now = qkv_io_seconds();
        out->loss_last = s.loss;
        if (step == 0) out->loss_first = s.loss;
        if (step < WARM_UP) {
            end = now + seconds;
            continue;
        }
        out->wall[out->n] = now - wall;
        out->cpu[out->n++] = qkv_io_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        if (now > end && out->n >= 3) break;
    }
    qkv_study_sort(out->wall, (int)out->n);
    qkv_study_sort(out->cpu, (int)out->n);
    return true;
}

/* Most memory this program had, in MiB. Where the system says it: getrusage() counts what ran in the
 * process before, a shell or Python. */
static double peak_memory(void) {
    struct rusage use;
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && kib < 0 && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0) kib = strtol(line + 6, NULL, 10);
    if (status) fclose(status);
    getrusage(RUSAGE_SELF, &use);
    return (double)(kib < 0 ? use.ru_maxrss : kib) / 1024;
}

static void print(const request *r, const qkv_trainer *t, const samples *s, size_t params) {
    const qkv_config *c = qkv_trainer_config(t);
    const data_spec *spec = qkv_trainer_spec(t);
    double B = c->batch, T = spec->side[DATA_SEQUENCE].T, D = c->d_model,
           V = spec->readout[0].classes;
    double L = c->layers, P = L * (4 * D * D + 2 * (double)c->d_ff * D) + D * V,
           flops = 6 * P * B * T + 12 * L * B * T * T * D;
    double wall = s->wall[s->n / 2], cpu = s->cpu[s->n / 2];
    double rss = peak_memory();
    cli_progress_end();
    if (!r->json) {
        cli_print(
            "B %g, T %g, D %g, heads %d, layers %g, V %g: %.4f ms a step (CPU %.4f ms), %.1f "
            "GFLOP/s, %.0f "
            "tokens/s, peak memory %.1f MiB\n",
            B, T, D, c->heads, L, V, 1e3 * wall, 1e3 * cpu, flops / wall / 1e9, B * T / wall, rss);
        return;
    }
    json_t *o = json_pack(
        "{s:s,s:o,s:o,s:o,s:i,s:i,s:o,s:i,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:o,s:o}", "peer",
        "qkv", "B", cli_json_number(B), "T", cli_json_number(T), "d", cli_json_number(D), "h",
        c->heads, "layers", c->layers, "V", cli_json_number(V), "threads", (int)r->threads, "steps",
        (json_int_t)s->n, "ms_median", cli_json_number(1e3 * wall), "ms_min",
        cli_json_number(1e3 * s->wall[0]), "cpu_ms_median", cli_json_number(1e3 * cpu),
        "tokens_per_s", cli_json_number(B * T / wall), "gflops",
        cli_json_number(flops / wall / 1e9), "gflops_cpu", cli_json_number(flops / cpu / 1e9),
        "peak_rss_mib", cli_json_number(rss), "params", (json_int_t)params, "loss_first",
        cli_json_number(s->loss_first), "loss_last", cli_json_number(s->loss_last));
    cli_print_json(o);
}

static int bench_step(const request *r, qkv_trainer *t) {
    char error[QKV_IO_ERROR] = "out of memory";
    samples s = {.wall = malloc(MOST_STEPS * sizeof(double)),
                 .cpu = malloc(MOST_STEPS * sizeof(double))};
    bool ok = s.wall && s.cpu && measure(t, r->seconds, &s, error);
    if (ok) print(r, t, &s, ag_params_learned(qkv_trainer_params(t)));
    free(s.wall);
    free(s.cpu);
    return ok ? CLI_OK : cli_error(CLI_FAILED, "bench", "%s", error);
}

int cli_bench(int argc, char **argv) {
    char error[QKV_IO_ERROR];
    request r = {.json = false};
    qkv_config c;
    data_spec spec;
    int first = 0;
    bool done;
    int code = cli_read(argc, argv, options, &r, &first, &done);
    if (code != CLI_OK || done) return code;
    if (first < argc) return cli_error(CLI_USAGE, "bench", "'%s' is no option", argv[first]);
    code = choose_sizes(&r);
    if (code != CLI_OK) return code;
    cli_progress_begin("bench", r.json);
    if (r.gemm) return bench_gemm(r.seconds, r.json);
    if (r.startup) return bench_startup(r.json);
    if (!configure(&r, &c, &spec, error)) return cli_error(CLI_USAGE, "bench", "%s", error);
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, (int)r.threads, error);
    if (!t)
        code = cli_error(CLI_FAILED, "bench", "%s", error);
    else
        code = r.plain ? bench_plain(t, r.seconds, r.json)
               : r.ops ? bench_ops(t, r.seconds, r.json)
                       : bench_step(&r, t);
    qkv_trainer_free(t);
    return code;
}
