/* bench_startup.c - qkv bench --startup: how long until the first step, and what a node costs beside its
 * arithmetic. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "train/cli/bench.h"
#include "train/cli/cli.h"
#include "train/cli/json.h"
#include "train/cli/progress.h"
#include "train/study/statistics.h"

/* This program, asked for its version; false if it cannot be run. */
static bool run_version(void) {
    char *argv[] = {"qkv", "--version", NULL}, *env[] = {NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    bool ok = posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, env) == 0;
    posix_spawn_file_actions_destroy(&actions);
    while (ok && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return ok && status == 0;
}

enum { TIMES = 21 };

static double median(double *x) {
    qkv_study_sort(x, TIMES);
    return x[TIMES / 2];
}

/* Seconds until a trainer of the default run stands, and for its first step. */
static bool time_trainer(double *make, double *step, char *error) {
    qkv_config c;
    data_spec spec;
    qkv_trainer_step s;
    const qkv_config_parts none = {.json = NULL};
    if (qkv_config_make(&none, &c, &spec, error) != QKV_CONFIG_OK) return false;
    double began = qkv_io_seconds();
    qkv_trainer *t = qkv_trainer_new(NULL, &c, &spec, 1, error);
    double made = qkv_io_seconds();
    bool ok = t && qkv_trainer_gradient(t, 0, &s, error);
    if (ok) qkv_trainer_update(t, 0, &s);
    data_release(&spec);
    *make = made - began;
    *step = qkv_io_seconds() - made;
    qkv_trainer_free(t);
    return ok;
}

static void replay(void *loss) {
    ag_node *node = loss;
    ag_forward(node->graph);
    ag_backward(node, NULL);
}

/* Seconds of a node's replay and backward, in a chain of them on one number each. */
static double time_node(char *error) {
    enum { LENGTH = 1000 };
    ag_params *params = ag_params_new(NULL, 1);
    ag_graph *g = params ? ag_graph_new(params) : NULL;
    double seconds = 0;
    if (g) {
        ag_node *x = ag_want_grad(ag_input(g, "x", tensor_dims(0)));
        for (int i = 0; i < LENGTH; i++) x = ag_scale(x, 1);
        if (!ag_error(g)) seconds = bench_time(replay, x, 0.2) / LENGTH;
    }
    if (seconds <= 0) qkv_io_fail(error, "%s", g && ag_error(g) ? ag_error(g) : "out of memory");
    ag_graph_free(g);
    ag_params_free(params);
    return seconds;
}

int bench_startup(bool json) {
    char error[QKV_IO_ERROR];
    double process[TIMES], make[TIMES], step[TIMES];
    for (int i = 0; i < TIMES; i++) {
        double began = qkv_io_seconds();
        if (!run_version()) return cli_error(CLI_FAILED, "bench", "cannot run /proc/self/exe");
        process[i] = qkv_io_seconds() - began;
        if (!time_trainer(&make[i], &step[i], error))
            return cli_error(CLI_FAILED, "bench", "%s", error);
    }
    double node = 1e9 * time_node(error);
    if (node <= 0) return cli_error(CLI_FAILED, "bench", "%s", error);
    double p = 1e3 * median(process), m = 1e3 * median(make), s = 1e3 * median(step);
    if (json) {
        cli_print_json(json_pack("{s:o,s:o,s:o,s:o}", "process_ms", cli_json_number(p), "model_ms",
                                 cli_json_number(m), "first_step_ms", cli_json_number(s), "node_ns",
                                 cli_json_number(node)));
        return CLI_OK;
    }
    cli_progress_end();
    cli_print("a process that says its version        %7.3f ms\n", p);
    cli_print("the default run's model and workers    %7.3f ms\n", m);
    cli_print("its first step                         %7.3f ms\n", s);
    cli_print("a node, replayed and differentiated    %7.1f ns\n", node);
    return CLI_OK;
}
