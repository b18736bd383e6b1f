/* open.c - opening a run for the commands that look at it. */
#include "train/cli/open.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "data/visible.h"
#include "train/cli/progress.h"
#include "train/probe/interventions.h"
#include "train/trainer/anomaly.h"

int cli_read_run(int argc, char **argv, const cli_option *options, void *request, const char **run,
                 bool *done) {
    int first = 0, code = cli_read(argc, argv, options, request, &first, done);
    *run = argv[first];
    if (code != CLI_OK || *done || argc - first == 1) return code;
    return cli_error(CLI_USAGE, argv[0], "one run directory is needed, %d are given", argc - first);
}

qkv_run_opening cli_opening(const char *run, const cli_state *s) {
    return (qkv_run_opening){.dir = run,
                             .plugin = s->plugin,
                             .threads = 1,
                             .at = (int)s->at,
                             .weights = s->weights,
                             .data = s->data,
                             .any_real = s->any_real};
}

qkv_trainer *cli_open_run(const char *command, const char *run, const cli_state *s, bool finite,
                          qkv_run_progress *progress, int *code) {
    char error[QKV_IO_ERROR], shown[QKV_IO_PATH];
    qkv_io_status status;
    qkv_run_opening o = cli_opening(run, s);
    cli_progress_begin(command, s->silent);
    qkv_trainer *t = qkv_run_open_at(&cli_files, &o, progress, &status, error);
    if (!t) {
        *code = cli_error(cli_code(status), command, "%s", error);
        return NULL;
    }
    if (*error) cli_error(CLI_OK, command, "note: %s", error);
    if (*error) cli_progress_begin(command, s->silent);
    const ag_param_entry *bad = qkv_trainer_first_bad_parameter(qkv_trainer_params(t));
    if (!bad || !finite) return t;
    *code = cli_error(CLI_DIVERGED, command, "the parameter '%s' of '%s' is not finite", bad->name,
                      qkv_io_printable(s->weights ? s->weights : run, shown, sizeof shown));
    qkv_trainer_free(t);
    return NULL;
}

int cli_look_at(const char *command, const char *run, const cli_state *s,
                int (*look)(void *request, const cli_opened *o), void *request) {
    int code;
    qkv_run_progress progress;
    qkv_trainer *t = cli_open_run(command, run, s, true, &progress, &code);
    if (!t) return code;
    const cli_opened o = {run, t, progress.step, tensor_arena_new(NULL)};
    code = o.arena ? look(request, &o) : cli_error(CLI_FAILED, command, "out of memory");
    tensor_arena_free(o.arena);
    qkv_trainer_free(t);
    return code;
}

void cli_print_positions(const data_spec *s, const qkv_trainer_worker *w) {
    char text[128];
    for (int side = DATA_SIDES - 1; side >= 0; side--) {
        int column = 0;
        if (s->side[side].T == 0) continue;
        printf("%-10s", side == DATA_MEMORY ? "memory" : "sequence");
        for (int p = 0; p < data_length(&w->data, (data_side_name)side, 0); p++) {
            data_position(&w->data, (data_side_name)side, 0, p, text, sizeof text);
            const int n = data_visible_width(text) + 3;
            if (column && column + n > 68) printf("\n%-10s", ""), column = 0;
            printf("%s%s", column ? " | " : "", text);
            column += n;
        }
        printf("\n");
    }
}

int cli_has_example(const char *command, const char *option, const qkv_trainer *t, long example) {
    const int all = data_at_most(qkv_trainer_spec(t), "test", INT_MAX);
    if (all == INT_MAX || example < all) return CLI_OK;
    return cli_error(CLI_USAGE, command,
                     "--%s: there is no example %ld, the held-out ones are 0 to %d", option,
                     example, all - 1);
}

int cli_has_change(const char *command, qkv_trainer *t, long example, const char *change) {
    char error[QKV_IO_ERROR];
    qkv_probe_changed changed;
    if (!change) return CLI_OK;
    qkv_trainer_load(t, qkv_trainer_any_worker(t), "test", (uint64_t)example, 1, 1);
    return qkv_probe_change(t, change, &changed, error)
               ? CLI_OK
               : cli_error(CLI_USAGE, command, "--change: %s", error);
}
