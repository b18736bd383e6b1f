/* open.h - what the commands that look at a run share: opening it, and their options. */
#pragma once

#include "train/cli/cli.h"

/* Which state of which run. */
typedef struct {
    long at;              // QKV_RUN_NEWEST, or a step
    const char *weights;  // NULL, or a file
    const char *data;     // NULL, or where the file of the run's task is now
    bool silent;          // no progress line
    bool any_real;        // a run of the other precision, too
    const struct qkv_config_plugin *plugin;
} cli_state;

/* Their lines in a table, for the member of that type in the command's struct. */
#define CLI_OPTION_DATA(type, state)                                              \
    CLI_FILE(type, state.data, "data",                                            \
             "where the file is now that the run read; a directory: all of them", \
             .def = "where it was")
#define CLI_OPTIONS_STATE(type, state)                                             \
    CLI_INT(type, state.at, "at", "STEP", QKV_RUN_NEWEST, 0, 1000000000,           \
            "the state after so many steps; trained for again from what is there", \
            .def = "the newest"),                                                  \
        CLI_FILE(type, state.weights, "weights",                                   \
                 "parameters from a safetensors file instead of the run's own"),   \
        CLI_OPTION_DATA(type, state),                                              \
        CLI_OPTION_PLUGIN(type, state.plugin, "the plugin with the run's task or block")

/* cli_read() of a command with one operand, a run directory, which goes into *run. */
int cli_read_run(int argc, char **argv, const cli_option *options, void *request, const char **run,
                 bool *done);

/* What qkv_run_open_at() is asked for. */
qkv_run_opening cli_opening(const char *run, const cli_state *s);

/* The run's trainer in that state; NULL with an exit code in *code, and a message. A progress line begins,
 * which the caller ends (cli_progress_end()) before it prints. What is worth
 * saying is said on stderr. `finite`: weights that are not finite are refused. */
qkv_trainer *cli_open_run(const char *command, const char *run, const cli_state *s, bool finite,
                          qkv_run_progress *progress, int *code);

/* A run that was opened so, finite; `arena` is the command's. */
typedef struct {
    const char *run;
    qkv_trainer *t;
    int step;
    tensor_arena *arena;
} cli_opened;

/* Opens the run, has `look` look at it with the command's options, frees everything: an exit code. */
int cli_look_at(const char *command, const char *run, const cli_state *s,
                int (*look)(void *request, const cli_opened *o), void *request);

/* What stands at each position of the worker's first example, memory first, wrapped. */
void cli_print_positions(const data_spec *s, const qkv_trainer_worker *w);

/* Has the run a held-out example of this number? If not, an exit code, and a message about --OPTION. */
int cli_has_example(const char *command, const char *option, const qkv_trainer *t, long example);

/* Does --change (NULL: none) fit this example? As above. The example is loaded, and changed. */
int cli_has_change(const char *command, qkv_trainer *t, long example, const char *change);
