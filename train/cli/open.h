/* open.h - what the commands that look at a run share: opening it, and their options. */
#ifndef QKV_CLI_OPEN_H
#define QKV_CLI_OPEN_H

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

#define CLI_STATE_NEWEST \
    { .at = QKV_RUN_NEWEST }

/* Their lines in a list of options. */
#define CLI_OPTION_AT                                                                        \
    {                                                                                        \
        "at", "STEP", "the state after so many steps; trained for again from what is there", \
            "the newest"                                                                     \
    }
#define CLI_OPTION_WEIGHTS \
    { "weights", "FILE", "parameters from a safetensors file instead of the run's own", NULL }
#define CLI_OPTION_DATA                                                                      \
    {                                                                                        \
        "data", "FILE", "where the file is now that the run read; a directory: all of them", \
            "where it was"                                                                   \
    }
#define CLI_OPTION_PLUGIN \
    { "plugin", "FILE", "the plugin with the run's task or block", NULL }

/* Takes one of these options; *taken says whether it is one. An exit code. */
int cli_take_state(const char *command, cli_state *s, const char *name, const char *value,
                   bool *taken);

/* cli_parse() of a command with one operand, a run directory, which goes into *run. */
int cli_parse_run(int argc, char **argv, const cli_option *options, cli_option_fn *found, void *ctx,
                  const char **run, bool *done);

/* What qkv_run_open_at() is asked for. */
qkv_run_opening cli_opening(const char *run, const cli_state *s);

/* The run's trainer in that state; NULL with an exit code in *code, and a message. A progress line begins,
 * which the caller ends (cli_progress_end()) before it prints. What is worth
 * saying is said on stderr. `finite`: weights that are not finite are refused. */
qkv_trainer *cli_open_run(const char *command, const char *run, const cli_state *s, bool finite,
                          qkv_run_progress *progress, int *code);

/* Has the run a held-out example of this number? If not, an exit code, and a message about --OPTION. */
int cli_has_example(const char *command, const char *option, const qkv_trainer *t, long example);

#endif
